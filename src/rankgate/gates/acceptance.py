"""Whether a run may become the baseline, and what would change: from a report to values."""

from __future__ import annotations

import msgspec

from rankgate.model.headline import short_headline
from rankgate.model.loss_words import code_text
from rankgate.model.report import Report
from rankgate.model.values import ReasonKind, Verdict

_LACKING = {ReasonKind.NO_BASELINE, ReasonKind.NOT_STATED, ReasonKind.NOT_IN_BASELINE}


class GateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A gate's value with what is accepted now and with the run that would be; None where there is none.

    `segment` is the tag, where it is a part of the questions.
    """

    gate: str
    metric: str
    segment: str | None = None
    before: float | None
    now: float | None
    verdict: Verdict
    change: float | None = None


def changes_of(report: Report) -> list[GateChange]:
    """What would change: a line a gate over all its queries, and one for each segment that does not pass."""
    return [
        GateChange(
            gate=gate.name,
            metric=gate.metric,
            segment=gate.segment,
            before=gate.change.baseline,
            now=gate.measured.value,
            verdict=gate.verdict,
            change=gate.change.delta,
        )
        for gate in report.gates
        if gate.segment is None or gate.verdict is not Verdict.PASS
    ]


def refusal(report: Report) -> str | None:
    """Why a run does not become the baseline by itself; None where it may."""
    if report.verdict is Verdict.FAIL:
        return f"the run fails its gates: {short_headline(report)}"
    if report.verdict is Verdict.NOT_JUDGED:
        return f"the run could not be judged: {'; '.join(map(str, report.problems)) or report.summary}"
    if report.origin.other_code is not None:
        return f"the run is not of this code: {code_text(report.origin.other_code, str)}"
    # A waiver lets a change be merged; what is normal is said here.
    if any(gate.decision.waived for gate in report.gates):
        return f"the run violates a gate, which is waived: {short_headline(report)}"
    return None


def is_green(report: Report) -> bool:
    """Whether a policy may accept the run by itself: it passes, or warns for nothing but what it lacks to compare with.

    A gate of severity warning that is violated is a regression too, and takes a person to accept.
    """
    warned = [gate for gate in report.gates if gate.verdict is Verdict.WARN]
    lacks = not report.warns_beside and all(
        reason.kind in _LACKING for gate in warned for reason in gate.decision.reasons
    )
    return report.verdict is Verdict.PASS or (report.verdict is Verdict.WARN and lacks)
