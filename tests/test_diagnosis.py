"""What to look at first: for every rule the numbers with which it holds, and those with which it keeps silent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from rankgate.criteria import Gate
from rankgate.diagnosis import diagnose
from rankgate.gates import decide
from rankgate.metrics.names import parse_metric
from rankgate.model import Details, Gold, Item, Ranking, Sample
from rankgate.movements import leading_metric, movements
from rankgate.plan import Plan
from rankgate.playbook import RULES
from rankgate.report import Diagnosis
from rankgate.scoring import score
from rankgate.staleness import lost_ids

COUNT = 20
Place = Callable[[int], int | None]  # the rank of the right document of the n-th question; None where it is not found
Lists = Mapping[str, Ranking]


def gate(metric: str, *, floor: float | None = None, drop: float | None = None, blocks: bool = True) -> Gate:
    return Gate(name=metric, metric=parse_metric(metric), threshold=floor, regression_max=drop, blocks=blocks, line=1)


def gold(tags: Callable[[int], Sequence[str]] = lambda _: (), as_of: str | None = None) -> Gold:
    samples = [
        Sample(query_id=f"q{index}", gains={f"d{index}#1": 1.0}, tags=tuple(tags(index)), as_of=as_of)
        for index in range(COUNT)
    ]
    return Gold(samples={each.query_id: each for each in samples}, name="gold.yaml", format="yaml", fingerprint="")


def listed(place: Place, *, length: int = 50, instead: str = "x{}", **details: object) -> Lists:
    """A list a question, in which the right document stands at its place and others everywhere else."""
    made: dict[str, Ranking] = {}
    for index in range(COUNT):
        ids = [f"n{index}-{rank}#1" for rank in range(length)]
        rank = place(index)
        if rank is None:
            ids[:1] = [instead.format(index)] if ids else []
        else:
            ids[rank - 1] = f"d{index}#1"
        made[f"q{index}"] = Ranking(f"q{index}", ids, 0, Details(**details) if details else None)  # type: ignore[arg-type]
    return made


def found(now: Lists, before: Lists | None, *gates: Gate, asked: Gold | None = None) -> list[Diagnosis]:
    """The steps of a check up to the diagnosis."""
    known = asked or gold()
    plan = Plan(metrics=[each.metric for each in gates], keep_matched=True)
    candidate = score(known, now.values(), plan)
    baseline = score(known, before.values(), plan) if before else None
    results = [decide(each, candidate, baseline) for each in gates]
    leading = leading_metric(gates, results)
    moved = movements(known, leading, candidate, baseline) if baseline and leading else []
    lost = lost_ids(plan, candidate, baseline, now.values) if baseline else None
    return diagnose(plan.metrics, results, candidate, baseline, moved, lost)


def rules(told: Sequence[Diagnosis]) -> list[str]:
    return [each.rule for each in told]


def first(_: int) -> int:
    return 1


def some(count: int, place: int | None, otherwise: int | None = 1) -> Place:
    """The first `count` questions have their document here, the others there."""
    return lambda index: place if index < count else otherwise


RECALL, MRR = gate("recall@5", drop=0.03), gate("mrr", drop=0.03)


@pytest.mark.parametrize(
    ("gates", "now", "before", "expected"),
    [
        pytest.param([RECALL], listed(some(6, 9)), listed(first), ["reranker_or_small_k"], id="deep recall holds"),
        pytest.param([RECALL], listed(some(6, None)), listed(first), ["index_or_chunking"], id="gone far down as well"),
        pytest.param(
            [RECALL],
            listed(lambda index: None if index < 2 else 9 if index < 6 else 1),
            listed(first),
            [],
            id="a third gone, two thirds too low: neither is said",
        ),
        pytest.param([MRR], listed(some(6, 3)), listed(first), ["buried_evidence"], id="found, lower down"),
        pytest.param([MRR], listed(some(6, 9)), listed(first), ["reranker_or_small_k"], id="below the first 5"),
        pytest.param(
            [gate("ndcg@10", drop=0.03)], listed(some(6, 9)), listed(first), ["buried_evidence"], id="its own k"
        ),
        pytest.param(
            [RECALL], listed(some(6, None), length=8), listed(first, length=8), [], id="lists too short to tell"
        ),
        pytest.param([RECALL], listed(first), listed(first), [], id="nothing is violated"),
        pytest.param([RECALL], listed(first), listed(some(6, 9)), [], id="better"),
    ],
)
def test_what_a_drop_shows(gates: Sequence[Gate], now: Lists, before: Lists, expected: Sequence[str]) -> None:
    assert rules(found(now, before, *gates)) == expected


FLOOR = gate("recall@5", floor=0.9)


@pytest.mark.parametrize(
    ("gates", "now", "expected"),
    [
        pytest.param([FLOOR], listed(some(6, 9)), ["reranker_or_small_k"], id="all retrieved, many too low"),
        pytest.param([FLOOR], listed(some(10, None)), ["index_or_chunking"], id="half are not retrieved at all"),
        pytest.param([FLOOR], listed(some(4, None)), [], id="in between nothing is said"),
        pytest.param([gate("mrr", floor=0.7)], listed(some(20, 3)), ["buried_evidence"], id="found, rarely first"),
        pytest.param([gate("precision@5", floor=0.5)], listed(first), ["clutter"], id="found among many others"),
        pytest.param([gate("precision@5", floor=0.5)], listed(some(10, None)), ["index_or_chunking"], id="not found"),
        pytest.param([gate("recall@5", floor=0.1)], listed(some(6, 9)), [], id="the floor holds"),
    ],
)
def test_what_a_floor_shows(gates: Sequence[Gate], now: Lists, expected: Sequence[str]) -> None:
    assert rules(found(now, None, *gates)) == expected


def test_longer_lists_with_as_much_in_them_are_clutter() -> None:
    precise = gate("precision(of=retrieved)@5", drop=0.03)
    assert rules(found(listed(first, length=5), listed(first, length=2), precise)) == ["clutter"]


def test_the_finding_has_its_numbers() -> None:
    told = found(listed(some(6, 9)), listed(first), RECALL)[0]
    assert told.finding == (
        "the reranker, or a small k: recall@50 holds (100.0% → 100.0%) while recall@5 fell (100.0% → 70.0%); the right "
        "documents are retrieved, and end up too low"
    )
    assert told.evidence == {
        "questions": 20,
        "recall@5": 0.7,
        "recall@50": 1.0,
        "mrr": pytest.approx(0.7 + 0.3 / 9),
        "results": 50.0,
        "recall@5_before": 1.0,
        "recall@50_before": 1.0,
        "mrr_before": 1.0,
        "results_before": 50.0,
    }


def test_the_raw_list_says_what_was_retrieved() -> None:
    raw = gate("recall(stage=raw)@50", drop=0.5)

    def reranked(place: Place) -> Lists:
        return {
            query: Ranking(query, ranking.ids[:5], 0, Details(raw=listed(first)[query]))
            for query, ranking in listed(place).items()
        }

    told = found(reranked(some(6, 9)), reranked(first), RECALL, raw)
    assert rules(told) == ["reranker_or_small_k"]
    assert "raw recall@50 holds" in told[0].finding


def spanish(index: int) -> list[str]:
    return ["lang:es"] if index < 6 else ["lang:en"]


@pytest.mark.parametrize(
    ("now", "tags", "expected"),
    [
        pytest.param(some(6, 9), spanish, True, id="all that lost, and nobody else"),
        pytest.param(some(6, 9), lambda _: ["lang:es"], False, id="everybody has it"),
        pytest.param(some(4, 9), spanish, False, id="four may be chance"),
        pytest.param(lambda index: 9 if index % 2 else 1, spanish, False, id="spread over both"),
    ],
)
def test_one_part_of_the_questions(now: Place, tags: Callable[[int], Sequence[str]], *, expected: bool) -> None:
    told = found(listed(now), listed(first), RECALL, asked=gold(tags))
    assert ("one_tag" in rules(told)) is expected
    if expected:
        assert told[0].finding == "one part of the questions: all 6 that lost share a tag that 30.0% of all have"
        assert told[0].evidence == {"tag": "lang:es", "worse": 6, "worse_in_all": 6, "tagged": 6}


def test_no_text_of_the_inputs_is_in_a_finding() -> None:
    told = found(listed(some(6, 9)), listed(first), RECALL, asked=gold(lambda index: ["@all"] if index < 6 else []))
    assert told[0].evidence["tag"] == "@all"
    assert "@all" not in told[0].finding


@pytest.mark.parametrize("empty", [pytest.param(True, id="empty lists"), pytest.param(False, id="absent")])
def test_questions_without_any_result(*, empty: bool) -> None:
    now = {
        query: Ranking(query, []) if index < 6 else ranking
        for index, (query, ranking) in enumerate(listed(first).items())
        if index >= 6 or empty
    }
    told = found(now, listed(first), RECALL, MRR)
    assert told[0].rule == "no_results"
    assert told[0].finding == "the run itself: of 6 questions that lost, 6 have no result now"
    if not empty:
        assert rules(told) == ["no_results"], "what is there is as good as before"
    assert rules(found(now, None, FLOOR))[0] == "no_results"


def test_the_chunker_split_the_facts() -> None:
    """The ids are still found elsewhere, so the gold set is not stale."""
    now = dict(listed(some(6, None), instead="d{}#2"))
    now["q19"] = Ranking("q19", ["d19#1", *(f"d{index}#1" for index in range(6)), *now["q19"].ids[7:]])
    told = found(now, listed(first), RECALL)
    assert rules(told) == ["chunker", "index_or_chunking"]
    assert told[0].finding == (
        "the chunker: of 6 right chunks that the lists lost, 6 have another chunk of their document there; the "
        "documents are found, the facts in them are not"
    )


def test_stale_ids_come_first() -> None:
    told = found(listed(some(6, None), instead="d{}#2"), listed(first), RECALL)
    assert told[0].rule == "stale_ids"
    assert told[0].evidence == {"found_before": 20, "gone": 6, "example": "d0#1"}


def test_stale_ids_are_said_although_every_gate_passes() -> None:
    loose = gate("recall@5", drop=0.5)
    assert rules(found(listed(some(6, None), instead="d{}#2"), listed(first), loose)) == ["stale_ids"]


def timed(retrieve: float, rerank: float | None) -> Lists:
    stages = {"retrieve": retrieve} | ({"rerank": rerank} if rerank is not None else {})
    return listed(first, length=5, latency_ms=stages)


@pytest.mark.parametrize(
    ("metric", "now", "before", "stage"),
    [
        pytest.param("latency", timed(10, 40), timed(10, 20), "rerank", id="rerank takes longer"),
        pytest.param("latency(quantile=0.95)", timed(40, 21), timed(10, 20), "retrieve", id="retrieve takes longer"),
        pytest.param("latency", timed(20, 30), timed(10, 20), None, id="both"),
        pytest.param("latency", timed(40, None), timed(10, None), None, id="there is but one stage"),
        pytest.param("latency(stage=rerank)", timed(10, 40), timed(10, 20), None, id="the gate says it already"),
    ],
)
def test_the_stage_that_takes_longer(metric: str, now: Lists, before: Lists, stage: str | None) -> None:
    told = found(now, before, gate(metric, drop=5.0))
    assert [each.finding.split(":")[0] for each in told] == ([f"the {stage} stage"] if stage else [])


def test_the_stage_that_takes_most_of_the_time() -> None:
    told = found(timed(10, 40), None, gate("latency", floor=30.0))
    assert [each.finding for each in told] == [
        "the rerank stage: on average rerank takes 40.0 ms; retrieve takes 10.0 ms"
    ]


def versions(*stated: str | None) -> Lists:
    return {
        f"q{index}": Ranking(f"q{index}", list("abc"), 0, Details(items=[Item(version=each) for each in stated]))
        for index in range(COUNT)
    }


@pytest.mark.parametrize(
    ("now", "finding"),
    [
        pytest.param(
            versions("2025-01-01", "2025-09-09", "2025-09-09"),
            "the filter by date: 40 of 60 results are of a version after the day asked about",
            id="too late",
        ),
        pytest.param(
            versions("2025-01-01", None, None),
            "how the index states versions: 40 of 60 results have no `doc_version`",
            id="not stated",
        ),
    ],
)
def test_results_that_are_not_fresh(now: Lists, finding: str) -> None:
    told = found(now, None, gate("freshness@5", floor=0.9), asked=gold(as_of="2025-06-01"))
    assert [each.finding for each in told] == [finding]


def test_what_blocks_is_explained_before_what_warns() -> None:
    slower = timed(10, 40)
    now = {query: Ranking(query, ["x"], 0, ranking.details) for query, ranking in slower.items()}
    lower, slow = gate("recall@1", drop=0.03, blocks=False), gate("latency", drop=5.0)
    assert rules(found(now, timed(10, 20), lower, slow)) == ["latency_stage"]
    moved = {query: Ranking(query, [*"ab", *ranking.ids], 0, ranking.details) for query, ranking in slower.items()}
    both = found(moved, timed(10, 20), lower, slow)
    assert rules(both) == ["latency_stage", "reranker_or_small_k"]


def test_rules_have_names_of_their_own() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
