"""The saddlepoint intervals: hand-checkable cases, a slow resampling oracle, properties, and how often they miss."""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.statistics import saddlepoint
from rankgate.statistics.saddlepoint import difference_interval, mean_interval

Interval = tuple[float, float]


def interval_of(interval: Interval | None) -> Interval:
    assert interval is not None
    return interval


def outcomes(lost: int, won: int, ties: int) -> list[float]:
    return [-1.0] * lost + [1.0] * won + [0.0] * ties


# What the sign test says of the same counts, two-sided at 5 %: 2 * P(at most `won` of lost + won fair coins).
VERDICTS = [
    pytest.param(1, 0, 199, "inconclusive", id="1 lost, 0 won: p = 1"),
    pytest.param(4, 0, 196, "inconclusive", id="4 lost, 0 won: p = .125"),
    pytest.param(5, 0, 195, "inconclusive", id="5 lost, 0 won: p = .0625"),
    pytest.param(6, 0, 194, "harm", id="6 lost, 0 won: p = .03125"),
    pytest.param(5, 0, 15, "inconclusive", id="5 lost, 0 won of 20"),
    pytest.param(6, 0, 14, "harm", id="6 lost, 0 won of 20"),
    pytest.param(5, 0, 0, "inconclusive", id="5 lost of 5"),
    pytest.param(6, 0, 0, "harm", id="6 lost of 6"),
    pytest.param(5, 0, 10**6, "inconclusive", id="5 lost, 0 won of a million"),
    pytest.param(6, 0, 10**6, "harm", id="6 lost, 0 won of a million"),
    pytest.param(7, 1, 192, "inconclusive", id="7 lost, 1 won: p = .070"),
    pytest.param(8, 1, 191, "harm", id="8 lost, 1 won: p = .039"),
    pytest.param(9, 2, 189, "inconclusive", id="9 lost, 2 won: p = .065"),
    pytest.param(10, 2, 188, "harm", id="10 lost, 2 won: p = .039"),
    pytest.param(15, 5, 180, "harm", id="15 lost, 5 won: p = .041"),
    pytest.param(14, 5, 181, "inconclusive", id="14 lost, 5 won: p = .064"),
    pytest.param(0, 6, 194, "gain", id="0 lost, 6 won"),
    pytest.param(10, 10, 180, "inconclusive", id="10 lost, 10 won"),
]


@pytest.mark.full
@each_row("widest", [None, 1.0])
@each_row(("lost", "won", "ties", "verdict"), VERDICTS)
def test_lost_and_won_queries_are_judged_as_by_the_sign_test(
    lost: int, won: int, ties: int, verdict: str, widest: float | None
) -> None:
    lower, upper = interval_of(difference_interval(outcomes(lost, won, ties), widest=widest))
    assert ("harm" if upper < 0 else "gain" if lower > 0 else "inconclusive") == verdict


@pytest.mark.parametrize("widest", [1.0, 2.0, [0.5, 1.0]], ids=str)
def test_queries_that_did_not_change_exclude_what_so_many_would_hardly_miss(widest: float | list[float]) -> None:
    bound = (2.0 if widest == 2.0 else 1.0) * (1 - 0.025 ** (1 / 10))  # 0.308 of the range
    found = interval_of(difference_interval([0.0] * 10, widest=widest))
    assert found == pytest.approx((-bound, bound), abs=1e-12)


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        pytest.param(mean_interval([], low=0, high=1), None, id="no value"),
        pytest.param(mean_interval([0.7], low=0, high=1), None, id="one value"),
        pytest.param(difference_interval([]), None, id="no difference"),
        pytest.param(difference_interval([-0.5]), None, id="one difference"),
        pytest.param(difference_interval([0.0], widest=1.0), None, id="one query, unchanged"),
        pytest.param(
            difference_interval([0, -0.0, 0.0]), (0.0, 0.0), id="no query changed, of a metric without a range"
        ),
        pytest.param(mean_interval([0.3, 0.3, 0.3], low=None, high=None), (0.3, 0.3), id="constant, no ends"),
        pytest.param(mean_interval([1.0, 0.0], low=0, high=1), (0.0, 1.0), id="two values: r* stays below z"),
    ],
)
def test_edges(interval: Interval | None, expected: Interval | None) -> None:
    assert interval == expected


