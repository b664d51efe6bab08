"""Criteria × scores × scores → gate results: each limit is ruled on by its evidence, or why it cannot be. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from rankgate.gates.decision_rule import Ruled, Rulings, in_doubt, on_floor
from rankgate.gates.measurement import Measurement, measure
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.metrics.gaps import FEW, at_worst, too_many
from rankgate.model.gate_result import (
    NO_CHANGE,
    Counted,
    Detectable,
    GateDecision,
    GateEvidence,
    GateLimits,
    GateResult,
    MeasuredChange,
    MeasuredValue,
)
from rankgate.model.values import TOLERANCE, WARNING_LEVEL, EvidenceState, Reason, ReasonKind, Ruling, RunField, Verdict


def decide(measurement: Measurement) -> GateResult:
    """Judge one gate by the evidence that it asks for; equality passes, and a value that is no number never does."""
    gate, metric = measurement.gate, measurement.gate.metric
    rulings = rule(measurement, may_block=measurement.units.may_block(gate))
    violated = _reasons(measurement, rulings, Ruling.VIOLATED)
    inconclusive = _beyond_noise_first(measurement, _reasons(measurement, rulings, Ruling.INCONCLUSIVE))
    in_doubt = any(reason.in_doubt for reason in inconclusive)
    doubtful = in_doubt or bool(rulings.warnings)
    beyond = [limit.finding.beyond for limit in rulings.limits if limit.finding.ruling is Ruling.VIOLATED]
    reasons = [*rulings.unjudged, *violated, *inconclusive, *rulings.warnings]
    detectable: Detectable | None = None
    if gate.regression_max is not None:
        from rankgate.gates.power import measured_power  # noqa: PLC0415 -- paid only where a drop is limited

        detectable = measured_power(measurement)
    return GateResult(
        name=gate.name,
        metric=metric.name,
        meaning=metric.meaning,
        unit=metric.unit,
        direction=metric.direction,
        segment=None,
        severity="error" if gate.blocks else "warning",
        line=gate.line,
        measured=_measured(measurement),
        change=_change(measurement),
        limits=GateLimits(
            threshold=gate.threshold,
            regression_max=gate.regression_max,
            evidence=gate.evidence,
            confidence=gate.confidence,
        ),
        evidence=GateEvidence(
            evidence_state=_evidence_state(measurement, rulings),
            only_inconclusive=in_doubt and not (rulings.unjudged or violated or rulings.warnings),
            detectable=detectable,
        ),
        decision=GateDecision(
            verdict=_verdict(rulings, blocks=gate.blocks, doubtful=doubtful),
            reasons=reasons or _reasons(measurement, rulings, Ruling.HOLDS),
            doubts=len(inconclusive) + len(rulings.warnings) if doubtful or violated else 0,
            violation=max(beyond, default=None),
        ),
    )


def rule(measurement: Measurement, *, may_block: bool) -> Rulings:
    """Rule on the gate's floor and on its drop; one that may not block warns where it cannot be judged."""
    rulings = _rule(measurement, may_block=may_block)
    if may_block:
        return rulings
    return replace(rulings, unjudged=[], warnings=[*rulings.unjudged, *rulings.warnings])


def _rule(measurement: Measurement, *, may_block: bool) -> Rulings:
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

        rulings = rule_lacking(measurement, lacking)
    if not lacking and gate.limits_drop:
        from rankgate.gates.drops import rule_drop  # noqa: PLC0415 -- paid only where a drop is limited

        rulings = rule_drop(measurement, may_block=may_block)
    counted = measurement.counted
    if not lacking and counted is not None and gate.threshold is not None:
        rulings = replace(rulings, limits=[*rulings.limits, _floor(measurement, counted)])
    doubts = _doubts(measurement) if measurement.value else []
    return replace(rulings, warnings=[*rulings.warnings, *doubts])


def _floor(measurement: Measurement, counted: Estimate) -> Ruled:
    """The ruling on the value; in doubt where it holds, but not with the worst for what is missing.

    What a judge left open is filled in.
    """
    gate, metric, candidate = measurement.gate, measurement.gate.metric, measurement.candidate
    finding = on_floor(gate, counted)
    reason = Reason(ReasonKind.THRESHOLD, ruling=finding.ruling, state=finding.state)
    missing = set(measurement.gaps.missing)
    if not missing:
        return Ruled(finding, reason)
    if measurement.by_judge:
        from rankgate.gates.left_open import floor_left_open  # noqa: PLC0415 -- paid only where answers are judged

        return floor_left_open(measurement, finding)
    column = at_worst(metric, (candidate.uncut_values(metric.name), measurement.baseline_values), missing)
    worst = estimate(column, metric, candidate.clusters, confidence=gate.confidence) or counted
    counting = replace(reason, count=len(measurement.gaps.missing), at_worst=worst.value)
    return in_doubt(Ruled(finding, counting), on_floor(gate, worst).ruling, gate)


