"""Criteria × scores × scores → gate results. Pure: the same scores always give the same verdict."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from rankgate.gates.decision_rule import Finding, rule_on_drop, rule_on_floor
from rankgate.gates.measurement import Measurement, measure, uncompared
from rankgate.gates.power import detectable
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import (
    FEW,
    Comparison,
    Gaps,
    at_worst,
    filled,
    paired,
    too_many,
)
from rankgate.metrics.estimates import Estimate, defined_only, estimate
from rankgate.model.gate_result import Counted, Detectable, GateResult
from rankgate.model.scores import Scores
from rankgate.model.values import TOLERANCE, Evidence, EvidenceState, Reason, ReasonKind, Ruling, RunField, Verdict

if TYPE_CHECKING:
    from rankgate.criteria import Gate

Ruled = tuple[Finding, Reason]  # what became of a limit, and why
# From the worst value to the best: what an answer without a verdict may be worth. Between the ends harm may be surer
# than at either, for there one answer adds less to the spread.
WARNING_LEVEL = 0.08  # one-sided: what is beyond a limit and less sure than this is noise
_WAYS = (0.0, 0.25, 0.5, 0.75, 1.0)


def decide(measurement: Measurement) -> GateResult:
    """Judge one gate by the evidence that it asks for; equality passes, and a value that is no number never does."""
    gate, candidate, baseline, units, own, counted, pairs, _, _, _, raw, raw_pairs, _ = measurement
    metric = gate.metric
    ruled, unjudged, warnings = _ruled(measurement, may_block=units.may_block(gate))
    clustered = bool(candidate.clusters) and metric.at_quantile is None
    broken, inconclusive, held = (
        [replace(reason, clusters=clustered) for found, reason in ruled if found.ruling is ruling]
        for ruling in (Ruling.VIOLATED, Ruling.INCONCLUSIVE, Ruling.HOLDS)
    )
    alone = pairs is None if gate.regression_max is not None else RunField.BASELINE in metric.needs and baseline is None
    states, unsure = {found.state for found, _ in ruled}, (EvidenceState.NO_INTERVAL, EvidenceState.INCONCLUSIVE)
    least_certain = next((state for state in unsure if state in states), EvidenceState.CLEAR)
    state = EvidenceState.NO_BASELINE if alone else least_certain
    if measurement.not_comparable:
        pairs, state = None, EvidenceState.NOT_COMPARABLE
    beyond = [found.beyond for found, _ in ruled if found.ruling is Ruling.VIOLATED]
    noise = inconclusive if inconclusive and _within_noise(measurement, ruled) else []
    doubtful = bool(warnings or len(inconclusive) > len(noise))
    verdict = Verdict.PASS
    if unjudged:
        verdict = Verdict.NOT_JUDGED
    elif broken:
        verdict = Verdict.FAIL if gate.blocks else Verdict.WARN
    elif doubtful:
        verdict = Verdict.WARN
    return GateResult(
        name=gate.name,
        metric=metric.name,
        meaning=metric.meaning,
        unit=metric.unit,
        direction=metric.direction,
        segment=None,
        severity="error" if gate.blocks else "warning",
        value=own.value if own else None,
        value_raw=raw.value if raw and raw is not own else None,
        counted=Counted(counted.value, counted.ci) if counted and counted != own else None,
        ci=own.ci if own else None,
        threshold=gate.threshold,
        baseline=pairs.baseline if pairs else None,
        paired_value=pairs.value if pairs else None,
        counts=pairs.counts if pairs else None,
        delta=pairs.delta if pairs else None,
        delta_ci=pairs.ci if pairs else None,
        delta_raw=raw_pairs.delta if pairs and raw_pairs and abs(pairs.delta - raw_pairs.delta) > TOLERANCE else None,
        assumption=units.assumes(gate, value=raw is not own) if pairs or own else None,
        exact=pairs.exact if pairs else None,
        regression_max=gate.regression_max,
        evidence=gate.evidence,
        evidence_state=state,
        confidence=gate.confidence,
        violation=max(beyond) if beyond and not unjudged else None,
        only_inconclusive=len(inconclusive) > len(noise) and not (unjudged or broken or warnings),
        detectable=_detectable(measurement, raw_pairs if pairs else None),
        verdict=verdict,
        reasons=unjudged + broken + inconclusive + warnings or held,
        doubts=len(inconclusive) + len(warnings) if doubtful else 0,
        n=own.n if own else 0,
        n_pairs=pairs.n_pairs if pairs else 0,
        line=gate.line,
    )


def _within_noise(measurement: Measurement, ruled: Sequence[Ruled]) -> bool:
    """Whether what exceeds its limit and is not proven is no more than what noise does, so that nobody is warned.

    Noise is what the interval does not exclude at a one-sided level of 8 % for a gate that blocks, and at that of the
    proof for one that only warns. Values that are missing are no noise, and where there is no interval nobody can tell.
    """
    doubted = [reason for finding, reason in ruled if finding.ruling is Ruling.INCONCLUSIVE]
    if any(reason.at_worst is not None or reason.state is not EvidenceState.INCONCLUSIVE for reason in doubted):
        return False
    if not measurement.gate.blocks:
        return True
    wider = measurement.gate.model_copy(update={"confidence": 1 - 2 * WARNING_LEVEL})
    runs = (measurement.candidate, measurement.baseline)
    seen = measure(wider, *runs, measurement.units, relevant=measurement.relevant)
    again, _, _ = _ruled(seen, may_block=True)
    return all(finding.ruling is not Ruling.VIOLATED for finding, _ in again)


def _ruled(measurement: Measurement, *, may_block: bool) -> tuple[list[Ruled], list[Reason], list[Reason]]:
    """The rulings on the gate's limits, why it cannot be judged, and what to look at twice."""
    gate, candidate, baseline, _, own, _, pairs, gap, _, finite, _, _, _ = measurement
    metric, values = gate.metric, candidate.values[gate.metric.name]
    of_judge = RunField.VERDICTS in metric.needs
    scored = len({*gap.missing, *(row for row, value in enumerate(values) if value is not None)})
    lacking = _missing(gate, candidate, gap, scored, pairs)
    ruled: list[Ruled] = []
    warnings, unjudged = list[Reason](), list[Reason]()
    if own is None and finite and baseline is None and RunField.BASELINE in metric.needs:
        warnings.append(Reason(ReasonKind.NO_BASELINE))
    elif own is None and not lacking:
        nowhere = Reason(ReasonKind.UNDEFINED, count=len(values))
        unjudged.append(nowhere if finite else Reason(ReasonKind.NOT_FINITE))
    elif lacking or own is None:
        # Without a judge's word only a gate that could block ends the check, and one whose criteria allow that never
        # for the sake of answers that were not asked about; those that cannot be judged may be so on purpose.
        at_fault = [row for row in gap.missing if of_judge and _at_fault(metric, candidate, candidate.query_ids[row])]
        allowed = gate.allow_unjudged and not too_many(at_fault, scored, gate.max_unjudged)
        (warnings if of_judge and (allowed or not may_block) else unjudged).extend(lacking)
    else:
        # A drop says more than a floor, so it is named first.
        if gate.regression_max is not None:
            why_not = uncompared(measurement)
            lost = baseline is not None and pairs is None and metric.name not in baseline.foreign
            lost = lost and baseline is not None and not baseline.unstated.keys() & metric.needs
            lost = lost and metric.worst is not None and (may_block or not of_judge)
            moved = any(reason.kind is ReasonKind.OTHER_JUDGE for reason in why_not)
            lost = lost or (moved and of_judge and may_block)
            (unjudged if lost else warnings).extend(why_not)
            ruled += [_drop(measurement, pairs)] if pairs and not why_not else []
        if gate.threshold is not None:
            ruled.append(_floor(measurement, measurement.counted or own, gate.threshold))
    if own is not None:
        warnings += _doubts(gate, candidate, gap, compared=pairs is not None)
    return ruled, unjudged, warnings


