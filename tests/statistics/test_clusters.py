"""Intervals over clusters: single queries as the known case, whole clusters resampled as the oracle, misses."""

import itertools
import math
import random
from collections.abc import Sequence
from statistics import pstdev

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankgate.statistics.binomial import Side
from rankgate.statistics.clusters import clustered_mean_interval, clustered_mean_level
from rankgate.statistics.saddlepoint import difference_interval, difference_level, mean_interval, mean_level

Interval = tuple[float, float]
RATES = st.lists(st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 0.9, 1.0]), min_size=10, max_size=40)
CHANGES = st.lists(st.sampled_from([0.0, 0.0, 0.0, -1.0, -0.5, 0.25, 1.0]), min_size=10, max_size=40)
SIDES: list[Side] = ["below", "above"]


def interval_of(interval: Interval | None) -> Interval:
    assert interval is not None
    return interval


@pytest.mark.full
@given(RATES, st.sampled_from([0.8, 0.95, 0.999]))
def test_clusters_of_one_query_are_queries(values: list[float], confidence: float) -> None:
    found = clustered_mean_interval(values, range(len(values)), low=0, high=1, confidence=confidence)
    assert interval_of(found) == pytest.approx(mean_interval(values, low=0, high=1, confidence=confidence), abs=1e-6)


@pytest.mark.full
@given(CHANGES, st.sampled_from([None, 1.0]))
@example([0.0] * 10, 1.0)
def test_clusters_of_one_query_are_queries_for_differences(values: list[float], widest: float | None) -> None:
    reach = max(widest or 0.0, *map(abs, values))
    found = clustered_mean_interval(values, range(len(values)), low=-reach, high=reach)
    assert interval_of(found) == pytest.approx(difference_interval(values, widest=widest), abs=1e-6)


@given(CHANGES, st.sampled_from([0.0, -0.1, 0.2]), st.sampled_from(SIDES))
@example([0.0] * 10, 0.2, "below")
@example([0.0] * 10, -0.1, "above")
def test_levels_of_single_queries(values: list[float], value: float, side: Side) -> None:
    found = clustered_mean_level(values, range(len(values)), value, side=side, low=-1.0, high=1.0)
    assert found == pytest.approx(difference_level(values, value, side=side, widest=1.0), rel=1e-4, abs=1e-9)


def test_clusters_that_did_not_change_count_by_their_number() -> None:
    labels = [*range(10), *[0] * 20, 1]  # of very different sizes
    bound = 1 - 0.025 ** (1 / 10)
    found = clustered_mean_interval([0.0] * len(labels), labels, low=-1, high=1)
    assert interval_of(found) == pytest.approx((-bound, bound), abs=1e-12)
    level = clustered_mean_level([0.0] * len(labels), labels, bound, side="below", low=-1, high=1)
    assert level == pytest.approx(0.025)


@pytest.mark.parametrize("copies", [2, 5])
def test_queries_that_repeat_each_other_count_once(copies: int) -> None:
    values = [0.0] * 4 + [0.5] * 6 + [1.0] * 20
    repeated = [value for value in values for _ in range(copies)]
    clusters = [cluster for cluster in range(len(values)) for _ in range(copies)]
    found = clustered_mean_interval(repeated, clusters, low=0, high=1)
    assert interval_of(found) == pytest.approx(mean_interval(values, low=0, high=1), abs=1e-7)
    level = clustered_mean_level(repeated, clusters, 0.95, side="below", low=0, high=1)
    assert level == pytest.approx(mean_level(values, 0.95, side="below", low=0, high=1), rel=1e-5)


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        pytest.param(clustered_mean_interval([], [], low=0, high=1), None, id="no query"),
        pytest.param(clustered_mean_interval([0.5] * 90, list(range(9)) * 10, low=0, high=1), None, id="9 clusters"),
        pytest.param(clustered_mean_interval([7.0] * 20, range(20), low=None, high=None), (7.0, 7.0), id="constant"),
    ],
)
def test_edges(interval: Interval | None, expected: Interval | None) -> None:
    assert interval == expected


def test_level_edges() -> None:
    assert clustered_mean_level([0.5] * 9, range(9), 0.9, side="below", low=0, high=1) is None
    assert clustered_mean_level([0.5, 0.6] * 9, range(18), 0.4, side="below", low=0, high=1) == 1.0
    assert clustered_mean_level([0.5, 0.6] * 9, range(18), 1.4, side="below", low=0, high=1) == 0.0


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        clustered_mean_interval([0.5], "ab", low=0, high=1)
    with pytest.raises(ValueError, match="confidence"):
        clustered_mean_interval([0.5], "a", low=0, high=1, confidence=2)
    for values in ([math.nan] * 10, [math.inf] * 10, [0.5] * 9 + [math.nan]):
        with pytest.raises(ValueError, match=r"finite|-inf"):
            clustered_mean_interval(values, range(10), low=0, high=1)


