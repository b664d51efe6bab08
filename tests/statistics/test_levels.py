"""Levels: where a bound touches a value. The intervals themselves are the oracle."""

import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.statistics.binomial import Side, level_at
from rankgate.statistics.quantiles import difference_of_quantiles_interval
from rankgate.statistics.saddlepoint import difference_interval, difference_level, mean_interval, mean_level

SIDES: list[Side] = ["below", "above"]
NEAR = 1e-4  # of the level: on either side of it the bound must be found on either side of the value


def beyond(interval: tuple[float | None, float | None] | None, value: float, side: Side) -> bool:
    assert interval is not None
    lower, upper = interval
    return upper is not None and upper < value if side == "below" else lower is not None and lower > value


def outcomes(lost: int, won: int, ties: int) -> list[float]:
    return [-1.0] * lost + [1.0] * won + [0.0] * ties


@pytest.mark.parametrize(
    ("lost", "won", "ties"),
    [(5, 0, 195), (6, 0, 194), (12, 0, 10_000), (7, 1, 192), (8, 1, 191), (15, 5, 180), (40, 20, 340)],
)
def test_levels_of_lost_and_won_queries_are_near_those_of_the_sign_test(lost: int, won: int, ties: int) -> None:
    sign_test = sum(math.comb(lost + won, k) for k in range(won + 1)) / 2 ** (lost + won)
    found = difference_level(outcomes(lost, won, ties), side="below", widest=1.0)
    assert found is not None
    assert (found < 0.025) == (sign_test <= 0.025)
    assert sign_test / 3 < found < sign_test * 3


@each_row(
    ("level", "expected"),
    [
        pytest.param(difference_level([], side="below"), None, id="no difference"),
        pytest.param(difference_level([-1.0], side="below"), None, id="one difference"),
        pytest.param(mean_level([0.5], 0.9, side="below", low=0, high=1), None, id="one value"),
        pytest.param(difference_level([0.0] * 2, side="below"), 1.0, id="no change is no drop"),
        pytest.param(difference_level([0.0] * 2, 0.1, side="below"), 0.0, id="no change is less than a gain"),
        pytest.param(difference_level([0.0] * 2, 0.1, side="above"), 1.0, id="and not more than one"),
        pytest.param(difference_level([0.0] * 2, -0.1, side="above"), 0.0, id="no change is more than a drop"),
        pytest.param(difference_level([0.0] * 2, 0.1, side="below", widest=1.0), 0.9**2, id="which could have been"),
        pytest.param(difference_level([0.2, 0.3], side="below"), 1.0, id="a gain is no drop at any level"),
        pytest.param(mean_level([0.2, 0.4], 1.5, side="below", low=0, high=1), 0.0, id="beyond the range"),
        pytest.param(mean_level([0.2, 0.4], 0.3, side="above", low=0, high=1), 1.0, id="the mean itself"),
        pytest.param(mean_level([7.0, 7.0], 8.0, side="below", low=None, high=None), 0.0, id="what never varied"),
        pytest.param(mean_level([7.0, 7.0], 7.0, side="below", low=None, high=None), 1.0, id="is where it is"),
    ],
)
def test_edges(level: float | None, expected: float | None) -> None:
    assert level == expected


# Values on a coarse grid, and some between: what recall, reciprocal rank and nDCG give
RATES = st.lists(st.one_of(st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 1.0]), st.floats(0, 1)), min_size=2, max_size=60)
CHANGE = st.one_of(st.sampled_from([0.0, 0.0, 0.0, -1.0, -0.5, 0.25, 1.0]), st.floats(-1, 1))
CHANGES = st.lists(CHANGE.map(lambda x: round(x, 3)), min_size=2, max_size=60)


def confidences(level: float) -> list[tuple[float, bool]]:
    """Confidences around a level, and whether the bound is then beyond the value."""
    around = [(1 - 2 * level * (1 - NEAR), False), (1 - 2 * level * (1 + NEAR), True)]
    return [(confidence, proven) for confidence, proven in around if 0 < confidence < 1 - 1e-12]


@given(RATES, st.floats(0.01, 0.99), st.sampled_from(SIDES))
def test_the_bound_of_a_mean_is_beyond_a_value_exactly_above_the_level(
    values: list[float], value: float, side: Side
) -> None:
    level = mean_level(values, value, side=side, low=0, high=1)
    assert level is not None
    for confidence, proven in confidences(level):
        interval = mean_interval(values, low=0, high=1, confidence=confidence)
        assert beyond(interval, value, side) == proven


