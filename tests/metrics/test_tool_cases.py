"""The cases that other tools assert in their own tests: ir_measures, pytrec_eval and ranx.

Compared, through files as the tools themselves would read them:
- ir_measures: counts, Success, SetP, SetR, SetF, AP, P, RR, nDCG as trec_eval and as gdeval has it, ERR, RBP;
- pytrec_eval: ndcg and ndcg_cut;
- ranx: hits, hit_rate, precision, map, mrr, r-precision and recall, its lists in the order in which they are written;
- ranx's two forms of one qrels and one run file.
Values on which we differ stand in DIFFERS, with ours; measures that we do not have, in NOT_OURS: both with the reason.
An expected value that is in none of the tables fails the test.

The data lie in `shared/data` beside the repository, not in it; where they are absent, each test is skipped and says so.
What these tools count as 0 because nothing is relevant, is undefined here: it is set to 0 before comparing.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.formats import read_gold, read_run

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "tool_tests"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no shared/data/tool_tests beside the repository")

Grades = Mapping[str, Mapping[str, float]]  # by query and document

TOLERANCE = 1e-6
LAST_DIGIT_OF = {
    "test_gdeval": 1e-5,  # five decimals are printed
    "test_cwl_eval": 5e-5,  # four
    "test_nDCG": 1e-5,  # five, cut off: 0.7601875 is written as 0.76018
}


def expected_of(tool: str) -> Any:
    return json.loads((DATA / f"{tool}_expected.json").read_text(encoding="utf-8"))


def gold_from(qrels: Grades, folder: Path) -> Gold:
    """The grades by way of a qrels file; each sample's own cut-off is the number of its relevant documents."""
    rows = [f"{query_id} 0 {doc} {gain}\n" for query_id, gains in qrels.items() for doc, gain in gains.items()]
    (folder / "qrels").write_text("".join(rows), encoding="utf-8")
    return with_k(read_gold((folder / "qrels").as_posix()))


def with_k(gold: Gold) -> Gold:
    samples = {
        query_id: msgspec.structs.replace(sample, k=len(sample.relevant()) or None)
        for query_id, sample in gold.samples.items()
    }
    return msgspec.structs.replace(gold, samples=samples)


def by_score(run: Grades, folder: Path) -> list[Ranking]:
    """The scores by way of a TREC run file: score descending, ties by id descending."""
    rows = [f"{query_id} Q0 {doc} 0 {value} tag\n" for query_id, docs in run.items() for doc, value in docs.items()]
    (folder / "run").write_text("".join(rows), encoding="utf-8")
    return list(read_run((folder / "run").as_posix()).rankings)


def found_by(metric: str, gold: Gold, rankings: list[Ranking]) -> dict[str, float]:
    parsed = parse_metric(metric)
    scores = score(gold, rankings, Plan(metrics=[parsed]))
    return {query_id: value or 0 for query_id, value in zip(scores.query_ids, scores.values[parsed.name], strict=True)}


