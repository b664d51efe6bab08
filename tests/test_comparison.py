"""Two runs paired query by query: which pairs count, who won, and how sure the change is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.comparison import Comparison, baseline_column, compare
from rankgate.metrics.names import parse_metric
from rankgate.model import Scores

Column = list[float | None]


def compared(metric: str, candidate: Column, baseline: Column) -> Comparison:
    found = compare(parse_metric(metric), candidate, baseline)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("metric", "candidate", "baseline", "value", "before", "pairs", "better", "worse"),
    [
        pytest.param("recall@5", [0.5, 1.0], [0.5, 1.0], 0.75, 0.75, 2, 0, 0, id="the same twice"),
        pytest.param("recall@5", [1.0, 0.0, 0.5], [0.0, 0.5, 0.5], 0.5, 1 / 3, 3, 1, 1, id="one better, one worse"),
        pytest.param("recall@5", [1.0, None, 0.0], [0.5, 1.0, 0.0], 0.5, 0.25, 2, 1, 0, id="undefined now: no pair"),
        pytest.param("recall@5", [1.0, 1.0, 0.0], [0.5, None, 0.0], 0.5, 0.25, 2, 1, 0, id="undefined before: no pair"),
        pytest.param("latency", [40.0, 20.0, 10.0], [30.0, 30.0, 30.0], 70 / 3, 30.0, 3, 2, 1, id="lower is better"),
        pytest.param(
            *("latency(quantile=0.5)", [1.0, 3.0, 4.0], [1.0, 2.0, 9.0], 3.0, 2.0, 3, 1, 1),
            id="a quantile of each side, not of the differences",
        ),
    ],
)
def test_pairs(
    metric: str,
    candidate: Column,
    baseline: Column,
    value: float,
    before: float,
    pairs: int,
    better: int,
    worse: int,
) -> None:
    found = compared(metric, candidate, baseline)
    assert (found.n_pairs, found.better, found.worse) == (pairs, better, worse)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.baseline == pytest.approx(before, abs=1e-12)
    assert found.delta == found.value - found.baseline


@pytest.mark.parametrize(
    ("candidate", "baseline"),
    [
        pytest.param([], [], id="no query"),
        pytest.param([None, None], [None, None], id="undefined on both sides"),
        pytest.param([1.0, None], [None, 1.0], id="never defined on both sides at once"),
    ],
)
def test_without_a_pair_there_is_nothing_to_compare(candidate: Column, baseline: Column) -> None:
    assert compare(parse_metric("recall@5"), candidate, baseline) is None


def test_columns_of_different_gold_sets_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="argument 2 is longer"):
        compare(parse_metric("recall@5"), [1.0], [1.0, 0.5])


# What the sign test says of the same counts: six of six is proof at 5 %, five of five is not.
@pytest.mark.parametrize(
    ("lost", "won", "proven"),
    [
        pytest.param(0, 0, False, id="nothing changed"),
        pytest.param(5, 0, False, id="5 lost, 0 won"),
        pytest.param(6, 0, True, id="6 lost, 0 won"),
        pytest.param(6, 6, False, id="as many won as lost"),
        pytest.param(30, 5, True, id="30 lost, 5 won"),
    ],
)
def test_the_interval_of_a_mean_change(lost: int, won: int, *, proven: bool) -> None:
    same: Column = [0.5] * 60
    found = compared("recall@5", [*[0.0] * lost, *[1.0] * won, *same], [*[1.0] * lost, *[0.0] * won, *same])
    assert found.ci is not None
    low, high = found.ci
    assert low is not None
    assert high is not None
    assert low <= found.delta <= high
    assert (high < 0) == proven


def test_a_single_changed_query_has_no_interval() -> None:
    assert compared("recall@5", [1.0], [0.5]).ci is None
    assert compared("recall@5", [0.5], [0.5]).ci is None


@pytest.mark.parametrize(
    ("count", "known"),
    [
        pytest.param(20, (False, False), id="20 queries: a 0.9-quantile has no upper bound, so the change has neither"),
        pytest.param(40, (True, True), id="40 queries: both bounds"),
    ],
)
def test_the_interval_of_a_change_between_quantiles(count: int, known: tuple[bool, bool]) -> None:
    baseline: Column = [float(ms) for ms in range(count)]
    candidate: Column = [None if ms is None else ms + 5 for ms in baseline]
    found = compared("latency(quantile=0.9)", candidate, baseline)
    assert found.delta == 5.0
    assert found.ci is not None
    assert tuple(bound is not None for bound in found.ci) == known


def test_the_baselines_column_leaves_out_what_it_lacks() -> None:
    """A query that it lacks holds the worst value in its own scores; for comparing it is a query it never saw."""
    scores = Scores(
        query_ids=("q1", "new", "q2", "unanswerable"),
        values={"recall@5": [1.0, 0.0, 0.0, None]},
        matched={},
        missing=frozenset({"new"}),
        strangers=(),
        duplicates=0,
        cut=0,
    )
    assert baseline_column(parse_metric("recall@5"), scores) == [1.0, None, 0.0, None]


shares = st.none() | st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0])
columns = st.lists(st.tuples(shares, shares), max_size=25)


@given(columns)
def test_comparing_the_other_way_round_is_the_mirror_image(rows: list[tuple[float | None, float | None]]) -> None:
    metric = parse_metric("recall@5")
    there = compare(metric, [new for new, _ in rows], [old for _, old in rows])
    back = compare(metric, [old for _, old in rows], [new for new, _ in rows])
    if there is None or back is None:
        assert there is back
        return
    assert there.delta == -back.delta
    assert (there.better, there.worse) == (back.worse, back.better)
    assert (there.ci is None) == (back.ci is None)
    if there.ci and back.ci:
        assert there.ci == pytest.approx((-(back.ci[1] or 0.0), -(back.ci[0] or 0.0)), abs=1e-6)


@given(columns)
def test_pairs_agree_with_an_obvious_oracle(rows: list[tuple[float | None, float | None]]) -> None:
    found = compare(parse_metric("recall@5"), [new for new, _ in rows], [old for _, old in rows])
    pairs = [(new, old) for new, old in rows if new is not None and old is not None]
    assert (found is None) == (not pairs)
    if found:
        assert found.n_pairs == len(pairs)
        assert found.better == sum(new > old for new, old in pairs)
        assert found.worse == sum(new < old for new, old in pairs)
        assert found.delta == pytest.approx(sum(new - old for new, old in pairs) / len(pairs), abs=1e-12)
