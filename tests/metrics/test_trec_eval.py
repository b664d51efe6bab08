"""Agreement with what trec_eval prints in its own test, for every query and in total, to its four decimals.

Compared, for each of the output files in OUTPUTS:
- the measures of MEASURES: P, recall, success, map, recip_rank, ndcg, Rprec, relative_P, set_P, set_recall, set_F, unj,
  bpref, rbp and rbp_resid;
- the counts of COUNTS: num_ret, num_rel, num_rel_ret, num_nonrel_judged_ret, num_q, and the run's tag;
- relstring, which spells out the order of the first documents;
- what trec_eval's options mean here: `-c` is the mean as we take it anyway, `-l` is `rel=`, `-M` is the plan's depth.
Values on which we differ on purpose stand in DIFFERS, with ours. Left out: the measures of NOT_OURS and the files of
NOT_OURS_FILES, each with its reason. A measure or a file that is in none of these tables fails the test.

The data lie in `shared/data` beside the repository, not in it; where they are absent, each test is skipped and says so.
What trec_eval counts as 0 because nothing is relevant, is undefined here: it is set to 0 before comparing.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import pytest
from tests.rows import each_row

from rankgate.metrics.base import Metric, RelevanceMetric
from rankgate.metrics.estimates import estimate
from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.scores import MatchedQuery, Scores
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.base import Run
from rankgate.readers.formats import read_gold, read_run

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "trec_eval_test"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no shared/data/trec_eval_test beside the repository")

HALF_A_DIGIT = 5e-5 + 1e-9  # four decimals are printed; the rest is for values that lie on the edge


class Output(NamedTuple):
    """What an output file was made from: the inputs, and what the options of trec_eval are here."""

    qrels: str
    run: str
    rel: int = 0  # -l
    depth: int | None = None  # -M
    over_all: bool = False  # -c: the mean over all queries of the qrels, absent ones 0; else over those in both


OUTPUTS = {
    "out.test": Output("qrels.test", "results.test"),
    "out.test.a": Output("qrels.test", "results.test"),
    "out.test.aq": Output("qrels.test", "results.test"),
    "out.test.aqc": Output("qrels.test", "results.trunc", over_all=True),
    "out.test.aqcM": Output("qrels.test", "results.trunc", over_all=True, depth=100),
    "out.test.aql": Output("qrels.rel_level", "results.test", rel=2),
    "out.test.meas_params": Output("qrels.test", "results.test"),
    "out.comment.test": Output("qrels.comment.test", "results.comment.test.gz"),  # a # within an id, no comment lines
}

# File: what its measures look like, and why none of them is compared.
NOT_OURS_FILES = {
    "out.test.aqZ": (r"Z\S+|relstring", "distance from the mean of other systems, in standard deviations"),
    "out.test.prefs": (r"prefs_\S+", "judgments are preferences between two documents"),
    "out.test.qrels_prefs": (r"prefs_\S+", "judgments are turned into preferences between two documents"),
    "out.test.qrels_jg": (r"\S+_avgjg\S*", "several judges' qrels in one file; here a second judgment is a conflict"),
}

# Ours: trec_eval's. A number in the name is put in place of {}; `rel` is added where the output has a level.
MEASURES = {
    "map": r"map",
    "ap@{}": r"map_cut_(\d+)",
    "mrr": r"recip_rank",
    "precision@{}": r"P_(\d+)",
    "precision@all": r"set_P",
    "precision(of=retrieved)@all": r"set_P",
    "rprec": r"Rprec|Rprec_mult_1\.00",
    "bpref": r"bpref",
    "rbp(p=0.9)": r"rbp",
    "rbp_residual(p=0.9)": r"rbp_resid",
    "precision@k": r"Rprec|Rprec_mult_1\.00",  # the sample's own k is set to the number of its relevant documents
    "recall@{}": r"recall_(\d+)",
    "recall@all": r"set_recall",
    "capped_recall@{}": r"relative_P_(\d+)",
    "f(beta=1,of=retrieved)@all": r"set_F",
    "hit@{}": r"success_(\d+)",
    "ndcg": r"ndcg|ndcg_1=3,2=9,4=4\.5",  # the latter on binary qrels: with one grade, its worth cancels out
    "ndcg@{}": r"ndcg_cut_(\d+)",
    "holes@{}": r"unj_(\d+)",
}


def ranks_from(query: MatchedQuery, rel: float) -> list[int]:
    return [rank for rank, gain in query.hits if gain >= rel]


# What trec_eval counts, from the matched query and the relevance level; the total is the sum.
COUNTS: dict[str, Callable[[MatchedQuery, float], int]] = {
    "num_ret": lambda query, rel: query.retrieved,
    "num_rel": lambda query, rel: sum(gain >= rel for gain in query.ideal),
    "num_rel_ret": lambda query, rel: len(ranks_from(query, rel)),
    "num_nonrel_judged_ret": lambda query, rel: len(query.judged) - len(ranks_from(query, rel)),
}

OF_THE_RUN = ("runid", "num_q")  # lines of the total alone

ORDER = r"relstring(?:_\d+)?"  # one sign a rank: the grade, `-` not in the qrels, `.` grade -1

NOT_OURS = {
    r"gm_map|gm_bpref": "geometric mean over the queries",
    r"infAP": "estimates what an incomplete pool would hold",
    r"iprec_at_recall_\S+|11pt_avg\S*": "precision interpolated at levels of recall",
    r"Rprec_mult_(?!1\.00)\S+": "cut-off at a multiple of the number of relevant documents",
    r"utility\S*": "weights for the four cells of the contingency table",
    r"binG|G": "gain over the cost of reading, an experiment of trec_eval's",
    r"ndcg_rel|Rndcg": "nDCG averaged over ranks, or cut at the number of relevant documents",
    r"set_relative_P": "divides by the number retrieved where that is less than the number of relevant documents",
    r"set_map": "product of set_P and set_recall",
}

# Why: {(file, query, measure): ours}. Everything else is compared with what is printed.
DIFFERS: dict[str, dict[tuple[str, str, str], float]] = {
    "the gain -1 is `pooled, not judged` to trec_eval; here, what the gold names is judged, whatever its gain": {
        ("out.test.aql", "303", "num_nonrel_judged_ret"): 207,
        ("out.test.aql", "all", "num_nonrel_judged_ret"): 679,
        ("out.test.aql", "303", "unj_5"): 0,
        ("out.test.aql", "all", "unj_5"): 0,
        ("out.test.aql", "303", "unj_10"): 0,
        ("out.test.aql", "all", "unj_10"): 0,
        ("out.test.aql", "303", "unj_20"): 0,
        ("out.test.aql", "303", "rbp_resid"): 0,
        ("out.test.aql", "all", "rbp_resid"): 0.0204,
        ("out.test.aql", "all", "unj_20"): 1 / 3 * 2 / 20,  # two of query 301's first 20 are not in the qrels at all
    },
    "an absent query scores the worst, which is 1 where lower is better; trec_eval counts 0, the best": {
        (name, *place): ours
        for name in ("out.test.aqc", "out.test.aqcM")
        for place, ours in {
            ("302", "unj_5"): 1,
            ("all", "unj_5"): 1 / 3,
            ("302", "unj_10"): 1,
            ("all", "unj_10"): 1 / 3,
            ("302", "unj_20"): 1,
            ("all", "unj_20"): (1 + 2 / 20) / 3,
            ("302", "rbp_resid"): 1,
            ("all", "rbp_resid"): (1 + 0.0610 + 0.0049) / 3,
        }.items()
    },
    "its gain is the grade by the query's highest, whatever the level; here a document is relevant or not": {
        ("out.test.aql", "301", "rbp"): 0,
        ("out.test.aql", "all", "rbp"): (0.76282 + 0.02118) / 3,
    },
}
OURS = {place: value for values in DIFFERS.values() for place, value in values.items()}

LISTED = (*MEASURES.values(), *COUNTS, *OF_THE_RUN, ORDER, *NOT_OURS)

EVERY_OUTPUT = [pytest.param(name, id=name) for name in OUTPUTS]


@cache
def printed(name: str) -> dict[str, dict[str, str]]:
    """By query, and for `all`: measure and value as trec_eval printed them."""
    found: dict[str, dict[str, str]] = {}
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        measure, query_id, value = line.split()
        found.setdefault(query_id, {})[measure] = value
    return found


def expected(name: str, query_id: str, measure: str) -> float:
    """What we should give: what is printed, or ours where that differs."""
    return OURS.get((name, query_id, measure), float(printed(name)[query_id][measure]))


@cache
def gold_of(output: Output) -> Gold:
    """The qrels. Each sample's own cut-off is the number of its relevant documents, which only `@k` reads."""
    gold = read_gold((DATA / output.qrels).as_posix())
    samples = {
        query_id: msgspec.structs.replace(
            sample, k=sum(gain > 0 and gain >= output.rel for gain in sample.gains.values())
        )
        for query_id, sample in gold.samples.items()
    }
    return msgspec.structs.replace(gold, samples=samples)


