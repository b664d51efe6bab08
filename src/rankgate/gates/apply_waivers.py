"""Report × waivers → report: a violation that a waiver covers warns instead of blocking. Pure.

No value changes, and nothing passes or hides. Sentences hold no text from the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rankgate.criteria.waivers import Waiver, Waivers
from rankgate.model.gate_result import GateResult, Waived, WaiverState, WaiverUse
from rankgate.model.report import Report
from rankgate.model.values import ReasonKind, Unit, Verdict
from rankgate.model.wording import beyond_text, is_plain_name
from rankgate.readers.dates import days_between

SOON = 14  # days
# Beside these a limit that shows no violation may have one all the same.
_UNKNOWN = {
    ReasonKind.MISSING,
    ReasonKind.NO_VERDICT,
    ReasonKind.OTHER_JUDGE,
    ReasonKind.NO_BASELINE,
    ReasonKind.NOT_STATED,
    ReasonKind.NOT_IN_BASELINE,
    ReasonKind.FOREIGN_BASELINE,
}


def waive(report: Report, waivers: Waivers, date: str) -> Report:
    """Let the violations pass that a waiver covers on that day, as warnings, and say what became of each waiver."""
    uses = [_use(waiver, report.gates, date) for waiver in waivers.entries]
    counting = {(use.gate, use.segment): use for use in uses if use.state in ("in_force", "expiring")}
    waived = [_waived(gate, counting.get(gate.row_key)) for gate in report.gates]
    warnings = [*report.remarks.warnings]
    notes = [*report.remarks.notes]
    for use in uses:
        sentence = _sentence(use, waived, date)
        if sentence and use.state in ("expired", "unknown"):
            warnings.append(sentence)
        elif sentence:
            notes.append(f"{sentence[0].upper()}{sentence[1:]}.")
    remarks = replace(report.remarks, warnings=warnings, notes=notes)
    return replace(report, gates=waived, waivers=uses, remarks=remarks)


def waivable(gate: GateResult) -> bool:
    """Whether a gate breaks a limit and nothing that no waiver covers."""
    violated = gate.verdict in (Verdict.FAIL, Verdict.WARN) and gate.decision.violation is not None
    return violated and not gate.decision.hard_check_failed


def _waived(gate: GateResult, use: WaiverUse | None) -> GateResult:
    """The result with its violation waived; a waiver that does not cover every result of its gate covers none."""
    if use is None or not waivable(gate):
        return gate
    waived = Waived(by=use.by, reason=use.reason, issue=use.issue, expires=use.expires, up_to=use.up_to)
    return replace(gate, decision=replace(gate.decision, verdict=Verdict.WARN, waived=waived))


def _use(waiver: Waiver, gates: Sequence[GateResult], date: str) -> WaiverUse:
    """What became of a waiver; of a gate that both sides judge, the larger violation counts."""
    rows = [gate for gate in gates if gate.row_key == (waiver.gate, waiver.segment)]
    largest = max((gate.decision.violation for gate in rows if gate.decision.violation is not None), default=None)
    return WaiverUse(**dict(waiver), state=_state(waiver, rows, largest, date), violation=largest)


def _state(waiver: Waiver, rows: Sequence[GateResult], largest: float | None, date: str) -> WaiverState:
    """The first that holds; a waiver that names nothing or has expired is to be removed whatever its gate does."""
    left = waiver.days_left(date)
    unknown = any(reason.kind in _UNKNOWN for gate in rows for reason in gate.decision.reasons)
    states: dict[WaiverState, bool] = {
        "unknown": not rows,
        "expired": left < 0,
        "hard_check": any(gate.decision.hard_check_failed for gate in rows),
        "not_judged": any(gate.verdict is Verdict.NOT_JUDGED for gate in rows) or (largest is None and unknown),
        "unused": largest is None,
        "too_small": largest is not None and not waiver.covers(largest, date),
        "expiring": left <= SOON,
    }
    return next((state for state, holds in states.items() if holds), "in_force")


def _of_what(use: WaiverUse, metric: str) -> str:
    """` of gate 'languages' in 'lang:de'`, as its file has them; nothing of a name that could be more than that."""
    texts: list[str] = []
    if use.gate == metric or is_plain_name(use.gate):
        texts.append(f" of gate {use.gate!r}")
    if use.segment is not None:
        texts.append(f" in {use.segment!r}" if is_plain_name(use.segment) else " in a segment")
    return "".join(texts)


def _sentence(use: WaiverUse, gates: Sequence[GateResult], date: str) -> str:
    """What is odd about a waiver; nothing where it does what it was merged for."""
    gate = next((gate for gate in gates if gate.name == use.gate), None)
    unit = gate.unit if gate else Unit.NUMBER
    which = f"the waiver{_of_what(use, gate.metric if gate else '')} on line {use.line}"
    left = days_between(date, use.expires)
    day = {0: "today", 1: "tomorrow"}.get(left, f"in {left} days")
    what = "segment of that gate" if gate else "gate of the criteria"
    texts: dict[WaiverState, str] = {
        "expiring": f"expires {day}, on {use.expires}",
        "too_small": f"is too small: {beyond_text(use.violation or 0.0, use.up_to, unit)}",
        "expired": f"expired on {use.expires} and counts no longer; remove it",
        "unused": "is not used, since nothing is violated; remove it",
        "unknown": f"names no {what}",
        "hard_check": "does not count, since single questions fail, which no waiver covers",
        "not_judged": "does not count, since the gate could not be judged, or not compared with the baseline",
    }
    return f"{which} {texts[use.state]}" if use.state in texts else ""