def _lacking(measurement: Measurement) -> list[Reason]:
    """Why a gate cannot be judged: too many queries, or all, lack the value in a run that one of its limits reads."""
    gate, candidate, gaps = measurement.gate, measurement.candidate, measurement.gaps
    rows: dict[Literal["run", "baseline"], Sequence[int]] = {"run": gaps.missing}
    if measurement.change is not None and gate.regression_max is not None:
        rows["baseline"] = gaps.missing_in_baseline
    unplaced = any(candidate.query_ids[row] in candidate.unfit for row in gaps.missing)
    need = RunField.OFFSETS if unplaced else None
    kind = ReasonKind.NO_VERDICT if measurement.by_judge else ReasonKind.MISSING
    return [
        Reason(kind, count=len(each), among=measurement.scored, source=source, need=need)
        for source, each in rows.items()
        if too_many(each, measurement.scored, gate.max_unjudged) or 0 < len(each) == measurement.scored
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


def _reasons(measurement: Measurement, rulings: Rulings, ruling: Ruling) -> list[Reason]:
    """Those of the limits of which this became; each says whether its interval is over clusters."""
    clustered = bool(measurement.candidate.clusters) and measurement.gate.metric.at_quantile is None
    return [replace(reason, clusters=clustered) for reason in rulings.reasons(ruling)]


def _beyond_noise_first(measurement: Measurement, inconclusive: list[Reason]) -> list[Reason]:
    """What exceeds a limit and is not proven, with what is more than noise does marked and before what is not.

    Noise is what the interval does not exclude at a one-sided level of 8 % for a gate that blocks, and at that of the
    proof for one that only warns. Values that are missing are no noise, and where there is no interval nobody can tell.
    """
    if not measurement.gate.blocks or all(reason.in_doubt for reason in inconclusive):
        return inconclusive
    wider = measurement.gate.model_copy(update={"confidence": 1 - 2 * WARNING_LEVEL})
    again = measure(wider, measurement.candidate, measurement.baseline, measurement.units)
    kinds = {reason.kind for reason in rule(again, may_block=True).reasons(Ruling.VIOLATED)}
    marked = [replace(each, beyond_noise=not each.in_doubt and each.kind in kinds) for each in inconclusive]
    return sorted(marked, key=lambda reason: not reason.in_doubt)


def _verdict(rulings: Rulings, *, blocks: bool, doubtful: bool) -> Verdict:
    if rulings.unjudged:
        return Verdict.NOT_JUDGED
    if rulings.reasons(Ruling.VIOLATED):
        return Verdict.FAIL if blocks else Verdict.WARN
    return Verdict.WARN if doubtful else Verdict.PASS


def _measured(measurement: Measurement) -> MeasuredValue:
    value, by_metric, counted = measurement.value, measurement.metric_value, measurement.counted
    if value is None:
        return MeasuredValue(value=None, ci=None, n=0, value_raw=by_metric.value if by_metric else None)
    return MeasuredValue(
        value=value.value,
        value_raw=by_metric.value if by_metric and by_metric is not value else None,
        counted=Counted(counted.value, counted.ci) if counted and counted != value else None,
        ci=value.ci,
        n=value.n,
    )


def _change(measurement: Measurement) -> MeasuredChange:
    change, value = measurement.comparable_change, measurement.value
    by_metric = measurement.metric_change
    assumption = None
    if change or value:
        assumption = measurement.units.assumes(measurement.gate, value=measurement.metric_value is not value)
    if change is None:
        return replace(NO_CHANGE, assumption=assumption)
    differs = by_metric is not None and abs(change.delta - by_metric.delta) > TOLERANCE
    return MeasuredChange(
        baseline=change.baseline,
        paired_value=change.value,
        counts=change.counts,
        delta=change.delta,
        delta_ci=change.ci,
        delta_raw=by_metric.delta if by_metric and differs else None,
        assumption=assumption,
        exact=change.exact,
        n_pairs=change.n_pairs,
    )


def _evidence_state(measurement: Measurement, rulings: Rulings) -> EvidenceState:
    """The least certain of what the limits rest on."""
    if measurement.not_comparable:
        return EvidenceState.NOT_COMPARABLE
    gate = measurement.gate
    if gate.limits_drop:
        alone = measurement.change is None
    else:
        alone = RunField.BASELINE in gate.metric.needs and measurement.baseline is None
    if alone:
        return EvidenceState.NO_BASELINE
    states = {limit.finding.state for limit in rulings.limits}
    for state in (EvidenceState.NO_INTERVAL, EvidenceState.INCONCLUSIVE):
        if state in states:
            return state
    return EvidenceState.CLEAR