def drawn(source: random.Random, count: int, rate: float, sizes: Sequence[int]) -> tuple[list[float], list[int]]:
    """Hits that agree within their cluster: each cluster has a rate of its own, around a common one."""
    values, clusters = [], []
    for cluster in range(count):
        own = source.betavariate(2 * rate, 2 * (1 - rate))
        for _ in range(source.choice(sizes)):
            values.append(float(source.random() < own))
            clusters.append(cluster)
    return values, clusters


@pytest.mark.full
@pytest.mark.parametrize(("count", "sizes"), [(12, [4]), (30, [1, 5]), (60, [1, 2, 3, 10])], ids=str)
def test_agrees_with_resampling_whole_clusters(count: int, sizes: list[int]) -> None:
    source = random.Random(count)  # noqa: S311 - a seeded oracle
    values, clusters = drawn(source, count, 0.7, sizes)
    sums = [(sum(x for x, _ in group), len(group)) for group in grouped(values, clusters)]
    own = sum(size * size for _, size in sums) / len(values)
    found = interval_of(clustered_mean_interval(values, clusters, low=0, high=1))
    for bound, end, share in zip(found, (0.0, 1.0), (0.025, 0.975), strict=True):
        pool = [*sums, (end * own, own)]
        ratios = sorted(
            sum(total for total, _ in drawn_sums) / sum(size for _, size in drawn_sums)
            for drawn_sums in (source.choices(pool, k=len(pool)) for _ in range(20_000))
        )
        deviation = pstdev(ratios)
        assert bound == pytest.approx(
            ratios[math.ceil(share * len(ratios)) - 1], abs=0.5 / len(values) + 0.02 * deviation
        )


def grouped(values: Sequence[float], clusters: Sequence[int]) -> list[list[tuple[float, int]]]:
    pairs = zip(values, clusters, strict=True)
    return [list(group) for _, group in itertools.groupby(pairs, key=lambda pair: pair[1])]


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from(SIDES), st.floats(0.05, 0.95))
def test_the_bound_is_beyond_a_value_exactly_above_the_level(seed: int, side: Side, value: float) -> None:
    source = random.Random(seed)  # noqa: S311 - a seeded sample
    values, clusters = drawn(source, 20, 0.6, [1, 2, 6])
    level = clustered_mean_level(values, clusters, value, side=side, low=0, high=1)
    assert level is not None
    for confidence, proven in ((1 - 2 * level * 0.999, False), (1 - 2 * level * 1.001, True)):
        if 0 < confidence < 1 - 1e-9:
            lower, upper = interval_of(clustered_mean_interval(values, clusters, low=0, high=1, confidence=confidence))
            assert (upper < value if side == "below" else lower > value) == proven


@pytest.mark.full
@given(st.integers(0, 10_000))
def test_swapping_the_two_runs_mirrors_the_interval(seed: int) -> None:
    source = random.Random(seed)  # noqa: S311 - a seeded sample
    clusters = [source.randrange(12) for _ in range(60)]
    values = [source.choice([-1.0, 0.0, 0.0, 0.5]) for _ in clusters]
    found = clustered_mean_interval(values, clusters, low=-1.0, high=1.0)
    mirror = clustered_mean_interval([-x for x in values], clusters, low=-1.0, high=1.0)
    if found is None or mirror is None:
        assert found is mirror
        return
    assert mirror == pytest.approx((-found[1], -found[0]), abs=1e-9)
    assert found[0] <= math.fsum(values) / len(values) <= found[1]


@pytest.mark.full
@pytest.mark.parametrize(("count", "sizes"), [(30, [5]), (60, [1, 2, 3, 10])], ids=str)
def test_a_true_rate_is_rarely_outside_and_queries_alone_would_not_do(count: int, sizes: list[int]) -> None:
    source, runs, truth = random.Random(17), 400, 0.7  # noqa: S311 - a seeded check
    missed = alone = 0
    for _ in range(runs):
        values, clusters = drawn(source, count, truth, sizes)
        lower, upper = interval_of(clustered_mean_interval(values, clusters, low=0, high=1))
        missed += not lower <= truth <= upper
        lower, upper = interval_of(mean_interval(values, low=0, high=1))
        alone += not lower <= truth <= upper
    assert missed / runs <= 0.09  # nominally 0.05; 400 runs leave a standard error of 0.011
    assert alone / runs > 0.12
