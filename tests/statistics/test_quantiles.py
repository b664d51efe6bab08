"""Quantiles and their intervals: hand-checkable cases, exact oracles in fractions, properties, coverage."""

import math
import random
from fractions import Fraction
from itertools import accumulate
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.statistics.quantiles import difference_of_quantiles_interval, normal_quantile, quantile, quantile_interval

ONE_TO_TEN = [float(x) for x in range(1, 11)]


@pytest.mark.parametrize(
    ("values", "q", "expected"),
    [
        pytest.param(ONE_TO_TEN, 0.5, 5, id="half of ten is the fifth"),
        pytest.param(ONE_TO_TEN, 0.51, 6, id="a little more is the sixth"),
        pytest.param(ONE_TO_TEN, 0.9, 9, id="p90 of ten"),
        pytest.param(ONE_TO_TEN, 0.99, 10, id="p99 of ten is the largest"),
        pytest.param(ONE_TO_TEN, 0, 1, id="q = 0 is the smallest"),
        pytest.param(ONE_TO_TEN, 1, 10, id="q = 1 is the largest"),
        pytest.param([3.0, 1.0, 2.0], 0.5, 2, id="unsorted"),
        pytest.param([7.0], 0.9, 7, id="one value"),
        pytest.param([1.0, 5.0, 5.0, 5.0], 0.5, 5, id="ties"),
        pytest.param(list(range(1, 101)), 0.55, 55, id="100 * 0.55 is more than 55 in floating point"),
        pytest.param(list(range(1, 101)), 0.07, 7, id="100 * 0.07 is more than 7 in floating point"),
    ],
)
def test_quantile(values: list[float], q: float, expected: float) -> None:
    assert quantile(values, q) == expected


@given(st.lists(st.integers(0, 20), min_size=1), st.integers(0, 100))
def test_quantile_is_the_smallest_value_with_at_least_q_at_or_below(values: list[int], percent: int) -> None:
    enough = [x for x in values if 100 * sum(y <= x for y in values) >= percent * len(values)]
    assert quantile(values, percent / 100) == min(enough)


# An upper bound for the q-quantile needs q^n <= 0.025, a lower one (1 - q)^n <= 0.025.
@pytest.mark.parametrize(
    ("n", "q", "ranks"),
    [
        pytest.param(5, 0.5, (None, None), id="5 values: no interval for a median"),
        pytest.param(6, 0.5, (1, 6), id="6 values: smallest and largest, 2 / 64"),
        pytest.param(20, 0.5, (6, 15), id="median of 20"),
        pytest.param(100, 0.5, (40, 61), id="median of 100"),
        pytest.param(35, 0.9, (28, None), id="p90 of 35: 0.9^35 = 0.02503"),
        pytest.param(36, 0.9, (29, 36), id="p90 of 36: 0.9^36 = 0.02253"),
        pytest.param(71, 0.95, (63, None), id="p95 of 71: 0.95^71 = 0.0262"),
        pytest.param(72, 0.95, (64, 72), id="p95 of 72: 0.95^72 = 0.0249"),
        pytest.param(367, 0.99, (359, None), id="p99 of 367: 0.99^367 = 0.02501"),
        pytest.param(368, 0.99, (360, 368), id="p99 of 368: 0.99^368 = 0.0248"),
        pytest.param(36, 0.1, (1, 8), id="p10 mirrors p90"),
    ],
)
def test_ranks_of_the_bounds(n: int, q: float, ranks: tuple[int | None, int | None]) -> None:
    assert quantile_interval(range(1, n + 1), q) == ranks


@each_row("n", [1, 2, 9, 36, 100, 250])
@each_row("q", ["0.01", "0.05", "0.5", "0.55", "0.9"])
def test_each_bound_is_the_closest_whose_exact_error_is_small_enough(n: int, q: str) -> None:
    share = Fraction(q)
    at_most = list(accumulate(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)))
    for confidence in ("0.01", "0.5", "0.9", "0.95", "0.999"):
        tail = (1 - Fraction(confidence)) / 2
        below = [rank for rank in range(1, n + 1) if at_most[rank - 1] <= tail]
        above = [rank for rank in range(1, n + 1) if 1 - at_most[rank - 1] <= tail]
        expected = max(below, default=None), min(above, default=None)
        assert quantile_interval(range(1, n + 1), float(q), confidence=float(confidence)) == expected


@pytest.mark.parametrize(("q", "half"), [(0.5, 980), (0.9, 588)])
def test_a_million_values(q: float, half: int) -> None:
    lower, upper = quantile_interval(range(1, 1_000_001), q)  # n q -+ 1.96 sqrt(n q (1 - q))
    assert lower == pytest.approx(1e6 * q - half, abs=1)
    assert upper == pytest.approx(1e6 * q + half, abs=2)


VALUES = st.lists(st.integers(-50, 50), min_size=1, max_size=80)
PROBABILITIES = st.floats(0.01, 0.99)


