"""What counting proves: fractions, scipy and every possible swap as oracles, then properties."""

import itertools
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.statistics.binomial import Side, at_least, at_most, hypergeometric_tail, share_interval, share_level
from rankgate.statistics.quantiles import quantile, swap_p

SIDES: list[Side] = ["below", "above"]


@each_row("n", [1, 7, 40, 250])
@each_row("share", ["0.05", "0.5", "0.9", "0.99"])
def test_binomial_tails_are_exact(n: int, share: str) -> None:
    p, total = Fraction(share), Fraction(0)
    assert at_most(-1, n, float(p)) == 0
    for k in range(n + 1):
        total += math.comb(n, k) * p**k * (1 - p) ** (n - k)
        assert at_most(k, n, float(p)) == pytest.approx(float(total), rel=1e-9, abs=1e-15)


@each_row("confidence", [0.8, 0.95, 0.999])
@each_row(("successes", "n"), [(0, 1), (0, 30), (30, 30), (1, 30), (29, 30), (47, 50), (700, 1000)])
def test_the_interval_of_a_share_is_clopper_and_pearsons(successes: int, n: int, confidence: float) -> None:
    from scipy.stats import binomtest  # a second of every process that collects the tests

    expected = binomtest(successes, n).proportion_ci(confidence, method="exact")
    assert share_interval(successes, n, confidence=confidence) == pytest.approx((expected.low, expected.high), abs=1e-9)


SHARES = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(SHARES, st.floats(-0.1, 1.1), st.sampled_from(SIDES))
def test_the_bound_of_a_share_is_beyond_a_value_exactly_above_the_level(
    counts: tuple[int, int], value: float, side: Side
) -> None:
    level = share_level(*counts, value, side=side)
    for confidence, proven in ((1 - 2 * level * (1 - 1e-6), False), (1 - 2 * level * (1 + 1e-6), True)):
        if 1e-9 < confidence < 1 - 1e-9:
            low, high = share_interval(*counts, confidence=confidence)
            assert (high < value if side == "below" else low > value) == proven


@pytest.mark.parametrize(
    ("counts", "value", "side", "expected"),
    [
        pytest.param((9, 10), 1.0, "below", 0.0, id="nine of ten are not all"),
        pytest.param((10, 10), 1.0, "below", 1.0, id="ten of ten may be"),
        pytest.param((1, 10), 0.0, "above", 0.0, id="one of ten is not none"),
        pytest.param((0, 10), 0.0, "above", 1.0, id="none of ten may be"),
        pytest.param((10, 10), 1.1, "below", 0.0, id="less than what nothing reaches"),
        pytest.param((5, 10), 0.5, "below", 1.0, id="the share itself"),
    ],
)
def test_ends_of_a_share(counts: tuple[int, int], value: float, side: Side, expected: float) -> None:
    assert share_level(*counts, value, side=side) == expected


@given(SHARES)
def test_failures_mirror_successes(counts: tuple[int, int]) -> None:
    (low, high), (mirror_low, mirror_high) = share_interval(*counts), share_interval(counts[1] - counts[0], counts[1])
    assert (low, high) == pytest.approx((1 - mirror_high, 1 - mirror_low), abs=1e-12)
    assert low <= counts[0] / counts[1] <= high


# --- the swap test

Pair = tuple[int, int]
PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7)
QUANTILES = st.sampled_from([0.5, 0.75, 0.9, 0.99])


def by_every_swap(pairs: list[Pair], q: float) -> float:
    """How often, over all ways to swap, the baseline's quantile is no higher than the one that was observed."""
    u = quantile([old for _, old in pairs], q)
    swaps = list(itertools.product((False, True), repeat=len(pairs)))
    low = sum(
        quantile([new if swap else old for swap, (new, old) in zip(swaps_of, pairs, strict=True)], q) <= u
        for swaps_of in swaps
    )
    return low / len(swaps)


def p_of(pairs: list[Pair], q: float, side: Side = "above") -> tuple[float, float]:
    return swap_p([float(new) for new, _ in pairs], [float(old) for _, old in pairs], q, side=side)


@given(PAIRS, QUANTILES)
def test_it_counts_every_swap(pairs: list[Pair], q: float) -> None:
    assert p_of(pairs, q)[0] == pytest.approx(by_every_swap(pairs, q), rel=1e-9)


@pytest.mark.parametrize(
    ("slower", "p", "least"),
    [
        pytest.param(270, at_most(0, 268, 0.5), 2**-268, id="all of 270"),
        pytest.param(2, 1.0, 1.0, id="the two that were beyond it already"),
        pytest.param(8, 2**-6, 2**-6, id="six more"),
    ],
)
def test_a_p99_of_270(slower: int, p: float, least: float) -> None:
    before = [float(270 - row) for row in range(270)]
    after = [1000 * ms if row < slower else ms for row, ms in enumerate(before)]
    found = swap_p(after, before, 0.99, side="above")
    assert found[0] == pytest.approx(p)
    assert found[1] == pytest.approx(least)


@given(PAIRS, QUANTILES, st.randoms(use_true_random=False))
def test_neither_order_nor_units_nor_direction_matter(pairs: list[Pair], q: float, source: random.Random) -> None:
    found = p_of(pairs, q)
    assert p_of(source.sample(pairs, len(pairs)), q) == found
    assert p_of([(2**new, 2**old) for new, old in pairs], q) == found
    rank = math.ceil(len(pairs) * q - 1e-9)
    mirror = (len(pairs) - rank + 0.5) / len(pairs)  # the same value, counted from the other end
    assert p_of([(-new, -old) for new, old in pairs], mirror, "below") == found


@given(PAIRS, QUANTILES, st.integers(0, 8), st.integers(1, 9))
def test_slower_is_no_weaker_proof(pairs: list[Pair], q: float, row: int, more: int) -> None:
    row %= len(pairs)
    slower = [(new + more if place == row else new, old) for place, (new, old) in enumerate(pairs)]
    assert p_of(slower, q)[0] <= p_of(pairs, q)[0] + 1e-12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(([], [], 0.9), "no values", id="no pairs"),
        pytest.param(([1.0], [math.nan], 0.9), "NaN", id="NaN"),
        pytest.param(([1.0], [1.0, 2.0], 0.9), "zip", id="not pairs"),
        pytest.param(([1.0], [1.0], 1.5), "between 0 and 1", id="no quantile"),
    ],
)
def test_what_is_wrong_is_refused(arguments: tuple[list[float], list[float], float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        swap_p(*arguments, side="above")


@given(st.integers(-1, 30), st.integers(0, 30), st.fractions(0, 1))
def test_the_binomial_tail(hits: int, trials: int, probability: Fraction) -> None:
    terms = (
        math.comb(trials, x) * probability**x * (1 - probability) ** (trials - x)
        for x in range(max(0, hits), trials + 1)
    )
    assert at_least(hits, trials, float(probability)) == pytest.approx(float(sum(terms)), abs=1e-9)


@given(st.data())
def test_the_hypergeometric_tail(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 30))
    drawn, marked = data.draw(st.integers(0, total)), data.draw(st.integers(0, total))
    hits = data.draw(st.integers(-1, total))
    ways = sum(math.comb(marked, x) * math.comb(total - marked, drawn - x) for x in range(max(0, hits), drawn + 1))
    assert hypergeometric_tail(hits, drawn, marked, total) == pytest.approx(ways / math.comb(total, drawn), abs=1e-9)
