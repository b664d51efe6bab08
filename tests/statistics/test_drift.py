"""The test of a judge's drift against its definition, and its level when nothing drifted."""

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.gates.noise import judges_share
from rankgate.statistics.binomial import drift_p


def tail(count: int, n: int) -> Fraction:
    """P(B <= count) of n fair tosses."""
    return Fraction(sum(comb(n, k) for k in range(count + 1)), 2**n)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_it_is_twice_the_smaller_of_two_sign_tests(changed: int, noise: int, fell: int, rose: int) -> None:
    beyond, direction = tail(noise, changed + noise), 2 * tail(min(fell, rose), fell + rose)
    assert drift_p(changed, noise, fell, rose) == pytest.approx(
        float(min(Fraction(1), 2 * min(beyond, direction))), rel=1e-9
    )


@pytest.mark.parametrize("chances", [(0.5,) * 4, (0.1, 0.3, 0.7, 0.9), (0.02, 0.5, 0.98, 0.4)])
def test_it_errs_no_more_often_than_its_level_whatever_the_noise_of_each_item(chances: tuple[float, ...]) -> None:
    """All that four items may say three times, counted as the command counts, with their probabilities."""
    found: dict[float, float] = {}
    for verdicts in product(product((0, 1), repeat=3), repeat=len(chances)):
        probability, counts = 1.0, [0, 0, 0, 0]
        for (old, new, third), chance in zip(verdicts, chances, strict=True):
            for verdict in (old, new, third):
                probability *= chance if verdict else 1 - chance
            if old != new:
                counts[0 if third == new else 1] += 1
                counts[2 if new < old else 3] += 1
        p = drift_p(*counts)
        found[p] = found.get(p, 0.0) + probability
    for level in found:
        assert sum(mass for p, mass in found.items() if p <= level) <= level + 1e-12


def test_eight_changes_without_noise_are_needed() -> None:
    assert drift_p(8, 0, 4, 4) <= 0.01 < drift_p(7, 0, 4, 3)


def test_the_judges_share_of_a_variance_worked_out_by_hand() -> None:
    # Means 0.5 and 1, of which the variance is 1/8; within 1/2 and 0, on average 1/4: of two repeats 1/8.
    assert judges_share([[0.0, 1.0], [1.0, 1.0]]) == pytest.approx((1.0, 1.0))
    # Means 0, 0.5 and 1: variance 1/4. Within 0, 1/2, 0: 1/6, of two repeats 1/12. Between: 1/6.
    assert judges_share([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) == pytest.approx((1 / 3, 1 / 2))
    assert judges_share([[1.0, 1.0], [1.0, 1.0]]) is None
    assert judges_share([[0.0, 1.0]]) is None
    assert judges_share([[0.0, 0.0], [1.0, 1.0]]) == (0.0, 0.0)
