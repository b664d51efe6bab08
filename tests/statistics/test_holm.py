"""Holm's correction: worked cases, a slow oracle, properties, and the promise that it makes."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.statistics.holm import holm


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        pytest.param([], [], id="no gate"),
        pytest.param([0.024], [True], id="one gate is not corrected"),
        pytest.param([0.025], [False], id="touching is not beyond"),
        pytest.param([0.02, 0.012], [True, True], id="the smaller at a half, then the larger at the whole"),
        pytest.param([0.02, 0.013], [False, False], id="the smaller does not count, so neither does the larger"),
        pytest.param([0.9, 0.001, 0.024, 0.01], [False, True, False, False], id="it stops at the first that fails"),
        pytest.param([0.01, 0.01, 0.004], [True, True, True], id="ties share a fate"),
        pytest.param([0.0, 1.0], [True, False], id="ends"),
    ],
)
def test_worked_cases(levels: list[float], expected: list[bool]) -> None:
    assert holm(levels, 0.025) == expected


def slow_holm(levels: list[float], level: float) -> list[bool]:
    """Holm by its adjusted p-values, each a maximum over all that are at most as large."""
    n = len(levels)

    def adjusted(p: float) -> float:
        return max((n - sum(other < smaller for other in levels)) * smaller for smaller in levels if smaller <= p)

    return [adjusted(p) < level for p in levels]


LEVELS = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.001, 0.002, 0.005, 0.01, 1.0])), max_size=12)
LEVEL = st.sampled_from([0.005, 0.025, 0.1, 0.5])


@given(LEVELS, LEVEL)
def test_agrees_with_adjusted_p_values(levels: list[float], level: float) -> None:
    assert holm(levels, level) == slow_holm(levels, level)


@given(LEVELS, LEVEL)
def test_lies_between_bonferroni_and_no_correction(levels: list[float], level: float) -> None:
    for p, counts in zip(levels, holm(levels, level), strict=True):
        assert counts <= (p < level)
        assert counts >= (p * len(levels) < level)


@given(LEVELS, LEVEL, st.data())
def test_a_smaller_level_never_counts_for_less(levels: list[float], level: float, data: st.DataObject) -> None:
    before = holm(levels, level)
    smaller = [p * data.draw(st.floats(0, 1)) for p in levels]
    assert all(now >= then for now, then in zip(holm(smaller, level), before, strict=True))


@given(LEVELS, LEVEL, st.randoms(use_true_random=False))
def test_order_does_not_matter(levels: list[float], level: float, source: random.Random) -> None:
    order = list(range(len(levels)))
    source.shuffle(order)
    found = holm(levels, level)
    assert holm([levels[i] for i in order], level) == [found[i] for i in order]


@pytest.mark.parametrize(("levels", "level"), [([1.1], 0.1), ([-0.1], 0.1), ([float("nan")], 0.1), ([0.5], 95)])
def test_levels_are_probabilities(levels: list[float], level: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm(levels, level)


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.99])
def test_thirty_gates_without_a_change_rarely_block(shared: float) -> None:
    source, runs, blocked = random.Random(3), 3000, 0  # noqa: S311 - a seeded check
    for _ in range(runs):
        common = source.gauss(0, 1) * math.sqrt(shared)
        levels = [math.erfc(-(common + source.gauss(0, math.sqrt(1 - shared))) / math.sqrt(2)) / 2 for _ in range(30)]
        blocked += any(holm(levels, 0.05))
    assert blocked / runs <= 0.062  # at most 0.05; 3,000 runs leave a standard error of 0.004
