"""Two reports become one that is never milder than either, whatever a waiver or a label then lets pass."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gates.test_apply_waivers import FAIL, HOLDS, LABEL, NOT_JUDGED, PASS, TODAY, VIOLATED, WARN, altered, report

from rankgate.base_ref.stricter import reason_if_worse, stricter
from rankgate.criteria.waivers import Waivers
from rankgate.gates.apply_waivers import waive, waive_by_label
from rankgate.model.base_ref import BaseSide
from rankgate.model.report import GateResult, Report, exit_code
from rankgate.model.values import Verdict

BASE = BaseSide(ref="main", sha="1a2b3c4", head_verdict=PASS)
PLACES = [("found", None), ("found", "lang:pt")]
# Every place has a row on both sides, so that no waiver names what one of them lacks.
ROWS = [replace(HOLDS, name=name, segment=segment) for name, segment in PLACES]


def row(
    place: tuple[str, str | None],
    verdict: Verdict,
    violation: float | None,
    hard: bool,  # noqa: FBT001 -- what hypothesis draws
    noise: bool,  # noqa: FBT001
) -> GateResult:
    """A result as gates make them: of what holds or could not be judged nothing is violated."""
    bad = verdict in (WARN, FAIL)
    within_noise = noise and verdict is WARN and not hard
    return replace(
        VIOLATED,
        name=place[0],
        segment=place[1],
        verdict=verdict,
        violation=violation if bad and not within_noise else None,
        hard_check_failed=hard and bad,
        only_inconclusive=within_noise,
    )


GATES = st.builds(
    row,
    st.sampled_from(PLACES),
    st.sampled_from([PASS, WARN, FAIL, NOT_JUDGED]),
    st.none() | st.sampled_from([0.0, 0.1, 0.2, 0.3]),
    st.booleans(),
    st.booleans(),
)
SIDES = st.builds(
    lambda gates, warned, failed: report(
        *ROWS, *gates, warnings=["too old"] if warned else [], failures=["far too old"] if failed else []
    ),
    st.lists(GATES, max_size=2),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=400)
@given(SIDES, SIDES, st.sampled_from(PLACES), st.sampled_from([0.0, 0.1, 0.2, 0.3]))
def test_what_is_let_pass_is_what_either_side_would_let_pass_alone(
    head: Report, by_base: Report, place: tuple[str, str | None], up_to: float
) -> None:
    waivers = Waivers(name="w", entries=(altered(gate=place[0], segment=place[1], up_to=up_to),))
    both = stricter(head, by_base, BASE)

    def codes(judged: Report) -> list[int]:
        waived = waive(judged, waivers, TODAY)
        return [
            exit_code(each, fail_on)
            for each in (judged, waived, waive_by_label(waived, LABEL, LABEL.name))
            for fail_on in ("fail", "warn")
        ]

    for alone in (head, by_base):
        assert all(one >= other for one, other in zip(codes(both), codes(alone), strict=True))


@given(SIDES)
def test_what_both_say_is_said_once(head: Report) -> None:
    both = stricter(head, head, BASE)
    assert (len(both.gates), {gate.judged_by for gate in both.gates}) == (len(head.gates), {None})
    assert (both.warnings, both.failures) == (head.warnings, head.failures)
    assert reason_if_worse(head, head) is None


@pytest.mark.parametrize(
    ("gate", "same", "counts"),
    [
        pytest.param(VIOLATED, HOLDS, True, id="worse"),
        pytest.param(HOLDS, VIOLATED, False, id="better"),
        pytest.param(replace(VIOLATED, violation=0.05), VIOLATED, True, id="more of it"),
        pytest.param(replace(VIOLATED, violation=0.04 + 1e-12), VIOLATED, False, id="more by rounding alone"),
        pytest.param(replace(VIOLATED, violation=0.03), VIOLATED, False, id="less of it"),
        pytest.param(replace(VIOLATED, hard_check_failed=True), VIOLATED, True, id="single questions as well"),
        pytest.param(VIOLATED, replace(VIOLATED, hard_check_failed=True), False, id="there too"),
        pytest.param(
            replace(VIOLATED, violation=0.05),
            replace(VIOLATED, hard_check_failed=True),
            False,
            id="more of what nobody can waive",
        ),
        pytest.param(
            replace(VIOLATED, verdict=WARN),
            replace(VIOLATED, verdict=WARN, violation=None, only_inconclusive=True),
            True,
            id="within noise stands for no violation",
        ),
        pytest.param(
            replace(VIOLATED, verdict=WARN, violation=None),
            VIOLATED,
            True,
            id="a warning that nobody can waive",
        ),
    ],
)
def test_what_gets_a_row_of_its_own(
    gate: GateResult,
    same: GateResult,
    counts: bool,  # noqa: FBT001 -- a table's column
) -> None:
    both = stricter(report(same), report(gate), BASE)
    assert [each.judged_by for each in both.gates] == [None, *["base"] * counts]
    assert (reason_if_worse(report(gate), report(same)) is not None) is counts
