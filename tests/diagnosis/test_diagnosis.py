"""What to look at first: each cause where the lists prove it, and only what is known where they do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from tests.gates.deciding import decide

from rankgate.cli import main
from rankgate.criteria import Gate
from rankgate.diagnosis.findings import diagnose
from rankgate.diagnosis.listings import Listings, RunLists, listings_of, oddities_of
from rankgate.metrics.base import BaseMetric, Metric, RelevanceMetric
from rankgate.metrics.matching import BY_CHUNK, By, Matching
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ScoredRun
from rankgate.metrics.scoring import score
from rankgate.metrics.tags import TagShare, common_tags
from rankgate.model.report import Diagnosis, Oddities
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Evidence, Gold, Ranking, Sample
from rankgate.readers.base import Run
from rankgate.readers.formats import read_run

COUNT, LENGTH = 30, 20
WORSE = 12  # of them
Lists = Mapping[str, Ranking]
Change = Callable[[list[str]], list[str]]


def gate(metric: str | Metric, *, drop: float = 0.03, severity: Literal["error", "warning"] = "error") -> Gate:
    known = parse_metric(metric) if isinstance(metric, str) else metric
    return Gate(name=known.name, metric=known, threshold=None, regression_max=drop, severity=severity, line=1)


def gold(tags: Callable[[int], Sequence[str]] = lambda _: ()) -> Gold:
    samples = [
        Sample(query_id=f"q{index}", gains={f"d{index}": 1.0}, tags=tuple(tags(index))) for index in range(COUNT)
    ]
    return Gold(samples={each.query_id: each for each in samples}, name="gold.yaml", format="yaml", fingerprint="")


def ids_of(index: int, length: int = LENGTH) -> list[str]:
    """The relevant document first, then others that further questions have too."""
    others = [f"n{(index * 7 + rank) % 97}" for rank in range(1, length)]
    return [f"d{index}", *others]


def lists(change: Change | None = None, *, of: int = WORSE, length: int = LENGTH, **details: object) -> Lists:
    """A list a question; those of the first questions changed."""
    made: dict[str, Ranking] = {}
    for index in range(COUNT):
        ids = ids_of(index, length)
        changed = change(ids) if change and index < of else ids
        made[f"q{index}"] = Ranking(f"q{index}", changed, 0, Details(**details) if details else None)  # type: ignore[arg-type]
    return made


def found(now: Lists, before: Lists, *gates: Gate, asked: Gold | None = None, read: bool = True) -> list[Diagnosis]:
    """The steps of a check up to the diagnosis."""
    known = asked or gold()
    plan = Plan(metrics=[each.metric for each in gates], keep_matched=True)
    candidate, baseline = (score(known, run.values(), plan) for run in (now, before))
    results = [decide(each, candidate, baseline) for each in gates]
    runs = [
        ScoredRun(Run(name="run", format="jsonl", rankings=iter(())), scores, [*rankings.values()] if read else None)
        for scores, rankings in ((candidate, now), (baseline, before))
    ]
    return diagnose(known, plan.metrics, results, candidate, baseline, RunLists(known, plan, *runs))


def rules(told: Sequence[Diagnosis]) -> list[str]:
    return [each.rule for each in told]


RECALL, MRR = gate("recall@5"), gate("mrr")


def moved_to(rank: int) -> Change:
    return lambda ids: [*ids[1:rank], ids[0], *ids[rank:]]


def lost(ids: list[str]) -> list[str]:
    """The document is gone and one from elsewhere, which other questions have too, stands in its place."""
    return [f"n{(int(ids[0][1:]) * 7 + 50) % 97}", *ids[1:]]


@pytest.mark.parametrize(
    ("change", "length", "expected"),
    [
        pytest.param(moved_to(9), LENGTH, "order", id="the same documents in another order"),
        pytest.param(lambda ids: ids[::-1], LENGTH, "order", id="in reverse"),
        pytest.param(lambda ids: ids[1:], LENGTH, "dropped", id="one is missing"),
        pytest.param(lambda ids: [*ids[1:], "n96"], LENGTH, "dropped", id="one is missing and the next comes up"),
        pytest.param(lambda ids: ids[1:], 7, "known", id="missing from a list too short to tell where it went"),
        pytest.param(
            lambda ids: [f"new-{ids[0]}-{n}" for n in range(6)] + ids, LENGTH, "added", id="new ones above it"
        ),
        pytest.param(lambda ids: [f"v2/{ids[0]}", *ids[1:]], LENGTH, "stale_ids", id="another id at its place"),
        pytest.param(lambda ids: ["v2", *ids[1:]], LENGTH, "known", id="one id at all their places"),
        pytest.param(lambda _: [], LENGTH, "no_results", id="nothing"),
        pytest.param(lost, LENGTH, "known", id="another document at its place"),
    ],
)
def test_what_the_lists_show(change: Change, length: int, expected: str) -> None:
    told = found(lists(change, length=length), lists(length=length), RECALL)
    assert rules(told)[0] == expected


def test_lists_that_end_early() -> None:
    def late(ids: list[str]) -> list[str]:
        return [*ids[1:5], ids[0], *ids[5:]]

    before = lists(late, of=COUNT)
    now = {query: Ranking(query, ranking.ids[:3]) for query, ranking in before.items()}
    assert found(now, before, RECALL)[0].finding == (
        "the length of the lists: all 30 questions that got worse return only the beginning of the baseline's lists "
        "(by chance 0 of 30)"
    )


def test_lists_of_other_questions() -> None:
    before = lists()
    queries = list(before)
    now = {
        query: Ranking(query, before[other].ids)
        for query, other in zip(queries, [*queries[3:], *queries[:3]], strict=True)
    }
    assert rules(found(now, before, RECALL))[0] == "mixed_up"


def test_a_list_that_several_questions_had_is_of_none() -> None:
    first = list(lists())[:3]
    before = {**lists(), **{query: Ranking(query, ["popular"]) for query in first}}
    now = {query: Ranking(query, ["popular"]) for query in before}
    assert "mixed_up" not in rules(found(now, before, RECALL))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(ids_of, "reranker", id="there before reranking, as before"),
        pytest.param(lambda index: ids_of(index)[::-1], "known", id="there, but far down"),
        pytest.param(lambda index: ids_of(index)[1:], "known", id="not there"),
    ],
)
def test_the_list_before_reranking_says_what_was_retrieved(raw: Callable[[int], list[str]], expected: str) -> None:
    """No gate reads it, and the final lists alone tell nothing."""
    before = {
        query: Ranking(query, ranking.ids[:10], 0, Details(raw=Ranking(query, ranking.ids)))
        for query, ranking in lists().items()
    }
    now = {
        f"q{index}": Ranking(
            f"q{index}", [f"x{index % 4}", *ids_of(index)[3:12]], 0, Details(raw=Ranking("", raw(index)))
        )
        for index in range(COUNT)
    }
    assert rules(found(now, before, RECALL))[0] == expected


def test_a_cause_needs_an_interval_that_excludes_zero() -> None:
    """Two of thirty fell by the order, and that may be chance."""
    told = found(lists(moved_to(9), of=2), lists(), RECALL)
    assert rules(told) == ["known"]
    assert told[0].finding == (
        "both questions that got worse still list their relevant documents, but one fell below the first 5"
    )


def test_a_cause_needs_more_than_half_of_what_got_worse() -> None:
    halves = iter([*[moved_to(9)] * 6, *[lost] * 6])

    def by_turns(ids: list[str]) -> list[str]:
        return next(halves)(ids)

    assert rules(found(lists(by_turns), lists(), RECALL)) == []


def test_a_cause_needs_more_than_chance_gives() -> None:
    """Every list has all documents of a small collection, so that any two differ by their order alone."""
    documents = [f"d{index}" for index in range(COUNT)]
    asked = gold()

    def whole(first: int, index: int) -> Ranking:
        rest = [doc for doc in documents if doc != f"d{index}"]
        return Ranking(f"q{index}", [*rest[:first], f"d{index}", *rest[first:]])

    before = {f"q{index}": whole(0, index) for index in range(COUNT)}
    now = {f"q{index}": whole(12 if index < WORSE else 0, index) for index in range(COUNT)}
    assert rules(found(now, before, RECALL, asked=asked)) == ["known"]


@pytest.mark.parametrize("few", [9, 10])
def test_stale_ids_are_ten_at_least(few: int) -> None:
    told = found(lists(lambda ids: [f"v2/{ids[0]}", *ids[1:]], of=few), lists(), RECALL)
    assert rules(told)[0] == ("stale_ids" if few == 10 else "known")


def test_stale_ids_need_lists_of_one_length() -> None:
    shorter = lists(lambda ids: [f"v2/{ids[0]}", *ids[1:15]], of=COUNT)
    assert rules(found(shorter, lists(), RECALL))[0] == "known"


def test_stale_ids_are_named_although_the_gate_holds_and_nothing_else_is() -> None:
    loose = gate("recall@5", drop=0.9)
    assert rules(found(lists(lambda ids: [f"v2/{ids[0]}", *ids[1:]]), lists(), loose)) == ["stale_ids"]
    assert rules(found(lists(moved_to(9)), lists(), loose)) == []


def test_documents_cut_into_other_chunks() -> None:
    """The chunks stand elsewhere in the list, under ids that the baseline never returned."""

    def chunks(run: Lists, name: str) -> Lists:
        return {
            query: Ranking(query, [f"{doc}#{name}" if doc[0] == "d" else doc for doc in ranking.ids])
            for query, ranking in run.items()
        }

    samples = {f"q{index}": Sample(query_id=f"q{index}", gains={f"d{index}#1": 1.0}) for index in range(COUNT)}
    asked = Gold(samples=samples, name="gold.yaml", format="yaml", fingerprint="")
    now = chunks(lists(moved_to(3), of=COUNT), "w30")
    assert rules(found(now, chunks(lists(), "1"), RECALL, asked=asked))[0] == "stale_ids"


def test_without_lists_there_is_only_what_is_known() -> None:
    assert rules(found(lists(moved_to(9)), lists(), RECALL, read=False)) == ["known"]


def spanish(index: int) -> list[str]:
    return ["lang:es"] if index < WORSE else ["lang:en"]


def test_the_tag_that_all_of_them_have() -> None:
    told = found(lists(lost), lists(), RECALL, asked=gold(spanish))
    assert rules(told) == ["one_tag", "known"]
    assert told[0].finding == "all 12 questions that got worse are tagged {tag} (40% of the gold set)"
    assert told[0].evidence == {"worse": 12, "tag": "lang:es", "having_tag": 12, "tagged": 12, "questions": 30}


def test_a_cause_names_the_tag_too() -> None:
    told = found(lists(moved_to(9)), lists(), RECALL, asked=gold(spanish))
    assert told[0].finding == (
        "the order of the results, such as a reranker or the sorting: all 12 questions that got worse return the same "
        "documents as before in another order (by chance 0 of 30); all of them are tagged {tag} (40% of the gold set)"
    )


def test_results_that_are_missing_are_said_before_the_tag() -> None:
    told = found(lists(lambda _: []), lists(), RECALL, asked=gold(spanish))
    assert told[0].finding == (
        "all 12 questions that got worse return no results now; all of them are tagged {tag} (40% of the gold set)"
    )


def test_no_text_of_the_inputs_is_in_a_finding() -> None:
    told = found(lists(lost), lists(), RECALL, asked=gold(lambda index: ["@all"] if index < WORSE else []))
    assert told[0].evidence["tag"] == "@all"
    assert "@all" not in told[0].finding


@pytest.mark.parametrize(
    ("some", "others", "expected"),
    [
        pytest.param({"es": 12}, {"en": 18}, ["es"], id="all of them, and nobody else"),
        pytest.param({"es": 12}, {"es": 18}, [], id="everybody has it"),
        pytest.param({"es": 2}, {"es": 3, "en": 25}, [], id="two may be chance"),
        pytest.param({"es": 6, "en": 6}, {"es": 2, "en": 16}, [], id="half of them"),
        pytest.param({"es": 8, "en": 4}, {"es": 4, "en": 14}, [], id="likely among several tags"),
    ],
)
def test_a_tag_stands_out_beyond_chance(some: dict[str, int], others: dict[str, int], expected: list[str]) -> None:
    drawn = [[tag] for tag, count in some.items() for _ in range(count)]
    every = [*drawn, *([tag] for tag, count in others.items() for _ in range(count))]
    told = common_tags(drawn, every)
    assert [each.tag for each in told] == expected
    if expected:
        assert told[0] == TagShare(tag="es", misses=12, of_misses=12, questions=12, of_questions=30)


class Found(RelevanceMetric, frozen=True, kw_only=True):
    """A plug-in's metric: whether anything relevant is among the first."""

    key: ClassVar[str] = "acme_found"
    plain: ClassVar[str] = "share of questions with something relevant in {first}"
    formula: ClassVar[str] = "any hit"

    def per_query(self, query: MatchedQuery) -> float | None:
        return float(bool(self.ranks(query))) if query.ideal else None


