"""What becomes of a limit of a drop: ruled on by the pairs, or why there are none. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from rankgate.gates.decision_rule import Ruled, Rulings, in_doubt, on_drop
from rankgate.gates.measurement import Measurement
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, paired
from rankgate.metrics.gaps import Gaps, at_worst, too_many
from rankgate.model.scores import Scores
from rankgate.model.values import Reason, ReasonKind, Ruling, RunField

Column = Sequence[float | None]

# Why there are no pairs, where there could be some.
_LOST = (ReasonKind.NO_VERDICT, ReasonKind.NOT_IN_BASELINE)


def rule_drop(measurement: Measurement, *, may_block: bool) -> Rulings:
    """The ruling on the pairs; a run whose pairs were lost, or judged by another judge, has no verdict."""
    gate, by_judge = measurement.gate, measurement.by_judge
    why_not = _uncompared(measurement)
    if measurement.change is not None and why_not is None:
        limited = gate.regression_max is not None  # else that of its segments or single questions
        return Rulings(limits=[_drop(measurement, measurement.change)] if limited else [])
    kind = why_not.kind if why_not else None
    lost_pairs = kind in _LOST and gate.metric.worst is not None and (may_block or not by_judge)
    other_judge = kind is ReasonKind.OTHER_JUDGE and by_judge and may_block
    reasons = [why_not] if why_not else []
    return Rulings(unjudged=reasons) if lost_pairs or other_judge else Rulings(warnings=reasons)


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
    return in_doubt(Ruled(ruled.finding, counting), at_their_worst, gate)


def _on_pairs(measurement: Measurement, values: Column, change: Comparison) -> Ruled:
    """The ruling on the pairs of a run's values with the baseline's, with what a judge left open filled in."""
    gate, gaps = measurement.gate, measurement.gaps
    finding = on_drop(gate, change)
    if not measurement.by_judge or not (gaps.missing or gaps.missing_in_baseline):
        return Ruled(finding, Reason(ReasonKind.REGRESSION, ruling=finding.ruling, state=finding.state))
    from rankgate.gates.left_open import drop_left_open  # noqa: PLC0415 -- paid only where answers are judged

    return drop_left_open(measurement, values, change, finding)


def _uncompared(measurement: Measurement) -> Reason | None:
    """Why a drop is not ruled on, if it is not."""
    metric, baseline, change = measurement.gate.metric, measurement.baseline, measurement.change
    if baseline is None:
        return Reason(ReasonKind.NO_BASELINE)
    if metric.name in baseline.foreign:
        return Reason(ReasonKind.FOREIGN_BASELINE)
    if change is None:
        return _without_pairs(metric, baseline, measurement.gaps)
    if measurement.not_comparable:
        rows = measurement.gaps.other_judge
        names = tuple(_giver(metric, scores, rows) for scores in (measurement.candidate, baseline))
        return Reason(ReasonKind.OTHER_JUDGE, count=len(rows), among=change.n_pairs, names=names)
    return None


def _without_pairs(metric: Metric, baseline: Scores, gaps: Gaps) -> Reason:
    """What of the baseline lacks a value for every query: what its run states, a judge's word, or the metric."""
    need = next((need for need in baseline.unstated if need in metric.needs), None)
    if need:
        return Reason(ReasonKind.NOT_STATED, need=need)
    lacking = len(gaps.missing_in_baseline)
    if RunField.VERDICTS in metric.needs and lacking:
        return Reason(ReasonKind.NO_VERDICT, count=lacking, among=lacking, source="baseline")
    return Reason(ReasonKind.NOT_IN_BASELINE)


def _giver(metric: Metric, scores: Scores, rows: Sequence[int]) -> str:
    """Who gave most of the values in these rows."""
    from rankgate.model.verdicts import served_text  # noqa: PLC0415 -- paid only where two judges gave them

    givers = scores.givers.get(metric.name, {})
    count = Counter(givers.get(scores.query_ids[row]) or "" for row in rows)
    return served_text(max(count, key=lambda name: (count[name], name)))
