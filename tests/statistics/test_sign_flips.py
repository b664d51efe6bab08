"""The sign-flip test: every pattern of signs as the oracle, hand-checkable cases, properties."""

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.statistics import sign_flips
from rankgate.statistics.sign_flips import sign_flip_p


def by_every_pattern(differences: list[float]) -> float:
    moved = [x for x in differences if x]
    least = abs(math.fsum(moved)) - 1e-9
    patterns = itertools.product((-1, 1), repeat=len(moved))
    far = sum(abs(sum(map(float.__mul__, map(float, signs), moved))) >= least for signs in patterns)
    return far / (1 << len(moved))


def binomial(lost: int, won: int) -> float:
    """The sign test, two-sided."""
    n, ways, total = lost + won, 1, 0
    for k in range(min(lost, won) + 1):
        total += ways
        ways = ways * (n - k) // (k + 1)
    return min(1.0, 2 * total / (1 << n))


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        pytest.param([], 1.0, id="none"),
        pytest.param([0.0, -0.0], 1.0, id="no query changed"),
        pytest.param([-1.0], 1.0, id="one change"),
        pytest.param([1.0, -1.0], 1.0, id="as much won as lost"),
        pytest.param([0.1, 0.2, -0.3], 1.0, id="as much, but for rounding"),
        pytest.param([-1.0] * 6 + [0.0] * 194, 2**-5, id="6 lost, 0 won"),
        pytest.param([-0.01, -0.5, -1.0, -0.3], 2**-3, id="all of one sign"),
        pytest.param([1.0, 2.0, 4.0, -1.0], 2 * 3 / 16, id="1 pattern has 8 and 2 have 6, both ways"),
        pytest.param([1e-17, *[-1.0] * 6], 2**-5, id="rounding is no change"),
    ],
)
def test_worked_cases(differences: list[float], expected: float) -> None:
    assert sign_flip_p(differences) == pytest.approx(expected, rel=1e-12)


STEP = st.sampled_from([-1.0, -2 / 3, -0.5, -1 / 3, 1 / 3, 0.5, 2 / 3, 1.0, 0.0])


@given(st.lists(st.one_of(STEP, st.floats(-1, 1).map(lambda x: round(x, 4))), max_size=10))
def test_few_differences_are_counted_out(differences: list[float]) -> None:
    assert sign_flip_p(differences) == pytest.approx(by_every_pattern(differences), rel=1e-12)


@given(st.lists(STEP, min_size=1, max_size=10))
def test_counting_agrees_with_every_pattern(differences: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sign_flips, "_FEW", 0)
        assert sign_flip_p(differences) == pytest.approx(by_every_pattern(differences), rel=1e-12)


@pytest.mark.parametrize(("lost", "won"), [(15, 8), (60, 40), (100, 0), (200, 160), (300, 230)])
def test_equal_differences_are_the_sign_test(lost: int, won: int) -> None:
    assert sign_flip_p([-0.5] * lost + [0.5] * won) == pytest.approx(binomial(lost, won), rel=1e-12)


@pytest.mark.parametrize(("lost", "won"), [(2000, 2000), (2000, 1950), (2050, 1900), (2200, 1900), (4000, 3000)])
def test_too_many_to_count_are_approximated_on_their_lattice(lost: int, won: int) -> None:
    assert sign_flip_p([-0.5] * lost + [0.5] * won) == pytest.approx(binomial(lost, won), rel=0.01)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shift", [0.0, 0.05, 0.15])
def test_the_saddlepoint_agrees_with_counting(seed: int, shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(seed)  # noqa: S311 - a seeded sample
    differences = [round(source.gauss(shift, 0.3), 2) for _ in range(60)]
    exact = sign_flip_p(differences)
    monkeypatch.setattr(sign_flips, "_MOST_WORK", 0)
    assert sign_flip_p(differences) == pytest.approx(exact, rel=0.02, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_reciprocal_ranks_agree_with_drawn_signs(seed: int) -> None:
    source = random.Random(seed)  # noqa: S311 - a seeded oracle
    ranks = [0.0, *(1 / rank for rank in range(1, 11))]
    differences = [source.choice(ranks) - source.choice(ranks) for _ in range(80)]
    least, runs = abs(math.fsum(differences)) - 1e-9, 20_000
    far = sum(abs(sum(x if source.random() < 0.5 else -x for x in differences)) >= least for _ in range(runs))
    assert sign_flip_p(differences) == pytest.approx(far / runs, abs=4 * math.sqrt(0.25 / runs))


CHANGES = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), max_size=40)


@given(CHANGES, st.randoms(use_true_random=False))
def test_order_sign_and_unit_do_not_matter(differences: list[float], source: random.Random) -> None:
    p = sign_flip_p(differences)
    shuffled = differences.copy()
    source.shuffle(shuffled)
    assert sign_flip_p(shuffled) == p
    assert sign_flip_p([-x for x in differences]) == pytest.approx(p, rel=1e-9)
    assert sign_flip_p([8 * x for x in differences]) == pytest.approx(p, rel=1e-9)
    assert sign_flip_p([*differences, 0.0, 0.0]) == p


@given(CHANGES)
def test_it_is_a_probability(differences: list[float]) -> None:
    moved = sum(x != 0 for x in differences)
    assert min(1.0, 2.0 ** (1 - moved)) <= sign_flip_p(differences) * (1 + 1e-9)
    assert sign_flip_p(differences) <= 1


def test_values_that_are_not_finite_are_refused() -> None:
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="finite"):
            sign_flip_p([0.5, value])


def test_hopeless_sums_stay_finite() -> None:
    assert 0 <= sign_flip_p([-1.0] * 5000 + [0.001] * 3) < 1e-300
    assert 0 < sign_flip_p([math.pi] * 40 + [-0.1, -0.01, 1e-5]) < 1e-9