@cache
def run_of(output: Output) -> tuple[Run, list[Ranking]]:
    """The run. results.trunc has words after the tag, which trec_eval ignores and we refuse: they are cut off."""
    with TemporaryDirectory() as folder:
        path = DATA / output.run
        if path.suffix != ".gz":
            rows = [line.split()[:6] for line in path.read_text(encoding="utf-8").splitlines()]
            path = Path(folder) / output.run
            path.write_text("".join(f"{' '.join(row)}\n" for row in rows), encoding="utf-8")
        opened = read_run(path.as_posix())
        return opened, list(opened.rankings)


def averaged(output: Output) -> list[str]:
    """The queries over which trec_eval takes the mean."""
    retrieved = {ranking.query_id for ranking in run_of(output)[1]}
    return [query_id for query_id in gold_of(output).samples if output.over_all or query_id in retrieved]


def metric_of(ours: str, theirs: str, measure: str, rel: int) -> Metric | None:
    """Our metric for a measure of trec_eval's, if this row of the table is about it."""
    found = re.fullmatch(theirs, measure)
    if found is None:
        return None
    metric = parse_metric(ours.format(*found.groups()))
    return msgspec.structs.replace(metric, rel=float(rel)) if isinstance(metric, RelevanceMetric) else metric


def scored(output: Output, metrics: Sequence[Metric]) -> Scores:
    return score(gold_of(output), run_of(output)[1], Plan(metrics=metrics, depth=output.depth))