# ir_measures. Its test and measure: our metric.
IR_MEASURES = {
    ("test_Success", "Success@2"): "hit@2",
    ("test_Success", "Success(rel=2)@2"): "hit(rel=2)@2",
    ("test_Success", "Success(rel=3)@2"): "hit(rel=3)@2",
    ("test_SetP", "SetP(rel=1)"): "precision(of=retrieved,rel=1)@all",
    ("test_SetP", "SetP(rel=2)"): "precision(of=retrieved,rel=2)@all",
    ("test_SetP", "SetP(rel=3)"): "precision(of=retrieved,rel=3)@all",
    ("test_SetR", "SetR(rel=1)"): "recall(rel=1)@all",
    ("test_SetR", "SetR(rel=2)"): "recall(rel=2)@all",
    ("test_SetR", "SetR(rel=3)"): "recall(rel=3)@all",
    ("test_SetF", "SetF(rel=1)"): "f(of=retrieved,rel=1)@all",
    ("test_SetF", "SetF(rel=1, beta=0.5)"): "f(of=retrieved,rel=1,beta=0.5)@all",
    ("test_SetF", "SetF(rel=1, beta=2.0)"): "f(of=retrieved,rel=1,beta=2.0)@all",
    ("test_SetF", "SetF(rel=3)"): "f(of=retrieved,rel=3)@all",
    ("test_infAP", "AP"): "map",
    ("test_infAP", "AP(rel=2)"): "map(rel=2)",
    ("test_P", "P@4"): "precision@4",
    ("test_P", "P(judged_only=True)@4"): "precision(judged_only=true)@4",
    ("test_gdeval::test_ERR", "ERR@20"): "err@20",
    ("test_gdeval::test_ERR", "ERR@2"): "err@2",
    ("test_cwl_eval", "RBP(p=0.9, rel=1)"): "rbp(p=0.9,rel=1)",
    ("test_nDCG", "nDCG"): "ndcg",
    ("test_nDCG", "nDCG@3"): "ndcg@3",
    ("test_nDCG", "nDCG(gains={0:1,1:4})"): "ndcg",
    ("test_gdeval::test_nDCG", "nDCG@20"): "ndcg(gain=exponential)@20",
    ("test_gdeval::test_nDCG", "nDCG@2"): "ndcg(gain=exponential)@2",
    ("test_cwl_eval", "AP"): "map",
    ("test_cwl_eval", "P@1"): "precision@1",
    ("test_cwl_eval", "P@5"): "precision@5",
    ("test_cwl_eval", "P@10"): "precision@10",
    ("test_cwl_eval", "P@20"): "precision@20",
    ("test_cwl_eval", "RR"): "mrr",
    ("test_cwl_eval", "SDCG(max_rel=1)@10"): "ndcg@10",
}

# Measures that count, from the matched query; the aggregate is the sum.
IR_MEASURES_COUNTS: dict[tuple[str, str], Callable[[MatchedQuery], int]] = {
    ("test_NumRet", "NumRet"): lambda query: query.retrieved,
    ("test_NumRet", "NumRet(rel=1)"): lambda query: sum(gain >= 1 for _, gain in query.hits),
    ("test_NumRet", "NumRet(rel=2)"): lambda query: sum(gain >= 2 for _, gain in query.hits),
    ("test_NumRet", "NumRet(rel=3)"): lambda query: sum(gain >= 3 for _, gain in query.hits),
    ("test_NumQ", "NumQ"): lambda query: 1,
    ("test_NumRel", "NumRel"): lambda query: len(query.ideal),
}

# A grade that the measure itself replaces: here it is for the gold to say so.
GRADES_REPLACED = {("test_nDCG", "nDCG(gains={0:1,1:4})"): {0: 1, 1: 4}}

# Where the nearest metric of ours gives another value: ours by query, and why.
DIFFERS: dict[tuple[str, str], tuple[Mapping[str, float], str]] = {
    ("test_SetF", "SetF(rel=1, beta=0.5)"): (
        {"0": 0.652174, "1": 0.277778},
        "trec_eval weighs by beta where van Rijsbergen, and we, weigh by its square",
    ),
    ("test_SetF", "SetF(rel=1, beta=2.0)"): (
        {"0": 0.882353, "1": 0.416667},
        "trec_eval weighs by beta where van Rijsbergen, and we, weigh by its square",
    ),
    ("test_cwl_eval", "SDCG(max_rel=1)@10"): (
        {"T1": 0.869959, "T2": 0.898006, "T3": 0.505179},
        "divided by the dcg of ten relevant documents, also where the gold has fewer: 1 is then out of reach",
    ),
}

# Measure: why nothing of ours corresponds to it.
NOT_OURS = {
    r"SetRelP\S*": "divides by the number retrieved where that is less than the number of relevant documents",
    r"SetAP\S*": "the product of SetP and SetR",
    r"IPrec\S*": "precision interpolated at a level of recall",
    r"infAP\S*": "estimates what an incomplete pool would hold",
    r"(NERR\d+|BPM|INSQ|INST)\(.*": "other models of a user who stops reading",
    r"Compat\S*": "overlap with an ideal ranking of the gold; our rbo is between two runs",
}


@cache
def ir_measures_cases() -> dict[str, dict[str, Any]]:
    """By name: the test's, after the module's where two modules have a test of that name, or the module's alone."""
    cases: dict[str, dict[str, Any]] = {}
    for case in expected_of("ir_measures"):
        found = re.search(r"(test_\w+)\.py(?:::(test_\w+))?", case["source"])
        assert found is not None
        module, test = found.groups()
        name = test if module == "test_pytrec_eval" else f"{module}::{test}" if test else module
        assert name not in cases
        cases[name] = case
    return cases


