"""A judge beside people: by hand, beside scipy and slow implementations, and what has to hold for every judge."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import stdtrit
from tests.rows import each_row

from rankgate.model.answers import LabelCounts, Rate
from rankgate.statistics.calibration import (
    Change,
    Labelled,
    Measured,
    Quality,
    anchored,
    kappa,
    people_change,
    quality,
    slope,
)
from rankgate.statistics.power import Sight
from rankgate.statistics.quantiles import square_and_add, t_quantile

PAIR = st.tuples(st.booleans(), st.booleans())
Claims = list[tuple[bool, bool]]  # of one answer, by people and by the judge
ANSWERS = st.lists(st.lists(PAIR, min_size=1, max_size=5), min_size=3, max_size=30)


def value_of(claims: Claims) -> Labelled:
    return Labelled(*(sum(column) / len(claims) for column in zip(*claims, strict=True)))


def judged(answers: list[Claims], clusters: tuple[int, ...] = ()) -> Quality:
    return quality(list(map(value_of, answers)), answers, clusters)


def one_claim_each(both: int, missed: int, invented: int, neither: int) -> Quality:
    kinds = [(True, True)] * both + [(True, False)] * missed + [(False, True)] * invented + [(False, False)] * neither
    return judged([[kind] for kind in kinds])


@each_row("df", [1, 2, 3, 4, 9, 98, 99, 1000, 2001])
@each_row("probability", [0.5, 0.6, 0.975, 0.9999])
def test_t_is_students(probability: float, df: int) -> None:
    assert t_quantile(probability, df) == pytest.approx(stdtrit(df, probability), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("probability", "df"), [(0.4, 3), (1.0, 3), (0.9, 0)])
def test_t_has_no_other_quantiles(probability: float, df: int) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        t_quantile(probability, df)


def test_a_table_by_hand() -> None:
    found = one_claim_each(both=80, missed=20, invented=15, neither=35)
    assert (found.n, found.rarer) == (150, 50)
    assert found.sensitivity is not None
    assert found.specificity is not None
    assert found.slope is not None
    assert (found.sensitivity.value, found.specificity.value) == (0.8, 0.7)
    assert found.slope.value == pytest.approx(0.5)
    chance = (100 * 95 + 50 * 55) / 150**2
    assert found.kappa == pytest.approx(((80 + 35) / 150 - chance) / (1 - chance))
    # Wilson's interval of 99 independent answers, with t instead of z.
    z2, n = stdtrit(99, 0.975) ** 2, 99
    middle, reach = (0.8 + z2 / 2 / n) / (1 + z2 / n), math.sqrt(z2 * 0.16 / n + z2**2 / 4 / n**2) / (1 + z2 / n)
    assert (found.sensitivity.low, found.sensitivity.high) == pytest.approx((middle - reach, middle + reach))


@given(st.tuples(*[st.integers(1, 40)] * 4))
def test_the_slope_of_yes_and_no_is_sensitivity_plus_specificity_minus_one(counts: tuple[int, ...]) -> None:
    found = one_claim_each(*counts)
    assert found.sensitivity is not None
    assert found.specificity is not None
    assert found.slope is not None
    assert found.slope.value == pytest.approx(found.sensitivity.value + found.specificity.value - 1)


@pytest.mark.full
@given(ANSWERS)
def test_shares_beside_a_slow_implementation(answers: list[Claims]) -> None:
    found = judged(answers)
    for kind, share in ((True, found.sensitivity), (False, found.specificity)):
        claims = [said == kind for pairs in answers for people, said in pairs if people is kind]
        if not claims:
            assert share is None
            continue
        assert share is not None
        assert share.value == pytest.approx(sum(claims) / len(claims))
        assert 0 <= share.low <= share.value <= share.high <= 1
        assert share.high - share.low > 0.01


@pytest.mark.full
@given(ANSWERS, st.sampled_from([0, 3, 5]))
def test_the_slope_is_least_squares_with_hc3(answers: list[Claims], number: int) -> None:
    """Also by cluster: the terms of its answers are summed before they are squared."""
    values = list(map(value_of, answers))
    y, f = (np.array([each[i] for each in values]) for i in range(2))
    clusters = tuple(n % number for n in range(len(values))) if number else ()
    units = len({*clusters}) or len(values)
    found = slope(values, clusters)
    if np.ptp(y) == 0 or units <= 2:
        assert found is None
        return
    x = np.stack([np.ones(len(y)), y], axis=1)
    bread = np.linalg.inv(x.T @ x)
    coefficients = bread @ x.T @ f
    leverage = np.einsum("ij,jk,ik->i", x, bread, x)
    assume(leverage.max() < 1 - 1e-3)
    terms = x * ((f - x @ coefficients) / (1 - leverage))[:, None]
    meat = np.array([terms[np.array(clusters) == each].sum(axis=0) for each in range(units)]) if number else terms
    error = math.sqrt((bread @ meat.T @ meat @ bread)[1, 1])
    assert found is not None
    assert found.value == pytest.approx(coefficients[1], abs=1e-9)
    off = y - y.mean()
    unseen = 1.4 * np.max(abs(off)) / np.sum(off**2)
    reach = math.hypot(error * stdtrit(units - 2, 0.975), unseen)
    assert found.high - found.value == pytest.approx(reach, rel=1e-6, abs=1e-6)


def test_copies_in_a_cluster_say_no_more_than_one() -> None:
    once = one_claim_each(both=40, missed=9, invented=8, neither=23)
    kinds = [(True, True)] * 40 + [(True, False)] * 9 + [(False, True)] * 8 + [(False, False)] * 23
    copies = judged([[kind] for kind in kinds for _ in range(6)], tuple(n for n in range(80) for _ in range(6)))
    for one, many in ((once.slope, copies.slope), (once.sensitivity, copies.sensitivity)):
        assert one is not None
        assert many is not None
        assert (many.value, many.low, many.high) == pytest.approx((one.value, one.low, one.high), abs=0.02)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], None),
        ([("yes", "yes")] * 3, None),
        ([("yes", "yes"), ("no", "no")], 1.0),
        ([("yes", "no"), ("no", "yes")], -1.0),
        ([("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15, 0.4),
        ([("a", "a"), ("b", "b"), ("c", "b")], 0.5),
    ],
)
def test_kappa(pairs: list[tuple[str, str]], expected: float | None) -> None:
    assert kappa(pairs) == (None if expected is None else pytest.approx(expected))


def found_with(n: int, rarer: int, low: float | None) -> tuple[LabelCounts, Rate | None]:
    j = None if low is None else Rate(low + 0.1, low, low + 0.2, n)
    return LabelCounts(answers=n, rarer=rarer, people=1, among=n), j


@pytest.mark.parametrize(
    ("found", "needed"),
    [
        pytest.param(found_with(100, 50, 0.5), 100, id="enough"),
        pytest.param(found_with(100, 10, 0.5), 300, id="rarer-class"),
        pytest.param(found_with(100, 50, 0.35), 401, id="interval-too-wide"),  # 0.1 has to become 0.05
        pytest.param(found_with(100, 50, 0.3), None, id="J-too-small"),
        pytest.param(found_with(100, 0, 0.5), None, id="one-class"),
        pytest.param(found_with(100, 50, None), None, id="no-slope"),
    ],
)
def test_labels_needed(found: tuple[LabelCounts, Rate | None], needed: int | None) -> None:
    counts, j = found
    assert counts.needed(j) == needed


class TestChange:
    @given(st.floats(-0.5, 0.5), *[st.floats(0.001, 0.5)] * 3, st.floats(0.001, 1), st.floats(0.001, 1))
    def test_the_interval_is_all_r_of_the_definition(
        self, delta: float, down: float, up: float, slope_low: float, below: float, above: float
    ) -> None:
        """By square-and-add itself at r just inside and just outside of each end."""
        low, high = delta - down, delta + up
        j = Measured(slope_low + below, slope_low, slope_low + below + above, 100)

        def holds(r: float) -> bool:
            ends = sorted((r * j.low, r * j.high))
            least, most = square_and_add(delta, (low, high), r * j.value, (ends[0], ends[1]))
            assert least is not None
            assert most is not None
            return least <= 0 <= most

        value, (least, most) = people_change(delta, (low, high), j)
        assert value == pytest.approx(delta / j.value)
        assert least is not None
        assert most is not None
        assert value is not None
        assert least <= value <= most
        step = 1e-6 * max(1.0, most - least)
        assert holds(value)
        assert (holds(least + step), holds(most - step)) == (True, True)
        assert (holds(least - step), holds(most + step)) == (False, False)
        for end, of_delta in ((least, low), (most, high)):
            assert math.copysign(1, end) == math.copysign(1, of_delta) or abs(of_delta) < 1e-9

    @given(st.floats(-0.5, 0.5), st.floats(0.001, 0.5), st.floats(0.001, 0.5), st.floats(0.01, 1))
    def test_an_exact_slope_divides(self, delta: float, down: float, up: float, j: float) -> None:
        found = people_change(delta, (delta - down, delta + up), Measured(j, j, j, 100))
        assert found.ci == pytest.approx(((delta - down) / j, (delta + up) / j), abs=1e-9)

    @given(st.floats(-0.5, 0.5), st.floats(0.001, 0.5), st.floats(0.001, 0.5))
    def test_the_other_direction_is_its_mirror(self, delta: float, down: float, up: float) -> None:
        j = Measured(0.6, 0.5, 0.75, 100)
        there, back = (
            people_change(delta, (delta - down, delta + up), j),
            people_change(-delta, (-delta - up, -delta + down), j),
        )
        assert [-x for x in there.ci if x is not None] == pytest.approx([x for x in back.ci[::-1] if x is not None])

    @pytest.mark.parametrize(
        ("delta", "ci", "j", "expected"),
        [
            pytest.param(0.0, (0.0, 0.0), None, Change(0.0, (0.0, 0.0)), id="the-same-run"),
            pytest.param(-0.1, (-0.2, -0.01), None, Change(None, (None, None)), id="no-slope"),
            pytest.param(-0.1, (-0.2, -0.01), (0.5, 0.0, 1.0), Change(-0.2, (None, None)), id="slope-may-be-0"),
            pytest.param(-0.1, (-0.2, -0.01), (-0.5, -1.0, -0.1), Change(None, (None, None)), id="inverted-judge"),
            # (r / 2 + 0.1)^2 = 0.05^2 + (r / 2)^2, of which the squares of r fall away
            pytest.param(-0.1, (None, -0.05), (0.5, 0.25, 1.0), Change(-0.2, (None, -0.075)), id="no-lower-bound"),
            pytest.param(-0.1, (None, None), (0.5, 0.4, 0.6), Change(-0.2, (None, None)), id="few-clusters"),
            pytest.param(-0.1, (-0.2, 0.0), (0.5, 0.5, 0.5), Change(-0.2, (-0.4, 0.0)), id="touching-zero"),
        ],
    )
    def test_edges(
        self,
        delta: float,
        ci: tuple[float | None, float | None],
        j: tuple[float, float, float] | None,
        expected: Change,
    ) -> None:
        found = people_change(delta, ci, j and Measured(*j, 100))
        for one, other in zip((found.value, *found.ci), (expected.value, *expected.ci), strict=True):
            assert one == (None if other is None else pytest.approx(other))


def test_anchored_adds_squares() -> None:
    found = anchored(0.9, (0.86, 0.93), Change(-0.1, (-0.13, -0.06)))
    assert found.value == pytest.approx(0.8)
    assert found.ci == pytest.approx((0.75, 0.85))
    assert anchored(0.9, (0.8, 1.0), Change(-0.1, (None, None))).ci == (None, None)
    assert anchored(0.9, (0.8, 1.0), Change(None, (None, None))).value is None


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ("estimate", lambda raw: (0.03 + 0.8416 * 0.02) / 0.5),
        ("proven_harm", lambda raw: raw.reach(400) / 0.5 + 0.8416 * 0.02 / 0.5),
    ],
)
def test_a_judge_detects_only_drops_that_are_larger_by_its_slope(
    evidence: str, expected: Callable[[Sight], float]
) -> None:
    raw = Sight(0.4, 1.0)
    assert raw._replace(slope=0.5).drop(evidence, 400, 0.03) == pytest.approx(expected(raw))
    assert raw._replace(slope=0.5).margin(400) == pytest.approx(2 * raw.margin(400))
    assert (raw._replace(slope=0.5).needed("proven_harm", 0.03) or 0) > 3 * (raw.needed("proven_harm", 0.03) or 0)
