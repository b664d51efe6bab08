"""What many small accepted drops add up to: each gated metric against a run that got a name.

Reasons do not say the name: it is text from the inputs, and `since` has it.
"""

from __future__ import annotations

from msgspec.structs import replace

from rankgate.criteria import Gate
from rankgate.gates.decide import decide
from rankgate.model.deciding import NO_BASELINE
from rankgate.model.report import GateResult
from rankgate.model.values import Evidence, EvidenceState, Need, Scores, Verdict


def decide_drift(gate: Gate, anchor_name: str, candidate: Scores, anchor: Scores | None) -> GateResult | None:
    """A row of its own for a gate's drift since the anchor, judged by `drift_max` as a drop is by `regression_max`.

    The estimate decides, whatever the gate's evidence: drops that are each within noise add up to one that is not.
    None where there is nothing to say: the metric compares with the baseline itself, or there is no anchor of that name
    yet and no limit either.
    """
    if Need.BASELINE in gate.metric.needs or (anchor is None and gate.drift_max is None):
        return None
    asked = replace(gate, threshold=None, regression_max=gate.drift_max, evidence=Evidence.ESTIMATE)
    found = decide(asked, candidate, anchor)
    name = f"{gate.name} since {anchor_name}"
    if anchor is None and found.verdict is not Verdict.NOT_JUDGED:
        reason = f"{NO_BASELINE} is anchored under that name: drift of {gate.metric.name} could not be checked"
        return replace(
            found,
            name=name,
            since=anchor_name,
            verdict=Verdict.WARN,
            reasons=[reason],
            evidence_state=EvidenceState.NO_BASELINE,
        )
    reasons = [f"since the anchor, {reason}" for reason in found.reasons]
    return replace(found, name=name, since=anchor_name, reasons=reasons)
