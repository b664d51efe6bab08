"""Weighted means: constant weights as the known case, whole weights as copies, resampled pairs as the slow oracle."""

import itertools
import math
import random
from collections.abc import Sequence
from statistics import pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.metrics.comparison import Pairs, paired
from rankgate.metrics.estimates import estimate
from rankgate.metrics.names import parse_metric
from rankgate.statistics.clusters import clustered_mean_interval, clustered_mean_level, effective_number, weighted_mean
from rankgate.statistics.power import planning_spread

RECALL = parse_metric("recall@5")
RATES = st.lists(st.sampled_from([0.0, 0.2, 1 / 3, 0.9, 1.0]), min_size=10, max_size=40)
CHANGES = st.lists(st.sampled_from([0.0, 0.0, -1.0, -0.5, 0.25, 1.0]), min_size=10, max_size=40)
WHOLE = st.lists(st.integers(1, 6), min_size=40, max_size=40)
KINDS = {
    "lognormal": lambda source: source.lognormvariate(0, 1),
    "Pareto": lambda source: source.paretovariate(1.5),
}


def pairs_of(changes: Sequence[float], weights: Sequence[float] = (), clusters: Sequence[str] = ()) -> Pairs:
    found = paired(RECALL, list(changes), [0.0] * len(changes), weights=list(weights), clusters=list(clusters))
    assert found is not None
    return found


@given(RATES, st.sampled_from([1e-50, 0.1, 3.0, 1e50]), st.sampled_from([1, 2]))
def test_weights_that_are_all_the_same_change_nothing(values: list[float], weight: float, size: int) -> None:
    weights, clusters = [weight] * len(values), [f"c{row // 2}" for row in range(len(values))] if size > 1 else []
    assert estimate(values, RECALL, clusters, weights) == estimate(values, RECALL, clusters)
    weighted, plain = pairs_of(values, weights, clusters), pairs_of(values, clusters=clusters)
    assert (weighted.compared(), weighted.level()) == (plain.compared(), plain.level())


@given(CHANGES, WHOLE, st.sampled_from([1, 2, 5]))
def test_a_whole_weight_is_as_many_copies_that_are_drawn_together(
    values: list[float], copies: list[int], together: int
) -> None:
    weights, clusters = copies[: len(values)], [row // together for row in range(len(values))]
    repeated = [value for value, count in zip(values, weights, strict=True) for _ in range(count)]
    labels = [cluster for cluster, count in zip(clusters, weights, strict=True) for _ in range(count)]
    effective = effective_number([labels.count(cluster) for cluster in sorted(set(labels))])
    weighted = clustered_mean_interval(values, clusters, low=-1, high=1, weights=weights)
    assert (weighted is None) == (effective < 10)
    if weighted is not None:
        assert weighted == pytest.approx(clustered_mean_interval(repeated, labels, low=-1, high=1), abs=1e-9)
        level = clustered_mean_level(values, clusters, 0.1, side="below", low=-1, high=1, weights=weights)
        again = clustered_mean_level(repeated, labels, 0.1, side="below", low=-1, high=1)
        assert level == pytest.approx(again, rel=1e-6)
    spread = planning_spread(values, clusters, planned=0.3, weights=weights)
    copied = planning_spread(repeated, labels, planned=0.3)
    assert spread is not None
    assert copied is not None
    # The same error of the mean, of as many queries as there are.
    assert spread.value / math.sqrt(len(values)) == pytest.approx(copied.value / math.sqrt(len(repeated)))
    assert spread.cluster / len(values) == pytest.approx(copied.cluster / len(repeated))


@given(CHANGES, st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_the_unit_of_weights_does_not_matter_and_swapping_the_runs_mirrors_the_interval(
    values: list[float], seed: int, unit: float
) -> None:
    source = random.Random(seed)  # noqa: S311 - a seeded sample
    weights = [source.lognormvariate(0, 0.7) for _ in values]
    found = clustered_mean_interval(values, (), low=-1, high=1, weights=weights)
    scaled = clustered_mean_interval(values, (), low=-1, high=1, weights=[weight * unit for weight in weights])
    mirror = clustered_mean_interval([-x for x in values], (), low=-1, high=1, weights=weights)
    assert (found is None) == (effective_number(weights) < 10)
    if found is not None:
        assert scaled == pytest.approx(found, abs=1e-6)
        assert mirror == pytest.approx((-found[1], -found[0]), abs=1e-6)
        assert found[0] - 1e-9 <= weighted_mean(values, weights) <= found[1] + 1e-9


@pytest.mark.parametrize(("kind", "count"), [("lognormal", 40), ("lognormal", 150), ("Pareto", 150)])
def test_agrees_with_resampling_pairs_of_weight_and_value(kind: str, count: int) -> None:
    source = random.Random(count)  # noqa: S311 - a seeded oracle
    weights = [KINDS[kind](source) for _ in range(count)]
    values = [float(source.random() < 0.7) for _ in range(count)]
    own = sum(w * w for w in weights) / sum(weights)
    found = clustered_mean_interval(values, (), low=0, high=1, weights=weights)
    assert found is not None
    for bound, end, share in zip(found, (0.0, 1.0), (0.025, 0.975), strict=True):
        pool = [*zip(weights, values, strict=True), (own, end)]
        ratios = sorted(
            sum(w * x for w, x in drawn) / sum(w for w, _ in drawn)
            for drawn in (source.choices(pool, k=len(pool)) for _ in range(10_000))
        )
        assert bound == pytest.approx(ratios[math.ceil(share * len(ratios)) - 1], abs=0.05 * pstdev(ratios))


def test_the_effective_number() -> None:
    found = [effective_number(weights) for weights in ([3.0] * 7, [1.0, 3.0], [1e50, *[1e-50] * 99])]
    assert found == pytest.approx([7.0, 16 / 10, 1.0])


@given(st.lists(st.sampled_from([-1.0, -1.0, 0.0, 0.5]), min_size=6, max_size=12))
def test_with_few_weights_the_signs_of_weighted_changes_are_enumerated(changes: list[float]) -> None:
    weights = [100.0, *(1.0 + row for row in range(len(changes) - 1))]
    sums = [change * weight for change, weight in zip(changes, weights, strict=True) if change]
    found = pairs_of(changes, weights)
    assert found.interval(0.95) is None
    totals = [
        sum(s * abs(x) for s, x in zip(signs, sums, strict=True))
        for signs in itertools.product((-1, 1), repeat=len(sums))
    ]
    exact = found.exact(None)
    assert exact is not None
    expected = sum(total <= sum(sums) + 1e-9 for total in totals) / len(totals) if sums else 1.0
    assert exact.p == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_true_rate_is_rarely_outside_the_interval(kind: str) -> None:
    source, truth, missed = random.Random(5), 0.9, 0  # noqa: S311 - a seeded check
    for _ in range(400):
        weights = [KINDS[kind](source) for _ in range(100)]
        values = [float(source.random() < truth) for _ in weights]
        found = clustered_mean_interval(values, (), low=0, high=1, weights=weights)
        missed += found is not None and not found[0] <= truth <= found[1]
    assert missed <= 0.05 * 400
