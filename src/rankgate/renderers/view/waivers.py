"""The waivers, and what each one does."""

from __future__ import annotations

import msgspec

from rankgate.model.report import Report
from rankgate.model.values import Unit
from rankgate.model.waiver_use import WaiverState
from rankgate.model.wording import exact_decimals, size_text
from rankgate.renderers.escape import Text

STATES: dict[WaiverState, str] = {
    "in_force": "in force: it lets the violation pass, as a warning",
    "expiring": "in force, and expires within two weeks",
    "too_small": "too small: the violation is larger than it covers",
    "expired": "expired, and counts no longer",
    "unused": "not used: nothing is violated",
    "unknown": "names no segment of this gate",
    "hard_check": "does not count: single questions fail, which no waiver covers",
    "not_judged": "does not count: the gate could not be judged",
}


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """A waiver in words: of which gate or part, what it does, how much it allows, until when, by whom and why."""

    gate: Text
    segment: Text | None
    state: str
    ceiling: str
    expires: Text
    by: Text
    reason: Text
    issue: Text


def permissions_of(report: Report) -> tuple[Permission, ...]:
    """As the file has them."""
    units = {gate.name: gate.unit for gate in report.gates}
    return tuple(
        Permission(
            gate=Text(each.gate, 80),
            segment=Text(each.segment, 80) if each.segment else None,
            state=STATES[each.state],
            ceiling=ceiling_text(each.up_to, units.get(each.gate, Unit.NUMBER)),
            expires=Text(each.expires, 40),
            by=Text(each.by, 80),
            reason=Text(each.reason, 400),
            issue=Text(each.issue, 200),
        )
        for each in report.waivers
    )


def ceiling_text(up_to: float, unit: Unit) -> str:
    """`2.0 pp`: how far beyond its limit a waived gate may be, with all decimals that it was given."""
    return size_text(up_to, unit, exact_decimals(up_to, unit))