def test_a_plugin_metric_is_diagnosed_like_ours() -> None:
    metric: BaseMetric = Found(cutoff=5)
    assert rules(found(lists(moved_to(9)), lists(), gate(metric)))[0] == "order"


def test_a_metric_of_another_list_is_not() -> None:
    raw = gate("recall(stage=raw)@5")
    before = {query: Ranking(query, ["x"], 0, Details(raw=ranking)) for query, ranking in lists().items()}
    now = {query: Ranking(query, ["x"], 0, Details(raw=ranking)) for query, ranking in lists(moved_to(9)).items()}
    assert found(now, before, raw) == []


def timed(retrieve: float, rerank: float | None, **others: float) -> Lists:
    stages = {"retrieve": retrieve, **others} | ({"rerank": rerank} if rerank is not None else {})
    return lists(length=5, latency_ms=stages)


@pytest.mark.parametrize(
    ("metric", "now", "before", "stage"),
    [
        pytest.param("latency", timed(10, 40), timed(10, 20), "rerank", id="rerank takes longer"),
        pytest.param("latency(quantile=0.5)", timed(40, 21), timed(10, 20), "retrieve", id="retrieve takes longer"),
        pytest.param("latency", timed(20, 30), timed(10, 20), None, id="both"),
        pytest.param("latency", timed(40, None), timed(10, None), None, id="there is but one stage"),
        pytest.param("latency", timed(10, 22, embed=200), timed(10, 20, embed=5), None, id="another has it"),
        pytest.param("latency(stage=rerank)", timed(10, 40), timed(10, 20), None, id="the gate says it already"),
    ],
)
def test_the_stage_that_takes_longer(metric: str, now: Lists, before: Lists, stage: str | None) -> None:
    told = found(now, before, gate(metric, drop=5.0))
    assert [each.finding.split(" is slower")[0] for each in told] == ([f"the {stage} stage"] if stage else [])


