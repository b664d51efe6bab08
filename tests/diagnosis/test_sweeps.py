"""Recall and nDCG at growing cut-offs: beside a slow oracle, and where a curve bends, by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.diagnosis.runs import gold_of, scores_of, with_new

from rankgate.diagnosis.sweeps import cutoffs_for, knee, sweeps_of, swept_at
from rankgate.model.details import Sweep


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        pytest.param(1, (1,), id="one result"),
        pytest.param(3, (1, 2, 3), id="all of a short list"),
        pytest.param(7, (1, 2, 3, 4, 5, 6, 8), id="to the first that holds them all"),
        pytest.param(20, (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20), id="which may be the list's length"),
        pytest.param(1000, (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100), id="never beyond 100"),
    ],
)
def test_cutoffs_reach_as_far_as_the_lists(depth: int, expected: tuple[int, ...]) -> None:
    assert cutoffs_for(depth) == expected


@pytest.mark.parametrize(
    ("cutoffs", "values", "expected"),
    [
        # Over ln k from 1 to 8 the chord is at 0, 1/3, 2/3, 1; the curve rises by 0.6.
        pytest.param((1, 2, 4, 8), (0.2, 0.7, 0.8, 0.8), 2, id="0.83 − 1/3 = 0.5 at 2, 1 − 2/3 = 0.33 at 4"),
        pytest.param((1, 2, 4, 8), (0.2, 0.3, 0.8, 0.8), 4, id="0.17 − 1/3 at 2 lies below, 1/3 at 4"),
        pytest.param((1, 2, 4, 8), (0.2, 0.4, 0.6, 0.8), None, id="a straight line has none"),
        pytest.param((1, 2, 4, 8), (0.2, 0.21, 0.25, 0.8), None, id="one that bends upwards has none"),
        pytest.param((1, 2, 4, 8), (0.8, 0.8, 0.8, 0.8), None, id="a flat one has none"),
        pytest.param((1, 2, 4, 8), (0.8, 0.809, 0.809, 0.809), None, id="one that rises by less than 0.01 has none"),
        pytest.param((1, 2, 4, 8), (0.8, 0.81, 0.81, 0.81), 2, id="one that rises by 0.01 has one"),
        pytest.param((1, 2, 4, 8), (0.5, 0.72, 0.92, 1.0), 4, id="0.44 − 1/3 at 2, 0.84 − 2/3 at 4: the higher"),
        pytest.param((1, 2), (0.1, 0.9), None, id="two points are a line"),
        pytest.param((1,), (0.1,), None, id="one is a point"),
        pytest.param((1, 2, 4, 8), (0.0, 1.0, 0.5, 1.0), 2, id="nDCG may fall again"),
    ],
)
def test_the_knee_lies_where_the_curve_is_highest_above_its_chord(
    cutoffs: tuple[int, ...], values: tuple[float, ...], expected: int | None
) -> None:
    assert knee(cutoffs, values) == expected


def test_of_two_equally_high_cutoffs_the_smaller_is_the_knee() -> None:
    third, two_thirds = 1 / 3 + 0.25, 2 / 3 + 0.25
    assert knee((1, 2, 4, 8), (0.0, third, two_thirds, 1.0)) == 2


def swept(
    relevant: Mapping[str, str], now: Mapping[str, str], before: Mapping[str, str] | None, cutoffs: tuple[int, ...]
) -> dict[str, Sweep]:
    gold = gold_of(relevant)
    baseline = None if before is None else with_new(scores_of(gold, before))
    found = sweeps_of(None, range(len(relevant)), swept_at(cutoffs, gold, scores_of(gold, now), baseline))
    return {sweep.measure: sweep for sweep in found}


def test_a_measure_that_does_not_compare_at_one_cutoff_has_no_curve() -> None:
    """As where a baseline is stale: what lists of foreign ids miss at one cut-off and not at another says nothing."""
    gold = gold_of({"q1": "a", "q2": "b"})
    now = scores_of(gold, {"q1": "a", "q2": "x b"})
    stale = replace(now, foreign=frozenset({"recall@5"}))
    assert [sweep.measure for sweep in sweeps_of(None, range(2), swept_at((1, 5), gold, now, stale))] == ["ndcg"]
    assert len(sweeps_of(None, range(2), swept_at((1, 5), gold, now, now))) == 2


def slow_recall(relevant: set[str], ranked: list[str], k: int) -> float:
    return len(relevant & set(ranked[:k])) / len(relevant)


def slow_ndcg(relevant: set[str], ranked: list[str], k: int) -> float:
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(len(relevant), k) + 1))
    return sum(1 / math.log2(1 + rank) for rank, doc in enumerate(ranked[:k], 1) if doc in relevant) / ideal


DOCUMENTS = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)
CUTOFFS = (1, 2, 3, 5, 8)


@pytest.mark.full
@given(st.lists(st.tuples(DOCUMENTS, DOCUMENTS, DOCUMENTS, st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_curves_are_the_means_of_the_definition_over_the_queries_of_both_runs(
    queries: list[tuple[list[str], list[str], list[str], bool, bool]],
) -> None:
    """A query that the run lacks counts as 0; one that is new to the baseline counts for neither."""
    named = {f"q{place}": query for place, query in enumerate(queries)}
    relevant = {name: " ".join(right) for name, (right, *_) in named.items()}
    now = {name: " ".join(lists) for name, (_, lists, _, there, _) in named.items() if there}
    before = {name: " ".join(lists) for name, (_, _, lists, _, there) in named.items() if there}
    pairs = [name for name in named if relevant[name] and name in before]

    sweeps = swept(relevant, now, before, CUTOFFS)

    assert set(sweeps) == ({"recall", "ndcg"} if pairs else set())
    for measure, slow in (("recall", slow_recall), ("ndcg", slow_ndcg)):
        if pairs:
            sweep = sweeps[measure]
            assert sweep.queries == len(pairs)
            for curve, lists in ((sweep.candidate, now), (sweep.baseline, before)):
                expected = [
                    sum(slow(set(relevant[name].split()), lists.get(name, "").split(), k) for name in pairs)
                    / len(pairs)
                    for k in CUTOFFS
                ]
                assert curve == pytest.approx(expected, abs=1e-12)


def test_without_a_baseline_there_is_one_curve() -> None:
    found = swept({"q1": "a", "q2": "b"}, {"q1": "x a", "q2": "b"}, None, (1, 2, 3))
    assert found["recall"].candidate == (0.5, 1.0, 1.0)
    assert (found["recall"].baseline, found["recall"].baseline_knee) == (None, None)


def test_both_knees_are_named() -> None:
    found = swept({"q": "a b"}, {"q": "a b x y z"}, {"q": "x y a b z"}, (1, 2, 3, 4, 5))["recall"]
    assert (found.candidate, found.knee) == ((0.5, 1.0, 1.0, 1.0, 1.0), 2)
    assert (found.baseline, found.baseline_knee) == ((0.0, 0.0, 0.5, 1.0, 1.0), 4)