@given(CHANGES, st.sampled_from([0.0, 0.0, -0.05, 0.3]), st.sampled_from(SIDES), st.sampled_from([None, 1.0, 2.0]))
def test_the_bound_of_a_difference_is_beyond_a_value_exactly_above_the_level(
    values: list[float], value: float, side: Side, widest: float | None
) -> None:
    level = difference_level(values, value, side=side, widest=widest)
    assert level is not None
    for confidence, proven in confidences(level):
        interval = difference_interval(values, widest=widest, confidence=confidence)
        assert beyond(interval, value, side) == proven


@pytest.mark.full
@each_row("outliers", [1, 2, 3])
@each_row("value", [39.9, 41.0, 60.0, 75.0, 120.0])
def test_a_mean_in_lumps(outliers: int, value: float) -> None:
    # r* has several summits: the level is that of the first rise, by bisection if need be
    values = [30.0 + 20 * i / 99 for i in range(100)] + [3_000.0] * outliers
    for side in SIDES:
        level = mean_level(values, value, side=side, low=0, high=None)
        assert level is not None
        for confidence, proven in confidences(level):
            interval = mean_interval(values, low=0, high=None, confidence=confidence)
            assert beyond(interval, value, side) == proven


def test_the_end_of_the_range_is_reached_where_r_has_its_summit() -> None:
    # With 3 of 40 failing, the upper bound stays below 1 up to some confidence, and is 1 from there on.
    values = [0.0] * 3 + [1.0] * 37
    level = mean_level(values, 1.0, side="below", low=0, high=1)
    assert level is not None
    assert 0 < level < 0.1
    for confidence, proven in confidences(level):
        assert beyond(mean_interval(values, low=0, high=1, confidence=confidence), 1.0, "below") == proven


@given(CHANGES, st.sampled_from([-0.1, 0.0, 0.1]))
def test_swapping_the_two_runs_swaps_the_sides(values: list[float], value: float) -> None:
    below = difference_level(values, value, side="below", widest=1.0)
    above = difference_level([-x for x in values], -value, side="above", widest=1.0)
    assert below == pytest.approx(above, rel=1e-9, abs=1e-12)


@given(CHANGES, st.floats(-1, 1), st.floats(-1, 1))
def test_farther_values_are_proven_more_easily(values: list[float], one: float, other: float) -> None:
    near, far = min(one, other), max(one, other)
    first = difference_level(values, near, side="below", widest=1.0)
    second = difference_level(values, far, side="below", widest=1.0)
    assert first is not None
    assert second is not None
    assert second <= first * (1 + 1e-5)


# --- by bisection, of anything that has a bound

VALUES = st.lists(st.integers(-50, 50), min_size=1, max_size=80)


@pytest.mark.full
@given(VALUES, VALUES, st.floats(0.05, 0.95), st.integers(-20, 20), st.sampled_from(SIDES))
def test_the_level_by_bisection_is_where_the_bound_steps_beyond_a_value(
    candidate: list[int], baseline: list[int], q: float, value: int, side: Side
) -> None:
    def proven(level: float) -> bool:
        interval = difference_of_quantiles_interval(candidate, baseline, q, confidence=1 - 2 * level)
        return beyond(interval, value, side)

    level = level_at(proven)
    assume(level > 0)
    for confidence, expected in confidences(level):
        assert proven((1 - confidence) / 2) == expected


@pytest.mark.parametrize(("threshold", "expected"), [(0.0, 0.0), (0.7, 1.0)])
def test_levels_at_the_ends(threshold: float, expected: float) -> None:
    assert level_at(lambda level: level > threshold) == expected


@pytest.mark.full
def test_levels_are_spread_evenly_where_nothing_changed() -> None:
    source, runs = random.Random(5), 2000  # noqa: S311 - a seeded check
    levels = []
    for _ in range(runs):
        level = difference_level(source.choices((-1.0, 0.0, 1.0), (0.1, 0.8, 0.1), k=400), side="below", widest=1.0)
        assert level is not None
        levels.append(level)
    for level in (0.01, 0.025, 0.1, 0.25):
        share = sum(found < level for found in levels) / runs
        assert 0.4 * level <= share <= level + 3 * math.sqrt(level / runs)