@pytest.mark.parametrize(
    ("values", "expected", "tolerance"),
    [
        # m -+ 1.96 s / sqrt(N), both within the effect of the appended value, 1 / 401
        pytest.param([0.0, 1.0] * 200, (0.451, 0.549), 0.0025, id="half of 400"),
        # one appended miss among 101: the misses drawn are Poisson(1), whose 97.5 % quantile is 3
        pytest.param([1.0] * 100, (1 - 3 / 101, 1.0), 0.5 / 101, id="all of 100: the rule of three"),
        # two misses among 101: Poisson(2) has 5; upwards the one miss that was seen is Poisson(1), at 2.5 % none
        pytest.param([0.0] + [1.0] * 99, (1 - 5 / 101, 1.0), 0.5 / 101, id="all but one of 100"),
    ],
)
def test_means_that_can_be_checked_by_hand(values: list[float], expected: Interval, tolerance: float) -> None:
    assert interval_of(mean_interval(values, low=0, high=1)) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("confidence", [1e-17, 1e-9, 1e-3])
def test_next_to_no_confidence_leaves_the_mean_with_what_was_appended(confidence: float) -> None:
    # where w, u and the logarithm of their quotient are all nearly zero
    balanced = interval_of(mean_interval([0.0, 1.0] * 10_000, low=0, high=1, confidence=confidence))
    assert balanced == pytest.approx((10_000 / 20_001, 10_001 / 20_001), abs=1e-5)
    lower, upper = interval_of(mean_interval([0.0] * 3 + [1.0] * 97, low=0, high=1, confidence=confidence))
    assert 97 / 101 - 0.005 < lower < 0.97 < upper < 98 / 101 + 0.005


def test_an_end_that_rounding_has_passed_is_moved_to_the_observed_extreme() -> None:
    above = math.nextafter(1.0, 2.0)
    lower, upper = interval_of(mean_interval([above] * 10, low=0, high=1))
    assert lower < 1
    assert upper == above


def test_small_losses_prove_nothing_while_a_whole_hit_could_be_won() -> None:
    # 30 of 100 lost a little and none won: +1 on 3 of 100 would make up for it and is unseen in 5 % of all samples
    losses = [-0.1] * 30 + [0.0] * 70
    assert interval_of(difference_interval(losses))[1] < 0
    assert interval_of(difference_interval(losses, widest=1.0))[1] == pytest.approx(-0.03 + 0.0335, abs=0.003)


@pytest.mark.parametrize("widest", [0.3, 0.0, -1.0])
def test_less_than_was_observed_is_not_the_widest(widest: float) -> None:
    differences = outcomes(7, 2, 50)
    assert difference_interval(differences, widest=widest) == difference_interval(differences)


