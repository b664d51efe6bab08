"""PPI++ beside ppi-python, beside a slow implementation, and by what has to hold whatever the values are."""

from __future__ import annotations

import json
import math
import random
import statistics
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rankgate.statistics.prediction_powered import (
    Labelled,
    Powered,
    Stratum,
    merged,
    prediction_powered,
)

SHARES = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.8, 1.0])
PAIRS = st.lists(st.tuples(SHARES, SHARES), min_size=10, max_size=30)
REST = st.lists(SHARES, min_size=10, max_size=40)


def powered(*strata: Stratum) -> Powered:
    found = prediction_powered(strata)
    assert found is not None
    return found


def stratum(pairs: list[tuple[float, float]], rest: list[float], *key: str) -> Stratum:
    return Stratum(key, [Labelled(people, judge) for people, judge in pairs], rest)


def drawn(seed: int, n: int, rest: int, errs: float = 0.2) -> Stratum:
    """Values 0 and 1 and a judge that errs."""
    chance = np.random.default_rng(seed)
    values = (chance.random(n + rest) < 0.8).astype(float)
    judge = np.where(chance.random(n + rest) < errs, 1 - values, values).tolist()
    return stratum(list(zip(values[:n].tolist(), judge[:n], strict=True)), judge[n:])


def by_ppi_python(y: Any, f: Any, rest: Any) -> tuple[float, float, float]:
    """Value, lambda and standard error as ``ppi_mean_pointestimate`` and ``ppi_mean_ci`` of ppi-python 0.2.3 do it."""
    n, unlabelled = len(y), len(rest)
    covariance = 2 / n * ((y - y.mean()) * (f - f.mean())).sum()
    variance = np.cov(np.concatenate([f, rest]))
    tuning = np.clip(covariance / (2 * (1 + n / unlabelled) * variance), 0, 1)
    value = tuning * rest.mean() + (y - tuning * f).mean()
    return value, tuning, math.hypot((tuning * rest).std() / math.sqrt(unlabelled), (y - tuning * f).std() / n**0.5)


@pytest.mark.parametrize("seed", range(20))
def test_one_stratum_is_ppi_python(seed: int) -> None:
    chance = np.random.default_rng(seed)
    n, rest = int(chance.integers(10, 60)), int(chance.integers(10, 300))
    y = chance.beta(0.9, 0.3, n)
    f, others = y * chance.uniform(0.2, 1, n), chance.beta(2, 1, rest)
    found = powered(stratum(list(zip(y.tolist(), f.tolist(), strict=True)), others.tolist()))
    assert (found.value, found.tuning, found.error) == pytest.approx(by_ppi_python(y, f, others), abs=1e-9)


@pytest.mark.full
def test_one_stratum_is_the_real_ppi_python() -> None:
    """In an environment of its own: it brings numba, statsmodels and scikit-learn."""
    strata = [drawn(seed, 20 + seed, 100, 0.1 * seed) for seed in range(5)]
    data = [([pair.people for pair in s.labelled], [pair.judge for pair in s.labelled], s.unlabelled) for s in strata]
    program = """
import json, sys
import numpy as np
from scipy.stats import norm
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
for row in json.load(sys.stdin):
    y, f, rest = map(np.array, row)
    low, high = ppi_mean_ci(y, f, rest, alpha=0.05)
    value = ppi_mean_pointestimate(y, f, rest)
    print(json.dumps([value.item(), ((high - low) / 2 / norm.ppf(0.975)).item()]))
"""
    command = [sys.executable, "-m", "uv", "run", "-q", "--isolated", "--no-project", "--with", "ppi-python==0.2.3"]
    answer = subprocess.run(
        [*command, "python", "-c", program], input=json.dumps(data), capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in answer.stdout.splitlines()]
    for each, theirs in zip(strata, lines, strict=True):
        found = powered(each)
        assert [found.value, found.error] == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=50)
