"""What becomes of a gate's limits: ruled on by its evidence, or why they cannot be. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from rankgate.gates.decision_rule import Finding, rule_on_drop, rule_on_floor
from rankgate.gates.measurement import Measurement, uncompared
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import FEW, Comparison, Gaps, at_worst, filled, paired, too_many
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.model.scores import Scores
from rankgate.model.values import Evidence, EvidenceState, Reason, ReasonKind, Ruling, RunField

if TYPE_CHECKING:
    from rankgate.criteria import Gate

# From the worst value to the best: what an answer without a verdict may be worth. Between the ends harm may be surer
# than at either, for there one answer adds less to the spread.
_FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)

Column = Sequence[float | None]


class Ruled(NamedTuple):
    """What became of a limit, and why."""

    finding: Finding
    reason: Reason


class Completed(NamedTuple):
    """What a limit is with answers filled in that a judge left open, and the number that it is held against."""

    finding: Finding
    number: float


class Rulings(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a gate's limits, why it cannot be judged, and what to look at twice."""

    limits: list[Ruled] = []
    unjudged: list[Reason] = []
    warnings: list[Reason] = []

    def reasons(self, ruling: Ruling) -> list[Reason]:
        """Those of the limits of which this became."""
        return [limit.reason for limit in self.limits if limit.finding.ruling is ruling]


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
    rulings = _rule_lacking(measurement, lacking, may_block=may_block) if lacking else Rulings()
    if not lacking and gate.regression_max is not None:
        rulings = _rule_drop(measurement, may_block=may_block)
    counted = measurement.counted or measurement.value
    if not lacking and counted is not None and gate.threshold is not None:
        rulings = replace(rulings, limits=[*rulings.limits, _floor(measurement, counted, gate.threshold)])
    doubts = _doubts(measurement) if measurement.value else []
    return replace(rulings, warnings=[*rulings.warnings, *doubts])


def _rule_lacking(measurement: Measurement, lacking: list[Reason], *, may_block: bool) -> Rulings:
    """Too many values are missing.

    Without a judge's word only a gate that could block ends the check, and one whose criteria allow that never for the
    sake of answers that were not asked about; those that cannot be judged may be so on purpose.
    """
    gate, candidate = measurement.gate, measurement.candidate
    if not measurement.by_judge:
        return Rulings(unjudged=lacking)
    rows = measurement.gaps.missing
    at_fault = [row for row in rows if _at_fault(gate.metric, candidate, candidate.query_ids[row])]
    allowed = gate.allow_unjudged and not too_many(at_fault, _scored(measurement), gate.max_unjudged)
    return Rulings(warnings=lacking) if allowed or not may_block else Rulings(unjudged=lacking)


def _rule_drop(measurement: Measurement, *, may_block: bool) -> Rulings:
    """The ruling on the pairs; a run whose pairs were lost, or judged by another judge, has no verdict."""
    metric, baseline = measurement.gate.metric, measurement.baseline
    why_not = uncompared(measurement)
    if measurement.change is not None and not why_not:
        return Rulings(limits=[_drop(measurement, measurement.change)])
    may_end = may_block or not measurement.by_judge
    lost_pairs = (
        baseline is not None
        and measurement.change is None
        and metric.name not in baseline.foreign
        and not baseline.unstated.keys() & metric.needs
        and metric.worst is not None
        and may_end
    )
    other_judge = any(reason.kind is ReasonKind.OTHER_JUDGE for reason in why_not)
    if lost_pairs or (other_judge and measurement.by_judge and may_block):
        return Rulings(unjudged=why_not)
    return Rulings(warnings=why_not)