def ir_measures_row(name: str, measure: str) -> dict[str, Any]:
    (row,) = (row for row in ir_measures_cases()[name]["expected"] if row["measure"] == measure)
    return dict(row)


def ir_measures_inputs(name: str, measure: str, folder: Path) -> tuple[Gold, list[Ranking]]:
    case = ir_measures_cases()[name]
    if "qrels" not in case:
        files = {"test_cwl_eval": "ir_measures.cwl"}[name]
        run = read_run((DATA / f"{files}.run").as_posix())
        return read_gold((DATA / f"{files}.qrels").as_posix()), list(run.rankings)
    replaced = GRADES_REPLACED.get((name, measure), {})
    qrels = {
        query_id: {doc: replaced.get(gain, gain) for doc, gain in gains.items()}
        for query_id, gains in case["qrels"].items()
    }
    return gold_from(qrels, folder), by_score(case["run"], folder)


def tolerance_of(name: str, value: float) -> float:
    """Values written with four or five decimals are rounded to them, others are exact."""
    decimals = len(repr(value).partition(".")[2])
    half = 0.5 * 10**-decimals if decimals in {4, 5} else 0
    return LAST_DIGIT_OF.get(name.partition("::")[0], max(half, TOLERANCE)) + 1e-9


def test_every_measure_of_ir_measures_is_listed() -> None:
    rows = {(name, row["measure"]) for name, case in ir_measures_cases().items() for row in case["expected"]}
    unlisted = {(name, measure) for name, measure in rows if not any(re.fullmatch(row, measure) for row in NOT_OURS)}
    assert unlisted == IR_MEASURES.keys() | IR_MEASURES_COUNTS.keys()
    assert [row for row in NOT_OURS if not any(re.fullmatch(row, measure) for _, measure in rows)] == []
    assert DIFFERS.keys() | GRADES_REPLACED.keys() <= IR_MEASURES.keys()


@pytest.mark.parametrize(
    ("name", "measure"),
    [pytest.param(*place, id=f"{place[0]}: {place[1]} is {ours}") for place, ours in IR_MEASURES.items()],
)
def test_ir_measures(name: str, measure: str, tmp_path: Path) -> None:
    row = ir_measures_row(name, measure)
    found = found_by(IR_MEASURES[name, measure], *ir_measures_inputs(name, measure, tmp_path))
    wanted, mean = row["per_query"], row["aggregate"]
    if (name, measure) in DIFFERS:
        ours = DIFFERS[name, measure][0]
        assert any(abs(ours[query_id] - value) > tolerance_of(name, value) for query_id, value in wanted.items())
        assert found == pytest.approx(ours, abs=TOLERANCE, rel=0)
        return
    assert found.keys() == wanted.keys()
    assert [
        (query_id, found[query_id], value)
        for query_id, value in wanted.items()
        if abs(found[query_id] - value) > tolerance_of(name, value)
    ] == []
    if mean is not None:
        assert sum(found.values()) / len(found) == pytest.approx(mean, abs=tolerance_of(name, mean), rel=0)


@pytest.mark.parametrize(("measure", "square"), [("SetF(rel=1, beta=0.5)", 0.5), ("SetF(rel=1, beta=2.0)", 2.0)])
def test_beta_of_ir_measures_is_the_square_of_ours(measure: str, square: float, tmp_path: Path) -> None:
    row = ir_measures_row("test_SetF", measure)
    metric = f"f(of=retrieved,rel=1,beta={square**0.5})@all"
    found = found_by(metric, *ir_measures_inputs("test_SetF", measure, tmp_path))
    assert found == pytest.approx(row["per_query"], abs=5e-5, rel=0)
    assert sum(found.values()) / len(found) == pytest.approx(row["aggregate"], abs=5e-5, rel=0)


@pytest.mark.parametrize(
    ("name", "measure"), [pytest.param(*place, id=f"{place[0]}: {place[1]}") for place in IR_MEASURES_COUNTS]
)
def test_counts_of_ir_measures(name: str, measure: str, tmp_path: Path) -> None:
    row = ir_measures_row(name, measure)
    gold, rankings = ir_measures_inputs(name, measure, tmp_path)
    matched = score(gold, rankings, Plan(metrics=[], keep_matched=True, also=frozenset({RunField.IDS}))).matched
    count = IR_MEASURES_COUNTS[name, measure]
    found = {query_id: count(query) for query_id, query in matched.items()}
    assert (found, sum(found.values())) == (row["per_query"], row["aggregate"])