def test_a_stage_that_is_slower_for_half_of_the_questions_only_is_not_named() -> None:
    before = timed(10, 20)
    now = {
        query: Ranking(
            query, ranking.ids, 0, Details(latency_ms={"retrieve": 10.0, "rerank": 300.0 if n % 2 else 19.0})
        )
        for n, (query, ranking) in enumerate(before.items())
    }
    assert found(now, before, gate("latency", drop=5.0)) == []


def test_what_blocks_is_explained_before_what_warns() -> None:
    slow = lists(moved_to(9), latency_ms={"retrieve": 10.0, "rerank": 40.0})
    told = found(
        slow,
        lists(latency_ms={"retrieve": 10.0, "rerank": 20.0}),
        gate("recall@5", severity="warning"),
        gate("latency", drop=5.0),
    )
    assert rules(told) == ["latency_stage", "order", "known"]


def test_what_could_not_be_proven_is_not_explained() -> None:
    doubtful = RECALL.model_copy(update={"evidence": Evidence.PROVEN_HARM})
    assert found(lists(moved_to(9), of=2), lists(), doubtful) == []


def read(*rankings: Ranking) -> Listings | None:
    plan = Plan(metrics=[])
    run = Run(name="run", format="jsonl", rankings=iter(()))
    return listings_of(gold(), plan, ScoredRun(run, score(gold(), rankings, plan), rankings), detailed=True)