@given(st.lists(st.tuples(PAIRS, REST), min_size=2, max_size=3))
def test_strata_beside_a_slow_implementation(parts: list[tuple[list[tuple[float, float]], list[float]]]) -> None:
    """The design's formula, literally: sum W (lambda mean_N(f) + mean_n(y - lambda f)), and its variance."""
    found = powered(*(stratum(pairs, rest, str(i)) for i, (pairs, rest) in enumerate(parts)))
    total = sum(len(pairs) + len(rest) for pairs, rest in parts)
    values, variance, size = [], 0.0, []
    for pairs, rest in parts:
        residuals = [y - found.tuning * f for y, f in pairs]
        size.append((len(pairs) + len(rest)) / total)
        values.append(found.tuning * statistics.fmean(rest) + statistics.fmean(residuals))
        spread = statistics.pvariance(residuals) / len(pairs)
        variance += size[-1] ** 2 * (spread + found.tuning**2 * statistics.pvariance(rest) / len(rest))
    value = sum(w * x for w, x in zip(size, values, strict=True))
    variance += sum(w * (x - value) ** 2 for w, x in zip(size, values, strict=True)) / total
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.error == pytest.approx(math.sqrt(variance), abs=1e-9)
    assert found.df == sum(len(pairs) for pairs, _ in parts) - len(parts)


@given(PAIRS, REST, st.floats(0, 1))
def test_no_other_lambda_has_less_error_by_the_moments_it_is_made_of(
    pairs: list[tuple[float, float]], rest: list[float], other: float
) -> None:
    found, n = powered(stratum(pairs, rest)), len(pairs)
    y, f = (np.array(side) for side in zip(*pairs, strict=True))
    both = np.cov(np.concatenate([f, rest]))

    def variance(tuning: float) -> float:
        covariance = ((y - y.mean()) * (f - f.mean())).mean()
        return float(tuning**2 * both * (1 / len(rest) + 1 / n) - 2 * tuning * covariance / n)

    assert variance(found.tuning) <= variance(other) + 1e-12


@given(PAIRS, REST, st.randoms())
def test_order_does_not_matter(pairs: list[tuple[float, float]], rest: list[float], chance: random.Random) -> None:
    before = powered(stratum(pairs, rest))
    chance.shuffle(pairs)
    chance.shuffle(rest)
    assert powered(stratum(pairs, rest)) == pytest.approx(before, abs=1e-12)


@given(PAIRS, REST, st.floats(0.1, 10), st.floats(-5, 5))
def test_scale_and_origin_do_not_matter(
    pairs: list[tuple[float, float]], rest: list[float], scale: float, origin: float
) -> None:
    """The judge's origin never does; with people's and the judge's scale alike the result has that scale."""
    before = powered(stratum(pairs, rest))
    moved = [(scale * y, scale * f + origin) for y, f in pairs]
    after = powered(stratum(moved, [scale * f + origin for f in rest]))
    assert after.tuning == pytest.approx(before.tuning, abs=1e-6)
    assert after.value == pytest.approx(scale * before.value, abs=1e-6)
    assert after.error == pytest.approx(scale * before.error, abs=1e-6)


@given(PAIRS, REST, SHARES)
def test_a_constant_judge_leaves_labels_alone(pairs: list[tuple[float, float]], rest: list[float], said: float) -> None:
    people = [y for y, _ in pairs]
    found = powered(stratum([(y, said) for y in people], [said for _ in rest]))
    assert (found.tuning, found.unseen) == (0, 0)
    assert found.value == pytest.approx(statistics.fmean(people), abs=1e-12)
    error = statistics.stdev(people) / math.sqrt(len(people))
    low, high = found.bounds()
    reach = stats.t.ppf(0.975, len(people) - 1) * error
    skew = found.cumulant * (1 + 2 * stats.t.ppf(0.975, len(people) - 1) ** 2) / (6 * found.error**2 or 1)
    if error:
        expected = (found.value - reach + min(skew, 0), found.value + reach + max(skew, 0))
        assert (low, high) == pytest.approx(expected, abs=1e-9)


@given(st.lists(SHARES, min_size=10, max_size=20), st.integers(1, 6))
def test_a_perfect_judge_gives_the_interval_of_all(values: list[float], copies: int) -> None:
    """The labelled values are those of all, several times: then lambda is N / (N + n), but for n - 1 and n."""
    rest = values * copies
    found = powered(stratum([(value, value) for value in values], rest))
    everything = [*values, *rest]
    assert found.value == pytest.approx(statistics.fmean(everything), abs=1e-9)
    if statistics.pstdev(values):
        expected = copies / (copies + 1) * (len(everything) - 1) / len(everything)
        assert found.tuning == pytest.approx(expected, abs=1e-9)
        assert found.error == pytest.approx(statistics.pstdev(values) / math.sqrt(len(everything)), rel=0.01)


