"""Which queries a reader should look at: whose documents moved, who lost and who won, in what order, and how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import pytest
from msgspec.structs import replace
from tests.gate_rows import scores_of
from tests.gates.deciding import decide
from tests.renderers.reports import RECALL

from rankgate.criteria import Gate
from rankgate.diagnosis.movements import MAX_LISTED, movements, movements_to_list
from rankgate.gates.results import leading_metric, losers
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.details import Expected
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Movement
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Ranking, Sample

SAMPLES = {"q1": {"a": 1.0}, "q2": {"b": 3.0, "c": 1.0}, "q3": {"d": 1.0, "e": 0.0, "f": -1.0}, "none": {}}
ACCEPTED = {"q1": "a x", "q2": "b c x", "q3": "x d", "none": "x"}


def gold(samples: Mapping[str, Mapping[str, float]] = SAMPLES, *, k: int | None = None) -> Gold:
    made = {
        query_id: Sample(query_id=query_id, gains=gains, question=f"what is {query_id}?", tags=("lang:en",), k=k)
        for query_id, gains in samples.items()
    }
    return Gold(samples=made, name="gold.yaml", format="yaml", fingerprint="")


def scored(asked: Gold, lists: Mapping[str, str], metrics: str = "recall@5") -> Scores:
    rankings = [Ranking(query_id, ids.split()) for query_id, ids in lists.items()]
    return score(asked, rankings, Plan(metrics=parse_metrics(metrics), keep_matched=True))


def moved(
    now: Mapping[str, str], before: Mapping[str, str] = ACCEPTED, *, metric: str = "recall@5", asked: Gold | None = None
) -> list[Movement]:
    known = asked or gold()
    return movements(known, parse_metric(metric), scored(known, now, metric), scored(known, before, metric))


def brief(found: Sequence[Movement]) -> list[tuple[str, str, int, int]]:
    return [(each.query_id, "worse" if each.worse else "better", each.lost, each.gained) for each in found]


@pytest.mark.parametrize(
    ("metric", "change", "expected"),
    [
        pytest.param("recall@5", {}, [], id="nothing moved"),
        pytest.param("recall@5", {"q1": "x a"}, [], id="a move within the first k does not change recall"),
        pytest.param("recall@5", {"q1": "x"}, [("q1", "worse", 1, 0)], id="lost"),
        pytest.param("recall@5", {"q1": "v w x y z a"}, [("q1", "worse", 1, 0)], id="below the first k is lost"),
        pytest.param("recall@1", {"q3": "d"}, [("q3", "better", 0, 1)], id="gained"),
        pytest.param("mrr", {"q1": "x a"}, [("q1", "worse", 0, 0)], id="a rank metric moves with the rank"),
        pytest.param("mrr", {"q3": "d x"}, [("q3", "better", 0, 0)], id="and up with it"),
        pytest.param("mrr", {"q2": "b x y z w c"}, [("q2", "worse", 1, 0)], id="level metric, one document lost"),
        pytest.param("recall@5", {"none": "a b c"}, [], id="a query without a relevant document has nothing to move"),
        pytest.param("recall@5", {"q3": "d e"}, [], id="judged and not relevant is no document to look for"),
    ],
)
def test_which_queries_moved(metric: str, change: dict[str, str], expected: list[tuple[str, str, int, int]]) -> None:
    assert brief(moved({**ACCEPTED, **change}, metric=metric)) == expected


def test_a_document_lost_for_another_gained_is_neither_better_nor_worse() -> None:
    found = moved({**ACCEPTED, "q2": "b x"}, {**ACCEPTED, "q2": "c x"})
    assert [(each.before, each.after, each.lost, each.gained) for each in found] in ([], [(0.5, 0.5, 1, 1)])
    assert [each for each in found if each.worse is False] == [], "a swap counts as better"


def test_a_movement_tells_all_that_there_is_to_tell() -> None:
    assert moved({**ACCEPTED, "q2": "x y b"}) == [
        Movement(
            query_id="q2",
            question="what is q2?",
            tags=["lang:en"],
            metric="recall@5",
            before=1.0,
            after=0.5,
            worse=True,
            k=5,
            lost=1,
            gained=0,
            documents=[Expected(id="b", gain=3.0, before=1, after=3), Expected(id="c", gain=1.0, before=2, after=None)],
        )
    ]


def test_only_relevant_documents_are_named() -> None:
    """The gold also judges `e` and `f`, as not relevant."""
    (found,) = moved({**ACCEPTED, "q3": "e f"})
    assert found.documents == [Expected(id="d", gain=1.0, before=2, after=None)]


def test_a_query_that_the_candidate_lacks_lost_all_its_documents() -> None:
    (found,) = moved({query_id: ids for query_id, ids in ACCEPTED.items() if query_id != "q2"})
    assert (found.query_id, found.after, found.lost) == ("q2", 0.0, 2)
    assert [doc.after for doc in found.documents] == [None, None]


def test_a_query_that_is_new_since_the_baseline_did_not_move() -> None:
    assert moved(ACCEPTED, {query_id: ids for query_id, ids in ACCEPTED.items() if query_id != "q2"}) == []


@pytest.mark.parametrize(
    ("metric", "sample_k", "k"),
    [
        pytest.param("recall@1", None, 1, id="the metric's number"),
        pytest.param("recall", 2, 2, id="the sample's k"),
        pytest.param("recall", None, 5, id="the default"),
        pytest.param("mrr", 2, 2, id="the whole list: the sample's k marks the first places"),
    ],
)
def test_the_first_places_are_the_metrics(metric: str, sample_k: int | None, k: int) -> None:
    found = moved({**ACCEPTED, "q1": "x"}, metric=metric, asked=gold(k=sample_k))
    assert [each.k for each in found] == [k]


ORDER = {
    "up": ("x", "a"),
    "just below": ("a x y z w", "x y z w u a"),
    "far below": ("a x y z w", "x y z w u v t s a"),
    "gone from rank 2": ("x a", "x y"),
    "gone from rank 1": ("a x", "y x"),
    "absent": ("x y a", None),
    "empty": ("a", ""),
}


@pytest.mark.parametrize(
    ("failing", "first"),
    [
        pytest.param(
            None, ["empty", "absent", "gone from rank 1", "gone from rank 2", "far below"], id="by fate, depth"
        ),
        pytest.param(
            "part:gone from rank 2",
            ["empty", "absent", "gone from rank 2", "gone from rank 1", "far below"],
            id="a failing segment first among its kind",
        ),
    ],
)
def test_no_result_comes_first_then_what_fell_out_then_what_fell_below(failing: str | None, first: list[str]) -> None:
    samples = {query: Sample(query_id=query, gains={"a": 1.0}, tags=(f"part:{query}",)) for query in ORDER}
    asked = Gold(samples=samples, name="gold.yaml", format="yaml")
    metric = parse_metric("recall@5")
    now, before = (
        scored(asked, {query: ids for query, lists in ORDER.items() if (ids := lists[place]) is not None})
        for place in (1, 0)
    )
    gates = [replace(RECALL, segment=failing)] if failing else []
    found = [each.query_id for each in movements(asked, metric, now, before, gates)]
    assert found == [*first, "just below", "up"]


def test_a_long_list_has_some_of_every_kind() -> None:
    lost = [Expected(id="d", gain=1.0, before=1, after=None)]
    gone = [replace(move, documents=lost) for move in listed(20, 0)]
    empty = [replace(move, query_id=f"empty {move.query_id}", no_result=True) for move in gone]
    found = movements_to_list([*empty, *gone], most=6)
    assert [each.no_result for each in found] == [True] * 3 + [False] * 3


Severity = Literal["error", "warning"]


def gate(metric: str, *, floor: float | None = None, drop: float | None = None, severity: Severity = "error") -> Gate:
    return Gate(
        name=metric, metric=parse_metric(metric), threshold=floor, regression_max=drop, severity=severity, line=None
    )


def results(gates: Sequence[Gate], values: Mapping[str, tuple[float, float]]) -> list[GateResult]:
    """What the gates say where each metric went from its first value to its second."""
    before, now = (scores_of(("q1",), {name: [pair[side]] for name, pair in values.items()}) for side in (0, 1))
    return [decide(each, now, before) for each in gates]


STEADY, DOWN = (0.9, 0.9), (0.9, 0.5)


@pytest.mark.parametrize(
    ("gates", "values", "leading"),
    [
        pytest.param(
            [gate("recall@5", drop=0.1), gate("mrr", drop=0.1)],
            {"recall@5": STEADY, "mrr": STEADY},
            "recall@5",
            id="all pass: the first gate's",
        ),
        pytest.param(
            [gate("recall@5", drop=0.1), gate("mrr", drop=0.1)],
            {"recall@5": STEADY, "mrr": DOWN},
            "mrr",
            id="the failed one's",
        ),
        pytest.param(
            [gate("recall@5", drop=0.1, severity="warning"), gate("mrr", drop=0.1)],
            {"recall@5": DOWN, "mrr": DOWN},
            "mrr",
            id="failed before warned",
        ),
        pytest.param(
            [gate("recall@5", drop=0.1), gate("mrr", drop=0.1, severity="warning")],
            {"recall@5": STEADY, "mrr": DOWN},
            "mrr",
            id="warned before passed",
        ),
        pytest.param(
            [gate("hit@5", drop=0.1), gate("recall@5", drop=0.1), gate("mrr", drop=0.1)],
            {"hit@5": STEADY, "recall@5": DOWN, "mrr": DOWN},
            "recall@5",
            id="the first of several that failed",
        ),
        pytest.param(
            [gate("recall@5", floor=0.95), gate("mrr", drop=0.1, severity="warning")],
            {"recall@5": STEADY, "mrr": DOWN},
            "mrr",
            id="a failed floor that did not move has no change to show",
        ),
        pytest.param(
            [gate("latency", drop=1.0), gate("mrr", drop=0.1)],
            {"latency": (10.0, 90.0), "mrr": STEADY},
            "mrr",
            id="a change in latency moves no document",
        ),
    ],
)
def test_the_metric_whose_changes_are_listed(
    gates: list[Gate], values: dict[str, tuple[float, float]], leading: str
) -> None:
    found = leading_metric(gates, results(gates, values))
    assert found is not None
    assert found.name == leading


def listed(losses: int, gains: int) -> list[Movement]:
    """A made-up list, worst first, as `movements` returns it."""
    return [
        Movement(
            query_id=f"{'loss' if number < losses else 'gain'} {number}",
            question=None,
            tags=[],
            metric="recall@5",
            before=0.5,
            after=0.0 if number < losses else 1.0,
            worse=number < losses,
            k=5,
            lost=0,
            gained=0,
            documents=[],
        )
        for number in range(losses + gains)
    ]


@pytest.mark.parametrize(
    ("losses", "gains", "kept_losses", "kept_gains"),
    [
        pytest.param(0, 0, 0, 0, id="none"),
        pytest.param(3, 2, 3, 2, id="a short list is whole"),
        pytest.param(8, 0, 8, 0, id="losses alone fill it"),
        pytest.param(20, 0, 8, 0, id="losses alone, cut"),
        pytest.param(0, 20, 0, 8, id="gains alone, cut"),
        pytest.param(20, 20, 6, 2, id="three of four places are for losses"),
        pytest.param(20, 1, 7, 1, id="places that gains do not need go to losses"),
        pytest.param(2, 20, 2, 6, id="places that losses do not need go to gains"),
    ],
)
def test_a_long_list_keeps_the_worst_losses_and_the_best_gains(
    losses: int, gains: int, kept_losses: int, kept_gains: int
) -> None:
    found = [each.query_id for each in movements_to_list(listed(losses, gains), most=8)]
    last = losses + gains - 1
    assert found == [
        *(f"loss {number}" for number in range(kept_losses)),
        *(f"gain {last - number}" for number in range(kept_gains)),
    ]


def test_a_report_lists_fifty() -> None:
    assert MAX_LISTED == 50
    assert len(movements_to_list(listed(100, 100))) == 50


def test_questions_got_worse_by_the_metrics_that_compare_alone() -> None:
    """A baseline whose lists speak of other ids has values, and none that a question could have lost."""
    gates = [gate("recall@5", drop=0.1), gate("mrr", drop=0.1)]
    metrics = [each.metric for each in gates]
    now = scored(gold(), {**ACCEPTED, "q1": "x"}, "recall@5,mrr")
    before = scored(gold(), ACCEPTED, "recall@5,mrr")
    rows = [decide(each, now, before) for each in gates]
    worse, _ = losers(gold(), metrics, rows, now, before)
    assert worse == {("recall@5", None): ["q1"], ("mrr", None): ["q1"]}
    stale = replace(before, foreign=frozenset({"recall@5"}))
    worse, _ = losers(gold(), metrics, rows, now, stale)
    assert worse == {("recall@5", None): [], ("mrr", None): ["q1"]}
