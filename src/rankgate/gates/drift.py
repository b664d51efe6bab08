"""What many small accepted drops add up to: each gated metric against a run that got a name."""

from __future__ import annotations

from msgspec.structs import replace

from rankgate.criteria import Gate
from rankgate.gates.decide import decide
from rankgate.model.report import GateResult
from rankgate.model.values import Evidence, EvidenceState, Need, Reason, ReasonKind, Scores, Verdict


def decide_drift(gate: Gate, anchor_name: str, candidate: Scores, anchor: Scores | None) -> GateResult | None:
    """A row of its own for a gate's drift since the anchor, judged by `drift_max` as a drop is by `regression_max`.

    The estimate decides, whatever the gate's evidence: drops that are each within noise add up to one that is not.
    None where there is nothing to say: the metric compares with the baseline itself, or there is no anchor of that name
    yet and no limit either.
    """
    if Need.BASELINE in gate.metric.needs or (anchor is None and gate.drift_max is None):
        return None
    limits = {"threshold": None, "regression_max": gate.drift_max, "evidence": Evidence.ESTIMATE}
    found = decide(gate.model_copy(update=limits), candidate, anchor)
    found = replace(found, name=f"{gate.name} since {anchor_name}", since=anchor_name)
    if anchor is None and found.verdict is not Verdict.NOT_JUDGED:
        lacking = [Reason(ReasonKind.NO_ANCHOR)]
        return replace(found, verdict=Verdict.WARN, reasons=lacking, evidence_state=EvidenceState.NO_BASELINE)
    return found