def matched(output: Output) -> dict[str, MatchedQuery]:
    """Each query over which the mean is taken, with an empty list where the run lacks it."""
    by_query = {ranking.query_id: ranking for ranking in run_of(output)[1]}
    samples, needs = gold_of(output).samples, frozenset({RunField.JUDGED})
    return {
        query_id: match(
            samples[query_id], by_query.get(query_id, Ranking(query_id, [])), depth=output.depth, needs=needs
        )
        for query_id in averaged(output)
    }


def test_every_output_file_is_listed() -> None:
    assert {path.name for path in DATA.glob("out.*")} == OUTPUTS.keys() | NOT_OURS_FILES.keys()


@pytest.mark.parametrize("name", EVERY_OUTPUT)
def test_every_measure_is_listed(name: str) -> None:
    measures = {measure for values in printed(name).values() for measure in values}
    assert {measure for measure in measures if not any(re.fullmatch(row, measure) for row in LISTED)} == set()


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in NOT_OURS_FILES])
def test_every_measure_of_a_file_that_is_left_out_is_listed(name: str) -> None:
    like = rf"{NOT_OURS_FILES[name][0]}|{'|'.join(OF_THE_RUN)}"
    measures = {measure for values in printed(name).values() for measure in values}
    assert {measure for measure in measures if not re.fullmatch(like, measure)} == set()


def test_no_row_of_the_tables_is_idle_or_listed_as_ours_and_not() -> None:
    measures = {measure for name in OUTPUTS for values in printed(name).values() for measure in values}
    assert [row for row in LISTED if not any(re.fullmatch(row, measure) for measure in measures)] == []
    ours = {measure for measure in measures if any(re.fullmatch(row, measure) for row in MEASURES.values())}
    others = {measure for measure in measures if any(re.fullmatch(row, measure) for row in NOT_OURS)}
    assert ours & others == set()


@pytest.mark.full
@each_row(
    ("ours", "theirs"), [pytest.param(ours, theirs, id=f"{ours} is {theirs}") for ours, theirs in MEASURES.items()]
)
def test_measure(ours: str, theirs: str) -> None:
    """For every query that the file shows, and the mean: (file, query, measure, our value, theirs) where it differs."""
    differing = []
    for name, output in OUTPUTS.items():
        shown = printed(name)
        named = {measure: metric_of(ours, theirs, measure, output.rel) for measure in shown["all"]}
        metrics = {measure: metric for measure, metric in named.items() if metric}
        scores = scored(output, list(metrics.values()))
        for measure, metric in metrics.items():
            column = dict(zip(scores.query_ids, scores.values[metric.name], strict=True))
            found = {query_id: column[query_id] or 0 for query_id in averaged(output)}
            found["all"] = sum(found.values()) / len(found)
            differing += [
                (name, query_id, measure, found[query_id], wanted)
                for query_id in shown
                if abs(found[query_id] - (wanted := expected(name, query_id, measure))) > HALF_A_DIGIT
            ]
    assert differing == []