@pytest.mark.parametrize(
    ("scores", "rises"),
    [
        pytest.param((0.1, 0.2, 0.3, 0.4, 0.5), True, id="from rank to rank"),
        pytest.param((0.5, 0.4, 0.3, 0.2, 0.1), False, id="fall"),
        pytest.param((1.0, 1.0, 1.0, 1.0, 1.0), False, id="all alike"),
        pytest.param((0.1, 0.2, 0.3), False, id="three, which rise by accident"),
    ],
)
@pytest.mark.parametrize("extra", [{}, {"raw_topk": ["x"]}, {"latency_ms": {"total": 3}}, {"id": "other"}])
@pytest.mark.parametrize("ranked", [True, False])
def test_lists_whose_scores_rise_are_named(
    scores: tuple[float, ...], extra: Mapping[str, object], tmp_path: Path, *, rises: bool, ranked: bool
) -> None:
    items = [{"chunk_id": f"d{n}", "score": score} for n, score in enumerate(scores)]
    items = [each | {"rank": n} for n, each in enumerate(items, start=1)] if ranked else items
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({"query_id": "q1", "topk": items, **extra}) + "\n")
    quick = read_run(str(path)).quick
    assert quick is not None
    with quick.opened() as reading:
        assert reading is not None
        for rankings in (read_run(str(path)).rankings, reading[0]):
            named = oddities_of(gold(), BY_CHUNK, (read(*rankings), None))
            assert (named is not None and named.rising_queries == ["q1"]) is rises


