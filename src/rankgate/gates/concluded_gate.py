"""What a conclusion says of the gate, or of the part, that it is about."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from rankgate.model.conclusion import ConclusionKind
from rankgate.model.gate_result import GateResult
from rankgate.model.values import ReasonKind
from rankgate.model.wording import tag_keys

LIMITS: dict[ReasonKind, Literal["floor", "drop"]] = {ReasonKind.THRESHOLD: "floor", ReasonKind.REGRESSION: "drop"}


def fields_of(kind: ConclusionKind, gate: GateResult, rule: Literal["floor", "drop", "other"]) -> dict[str, Any]:
    """The fields of a conclusion about a row."""
    drop = rule == "drop"
    value = gate.measured.counted.value if gate.measured.counted else gate.measured.value
    return {
        "kind": kind,
        "gate": gate.name,
        "metric": gate.metric,
        "unit": gate.unit,
        "direction": gate.direction,
        "segment": gate.segment,
        "rule": rule,
        "before": gate.change.baseline,
        "now": gate.change.paired_value if drop else value,
        "limit": gate.limit if drop else gate.limits.threshold,
        "bound": bound_of(gate) if drop else _end(gate),
        "at_worst": next((each.at_worst for each in gate.decision.reasons if LIMITS.get(each.kind) == rule), None),
    }


def missing_of(gate: GateResult) -> int:
    """How many values the gate lacks, which its limits hold or miss with them at their worst."""
    return max((reason.count for reason in gate.decision.reasons if reason.kind in LIMITS), default=0)


def bound_of(gate: GateResult) -> float | None:
    """The change for the worse that is the end of the interval, as a size; None where the data support no such end."""
    low, _ = gate.direction.upright(gate.change.delta_ci)
    return None if low is None else max(-low, 0.0)


def _end(gate: GateResult) -> float | None:
    """The worst value that the interval does not exclude."""
    counted = gate.measured.counted or gate.measured
    low, _ = gate.direction.upright(counted.ci)
    return None if low is None else gate.direction.sign * low


def by_other_keys(segment: str | None, others: Collection[str | None]) -> int:
    """How many of the others are no such parts as the named one, as topics beside languages; none where none is."""
    return 0 if segment is None else sum(tag_keys(each) != tag_keys(segment) for each in others)