def _detectable(measurement: Measurement, pairs: Comparison | None) -> Detectable | None:
    """By what moved on the pairs, or by usual spreads for so many relevant documents a query as these have."""
    gate, candidate, own, slope = measurement.gate, measurement.candidate, measurement.own, measurement.units.slope
    relevant = measurement.relevant
    if pairs:
        see = partial(detectable, gate, pairs.clusters, queries=pairs.n_pairs, relevant=relevant, slope=slope)
        measured = see(differences=pairs.changes)
        # Answers that nearly all stayed as they were do not tell how the next system's will differ.
        usual = see() if measured and measured.assumed and isinstance(gate.metric, JudgedMetric) else None
        return usual if usual and measured and usual.spread > measured.spread else measured
    alone = defined_only(candidate.clusters, candidate.values[gate.metric.name])
    return detectable(gate, alone, queries=own.n if own else 0, relevant=relevant, slope=slope)


def _unless(found: Finding, at_worst: Ruling, reason: Reason, gate: Gate) -> Ruled:
    """A ruling that holds, in doubt where it does not with the worst for what is missing.

    What must be proven safe is violated by that doubt. A reason without `at_worst` only counts what is missing.
    """
    if found.ruling is not Ruling.HOLDS or at_worst is Ruling.HOLDS:
        return found, replace(reason, at_worst=None, count=reason.count if found.ruling is Ruling.HOLDS else 0)
    ruling = Ruling.VIOLATED if gate.evidence is Evidence.PROVEN_SAFE else Ruling.INCONCLUSIVE
    doubtful = found._replace(ruling=ruling, state=EvidenceState.INCONCLUSIVE)
    return doubtful, replace(reason, ruling=ruling, state=doubtful.state)


