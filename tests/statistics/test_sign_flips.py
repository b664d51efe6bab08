"""The sign-flip test of clusters: every pattern of signs as the oracle, hand-checkable cases, properties."""

import itertools
import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.statistics import sign_flips
from rankgate.statistics.binomial import Side
from rankgate.statistics.sign_flips import cluster_flip_p, flip_p

Changes = list[tuple[int, float]]  # the cluster and the difference of each query


def p_of(changes: Changes, side: Side = "below") -> tuple[float, float]:
    found = cluster_flip_p([x for _, x in changes], [cluster for cluster, _ in changes], side=side)
    assert found is not None
    return found


def by_every_pattern(changes: Changes) -> float:
    """The share of patterns that fall as far, by flipping whole clusters."""
    labels = sorted({cluster for cluster, _ in changes})
    sums = [math.fsum(x for cluster, x in changes if cluster == label) for label in labels]
    observed = math.fsum(sums) + 1e-9
    patterns = itertools.product((-1, 1), repeat=len(sums))
    far = sum(sum(sign * x for sign, x in zip(signs, sums, strict=True)) <= observed for signs in patterns)
    return far / (1 << len(sums))


def clusters_of(sums: list[float], each: int = 1) -> Changes:
    return [(label, total / each) for label, total in enumerate(sums) for _ in range(each)]


@each_row(
    ("sums", "p", "least"),
    [
        pytest.param([-30.0] * 9, 2**-9, 2**-9, id="all of nine lost everything"),
        pytest.param([-1.0] * 6, 2**-6, 2**-6, id="six lost"),
        pytest.param([-1.0] * 5, 1.0, 1.0, id="of five nothing is proven"),
        pytest.param([-1.0] * 5 + [0.0] * 4, 2**-5, 2**-5, id="five of nine moved"),
        pytest.param([0.0] * 9, 1.0, 1.0, id="nothing moved"),
        pytest.param([1.0] * 9, 1.0, 2**-9, id="all won"),
        pytest.param([-1.0] * 8 + [1.0], 10 / 2**9, 2**-9, id="eight lost and one won"),
        pytest.param([-1.0] * 6 + [1e-17], 2**-6, 2**-6, id="rounding is no change"),
        pytest.param([-0.1, -0.2, 0.3, -1.0, -1.0, -1.0], 5 / 2**6, 2**-6, id="ties count against it"),
    ],
)
@each_row("each", [1, 3])
def test_worked_cases(sums: list[float], p: float, least: float, each: int) -> None:
    found = p_of(clusters_of(sums, each))
    assert found[0] == pytest.approx(p, rel=1e-12)
    assert found[1] == least


@pytest.mark.parametrize(("count", "known"), [(29, True), (30, False)])
def test_from_thirty_clusters_on_the_interval_decides(count: int, *, known: bool) -> None:
    assert (cluster_flip_p([-1.0] * count, range(count), side="below") is not None) is known


@pytest.mark.full
def test_twenty_nine_clusters_of_odd_sizes_are_counted_out() -> None:
    source = random.Random(3)  # noqa: S311 - seeded
    sums = [source.gauss(-0.2, 1) for _ in range(29)]
    found, runs = p_of(clusters_of(sums))[0], 20_000
    total = math.fsum(sums)
    drawn = sum(math.fsum(x * source.choice((-1, 1)) for x in sums) <= total for _ in range(runs)) / runs
    assert found == pytest.approx(drawn, abs=4 * math.sqrt(found * (1 - found) / runs))


STEP = st.sampled_from([-1.0, -2 / 3, -0.5, -1 / 3, 1 / 3, 0.5, 2 / 3, 1.0, 0.0])
SIZE = STEP | st.floats(-1, 1).map(lambda x: round(x, 4))
CHANGES = st.lists(st.tuples(st.integers(0, 8), SIZE), max_size=30)
ENOUGH = st.builds(lambda first, rest: [*enumerate(first), *rest], st.lists(SIZE, min_size=6, max_size=9), CHANGES)