def test_gold_ids_that_no_list_of_any_run_holds_are_named() -> None:
    now = read(Ranking("q0", [f"d{n}" for n in range(20)]))
    before = read(Ranking("q1", ["d20", "d21"]), Ranking("not in the gold", ["d22"]))
    assert oddities_of(gold(), BY_CHUNK, (now, before)) == Oddities(
        never_returned=7,
        relevant=30,
        examples=["d23", "d24", "d25"],
        rising=0,
        lists=1,
        rising_queries=[],
        long_lists=1,
    )
    assert oddities_of(gold(), Matching(by=By.TEXT), (now, before)) is None
    assert oddities_of(gold(), BY_CHUNK, (None, before)) is None


def test_matched_by_document_a_chunk_returns_its_document() -> None:
    now = read(Ranking("q0", [f"d{n}#4" for n in range(COUNT)]))
    assert oddities_of(gold(), Matching(by=By.DOC), (now, None)) is None


FLOOR = """
- {name: recall@2, threshold: 0.1, segments: [{by: [lang], threshold: 0.8, min_queries: 1}]}
- {name: mrr, threshold: 0.1, segments: [{by: [lang, topic], threshold: 0.8, min_queries: 1}]}
"""


def test_a_floor_broken_in_a_segment_says_where_the_documents_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lists = {"en1": ["a", "x"], "en2": ["a"], "es1": ["x", "y", "a"], "es2": ["x", "y"], "es3": [], "es4": ["a"]}
    tags = {query: [f"lang:{query[:2]}", "topic:t × u"] for query in lists}
    samples = [
        {"id": query, "expected_output": ["a"], "metadata": {"tags": tags[query], "source": ["s"]}} for query in tags
    ]
    Path("gold.json").write_text(json.dumps(samples))
    lines = [{"query_id": query, "topk": ids, "source": ["t"]} for query, ids in lists.items()]
    Path("run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    Path("ship-criteria.yaml").write_text(f"inputs: {{gold: gold.json, run: run.jsonl}}\ngates:{FLOOR}")
    assert main(["check", "-o", "report.json"]) == 1
    report = json.loads(Path("report.json").read_text())
    first = report["diagnosis"][0]
    places = "1 without a result, 1 without it in the list, 1 with it below the first 2"
    said = f"3 of the 4 questions tagged {{tag}} miss a relevant document: {places}"
    assert (first["rule"], first["finding"]) == ("below_floor", said)
    assert first["evidence"] | {"tag": "lang:es", "questions": 4, "misses": 3, "lower": 1} == first["evidence"]
    assert len(report["diagnosis"]) == 1, "of the questions of the conclusion, and no others"
    [es] = [each["metrics"]["recall@2"] for each in report["segments"] if each["value"] == "es"]
    assert es["value"] == 0.25
    assert es["ci"][0] < 0.25 < es["ci"][1]
    with Path("ship-criteria.yaml").open("a") as criteria:
        criteria.write("- {name: source_coverage, threshold: 0, severity: warning}\n")
    assert main(["check", "-o", "report.json"]) == 1
    first = json.loads(Path("report.json").read_text())["diagnosis"][0]
    assert first["finding"] == f"{said}; 3 went to other sources only"


@pytest.mark.parametrize(
    ("metric", "findings"),
    [
        pytest.param("precision(of=retrieved)@all", [], id="found at the eighth rank, among too many others"),
        pytest.param(
            "mrr", ["1 of the 1 question misses a relevant document: all with it below the first 5"], id="found too low"
        ),
    ],
)
def test_what_is_anywhere_in_the_list_is_not_missed_by_a_metric_of_all_of_it(
    metric: str, findings: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.json").write_text('{"q": ["a"]}')
    Path("run.jsonl").write_text(json.dumps({"query_id": "q", "topk": [*"1234567a"]}))
    criteria = f"inputs: {{gold: gold.json, run: run.jsonl}}\ngates: [{{name: {metric}, threshold: 0.5}}]\n"
    Path("ship-criteria.yaml").write_text(criteria)
    assert main(["check", "-o", "report.json"]) == 1
    assert [each["finding"] for each in json.loads(Path("report.json").read_text()).get("diagnosis", [])] == findings
