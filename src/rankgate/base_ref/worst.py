"""Two reports of one run, and what the pull request changed: the worst of them is the verdict. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from rankgate.errors import ProblemKind
from rankgate.gates.conclude import with_conclusion
from rankgate.model.base_ref import BaseSide, OwnLabels
from rankgate.model.remarks import failures_of, notes_of, warnings_of
from rankgate.model.report import Report
from rankgate.model.values import SEVERITY_ORDER, TOLERANCE, Verdict, blocks


def worst_of(by_base: Report | None, by_head: Report, about: BaseSide) -> Report:
    """The worse of the base's report and the head's, on a tie the base's, at least as bad as what was changed.

    `by_base` is None where it would be the head's, or where the base has no criteria; where a label lets the head stand
    alone, it is named and decides nothing.
    """
    decides: Report = by_head
    if by_base is not None:
        about = replace(about, base_verdict=by_base.verdict, base_summary=by_base.summary)
        about = replace(about, own_labels=_own_labels(by_base, by_head))
        if about.accepted_by is None and _rank(by_base.verdict) >= _rank(by_head.verdict):
            decides = by_base
    if about.baseline_changed == "replaced" and about.baseline_verdict is None:  # by this very run
        about = replace(about, baseline_lower=lower_gates(by_base or by_head))
    about = replace(about, decides="base" if decides is by_base else "head")
    failures = failures_of(about)
    warnings = warnings_of(about)
    verdict = decides.verdict
    if failures and not blocks(verdict):
        verdict = Verdict.FAIL
    elif warnings and verdict is Verdict.PASS:
        verdict = Verdict.WARN
    if decides is not by_head:
        decides = _placed(decides, by_head)
    remarks = replace(
        decides.remarks,
        failures=[*decides.remarks.failures, *failures],
        warnings=[*warnings, *decides.remarks.warnings],
        notes=[*notes_of(about), *decides.remarks.notes],
    )
    return with_conclusion(replace(decides, verdict=verdict, remarks=remarks, base=about))


def lower_gates(report: Report) -> int:
    """How many gates have a lower value than the accepted run, over all questions or in a segment."""
    return len({gate.name for gate in report.gates if gate.direction.sign * (gate.change.delta or 0.0) < -TOLERANCE})


def _own_labels(by_base: Report, by_head: Report) -> OwnLabels | None:
    """What the first gate that compares says, where the base's labels speak of other ids than the run."""
    if not any(problem.kind is ProblemKind.GOLD_STALE for problem in by_base.problems):
        return None
    for gate in by_head.gates:
        if gate.change.baseline is not None and gate.measured.value is not None:
            return OwnLabels(metric=gate.metric, unit=gate.unit, before=gate.change.baseline, now=gate.measured.value)
    return None


def _rank(verdict: Verdict) -> int:
    return SEVERITY_ORDER.index(Verdict.FAIL if blocks(verdict) else verdict)


def _with_new_labels(by_base: Report, by_head: Report) -> Report:
    """The base's report with what only the head's labels measure of the traffic that both have.

    This pair of runs can be labelled on the head alone. The head's report, which fails by them, is the worse one then.
    """
    old, new = by_base.measured.traffic, by_head.measured.traffic
    if old is None or new is None or (old.asked, old.changed, old.share) != (new.asked, new.changed, new.share):
        return by_base
    measured = {gate.row_key: gate for gate in by_head.gates if gate.over_traffic and gate.change.delta is not None}
    gates = [measured.get(gate.row_key, gate) if gate.lacks_labels else gate for gate in by_base.gates]
    return replace(by_base, gates=gates, measured=replace(by_base.measured, traffic=new))


def _placed(by_base: Report, by_head: Report) -> Report:
    """The base's report with the lines that its gates have in the file that the pull request shows, if any."""
    lines = {gate.name: gate.line for gate in by_head.gates}
    by_base = _with_new_labels(by_base, by_head)
    gates = [replace(gate, line=lines.get(gate.name)) for gate in by_base.gates]
    old, head = by_base.provenance, by_head.provenance
    provenance = replace(old, criteria=head.criteria or old.criteria, command=head.command or old.command)
    return replace(by_base, gates=gates, provenance=provenance)