@pytest.mark.parametrize("widest", [math.nan, math.inf])
def test_a_width_that_is_not_finite_is_refused(widest: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        difference_interval([0.5, 0.1], widest=widest)


@pytest.mark.parametrize("outliers", [1, 2])
def test_far_outliers_do_not_hide_the_others(outliers: int) -> None:
    # One timeout among 1,400 latencies is missing from 37 % of all resamples, two from 14 %: the lower bound is a mean
    # without it. r* has a first summit below z there, and reaches it only on the second.
    values = [30.0 + 20 * i / 1399 for i in range(1400 - outliers)] + [30_000.0] * outliers
    lower, upper = interval_of(mean_interval(values, low=0, high=None))
    assert 39.5 < lower < 40
    assert upper > 40 + 30_000 * 3 / 1401


@pytest.mark.parametrize(
    "values", [[0.5, math.nan], [math.nan], [0.5, math.inf], [-math.inf, 0.5], [-1e308, 1e308]], ids=str
)
def test_values_that_are_not_finite_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_interval(values, low=None, high=None)
    with pytest.raises(ValueError, match="finite"):
        difference_interval(values)


@pytest.mark.parametrize(("low", "high"), [(math.nan, 1.0), (0.0, math.nan), (-math.inf, 1.0), (0.0, math.inf)])
def test_ends_that_are_not_finite_are_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        mean_interval([0.5, 0.6], low=low, high=high)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 1.5, 95, math.nan])
def test_confidence_must_be_a_probability(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1"):
        mean_interval([], low=0, high=1, confidence=confidence)
    with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1"):
        difference_interval([0.0], confidence=confidence)


# --- the oracle: the bootstrap itself, with the same observation appended


def resampled(values: Sequence[float], appended: float, probability: float, draws: int = 40_000) -> Interval:
    """The quantile of the resampled means, and the standard deviation of the mean."""
    everything = [*values, appended]
    size = len(everything)
    means = np.random.default_rng(20_250_601).choice(everything, size=(draws, size)).mean(axis=1)
    mean = sum(everything) / size
    deviation = math.sqrt(sum((x - mean) ** 2 for x in everything)) / size
    return float(np.sort(means)[math.ceil(draws * probability) - 1]), deviation


def drawn(size: int, draw: Callable[[random.Random], float]) -> list[float]:
    source = random.Random(size)  # noqa: S311 - a seeded sample
    return [draw(source) for _ in range(size)]


@pytest.mark.parametrize(
    ("values", "low", "high", "step"),
    [
        pytest.param([1.0] * 31 + [0.0] * 9, 0, 1, 1, id="hits"),
        pytest.param([1.0] * 58 + [0.0] * 2, 0, 1, 1, id="hardly a miss"),
        pytest.param([1.0] * 20 + [0.5] * 9 + [0.0] * 5, 0, 1, 0.5, id="recall of two"),
        pytest.param(drawn(30, lambda r: r.betavariate(4, 1)), 0, 1, 0, id="ndcg"),
        pytest.param(drawn(30, lambda r: r.lognormvariate(3, 1)), 0, None, 0, id="latencies"),
        pytest.param(outcomes(9, 4, 47), -1, 1, 1, id="13 of 60 changed"),
        pytest.param(outcomes(3, 0, 57), -1, 1, 1, id="3 of 60 changed"),
    ],
)
def test_agrees_with_resampling(values: list[float], low: float, high: float | None, step: float) -> None:
    ends = low, max(values) if high is None else high
    for bound, end, probability in zip(
        interval_of(mean_interval(values, low=low, high=high)), ends, (0.025, 0.975), strict=True
    ):
        expected, deviation = resampled(values, end, probability)
        assert bound == pytest.approx(expected, abs=step / (len(values) + 1) / 2 + 0.02 * deviation)


@pytest.mark.parametrize(
    ("differences", "step"),
    [
        pytest.param([0.5] * 12 + [-0.5] * 14 + [0.0] * 34, 0.5, id="halves, and a whole one could be"),
        pytest.param(drawn(120, lambda r: r.gauss(0, 0.1)), 0, id="all move a little"),
    ],
)
def test_differences_agree_with_resampling(differences: list[float], step: float) -> None:
    found = interval_of(difference_interval(differences, widest=1.0))
    for bound, end, probability in zip(found, (-1.0, 1.0), (0.025, 0.975), strict=True):
        expected, deviation = resampled(differences, end, probability, draws=20_000)
        assert bound == pytest.approx(expected, abs=step / (len(differences) + 1) / 2 + 0.04 * deviation)


@pytest.mark.full
@pytest.mark.parametrize(
    ("ends", "sign"), [([0.1, 0.2, 0.5, 1.0] * 10, 1), ([0.1, 0.2, 0.5, 1.0] * 10, -1), ([0.3] * 40, 1)], ids=str
)
def test_with_ends_of_their_own_it_is_the_bootstrap_with_a_part_of_each_appended(ends: list[float], sign: int) -> None:
    """1/N of each end: whenever the appended place is drawn, it is one of the ends by chance."""
    source = random.Random(7)  # noqa: S311 - a seeded oracle
    differences = [source.choice([0.0, 0.0, -end / 2, end / 4]) for end in ends]
    reach = [sign * max(end, *map(abs, differences)) for end in ends]
    places, means = [*differences, None], []
    for _ in range(6_000):
        drawn_now = source.choices(places, k=len(places))
        means.append(sum(source.choice(reach) if x is None else x for x in drawn_now) / len(places))
    lower, upper = interval_of(difference_interval(differences, widest=ends))
    means.sort()
    expected, found = (means[5_849], upper) if sign > 0 else (means[149], lower)
    deviation = math.sqrt(sum((x - sum(means) / len(means)) ** 2 for x in means) / len(means))
    assert found == pytest.approx(expected, abs=0.08 * deviation)


# --- properties

UNIT = st.one_of(st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 1.0]), st.floats(0, 1))
RATES = st.lists(UNIT, min_size=2, max_size=60)
CHANGE = st.one_of(st.sampled_from([0.0, 0.0, 0.0, -1.0, -0.5, 0.25, 1.0]), st.floats(-1, 1))
CHANGES = st.lists(CHANGE.map(lambda x: round(x, 3)), min_size=2, max_size=60)
LEVELS = st.floats(0.5, 0.9999)


