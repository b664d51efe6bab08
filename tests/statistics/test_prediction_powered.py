"""PPI++ beside ppi-python, beside a slow implementation, and by what has to hold whatever the values are."""

from __future__ import annotations

import math
import random
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit
from tests.rows import each_row

from rankgate.statistics.calibration import Labelled, Powered, prediction_powered

SHARES = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.8, 1.0])
PAIRS = st.lists(st.tuples(SHARES, SHARES), min_size=10, max_size=30)
REST = st.lists(SHARES, min_size=10, max_size=40)


Answers = tuple[list[tuple[float, float]], list[float]]  # labelled by people and by the judge, and the judge's others


def powered(pairs: list[tuple[float, float]], rest: list[float], clusters: list[int] | None = None) -> Powered:
    found = prediction_powered([Labelled(people, judge) for people, judge in pairs], rest, clusters or ())
    assert found is not None
    return found


def drawn(seed: int, n: int, rest: int, errs: float = 0.2) -> Answers:
    """Values 0 and 1 and a judge that errs."""
    chance = np.random.default_rng(seed)
    values = (chance.random(n + rest) < 0.8).astype(float)
    judge = np.where(chance.random(n + rest) < errs, 1 - values, values).tolist()
    return list(zip(values[:n].tolist(), judge[:n], strict=True)), judge[n:]


def by_ppi_python(y: Any, f: Any, rest: Any) -> tuple[float, float, float]:
    """Value, lambda and standard error as ``ppi_mean_pointestimate`` and ``ppi_mean_ci`` of ppi-python 0.2.3 do it."""
    n, unlabelled = len(y), len(rest)
    covariance = 2 / n * ((y - y.mean()) * (f - f.mean())).sum()
    variance = np.cov(np.concatenate([f, rest]))
    tuning = np.clip(covariance / (2 * (1 + n / unlabelled) * variance), 0, 1)
    value = tuning * rest.mean() + (y - tuning * f).mean()
    return value, tuning, math.hypot((tuning * rest).std() / math.sqrt(unlabelled), (y - tuning * f).std() / n**0.5)


@each_row("seed", range(20))
def test_it_is_ppi_python(seed: int) -> None:
    chance = np.random.default_rng(seed)
    n, rest = int(chance.integers(10, 60)), int(chance.integers(10, 300))
    y = chance.beta(0.9, 0.3, n)
    f, others = y * chance.uniform(0.2, 1, n), chance.beta(2, 1, rest)
    found = powered(list(zip(y.tolist(), f.tolist(), strict=True)), others.tolist())
    assert (found.value, found.tuning, found.error) == pytest.approx(by_ppi_python(y, f, others), abs=1e-9)


# Value and standard error by `ppi_mean_pointestimate` and `ppi_mean_ci` of ppi-python 0.2.3 on what is drawn here.
BY_THE_PACKAGE = [
    (0.7354971590909093, 0.04059884917268912),
    (0.8057594137819332, 0.05236457591560831),
    (0.8996097701980054, 0.05430872463115048),
    (0.8659070665792525, 0.07011319590491576),
    (0.6440214064725784, 0.08839548651601904),
]


@each_row(("seed", "theirs"), enumerate(BY_THE_PACKAGE))
def test_it_is_the_real_ppi_python(seed: int, theirs: tuple[float, float]) -> None:
    found = powered(*drawn(seed, 20 + seed, 100, 0.1 * seed))
    assert (found.value, found.error) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.full
@given(PAIRS, REST, st.integers(2, 7))
def test_clusters_beside_a_slow_implementation(
    pairs: list[tuple[float, float]], rest: list[float], number: int
) -> None:
    """The influence of every answer on the value, by taking it out of the sums, summed over its cluster."""
    clusters = [n % number for n in range(len(pairs) + len(rest))]
    found = powered(pairs, rest, clusters)
    residuals = [y - found.tuning * f for y, f in pairs]
    influences = [(r - statistics.fmean(residuals)) / len(pairs) for r in residuals]
    influences += [found.tuning * (f - statistics.fmean(rest)) / len(rest) for f in rest]
    sums = [sum(x for x, own in zip(influences, clusters, strict=True) if own == each) for each in range(number)]
    assert found.error == pytest.approx(math.sqrt(sum(x * x for x in sums)), abs=1e-12)
    assert found.cumulant == pytest.approx(sum(x**3 for x in sums), abs=1e-12)
    assert (found.value, found.tuning) == pytest.approx((powered(pairs, rest).value, powered(pairs, rest).tuning))
    assert found.n == number


def test_copies_of_an_answer_say_no_more_than_it_does() -> None:
    """Ten copies of each, in a cluster: the interval is that of one of each."""
    pairs, rest = drawn(1, 60, 300)
    once = powered(pairs, rest)
    clusters = [n for n in range(360) for _ in range(10)]
    copies = powered([pair for pair in pairs for _ in range(10)], [f for f in rest for _ in range(10)], clusters)
    assert (copies.error, copies.n) == pytest.approx((once.error, once.n), rel=0.02)
    assert copies.bounds() == pytest.approx(once.bounds(), abs=0.005)


