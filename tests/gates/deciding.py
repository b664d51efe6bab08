"""A gate decided on two runs, as a check does."""

from __future__ import annotations

from rankgate.criteria import Gate
from rankgate.gates.decide import decide as decide_evaluation
from rankgate.gates.measurement import METRIC_UNITS, Units, measure
from rankgate.model.gate_result import GateResult
from rankgate.model.scores import Scores


def decide(gate: Gate, candidate: Scores, baseline: Scores | None, units: Units = METRIC_UNITS) -> GateResult:
    """The gate's own row, over all questions."""
    return decide_evaluation(measure(gate, candidate, baseline, units))