def _in_doubt(ruled: Ruled, at_worst: Ruling, gate: Gate) -> Ruled:
    """A ruling that holds, in doubt where it does not with the worst for what is missing.

    What must be proven safe is violated by that doubt. A reason without `at_worst` only counts what is missing.
    """
    finding, reason = ruled
    if finding.ruling is not Ruling.HOLDS:
        return Ruled(finding, replace(reason, at_worst=None, count=0))
    if at_worst is Ruling.HOLDS:
        return Ruled(finding, replace(reason, at_worst=None))
    ruling = Ruling.VIOLATED if gate.evidence is Evidence.PROVEN_SAFE else Ruling.INCONCLUSIVE
    doubtful = finding._replace(ruling=ruling, state=EvidenceState.INCONCLUSIVE)
    return Ruled(doubtful, replace(reason, ruling=ruling, state=doubtful.state))


def _floor(measurement: Measurement, counted: Estimate, threshold: float) -> Ruled:
    """The ruling on the value; in doubt where it holds, but not with the worst for what is missing.

    See `_completed` for what a judge left open.
    """
    gate, candidate = measurement.gate, measurement.candidate
    finding = _on_floor(gate, counted, threshold)
    reason = Reason(ReasonKind.THRESHOLD, ruling=finding.ruling, state=finding.state)
    missing = set(measurement.gaps.missing)
    if not missing:
        return Ruled(finding, reason)
    metric = gate.metric
    values = candidate.uncut_values(metric.name)
    if not measurement.by_judge:
        column = at_worst(metric, (values, measurement.baseline_values), missing)
        worst = estimate(column, metric, candidate.clusters, confidence=gate.confidence) or counted
        counting = replace(reason, count=len(measurement.gaps.missing), at_worst=worst.value)
        return _in_doubt(Ruled(finding, counting), _on_floor(gate, worst, threshold).ruling, gate)
    rows: list[list[Completed]] = []
    for fraction in _FRACTIONS:
        column = filled(metric, values, missing, fraction)
        end = estimate(column, metric, confidence=gate.confidence, clusters=candidate.clusters)
        if end is not None:
            value = measurement.units.value(gate, candidate, column, end).counted
            rows.append([Completed(_on_floor(gate, value, threshold), value.value)])
    return _completed(ReasonKind.THRESHOLD, finding, rows, measurement.gaps)


def _on_floor(gate: Gate, value: Estimate, threshold: float) -> Finding:
    return rule_on_floor(gate.evidence, value.value, value.ci, threshold, gate.metric.direction)


def _completed(kind: ReasonKind, finding: Finding, rows: Sequence[Sequence[Completed]], gaps: Gaps) -> Ruled:
    """The ruling on what a judge left open, beside that on the rest, which is shown and decides nothing.

    There is a row for each fraction by which the run is completed, the first at the worst, with one ruling for each by
    which the baseline is, at the worst and at the best. A row of violations decides: no answer fares better unjudged
    than wrong, and no gap of the baseline blocks. Otherwise all must agree, or it is in doubt.
    """
    rulings = {each.finding.ruling for row in rows for each in row}
    violated = [row[0].finding for row in rows if all(each.finding.ruling is Ruling.VIOLATED for each in row)]
    if violated:
        decided = max(violated, key=lambda each: each.beyond)
    elif len(rulings) > 1:
        decided = finding._replace(ruling=Ruling.INCONCLUSIVE, state=EvidenceState.INCONCLUSIVE)
    else:
        decided = rows[0][0].finding
    if rulings == {finding.ruling}:
        return Ruled(decided, Reason(kind, ruling=finding.ruling, state=finding.state))
    return Ruled(
        decided,
        Reason(
            kind,
            ruling=decided.ruling,
            state=finding.state,
            count=len(gaps.missing) + (0 if violated else len(gaps.missing_before)),
            at_worst=rows[0][0 if violated else -1].number,
            need=RunField.VERDICTS,
        ),
    )