@given(RATES, LEVELS, st.randoms(use_true_random=False))
def test_order_does_not_matter_to_the_last_bit(values: list[float], confidence: float, source: random.Random) -> None:
    shuffled = values.copy()
    source.shuffle(shuffled)
    expected = mean_interval(values, low=0, high=1, confidence=confidence)
    assert mean_interval(iter(shuffled), low=0, high=1, confidence=confidence) == expected


@pytest.mark.full
@given(RATES, LEVELS, st.floats(0.2, 1))
def test_equal_ends_of_all_are_one_end(values: list[float], confidence: float, end: float) -> None:
    capped = [min(value, end) for value in values]
    found = mean_interval(capped, low=0, high=[end] * len(values), confidence=confidence)
    assert found == pytest.approx(interval_of(mean_interval(capped, low=0, high=end, confidence=confidence)), abs=1e-9)
    changes = [value - 0.5 for value in capped]
    found = difference_interval(changes, widest=[end] * len(values), confidence=confidence)
    assert found == pytest.approx(
        interval_of(difference_interval(changes, widest=end, confidence=confidence)), abs=1e-9
    )


@pytest.mark.full
@given(CHANGES, st.floats(0.1, 1))
def test_nearer_ends_make_no_wider_interval(values: list[float], near: float) -> None:
    lower, upper = interval_of(difference_interval(values, widest=[near, 1.0] * len(values)))
    wider_lower, wider_upper = interval_of(difference_interval(values, widest=[1.0] * len(values)))
    assert wider_lower <= lower + 1e-7
    assert upper <= wider_upper + 1e-7


@given(RATES, LEVELS)
def test_mean_bounds_enclose_the_mean_and_stay_in_range(values: list[float], confidence: float) -> None:
    lower, upper = interval_of(mean_interval(values, low=0, high=1, confidence=confidence))
    mean = math.fsum(values) / len(values)
    assert 0 <= lower <= mean + 1e-12
    assert mean - 1e-12 <= upper <= 1


WIDTHS = st.sampled_from([None, 1.0, 2.5])


@given(CHANGES, LEVELS, WIDTHS)
def test_difference_bounds_enclose_the_mean_and_stay_in_range(
    values: list[float], confidence: float, widest: float | None
) -> None:
    lower, upper = interval_of(difference_interval(values, widest=widest, confidence=confidence))
    mean, farthest = math.fsum(values) / len(values), max(widest or 0, *map(abs, values))
    assert -farthest <= lower <= mean + 1e-12
    assert mean - 1e-12 <= upper <= farthest