# pytrec_eval. Its measure: our metric.
PYTREC_EVAL = {
    "ndcg": "ndcg",
    "ndcg_cut_1": "ndcg@1",
    "ndcg_cut_2": "ndcg@2",
    "ndcg_cut_3": "ndcg@3",
    "ndcg_cut_1000": "ndcg@1000",
}


def test_every_measure_of_pytrec_eval_is_listed() -> None:
    assert {case["measure"] for case in expected_of("pytrec_eval")["cases"]} == PYTREC_EVAL.keys()


@pytest.mark.parametrize(
    "measure", [pytest.param(measure, id=f"{measure} is {ours}") for measure, ours in PYTREC_EVAL.items()]
)
def test_pytrec_eval(measure: str, tmp_path: Path) -> None:
    cases = [case for case in expected_of("pytrec_eval")["cases"] if case["measure"] == measure]
    for case in cases:
        gold = gold_from(case["qrels"], tmp_path)
        found = found_by(PYTREC_EVAL[measure], gold, by_score(case["run"], tmp_path))
        assert found[case["query"]] == pytest.approx(case["expected"], abs=TOLERANCE), case


# ranx. Its test: our metric, and by how much ours is multiplied.
RANX = {
    "test_hits_single": ("precision@5", 5),  # hits@5 is their number
    "test_hits_parallel": ("precision@5", 5),
    "test_hit_rate_single": ("hit@5", 1),
    "test_hit_rate_parallel": ("hit@5", 1),
    "test_precision_single": ("precision@5", 1),
    "test_average_precision": ("ap@6", 1),
    "test_reciprocal_rank_single": ("mrr@5", 1),
    "test_reciprocal_rank_single_no_match": ("mrr@5", 1),
    "test_reciprocal_rank_parallel": ("mrr@5", 1),
    "test_r_precision_single": ("rprec", 1),
    "test_r_precision_parallel": ("rprec", 1),
    "test_recall_single": ("recall@2", 1),
    "test_recall_parallel": ("recall@2", 1),
}


def test_every_case_of_ranx_is_listed() -> None:
    assert [case["test"] for case in expected_of("ranx")["cases"]] == list(RANX)


@pytest.mark.parametrize("test", [pytest.param(test, id=f"{test} is {ours[0]}") for test, ours in RANX.items()])
def test_ranx(test: str, tmp_path: Path) -> None:
    """All scores are alike there, and the lists stand in the order in which they are written; some repeat an id."""
    (case,) = (case for case in expected_of("ranx")["cases"] if case["test"] == test)
    judged, retrieved = (
        {f"q{number}": pairs for number, pairs in enumerate(value)}
        for key, value in case.items()
        if key.startswith("y_")
    )
    gold = gold_from(
        {query_id: {str(doc): gain for doc, gain in pairs} for query_id, pairs in judged.items()}, tmp_path
    )
    lines = [json.dumps({"query_id": q, "topk": [str(doc) for doc, _ in pairs]}) for q, pairs in retrieved.items()]
    (tmp_path / "run.jsonl").write_text("\n".join(lines), encoding="utf-8")
    metric, times = RANX[test]
    found = found_by(metric, gold, list(read_run((tmp_path / "run.jsonl").as_posix()).rankings))
    assert times * sum(found.values()) / len(found) == pytest.approx(case["expected_mean"], abs=TOLERANCE)


@pytest.mark.parametrize("form", ["json", "trec"])
def test_files_of_ranx(form: str) -> None:
    qrels, run = (json.loads((DATA / f"ranx.{name}.json").read_text(encoding="utf-8")) for name in ("qrels", "run"))
    gold = read_gold((DATA / f"ranx.qrels.{form}").as_posix())
    rankings = read_run((DATA / f"ranx.run.{form}").as_posix()).rankings
    assert {query_id: sample.gains for query_id, sample in gold.samples.items()} == qrels
    assert {ranking.query_id: ranking.ids for ranking in rankings} == {
        query_id: list(docs) for query_id, docs in run.items()
    }