def _drop(measurement: Measurement, change: Comparison) -> Ruled:
    """The ruling on the pairs; in doubt where they hold, but not with the worst for what only the baseline has.

    Queries that only the run has a value for decide nothing: whoever writes the answers could make any drop small.
    """
    gate, gaps = measurement.gate, measurement.gaps
    values, baseline_values = measurement.values, measurement.baseline_values
    ruled = _on_pairs(measurement, values, change)
    one_sided = gaps.one_sided if too_many(gaps.one_sided, len(values)) else []
    unstated = [] if measurement.by_judge else gaps.missing
    lost = [row for row in (*one_sided, *unstated) if values[row] is None and baseline_values[row] is not None]
    if not lost or ruled.finding.ruling is not Ruling.HOLDS:
        return ruled
    column = at_worst(gate.metric, (values, baseline_values), set(lost))
    pairs = paired(gate.metric, column, baseline_values, clusters=measurement.candidate.clusters)
    worst = measurement.compared(pairs) if pairs else change
    at_their_worst = _on_pairs(measurement, column, worst).finding.ruling
    counting = replace(ruled.reason, count=len(lost), at_worst=worst.delta, need=None)
    return _in_doubt(Ruled(ruled.finding, counting), at_their_worst, gate)


def _on_pairs(measurement: Measurement, values: Column, change: Comparison) -> Ruled:
    """The ruling on the pairs of a run's values with the baseline's; see `_completed` for what a judge left open."""
    gate, metric, gaps = measurement.gate, measurement.gate.metric, measurement.gaps
    baseline_values = measurement.baseline_values
    unknown, unknown_before = set(gaps.missing), set(gaps.missing_before)
    finding = _on_drop(gate, change)
    if not measurement.by_judge or not unknown | unknown_before:
        return Ruled(finding, Reason(ReasonKind.REGRESSION, ruling=finding.ruling, state=finding.state))
    columns: list[Column] = [values]
    if unknown:
        columns = [filled(metric, values, unknown, fraction) for fraction in _FRACTIONS]
    baseline_columns: list[Column] = [baseline_values]
    if unknown_before:
        baseline_columns = [filled(metric, baseline_values, unknown_before, fraction) for fraction in (0.0, 1.0)]
    rows: list[list[Completed]] = []
    for column in columns:
        row: list[Completed] = []
        for baseline_column in baseline_columns:
            pairs = paired(metric, column, baseline_column, clusters=measurement.candidate.clusters)
            compared = measurement.compared(pairs) if pairs else change
            row.append(Completed(_on_drop(gate, compared), compared.delta))
        rows.append(row)
    return _completed(ReasonKind.REGRESSION, finding, rows, gaps)


def _on_drop(gate: Gate, change: Comparison) -> Finding:
    limit = gate.regression_max or 0.0
    direction = gate.metric.direction
    return rule_on_drop(gate.evidence, change.delta, change.ci, limit, direction, change.exact, gate.confidence)


def _scored(measurement: Measurement) -> int:
    """How many queries have a value or lack one; those for which the metric is undefined count for nothing."""
    defined = {row for row, value in enumerate(measurement.values) if value is not None}
    return len(defined.union(measurement.gaps.missing))


def _lacking(measurement: Measurement) -> list[Reason]:
    """Why a gate cannot be judged: too many queries lack the value, in a run that one of its limits looks at."""
    gate, candidate, gaps = measurement.gate, measurement.candidate, measurement.gaps
    rows: dict[Literal["run", "baseline"], Sequence[int]] = {"run": gaps.missing}
    if measurement.change is not None and gate.regression_max is not None:
        rows["baseline"] = gaps.missing_before
    unplaced = any(candidate.query_ids[row] in candidate.unfit for row in gaps.missing)
    kind = ReasonKind.NO_VERDICT if measurement.by_judge else ReasonKind.MISSING
    among = _scored(measurement)
    return [
        Reason(kind, count=len(each), among=among, source=source, need=RunField.OFFSETS if unplaced else None)
        for source, each in rows.items()
        if too_many(each, among, gate.max_unjudged)
    ]


def _at_fault(metric: Metric, candidate: Scores, query_id: str) -> bool:
    """Whether an answer without a verdict is not there, or is one that the judge cannot judge."""
    query = candidate.matched.get(query_id)
    if not isinstance(metric, JudgedMetric) or query is None or query.details is None or not query.details.generated:
        return True
    missing = filter(None, map(metric.unjudged, query.details.verdicts or ()))
    return any(each.kind.lasts for each in missing)


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
