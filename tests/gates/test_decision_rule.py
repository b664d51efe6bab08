"""What an estimate, its interval and a limit say together, under each reading of evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.gates.decision_rule import beyond_drop, rule_on_drop, rule_on_floor
from rankgate.model.scores import Exact
from rankgate.model.values import Direction, Evidence, EvidenceState, Interval, Ruling

ESTIMATE, SAFE, HARM = Evidence.ESTIMATE, Evidence.PROVEN_SAFE, Evidence.PROVEN_HARM
HOLDS, VIOLATED, OPEN = Ruling.HOLDS, Ruling.VIOLATED, Ruling.INCONCLUSIVE
CLEAR, NOISE, NONE = EvidenceState.CLEAR, EvidenceState.INCONCLUSIVE, EvidenceState.NO_INTERVAL
HIGHER, LOWER = Direction.HIGHER, Direction.LOWER


@pytest.mark.parametrize(
    ("value", "ci", "by_estimate", "safe", "harm"),
    [
        pytest.param(0.90, (0.86, 0.94), (HOLDS, CLEAR), (HOLDS, CLEAR), (HOLDS, CLEAR), id="all of it above"),
        pytest.param(0.90, (0.85, 0.94), (HOLDS, CLEAR), (HOLDS, CLEAR), (HOLDS, CLEAR), id="its end at the floor"),
        pytest.param(0.90, (0.84, 0.94), (HOLDS, CLEAR), (VIOLATED, NOISE), (HOLDS, CLEAR), id="it reaches below"),
        pytest.param(0.84, (0.80, 0.88), (VIOLATED, NOISE), (VIOLATED, NOISE), (OPEN, NOISE), id="it reaches above"),
        pytest.param(
            0.84, (0.80, 0.85), (VIOLATED, NOISE), (VIOLATED, NOISE), (OPEN, NOISE), id="it ends at the floor"
        ),
        pytest.param(0.80, (0.77, 0.84), (VIOLATED, CLEAR), (VIOLATED, CLEAR), (VIOLATED, CLEAR), id="all of it below"),
        pytest.param(0.90, None, (HOLDS, CLEAR), (VIOLATED, NONE), (HOLDS, CLEAR), id="above, no interval"),
        pytest.param(0.80, None, (VIOLATED, NONE), (VIOLATED, NONE), (OPEN, NONE), id="below, no interval"),
        pytest.param(0.90, (None, 0.95), (HOLDS, CLEAR), (VIOLATED, NONE), (HOLDS, CLEAR), id="above, no lower bound"),
        pytest.param(0.80, (0.7, None), (VIOLATED, NONE), (VIOLATED, NOISE), (OPEN, NONE), id="below, no upper bound"),
        pytest.param(0.85, (0.85, 0.85), (HOLDS, CLEAR), (HOLDS, CLEAR), (HOLDS, CLEAR), id="exactly at the floor"),
    ],
)
def test_a_floor_of_85_percent(
    value: float,
    ci: Interval | None,
    by_estimate: tuple[Ruling, EvidenceState],
    safe: tuple[Ruling, EvidenceState],
    harm: tuple[Ruling, EvidenceState],
) -> None:
    for evidence, expected in ((ESTIMATE, by_estimate), (SAFE, safe), (HARM, harm)):
        assert rule_on_floor(evidence, value, ci, 0.85, HIGHER)[:2] == expected


@pytest.mark.parametrize(
    ("value", "ci", "safe", "harm"),
    [
        pytest.param(40.0, (30.0, 48.0), (HOLDS, CLEAR), (HOLDS, CLEAR), id="all of it below"),
        pytest.param(40.0, (30.0, 60.0), (VIOLATED, NOISE), (HOLDS, CLEAR), id="it reaches above"),
        pytest.param(60.0, (52.0, 70.0), (VIOLATED, CLEAR), (VIOLATED, CLEAR), id="all of it above"),
    ],
)
def test_a_ceiling_of_50_ms(
    value: float, ci: Interval, safe: tuple[Ruling, EvidenceState], harm: tuple[Ruling, EvidenceState]
) -> None:
    for evidence, expected in ((SAFE, safe), (HARM, harm)):
        assert rule_on_floor(evidence, value, ci, 50.0, LOWER)[:2] == expected


@pytest.mark.parametrize(
    ("delta", "ci", "by_estimate", "safe", "harm"),
    [
        pytest.param(0.01, (-0.02, 0.04), (HOLDS, CLEAR), (HOLDS, CLEAR), (HOLDS, CLEAR), id="better, surely safe"),
        pytest.param(0.01, (-0.04, 0.06), (HOLDS, CLEAR), (VIOLATED, NOISE), (HOLDS, CLEAR), id="better, unproven"),
        pytest.param(-0.02, (-0.03, 0.0), (HOLDS, CLEAR), (HOLDS, CLEAR), (HOLDS, CLEAR), id="at most what is allowed"),
        pytest.param(
            -0.03, (-0.05, -0.01), (HOLDS, CLEAR), (VIOLATED, NOISE), (HOLDS, CLEAR), id="just what is allowed"
        ),
        pytest.param(
            -0.04, (-0.1, 0.02), (VIOLATED, NOISE), (VIOLATED, NOISE), (OPEN, NOISE), id="it reaches above zero"
        ),
        pytest.param(-0.04, (-0.1, 0.0), (VIOLATED, NOISE), (VIOLATED, NOISE), (OPEN, NOISE), id="it ends at zero"),
        pytest.param(
            -0.04, (-0.06, -0.01), (VIOLATED, CLEAR), (VIOLATED, CLEAR), (VIOLATED, CLEAR), id="certain that it fell"
        ),
        pytest.param(-0.04, None, (VIOLATED, NONE), (VIOLATED, NONE), (OPEN, NONE), id="fell, no interval"),
        pytest.param(0.0, (0.0, 0.0), (HOLDS, CLEAR), (HOLDS, CLEAR), (HOLDS, CLEAR), id="no query changed"),
        pytest.param(0.0, None, (HOLDS, CLEAR), (VIOLATED, NONE), (HOLDS, CLEAR), id="level, no interval"),
    ],
)
def test_a_drop_of_at_most_3_points(
    delta: float,
    ci: Interval | None,
    by_estimate: tuple[Ruling, EvidenceState],
    safe: tuple[Ruling, EvidenceState],
    harm: tuple[Ruling, EvidenceState],
) -> None:
    for evidence, expected in ((ESTIMATE, by_estimate), (SAFE, safe), (HARM, harm)):
        assert rule_on_drop(evidence, delta, ci, 0.03, HIGHER)[:2] == expected


numbers = st.floats(-1, 1)
bounds = st.none() | numbers
intervals = st.none() | st.tuples(bounds, bounds)
readings = st.sampled_from(Evidence)


def mirrored(ci: Interval | None) -> Interval | None:
    if ci is None:
        return None
    low, high = ci
    return (None if high is None else -high, None if low is None else -low)


@given(readings, numbers, intervals, numbers)
def test_lower_is_better_is_the_mirror(evidence: Evidence, value: float, ci: Interval | None, limit: float) -> None:
    above = rule_on_floor(evidence, value, ci, limit, HIGHER)
    assert rule_on_floor(evidence, -value, mirrored(ci), -limit, LOWER) == above
    fall = rule_on_drop(evidence, value, ci, abs(limit), HIGHER)
    assert rule_on_drop(evidence, -value, mirrored(ci), abs(limit), LOWER) == fall


# From the mildest ruling to the hardest.
ORDER = (HOLDS, OPEN, VIOLATED)


def around(value: float, below: float, above: float) -> Interval:
    return (value - below, value + above)


widths = st.floats(0, 1)


@given(numbers, widths, widths, numbers)
def test_proof_of_harm_blocks_least_and_proof_of_safety_most(
    value: float, below: float, above: float, limit: float
) -> None:
    ci = around(value, below, above)
    for rule, bound in ((rule_on_floor, limit), (rule_on_drop, abs(limit))):
        harm, estimate, safe = (rule(each, value, ci, bound, HIGHER).ruling for each in (HARM, ESTIMATE, SAFE))
        assert ORDER.index(harm) <= ORDER.index(estimate) <= ORDER.index(safe)
        assert (harm is HOLDS) == (estimate is HOLDS)


@given(readings, numbers, widths, widths, numbers, st.floats(0, 1))
def test_a_better_value_never_worsens_a_ruling(
    evidence: Evidence, value: float, below: float, above: float, limit: float, gain: float
) -> None:
    for rule, bound in ((rule_on_floor, limit), (rule_on_drop, abs(limit))):
        before = rule(evidence, value, around(value, below, above), bound, HIGHER)
        after = rule(evidence, value + gain, around(value + gain, below, above), bound, HIGHER)
        assert ORDER.index(after.ruling) <= ORDER.index(before.ruling)


WIDE, SHUT = (-0.3, 0.1), (-0.3, -0.01)


@each_row(
    ("evidence", "delta", "ci", "exact", "confidence", "expected"),
    [
        pytest.param(
            HARM, -0.1, WIDE, (0.01, 0.001), 0.95, (VIOLATED, CLEAR), id="it proves what the interval does not"
        ),
        pytest.param(HARM, -0.1, None, (0.01, 0.001), 0.95, (VIOLATED, CLEAR), id="there is no interval"),
        pytest.param(HARM, -0.1, SHUT, (0.9, 0.001), 0.95, (VIOLATED, CLEAR), id="the interval proves it"),
        pytest.param(HARM, -0.02, WIDE, (0.01, 0.001), 0.95, (HOLDS, CLEAR), id="proven, and no more than is allowed"),
        pytest.param(HARM, -0.1, WIDE, (0.25, 0.001), 0.5, (OPEN, NOISE), id="exactly at the level"),
        pytest.param(HARM, -0.1, WIDE, (0.2, 0.001), 0.5, (VIOLATED, CLEAR), id="a lower confidence"),
        pytest.param(HARM, -0.1, WIDE, (0.9, 0.25), 0.5, (OPEN, NONE), id="it could have proven nothing"),
        pytest.param(HARM, -0.1, WIDE, (0.9, 0.2), 0.5, (OPEN, NOISE), id="it could have proven it"),
        pytest.param(ESTIMATE, -0.1, WIDE, (0.9, 0.5), 0.95, (VIOLATED, NONE), id="the estimate, nothing provable"),
        pytest.param(ESTIMATE, -0.1, WIDE, (0.9, 0.001), 0.95, (VIOLATED, NOISE), id="the estimate, within noise"),
        pytest.param(SAFE, -0.1, WIDE, (0.9, 0.5), 0.95, (VIOLATED, NOISE), id="safety goes by the interval"),
        pytest.param(SAFE, -0.1, None, (0.9, 0.001), 0.95, (VIOLATED, NONE), id="and needs one"),
    ],
)
def test_an_exact_test_beside_the_interval(
    evidence: Evidence,
    delta: float,
    ci: tuple[float, float] | None,
    exact: tuple[float, float],
    confidence: float,
    expected: tuple[Ruling, EvidenceState],
) -> None:
    found = rule_on_drop(evidence, delta, ci, 0.03, HIGHER, Exact(*exact), confidence)
    assert found[:2] == expected
    upside_down = None if ci is None else (-ci[1], -ci[0])
    assert rule_on_drop(evidence, -delta, upside_down, 0.03, LOWER, Exact(*exact), confidence) == found


@pytest.mark.parametrize("direction", Direction)
def test_what_rounding_alone_moves_is_beyond_no_limit(direction: Direction) -> None:
    worse = -1 if direction is HIGHER else 1
    for excess, expected in ((2e-16, 0.0), (1e-9, 0.0), (0.01, 0.01)):
        assert rule_on_floor(ESTIMATE, worse * excess, None, 0.0, direction).beyond == expected
        assert beyond_drop(worse * excess, 0.0, direction) == expected
