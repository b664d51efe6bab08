"""What the exit code of a check says of its report."""

from __future__ import annotations

from rankgate.model.report import Report
from rankgate.model.values import Verdict


def exit_code(report: Report, fail_on: str = "fail") -> int:
    """0 pass or warn, 1 fail (and warn where `fail_on` is `warn`), 2 not judged."""
    # A warning that is only "within noise" stops nobody: that is what proven_harm was chosen for; what nothing could
    # have proven is not noise. Nor does a violation that is waived: that is what the waiver was merged for.
    warned = bool(report.warnings) or any(
        gate.verdict is Verdict.WARN and not gate.within_noise and gate.waived is None for gate in report.gates
    )
    counts = fail_on == "warn" and (warned or not report.gates)
    codes = {Verdict.PASS: 0, Verdict.WARN: int(counts), Verdict.FAIL: 1, Verdict.NOT_JUDGED: 2}
    return codes[report.verdict]