@pytest.mark.full
@given(PAIRS, REST, st.floats(0, 1))
def test_no_other_lambda_has_less_error_by_the_moments_it_is_made_of(
    pairs: list[tuple[float, float]], rest: list[float], other: float
) -> None:
    found, n = powered(pairs, rest), len(pairs)
    y, f = (np.array(side) for side in zip(*pairs, strict=True))
    both = np.cov(np.concatenate([f, rest]))

    def variance(tuning: float) -> float:
        covariance = ((y - y.mean()) * (f - f.mean())).mean()
        return float(tuning**2 * both * (1 / len(rest) + 1 / n) - 2 * tuning * covariance / n)

    assert variance(found.tuning) <= variance(other) + 1e-12


@pytest.mark.full
@given(PAIRS, REST, st.randoms())
def test_order_does_not_matter(pairs: list[tuple[float, float]], rest: list[float], chance: random.Random) -> None:
    before = powered(pairs, rest)
    chance.shuffle(pairs)
    chance.shuffle(rest)
    assert powered(pairs, rest) == pytest.approx(before, abs=1e-12)


@pytest.mark.full
@given(PAIRS, REST, st.floats(0.1, 10), st.floats(-5, 5))
def test_scale_and_origin_do_not_matter(
    pairs: list[tuple[float, float]], rest: list[float], scale: float, origin: float
) -> None:
    """The judge's origin never does; with people's and the judge's scale alike the result has that scale."""
    before = powered(pairs, rest)
    moved = [(scale * y, scale * f + origin) for y, f in pairs]
    after = powered(moved, [scale * f + origin for f in rest])
    assert after.tuning == pytest.approx(before.tuning, abs=1e-6)
    assert after.value == pytest.approx(scale * before.value, abs=1e-6)
    assert after.error == pytest.approx(scale * before.error, abs=1e-6)


@pytest.mark.full
@given(PAIRS, REST, SHARES)
def test_a_constant_judge_leaves_labels_alone(pairs: list[tuple[float, float]], rest: list[float], said: float) -> None:
    people = [y for y, _ in pairs]
    found = powered([(y, said) for y in people], [said for _ in rest])
    assert (found.tuning, found.unseen) == (0, 0)
    assert found.value == pytest.approx(statistics.fmean(people), abs=1e-12)
    error = statistics.stdev(people) / math.sqrt(len(people))
    low, high = found.bounds()
    reach = stdtrit(len(people) - 1, 0.975) * error
    skew = found.cumulant * (1 + 2 * stdtrit(len(people) - 1, 0.975) ** 2) / (6 * found.error**2 or 1)
    if error:
        expected = (found.value - reach + min(skew, 0), found.value + reach + max(skew, 0))
        assert (low, high) == pytest.approx(expected, abs=1e-9)


@given(st.lists(SHARES, min_size=10, max_size=20), st.integers(1, 6))
def test_a_perfect_judge_gives_the_interval_of_all(values: list[float], copies: int) -> None:
    """The labelled values are those of all, several times: then lambda is N / (N + n), but for n - 1 and n."""
    rest = values * copies
    found = powered([(value, value) for value in values], rest)
    everything = [*values, *rest]
    assert found.value == pytest.approx(statistics.fmean(everything), abs=1e-9)
    if statistics.pstdev(values):
        expected = copies / (copies + 1) * (len(everything) - 1) / len(everything)
        assert found.tuning == pytest.approx(expected, abs=1e-9)
        assert found.error == pytest.approx(statistics.pstdev(values) / math.sqrt(len(everything)), rel=0.01)


def test_a_judge_says_more_the_better_it_is_and_never_less_than_labels_alone() -> None:
    errors = [powered(*drawn(3, 100, 1000, errs)).error for errs in (0.0, 0.1, 0.3)]
    assert errors == sorted(errors)
    useless = powered(*drawn(3, 100, 1000, 0.5))
    alone = powered(drawn(3, 100, 1000, 0.5)[0], [])
    assert useless.error <= alone.error * 1.01


def test_labels_that_never_vary_exclude_only_what_they_would_have_shown() -> None:
    low, high = powered([(1.0, 1.0)] * 100, [1.0] * 500).bounds()
    assert (low, high) == pytest.approx((1 - 0.0362, 1 + 0.0362), abs=1e-4)  # 1 - 0.025^(1/100)


def test_a_bound_goes_out_to_the_side_of_the_tail_and_never_in() -> None:
    rare = powered([(1.0, 0.0)] * 95 + [(0.0, 0.0)] * 5, [0.0] * 100)
    low, high = rare.bounds()
    reach = stdtrit(99, 0.975) * math.sqrt(0.95 * 0.05 / 99)
    assert high == pytest.approx(0.95 + reach)
    assert low < 0.95 - 1.3 * reach


def test_with_hardly_an_answer_left_labels_decide() -> None:
    found = powered([(1.0, 1.0)] * 20 + [(0.0, 0.0)] * 20, [1.0] * 9)
    assert (found.value, found.tuning) == (0.5, 0)


@pytest.mark.parametrize(
    ("labelled", "clusters"),
    [
        pytest.param(0, [], id="no label"),
        pytest.param(1, [], id="one label"),
        pytest.param(5, ["a"] * 5 + [*"bcdefghijklmnopqrst"], id="one cluster"),
    ],
)
def test_too_few_labels_have_no_value(labelled: int, clusters: list[str]) -> None:
    assert prediction_powered([Labelled(1.0, 1.0)] * labelled, [1.0] * 19, clusters) is None