@pytest.mark.parametrize("count", [pytest.param(count, id=count) for count in COUNTS])
def test_count(count: str) -> None:
    differing = []
    for name, output in OUTPUTS.items():
        found = {query_id: COUNTS[count](query, output.rel) for query_id, query in matched(output).items()}
        found["all"] = sum(found.values())
        differing += [
            (name, query_id, found[query_id], wanted)
            for query_id, values in printed(name).items()
            if count in values and found[query_id] != (wanted := expected(name, query_id, count))
        ]
    assert differing == []


def test_what_differs_does_differ() -> None:
    theirs = {place: float(printed(place[0])[place[1]][place[2]]) for place in OURS}
    assert [place for place, ours in OURS.items() if abs(ours - theirs[place]) <= HALF_A_DIGIT] == []


@pytest.mark.parametrize("name", EVERY_OUTPUT)
def test_queries_and_tag(name: str) -> None:
    """Their number and the tag stand in the total; the queries themselves are shown with `-q` only."""
    output, shown = OUTPUTS[name], printed(name)
    queries, total = averaged(output), shown["all"]
    of_the_run = {"runid": run_of(output)[0].provenance["system"], "num_q": str(len(queries))}
    assert total == total | {measure: of_the_run[measure] for measure in OF_THE_RUN if measure in total}
    assert shown.keys() - {"all"} in (set(), set(queries))


@pytest.mark.parametrize("name", ["out.test.aq", "out.test.aqc", "out.test.aqcM", "out.test.aql"])
def test_order(name: str) -> None:
    """The rows of these runs are in no order, and some scores tie: a slip here would move everything else too."""
    for query_id, query in matched(OUTPUTS[name]).items():
        values = printed(name)[query_id]
        (signs,) = (values[measure].strip("'") for measure in values if re.fullmatch(ORDER, measure))
        grades = {int(rank): str(int(gain)) for rank, gain in query.hits}
        ours = [grades.get(rank, "0" if rank in query.judged else "-") for rank in range(1, len(signs) + 1)]
        assert ours == list(signs.replace(".", "0")), query_id


# What is asked of the run as a whole: the queries that it lacks, and how many it has beyond the gold's.
ABSENT = {"out.test.aq": (set[str](), 0), "out.test.aqc": ({"302"}, 0), "out.comment.test": (set[str](), 270)}


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in ABSENT])
def test_absent_queries_and_those_beyond_the_gold(name: str) -> None:
    scores = scored(OUTPUTS[name], [parse_metric("map")])
    assert (set(scores.missing), len(scores.unknown_queries)) == ABSENT[name]


@pytest.mark.parametrize("name", [name for name, output in OUTPUTS.items() if output.over_all])
@pytest.mark.parametrize(
    ("ours", "theirs"), [pytest.param(ours, theirs, id=theirs) for ours, theirs in MEASURES.items() if theirs.isalpha()]
)
def test_option_c_is_the_mean_that_we_take_anyway(ours: str, theirs: str, name: str) -> None:
    metric = parse_metric(ours)
    found = estimate(scored(OUTPUTS[name], [metric]).values[metric.name], metric)
    assert found is not None
    assert (found.n, found.undefined) == (3, 0)
    assert found.value == pytest.approx(float(printed(name)["all"][theirs]), abs=HALF_A_DIGIT)


def test_comments_in_qrels_change_nothing() -> None:
    """The commented copy differs in one id besides, which has a `#` in it that starts no comment."""
    plain, commented = (read_gold((DATA / name).as_posix()) for name in ("qrels.test", "qrels.test.with-comments"))
    ids = {"CR93E-1860": "CR#93E-1860"}
    assert {query_id: sample.gains for query_id, sample in commented.samples.items()} == {
        query_id: {ids.get(doc, doc) if query_id == "301" else doc: gain for doc, gain in sample.gains.items()}
        for query_id, sample in plain.samples.items()
    }