@given(CHANGES, st.sampled_from([None, 1.0]))
def test_a_wider_range_never_narrows(values: list[float], widest: float | None) -> None:
    lower, upper = interval_of(difference_interval(values, widest=widest))
    wider_lower, wider_upper = interval_of(difference_interval(values, widest=2.0))
    assert wider_lower <= lower + 1e-9
    assert wider_upper >= upper - 1e-9


@given(CHANGES, WIDTHS, st.sampled_from([2, 5, 30]))
def test_more_of_the_same_narrows(values: list[float], widest: float | None, times: int) -> None:
    lower, upper = interval_of(difference_interval(values, widest=widest))
    more_lower, more_upper = interval_of(difference_interval(values * times, widest=widest))
    assert more_lower >= lower - 1e-9
    assert more_upper <= upper + 1e-9


@given(CHANGES, WIDTHS)
def test_more_confidence_never_narrows_a_difference(values: list[float], widest: float | None) -> None:
    intervals = [
        interval_of(difference_interval(values, widest=widest, confidence=confidence))
        for confidence in (0.5, 0.8, 0.95, 0.99, 1 - 1e-9)
    ]
    for (lower, upper), (wider_lower, wider_upper) in itertools.pairwise(intervals):
        assert wider_lower <= lower + 1e-9
        assert wider_upper >= upper - 1e-9


@given(RATES)
def test_more_confidence_never_narrows(values: list[float]) -> None:
    intervals = [
        interval_of(mean_interval(values, low=0, high=1, confidence=confidence))
        for confidence in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-9)
    ]
    for (lower, upper), (wider_lower, wider_upper) in itertools.pairwise(intervals):
        assert wider_lower <= lower + 1e-9
        assert wider_upper >= upper - 1e-9


@given(CHANGES, WIDTHS, st.sampled_from([1e-12, 0.01, 3.0, 1000.0, 1e150]))
def test_differences_in_other_units_have_the_interval_in_other_units(
    values: list[float], widest: float | None, unit: float
) -> None:
    lower, upper = interval_of(difference_interval(values, widest=widest))
    scaled = interval_of(difference_interval([unit * x for x in values], widest=widest and unit * widest))
    assert scaled == pytest.approx((unit * lower, unit * upper), rel=1e-6, abs=1e-7 * unit)


@given(CHANGES, WIDTHS)
def test_swapping_the_two_runs_mirrors_the_interval(values: list[float], widest: float | None) -> None:
    lower, upper = interval_of(difference_interval(values, widest=widest))
    mirrored = interval_of(difference_interval([-x for x in values], widest=widest))
    assert mirrored == pytest.approx((-upper, -lower), abs=1e-12)


@given(RATES, st.sampled_from([-1.0, 0.5, 40.0, 1000.0]))
def test_a_shifted_metric_has_the_shifted_interval(values: list[float], shift: float) -> None:
    lower, upper = interval_of(mean_interval(values, low=0, high=1))
    shifted = interval_of(mean_interval([x + shift for x in values], low=shift, high=1 + shift))
    assert shifted == pytest.approx((lower + shift, upper + shift), abs=1e-7)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=2, max_size=20))
def test_any_floats_have_a_finite_interval_or_are_refused(values: list[float]) -> None:
    least, greatest = min(values), max(values)
    if not math.isfinite(greatest - least):
        return
    lower, upper = interval_of(mean_interval(values, low=None, high=None))
    assert least <= lower <= upper <= greatest


# --- size


@pytest.mark.parametrize("outlier", [10.0, 1e3, 1e5])
def test_more_than_ten_thousand_distinct_values_are_binned_within_the_stated_error(
    monkeypatch: pytest.MonkeyPatch, outlier: float
) -> None:
    values = [*drawn(10_500, lambda r: r.gauss(0, 1)), outlier]
    binned = interval_of(mean_interval(values, low=None, high=None))
    monkeypatch.setattr(saddlepoint, "_MAX_DISTINCT", len(values))
    exact = interval_of(mean_interval(values, low=None, high=None))
    deviation = math.sqrt(sum(x * x for x in values)) / len(values)
    assert binned != exact
    assert binned == pytest.approx(exact, abs=0.001 * deviation)