@given(VALUES, PROBABILITIES, PROBABILITIES)
def test_the_interval_encloses_the_quantile(values: list[int], q: float, confidence: float) -> None:
    lower, upper = quantile_interval(values, q, confidence=confidence)
    assert lower is None or lower <= quantile(values, q)
    assert upper is None or upper >= quantile(values, q)


@given(VALUES, PROBABILITIES, st.randoms(use_true_random=False))
def test_order_does_not_matter(values: list[int], q: float, source: random.Random) -> None:
    shuffled = values.copy()
    source.shuffle(shuffled)
    assert quantile_interval(shuffled, q) == quantile_interval(values, q)


@given(VALUES, PROBABILITIES)
def test_more_confidence_never_narrows(values: list[int], q: float) -> None:
    lower, upper = quantile_interval(values, q, confidence=0.8)
    wider_lower, wider_upper = quantile_interval(values, q, confidence=0.99)
    assert wider_lower is None or (lower is not None and wider_lower <= lower)
    assert wider_upper is None or (upper is not None and wider_upper >= upper)


def test_difference_by_square_and_add() -> None:
    # Medians 10 and 110 of 20 values each, bounds the 6th and the 15th: 4 below and 5 above either.
    candidate, baseline = range(1, 21), range(101, 121)
    off = math.hypot(4, 5)
    assert difference_of_quantiles_interval(candidate, baseline, 0.5) == pytest.approx((-100 - off, -100 + off))


@pytest.mark.parametrize(
    ("candidate", "baseline", "missing"),
    [
        pytest.param(100, 100, (False, False), id="both large enough"),
        pytest.param(35, 100, (False, True), id="candidate too small for an upper bound"),
        pytest.param(100, 35, (True, False), id="baseline too small for an upper bound"),
        pytest.param(0, 100, (True, True), id="no candidate"),
        pytest.param(100, 0, (True, True), id="no baseline"),
    ],
)
def test_a_difference_lacks_the_bounds_that_lack_a_part(
    candidate: int, baseline: int, missing: tuple[bool, bool]
) -> None:
    lower, upper = difference_of_quantiles_interval(range(candidate), range(baseline), 0.9)
    assert (lower is None, upper is None) == missing


@given(VALUES, VALUES, PROBABILITIES)
def test_swapping_the_two_sides_mirrors_the_difference(one: list[int], other: list[int], q: float) -> None:
    lower, upper = difference_of_quantiles_interval(one, other, q)
    mirrored = None if upper is None else -upper, None if lower is None else -lower
    assert difference_of_quantiles_interval(other, one, q) == mirrored


def test_no_values() -> None:
    assert quantile_interval([], 0.5) == (None, None)
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan])
def test_q_must_be_a_probability(q: float) -> None:
    with pytest.raises(ValueError, match="q must lie between"):
        quantile([1.0], q)
    with pytest.raises(ValueError, match="q must lie strictly between"):
        quantile_interval([1.0], q)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, math.nan])
def test_confidence_must_be_a_probability(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence must lie strictly between"):
        difference_of_quantiles_interval([1.0], [1.0], 0.5, confidence=confidence)


def test_nan_has_no_rank() -> None:
    for call in (quantile, quantile_interval):
        with pytest.raises(ValueError, match="NaN"):
            call([1.0, math.nan], 0.5)


@pytest.mark.full
@pytest.mark.parametrize(("size", "q"), [(50, 0.5), (100, 0.9), (400, 0.99)])
def test_latencies_and_their_changes_are_rarely_outside(size: int, q: float) -> None:
    source = random.Random(11)  # noqa: S311 - a seeded check
    truth, runs = math.exp(0.5 * NormalDist().inv_cdf(q)), 1000
    outside = changed = 0
    for _ in range(runs):
        now, before = ([source.lognormvariate(0, 0.5) for _ in range(size)] for _ in range(2))
        lower, upper = quantile_interval(now, q)
        assert lower is not None
        assert upper is not None
        outside += not lower <= truth <= upper
        least, most = difference_of_quantiles_interval(now, before, q)
        assert least is not None
        assert most is not None
        changed += not least <= 0 <= most
    assert outside / runs <= 0.06  # nominally at most 0.05; 1,000 runs leave a standard error of 0.007
    assert changed / runs <= 0.06


@given(st.floats(1e-300, 1 - 1e-16))
def test_normal_quantile_is_that_of_the_standard_library(probability: float) -> None:
    assert normal_quantile(probability) == pytest.approx(NormalDist().inv_cdf(probability), rel=1e-12, abs=1e-12)


@each_row("exponent", range(-300, 0, 10))
def test_normal_quantile_far_out(exponent: int) -> None:
    expected = NormalDist().inv_cdf(10.0**exponent)
    assert normal_quantile(10.0**exponent) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("probability", "expected"), [(0.5, 0.0), (0.975, 1.959963984540054), (0.025, -1.959963984540054)]
)
def test_normal_quantile_at_the_usual_levels(probability: float, expected: float) -> None:
    assert normal_quantile(probability) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("probability", [0.0, 1.0, -1.0, math.nan])
def test_normal_quantile_needs_a_probability(probability: float) -> None:
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        normal_quantile(probability)