def _floor(measurement: Measurement, own: Estimate, threshold: float) -> Ruled:
    """The ruling on the value; in doubt where it holds, but not with the worst for what is missing.

    See `_completed` for what a judge left open.
    """
    gate, candidate = measurement.gate, measurement.candidate
    metric, values = gate.metric, candidate.uncut_values(gate.metric.name)

    def rule(value: Estimate) -> Finding:
        return rule_on_floor(gate.evidence, value.value, value.ci, threshold, metric.direction)

    found, gap = rule(own), measurement.gap
    reason = Reason(ReasonKind.THRESHOLD, ruling=found.ruling, state=found.state)
    if not gap.missing:
        return found, reason
    if RunField.VERDICTS not in metric.needs:
        column = at_worst(metric, (values, measurement.old_values), set(gap.missing))
        worst = estimate(column, metric, candidate.clusters, confidence=gate.confidence) or own
        return _unless(found, rule(worst).ruling, replace(reason, count=len(gap.missing), at_worst=worst.value), gate)
    columns = [filled(metric, values, set(gap.missing), way) for way in _WAYS]
    ends: list[Estimate] = []
    for column in columns:
        end = estimate(column, metric, confidence=gate.confidence, clusters=candidate.clusters)
        ends += [measurement.units.value(gate, candidate, column, end).counted] if end else []
    return _completed(ReasonKind.THRESHOLD, found, [[(rule(end), end.value)] for end in ends], gap)


def _completed(kind: ReasonKind, found: Finding, rows: Sequence[Sequence[tuple[Finding, float]]], gap: Gaps) -> Ruled:
    """The ruling on what a judge left open, beside that on the rest, which is shown and decides nothing.

    There is a row for each way to complete the run, the first at the worst, with one ruling and its value for each way
    to complete the baseline, at the worst and at the best. A row of violations decides: no answer fares better unjudged
    than wrong, and no gap of the baseline blocks. Otherwise all must agree, or it is in doubt.
    """
    rulings = {each.ruling for row in rows for each, _ in row}
    violated = [row[0][0] for row in rows if all(each.ruling is Ruling.VIOLATED for each, _ in row)]
    doubtful = found._replace(ruling=Ruling.INCONCLUSIVE, state=EvidenceState.INCONCLUSIVE)
    ruled = max(violated, key=lambda each: each.beyond) if violated else doubtful if len(rulings) > 1 else rows[0][0][0]
    if rulings == {found.ruling}:
        return ruled, Reason(kind, ruling=found.ruling, state=found.state)
    count = len(gap.missing) + (0 if violated else len(gap.missing_before))
    _, worst = rows[0][0 if violated else -1]
    reason = Reason(kind, ruling=ruled.ruling, state=found.state, count=count, at_worst=worst, need=RunField.VERDICTS)
    return ruled, reason