@pytest.mark.full
@given(ENOUGH)
def test_every_pattern_is_counted(changes: Changes) -> None:
    sums: dict[int, list[float]] = {}
    for cluster, x in changes:
        sums.setdefault(cluster, []).append(x)
    assume(any(abs(math.fsum(group)) > 1e-6 for group in sums.values()))
    assert p_of(changes)[0] == pytest.approx(by_every_pattern(changes), rel=1e-12)


@pytest.mark.full
@given(CHANGES, st.randoms(use_true_random=False))
def test_neither_order_nor_names_nor_units_nor_direction_matter(changes: Changes, source: random.Random) -> None:
    found = p_of(changes)
    shuffled = source.sample(changes, len(changes))
    assert p_of(shuffled) == found
    assert p_of([(-7 * cluster, x) for cluster, x in changes]) == found
    assert p_of([(cluster, 8 * x) for cluster, x in changes]) == found
    assert p_of([(cluster, -x) for cluster, x in changes], "above") == found


@given(st.lists(STEP, min_size=5, max_size=9), st.floats(0.01, 1), st.floats(0, 2))
def test_a_larger_loss_of_a_cluster_that_lost_is_no_weaker_proof(others: list[float], loss: float, more: float) -> None:
    before, after = (p_of(clusters_of([-lost, *others]))[0] for lost in (loss, loss + more))
    assert after <= before + 1e-12


def test_what_does_not_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        cluster_flip_p([0.5], "ab", side="below")


# Any number of changes.

STEPS = st.sampled_from([-1.0, -0.5, -1 / 3, 0.0, 0.2, 0.5, 1.0])


@given(st.lists(STEPS, max_size=11) | st.lists(st.floats(-1, 1), max_size=11))
def test_the_p_of_any_changes_is_that_of_all_patterns(changes: list[float]) -> None:
    farthest = max(map(abs, changes), default=0.0)
    sizes = [abs(x) for x in changes if abs(x) > 1e-9 * farthest]
    observed = math.fsum(x for x in changes if abs(x) > 1e-9 * farthest) + 1e-9 * farthest
    patterns = itertools.product((-1, 1), repeat=len(sizes))
    low = sum(math.fsum(map(float.__mul__, map(float, signs), sizes)) <= observed for signs in patterns)
    assert flip_p(changes) == pytest.approx(low / 2 ** len(sizes), abs=1e-12)


@pytest.mark.parametrize("count", [12, 20, 29])
def test_both_exact_ways_agree(count: int) -> None:
    source = random.Random(count)  # noqa: S311 -- a draw that can be repeated
    for _ in range(5):
        changes = [source.choice([-1.0, -0.5, 0.25, 0.5, 1.0]) for _ in range(count)]
        steps = sign_flips._lattice(changes)
        assert steps is not None
        assert sign_flips._convolved(steps) == pytest.approx(flip_p(changes), abs=1e-12)


@pytest.mark.parametrize("count", [40, 150, 400])
@pytest.mark.parametrize("shift", [-0.25, -0.1, 0.0, 0.25])
def test_the_saddlepoint_is_close_to_the_exact_p(count: int, shift: float) -> None:
    """On a fine lattice, where the exact p has hardly any steps."""
    source = random.Random(count)  # noqa: S311 -- a draw that can be repeated
    changes = [round(source.gauss(shift, 0.5), 2) for _ in range(count)]
    steps = [round(100 * x) for x in changes if x]
    exact = sign_flips._convolved(steps)
    found = sign_flips._by_saddlepoint([x for x in changes if x], max(map(abs, changes)))
    assert found == pytest.approx(exact, rel=0.05, abs=1e-12)
    assert 1 - found == pytest.approx(1 - exact, rel=0.05, abs=1e-12)


def test_of_one_sign_only_one_pattern_is_as_low() -> None:
    assert flip_p([-0.1] * 7) == 2**-7
    assert flip_p([0.1] * 7) == 1.0
    assert flip_p([0.0] * 7) == 1.0
    with pytest.raises(ValueError, match="finite"):
        flip_p([math.nan])