def test_a_judge_says_more_the_better_it_is_and_never_less_than_labels_alone() -> None:
    errors = [powered(drawn(3, 100, 1000, errs)).error for errs in (0.0, 0.1, 0.3)]
    assert errors == sorted(errors)
    useless = powered(drawn(3, 100, 1000, 0.5))
    alone = powered(drawn(3, 100, 1000, 0.5)._replace(unlabelled=[]))
    assert useless.error <= alone.error * 1.01


def test_labels_that_never_vary_exclude_only_what_they_would_have_shown() -> None:
    low, high = powered(stratum([(1.0, 1.0)] * 100, [1.0] * 500)).bounds()
    assert (low, high) == pytest.approx((1 - 0.0362, 1 + 0.0362), abs=1e-4)  # 1 - 0.025^(1/100)


def test_a_bound_goes_out_to_the_side_of_the_tail_and_never_in() -> None:
    rare = powered(stratum([(1.0, 0.0)] * 95 + [(0.0, 0.0)] * 5, [0.0] * 100))
    low, high = rare.bounds()
    reach = stats.t.ppf(0.975, 99) * math.sqrt(0.95 * 0.05 / 99)
    assert high == pytest.approx(0.95 + reach)
    assert low < 0.95 - 1.3 * reach


def test_with_hardly_an_answer_left_labels_decide() -> None:
    found = powered(stratum([(1.0, 1.0)] * 20 + [(0.0, 0.0)] * 20, [1.0] * 9))
    assert (found.value, found.tuning) == (0.5, 0)


@pytest.mark.parametrize("strata", [[], [Stratum((), [], [1.0])], [Stratum((), [Labelled(1.0, 1.0)], [1.0] * 20)]])
def test_too_few_labels_have_no_value(strata: list[Stratum]) -> None:
    assert prediction_powered(strata) is None


class TestMerging:
    def strata(self, *sizes: tuple[str, str, int]) -> list[Stratum]:
        return [Stratum((verdict, segment), [Labelled(1.0, 1.0)] * n, [1.0] * 50) for verdict, segment, n in sizes]

    def test_segments_before_verdicts(self) -> None:
        found = merged(self.strata(("yes", "de", 3), ("yes", "fr", 40), ("no", "de", 12), ("no", "fr", 30)))
        assert sorted((each.key, len(each.labelled)) for each in found) == [
            (("no", "de"), 12), (("no", "fr"), 30), (("yes",), 43),
        ]  # fmt: skip

    def test_until_each_has_ten_or_one_is_left(self) -> None:
        found = merged(self.strata(("yes", "de", 1), ("yes", "fr", 2), ("no", "de", 0), ("no", "fr", 3)))
        assert [(each.key, len(each.labelled), len(each.unlabelled)) for each in found] == [((), 6, 200)]

    @given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 14)), max_size=6))
    def test_nothing_is_lost_and_weights_stay_those_of_the_draw(self, sizes: list[tuple[str, str, int]]) -> None:
        strata = self.strata(*{size[:2]: size for size in sizes}.values())
        found = merged(strata)
        assert len(found) <= 1 or all(len(each.labelled) >= 10 for each in found)
        assert sum(len(each.labelled) for each in found) == sum(len(each.labelled) for each in strata)
        assert merged(strata[::-1]) == found
        if len(strata) > 1 and len(found) == 1 and all(each.labelled for each in strata):
            weighed = sum(pair.weight for pair in found[0].labelled)
            assert weighed == pytest.approx(sum(50 + len(each.labelled) for each in strata))

    def test_a_rare_kind_that_was_labelled_often_does_not_weigh_more_for_that(self) -> None:
        rare = Stratum(("no",), [Labelled(0.0, 0.0)] * 9, [0.0] * 11)
        often = Stratum(("yes",), [Labelled(1.0, 1.0)] * 20, [1.0] * 960)
        assert powered(rare, often).value == pytest.approx(0.98, abs=1e-9)