def _drop(measurement: Measurement, pairs: Comparison) -> Ruled:
    """The ruling on the pairs; in doubt where they hold, but not with the worst for what only the baseline has.

    Queries that only the run has a value for decide nothing: whoever writes the answers could make any drop small.
    """
    gate, candidate, gap, old_values = measurement.gate, measurement.candidate, measurement.gap, measurement.old_values
    metric, values = gate.metric, candidate.values[gate.metric.name]
    found, reason = _on_pairs(measurement, (values, old_values), pairs)
    one_sided = gap.one_sided if too_many(gap.one_sided, len(values)) else []
    unstated = [] if RunField.VERDICTS in metric.needs else gap.missing
    lost = [row for row in (*one_sided, *unstated) if values[row] is None and old_values[row] is not None]
    if not lost or found.ruling is not Ruling.HOLDS:
        return found, reason
    columns = (at_worst(metric, (values, old_values), set(lost)), old_values)
    others = paired(metric, *columns, clusters=candidate.clusters)
    worst = measurement.compared(others) if others else pairs
    ruling = _on_pairs(measurement, columns, worst)[0].ruling
    return _unless(found, ruling, replace(reason, count=len(lost), at_worst=worst.delta, need=None), gate)


def _on_pairs(measurement: Measurement, columns: Sequence[Sequence[float | None]], pairs: Comparison) -> Ruled:
    """The ruling on the pairs of two columns; see `_completed` for what a judge left open."""
    gate, candidate, gap = measurement.gate, measurement.candidate, measurement.gap
    metric, (values, old_values) = gate.metric, columns
    unknown, before = set(gap.missing), set(gap.missing_before)
    found = _rule(gate, pairs)
    if RunField.VERDICTS not in metric.needs or not unknown | before:
        return found, Reason(ReasonKind.REGRESSION, ruling=found.ruling, state=found.state)
    olds = [filled(metric, old_values, before, way) for way in (0.0, 1.0)] if before else [old_values]
    news = [filled(metric, values, unknown, way) for way in _WAYS] if unknown else [values]

    def rule(now: Sequence[float | None], then: Sequence[float | None]) -> tuple[Finding, float]:
        both = paired(metric, now, then, clusters=candidate.clusters)
        compared = measurement.compared(both) if both else pairs
        return _rule(gate, compared), compared.delta

    return _completed(ReasonKind.REGRESSION, found, [[rule(now, then) for then in olds] for now in news], gap)


def _rule(gate: Gate, pairs: Comparison) -> Finding:
    limit = (gate.regression_max or 0.0, gate.metric.direction)
    return rule_on_drop(gate.evidence, pairs.delta, pairs.ci, *limit, pairs.exact, gate.confidence)


def _missing(gate: Gate, candidate: Scores, gap: Gaps, among: int, pairs: Comparison | None) -> list[Reason]:
    """Why a gate cannot be judged: on a side that it looks at, too many queries lack the value."""
    drops = pairs is not None and gate.regression_max is not None
    sources: dict[Literal["run", "baseline"], Sequence[int]]
    sources = {"run": gap.missing, "baseline": gap.missing_before if drops else []}
    unjudged = ((source, rows) for source, rows in sources.items() if too_many(rows, among, gate.max_unjudged))
    lacking = [(source, len(rows)) for source, rows in unjudged]
    kind = ReasonKind.NO_VERDICT if RunField.VERDICTS in gate.metric.needs else ReasonKind.MISSING
    in_doubt = any(candidate.query_ids[row] in candidate.unfit for row in gap.missing)
    need = RunField.OFFSETS if in_doubt else None
    return [Reason(kind, count=count, among=among, source=source, need=need) for source, count in lacking]


def _at_fault(metric: Metric, candidate: Scores, query_id: str) -> bool:
    """Whether an answer without a verdict is not there, or is one that the judge cannot judge."""
    query = candidate.matched.get(query_id)
    if not isinstance(metric, JudgedMetric) or query is None or query.details is None or not query.details.generated:
        return True
    missing = filter(None, map(metric.unjudged, query.details.verdicts or ()))
    return any(each.kind.lasts for each in missing)


def _doubts(gate: Gate, candidate: Scores, gap: Gaps, *, compared: bool) -> list[Reason]:
    """Reasons to look twice although no limit is broken."""
    absent, one_sided = candidate.missing, gap.one_sided
    uneven = compared and gate.regression_max is not None and len(one_sided) > FEW * len(candidate.query_ids)
    doubts = [Reason(ReasonKind.ABSENT, count=len(absent))] if absent and gate.metric.worst is None else []
    return [*doubts, Reason(ReasonKind.ONE_SIDED, count=len(one_sided))] if uneven else doubts
