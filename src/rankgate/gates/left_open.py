"""What becomes of a limit where a judge left answers open: filled in between the worst and the best. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rankgate.gates.decision_rule import Finding, Ruled, Rulings, on_drop, on_floor
from rankgate.gates.measurement import Measurement
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, paired
from rankgate.metrics.estimates import estimate
from rankgate.metrics.gaps import Gaps, filled, too_many
from rankgate.model.scores import Scores
from rankgate.model.values import EvidenceState, Reason, ReasonKind, Ruling, RunField

# From the worst value to the best: what an answer without a verdict may be worth. Between the ends harm may be surer
# than at either, for there one answer adds less to the spread.
_FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)


class _Completed(NamedTuple):
    """What a limit is with answers filled in that a judge left open, and the number that it is held against."""

    finding: Finding
    number: float


def rule_lacking(measurement: Measurement, lacking: list[Reason]) -> Rulings:
    """Too many answers lack a judge's word.

    A gate whose criteria allow that is never unjudged for the sake of answers that were not asked about; those that
    cannot be judged may be so on purpose.
    """
    gate, candidate = measurement.gate, measurement.candidate
    rows = measurement.gaps.missing
    at_fault = [row for row in rows if _at_fault(gate.metric, candidate, candidate.query_ids[row])]
    allowed = gate.allow_unjudged and not too_many(at_fault, measurement.scored, gate.max_unjudged)
    return Rulings(warnings=lacking) if allowed else Rulings(unjudged=lacking)


def floor_left_open(measurement: Measurement, finding: Finding) -> Ruled:
    """The ruling on the value; `finding` is that on the answers that are judged."""
    gate, candidate = measurement.gate, measurement.candidate
    missing = set(measurement.gaps.missing)
    values = candidate.uncut_values(gate.metric.name)
    rows: list[list[_Completed]] = []
    for fraction in _FRACTIONS:
        column = filled(gate.metric, values, missing, fraction)
        end = estimate(column, gate.metric, confidence=gate.confidence, clusters=candidate.clusters)
        if end is not None:
            value = measurement.units.value(gate, candidate, column, end).counted
            rows.append([_Completed(on_floor(gate, value), value.value)])
    return _completed(ReasonKind.THRESHOLD, finding, rows, measurement.gaps)


def drop_left_open(
    measurement: Measurement,
    values: Sequence[float | None],
    change: Comparison,
    finding: Finding,
) -> Ruled:
    """The ruling on the pairs of a run's `values`; `finding` is that on their `change` where both are judged."""
    metric, gaps = measurement.gate.metric, measurement.gaps
    baseline_values = measurement.baseline_values
    unknown, unknown_in_baseline = set(gaps.missing), set(gaps.missing_in_baseline)
    columns = [values]
    if unknown:
        columns = [filled(metric, values, unknown, fraction) for fraction in _FRACTIONS]
    baseline_columns = [baseline_values]
    if unknown_in_baseline:
        baseline_columns = [filled(metric, baseline_values, unknown_in_baseline, fraction) for fraction in (0.0, 1.0)]
    rows: list[list[_Completed]] = []
    for column in columns:
        row: list[_Completed] = []
        for baseline_column in baseline_columns:
            pairs = paired(metric, column, baseline_column, clusters=measurement.candidate.clusters)
            compared = measurement.compared(pairs) if pairs else change
            row.append(_Completed(on_drop(measurement.gate, compared), compared.delta))
        rows.append(row)
    return _completed(ReasonKind.REGRESSION, finding, rows, gaps)


def _completed(kind: ReasonKind, finding: Finding, rows: Sequence[Sequence[_Completed]], gaps: Gaps) -> Ruled:
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
            count=len(gaps.missing) + (0 if violated else len(gaps.missing_in_baseline)),
            at_worst=rows[0][0 if violated else -1].number,
            need=RunField.VERDICTS,
        ),
    )


def _at_fault(metric: Metric, candidate: Scores, query_id: str) -> bool:
    """Whether an answer without a verdict is not there, or is one that the judge cannot judge."""
    query = candidate.matched.get(query_id)
    if not isinstance(metric, JudgedMetric) or query is None or query.details is None or not query.details.generated:
        return True
    missing = filter(None, map(metric.unjudged, query.details.verdicts or ()))
    return any(each.kind.lasts for each in missing)