def test_a_million_hits_are_a_matter_of_counting() -> None:
    values = itertools.chain(itertools.repeat(1.0, 900_000), itertools.repeat(0.0, 100_000))
    half = 1.959964 * math.sqrt(0.9 * 0.1 / 1e6)
    assert interval_of(mean_interval(values, low=0, high=1)) == pytest.approx((0.9 - half, 0.9 + half), abs=2e-6)


# --- how often a bound misses: nominally 2.5 %, and 4 % is what we promise

PROMISED = 0.04


def misses(
    draw: Callable[[random.Random], list[float]], interval: Callable[[Sequence[float]], Interval | None], truth: float
) -> Interval:
    """The shares of 1,500 samples whose intervals lie above and below; the order of a sample means nothing to it."""
    source = random.Random(7)  # noqa: S311 - a seeded check
    known = cache(lambda values: interval_of(interval(values)))
    intervals = [known(tuple(sorted(draw(source)))) for _ in range(1500)]
    return sum(lower > truth for lower, _ in intervals) / 1500, sum(upper < truth for _, upper in intervals) / 1500


def in_whole_hits(differences: Sequence[float]) -> Interval | None:
    return difference_interval(differences, widest=1.0)


def of_rates(values: Sequence[float]) -> Interval | None:
    return mean_interval(values, low=0, high=1)


@pytest.mark.parametrize(("size", "share"), [(100, 0.05), (200, 0.05), (200, 0.26), (1000, 0.01)])
def test_changes_that_cancel_are_rarely_called_a_change(size: int, share: float) -> None:
    chances = [share / 2, 1 - share, share / 2]
    below, above = misses(lambda r: r.choices((-1.0, 0.0, 1.0), chances, k=size), difference_interval, 0.0)
    assert max(below, above) <= PROMISED


LOPSIDED = [(100, 0.03, 0.05), (100, 0.02, 0.2), (200, 0.01, 0.1), (200, 0.1, 0.2)]


@pytest.mark.parametrize(("size", "rare", "step"), LOPSIDED)
def test_rare_wins_that_make_up_for_frequent_losses_are_rarely_called_harm(size: int, rare: float, step: float) -> None:
    chances = [rare / step, 1 - rare - rare / step, rare]
    below, above = misses(lambda r: r.choices((-step, 0.0, 1.0), chances, k=size), in_whole_hits, 0.0)
    assert max(below, above) <= PROMISED


def test_without_the_width_they_often_are() -> None:
    size, rare, step = LOPSIDED[2]
    chances = [rare / step, 1 - rare - rare / step, rare]
    _, above = misses(lambda r: r.choices((-step, 0.0, 1.0), chances, k=size), difference_interval, 0.0)
    assert above > 2 * PROMISED


@pytest.mark.parametrize("size", [50, 100, 200])
def test_no_rate_at_all_is_missed_more_often(size: int) -> None:
    intervals = [
        interval_of(mean_interval([1.0] * found + [0.0] * (size - found), low=0, high=1)) for found in range(size + 1)
    ]
    for permille in range(20, 981, 2):
        rate = permille / 1000
        masses = [math.comb(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(size + 1)]
        below = sum(mass for mass, (lower, _) in zip(masses, intervals, strict=True) if lower > rate)
        above = sum(mass for mass, (_, upper) in zip(masses, intervals, strict=True) if upper < rate)
        assert max(below, above) <= 0.034


@pytest.mark.full
def test_the_interval_is_not_wider_than_it_must_be() -> None:
    sample = (0.0, 1 / 3, 0.5, 1.0)
    below, above = misses(lambda r: r.choices(sample, k=400), of_rates, sum(sample) / 4)
    assert min(below, above) >= 0.01
    assert max(below, above) <= PROMISED
