"""What becomes of a gate's limits: ruled on by its evidence, or why they cannot be. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from rankgate.gates.decision_rule import Finding, Ruled, Rulings, in_doubt, rule_on_floor
from rankgate.gates.measurement import Measurement
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.metrics.gaps import FEW, at_worst, too_many
from rankgate.model.values import Reason, ReasonKind, RunField

if TYPE_CHECKING:
    from rankgate.criteria import Gate


def rule(measurement: Measurement, *, may_block: bool) -> Rulings:
    """Rule on the gate's floor and on its drop; `may_block` says whether a limit of it may."""
    gate, metric = measurement.gate, measurement.gate.metric
    waits_for_baseline = RunField.BASELINE in metric.needs and measurement.baseline is None
    if measurement.value is None and measurement.finite and waits_for_baseline:
        return Rulings(warnings=[Reason(ReasonKind.NO_BASELINE)])
    lacking = _lacking(measurement)
    if measurement.value is None and not lacking:
        nowhere = Reason(ReasonKind.UNDEFINED, count=len(measurement.values))
        return Rulings(unjudged=[nowhere if measurement.finite else Reason(ReasonKind.NOT_FINITE)])
    rulings = Rulings(unjudged=lacking)
    if lacking and measurement.by_judge:
        from rankgate.gates.left_open import rule_lacking  # noqa: PLC0415 -- paid only where answers are judged

        rulings = rule_lacking(measurement, lacking, may_block=may_block)
    if not lacking and gate.limits_drop:
        from rankgate.gates.drops import rule_drop  # noqa: PLC0415 -- paid only where a drop is limited

        rulings = rule_drop(measurement, may_block=may_block)
    counted = measurement.counted or measurement.value
    if not lacking and counted is not None and gate.threshold is not None:
        rulings = replace(rulings, limits=[*rulings.limits, _floor(measurement, counted, gate.threshold)])
    doubts = _doubts(measurement) if measurement.value else []
    return replace(rulings, warnings=[*rulings.warnings, *doubts])


def _floor(measurement: Measurement, counted: Estimate, threshold: float) -> Ruled:
    """The ruling on the value; in doubt where it holds, but not with the worst for what is missing.

    What a judge left open is filled in.
    """
    gate, candidate = measurement.gate, measurement.candidate
    finding = _on_floor(gate, counted, threshold)
    reason = Reason(ReasonKind.THRESHOLD, ruling=finding.ruling, state=finding.state)
    missing = set(measurement.gaps.missing)
    if not missing:
        return Ruled(finding, reason)
    if measurement.by_judge:
        from rankgate.gates.left_open import floor_left_open  # noqa: PLC0415 -- paid only where answers are judged

        return floor_left_open(measurement, finding, partial(_on_floor, gate, threshold=threshold))
    metric = gate.metric
    values = candidate.uncut_values(metric.name)
    column = at_worst(metric, (values, measurement.baseline_values), missing)
    worst = estimate(column, metric, candidate.clusters, confidence=gate.confidence) or counted
    counting = replace(reason, count=len(measurement.gaps.missing), at_worst=worst.value)
    return in_doubt(Ruled(finding, counting), _on_floor(gate, worst, threshold).ruling, gate)


def _on_floor(gate: Gate, value: Estimate, threshold: float) -> Finding:
    return rule_on_floor(gate.evidence, value.value, value.ci, threshold, gate.metric.direction)


def _lacking(measurement: Measurement) -> list[Reason]:
    """Why a gate cannot be judged: too many queries lack the value, in a run that one of its limits looks at."""
    gate, candidate, gaps = measurement.gate, measurement.candidate, measurement.gaps
    rows: dict[Literal["run", "baseline"], Sequence[int]] = {"run": gaps.missing}
    if measurement.change is not None and gate.regression_max is not None:
        rows["baseline"] = gaps.missing_before
    unplaced = any(candidate.query_ids[row] in candidate.unfit for row in gaps.missing)
    need = RunField.OFFSETS if unplaced else None
    kind = ReasonKind.NO_VERDICT if measurement.by_judge else ReasonKind.MISSING
    return [
        Reason(kind, count=len(each), among=measurement.scored, source=source, need=need)
        for source, each in rows.items()
        if too_many(each, measurement.scored, gate.max_unjudged)
    ]


def _doubts(measurement: Measurement) -> list[Reason]:
    """Reasons to look twice although no limit is broken."""
    gate, candidate, one_sided = measurement.gate, measurement.candidate, measurement.gaps.one_sided
    doubts: list[Reason] = []
    if candidate.missing and gate.metric.worst is None:
        doubts.append(Reason(ReasonKind.ABSENT, count=len(candidate.missing)))
    limits_drop = measurement.change is not None and gate.regression_max is not None
    if limits_drop and len(one_sided) > FEW * len(candidate.query_ids):
        doubts.append(Reason(ReasonKind.ONE_SIDED, count=len(one_sided)))
    return doubts
