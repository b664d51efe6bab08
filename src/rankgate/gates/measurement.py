"""What a gate is decided on: its values and their change, in the units in which its limits are meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, Gaps, Pairs, baseline_column, gaps, paired_scores, too_many
from rankgate.metrics.estimates import Estimate, attainable, estimate
from rankgate.model.answers import served_text
from rankgate.model.scores import Scores
from rankgate.model.values import Reason, ReasonKind, RunField

if TYPE_CHECKING:
    from rankgate.criteria import Gate

LARGEST = 1e300  # beyond it sums overflow; only a faulty metric gets there


class Value(NamedTuple):
    """A run's value, and what of it counts for its floor."""

    shown: Estimate
    counted: Estimate


class Units:
    """The units of limits: those of the metric. Others convert value and change into theirs."""

    @property
    def slope(self) -> float:
        """Which part of a change in these units is seen."""
        return 1.0

    def may_block(self, gate: Gate) -> bool:
        """Whether a limit of this gate may block."""
        return gate.blocks

    def value(self, gate: Gate, candidate: Scores, values: Sequence[float | None], own: Estimate) -> Value:
        """The run's value, which `own` is by the metric."""
        del gate, candidate, values
        return Value(own, own)

    def change(self, gate: Gate, pairs: Comparison, *, moved: float = 0.0) -> Comparison:
        """The change of the pairs; `moved` is by how much the run's value is another in these units."""
        del gate, moved
        return pairs

    def assumes(self, gate: Gate, *, value: bool) -> Literal["alike"] | None:
        """What the change, or else the `value`, rests on where it is converted."""
        del gate, value
        return None

    @property
    def of_segments(self) -> Units:
        """The same for segments."""
        return self


METRIC_UNITS = Units()


class Measurement(NamedTuple):
    """A gate with the runs' scores, and what is ruled on: in its units, and as computed (`raw`).

    `relevant` is how many relevant documents a query has on average, over all those of the run that have any.
    """

    gate: Gate
    candidate: Scores
    baseline: Scores | None
    units: Units
    own: Estimate | None
    counted: Estimate | None
    pairs: Comparison | None
    gap: Gaps
    old_values: list[float | None]
    finite: bool
    raw: Estimate | None
    raw_pairs: Comparison | None
    relevant: float

    def compared(self, pairs: Pairs) -> Comparison:
        """Other pairs in the same units."""
        return self.units.change(self.gate, pairs.compared(self.gate.confidence))

    @property
    def not_comparable(self) -> bool:
        """Whether too many pairs are values of two judges."""
        return self.pairs is not None and too_many(self.gap.other_judge, self.pairs.n_pairs)


def measure(
    gate: Gate,
    candidate: Scores,
    baseline: Scores | None,
    units: Units = METRIC_UNITS,
    *,
    relevant: float | None = None,
) -> Measurement:
    """The numbers that the gate's limits are held against; `relevant` where it is known already."""
    metric, values = gate.metric, candidate.values[gate.metric.name]
    old_values = baseline_column(metric, baseline) if baseline else []
    runs = (gate, candidate, baseline, units)
    gap = gaps(metric, candidate, baseline)
    relevant = relevant_documents(candidate) if relevant is None else relevant
    if not all(map(LARGEST.__ge__, map(abs, filter(None, chain(values, old_values))))):
        return Measurement(
            *runs, None, None, None, gap, old_values, finite=False, raw=None, raw_pairs=None, relevant=relevant
        )
    whole, clusters = candidate.uncut_values(metric.name), candidate.clusters
    ends = attainable(metric, candidate, whole)
    raw = own = counted = estimate(whole, metric, clusters, confidence=gate.confidence, ends=ends, before=old_values)
    both = paired_scores(metric, candidate, baseline) if baseline else None
    raw_pairs = pairs = both.compared(gate.confidence) if both else None
    if raw:
        own, counted = units.value(gate, candidate, whole, raw)
        pairs = pairs and units.change(gate, pairs, moved=own.value - raw.value)
    return Measurement(
        *runs, own, counted, pairs, gap, old_values, finite=True, raw=raw, raw_pairs=raw_pairs, relevant=relevant
    )


def relevant_documents(scores: Scores) -> float:
    """How many relevant documents a query has on average, over those of the run that have any; 1 where none has."""
    counts = [len(summary.ranks) for summary in scores.rank_summaries.values() if summary.ranks]
    return sum(counts) / len(counts) if counts else 1.0


def uncompared(measurement: Measurement) -> list[Reason]:
    """Why a drop is not ruled on, if it is not."""
    metric, baseline, pairs, gap = measurement.gate.metric, measurement.baseline, measurement.pairs, measurement.gap
    if baseline is None:
        return [Reason(ReasonKind.NO_BASELINE)]
    if metric.name in baseline.foreign:
        return [Reason(ReasonKind.FOREIGN_BASELINE)]
    if pairs is None:
        return [_without_pairs(metric, baseline, gap)]
    if measurement.not_comparable:
        names = tuple(_giver(metric, scores, gap.other_judge) for scores in (measurement.candidate, baseline))
        return [Reason(ReasonKind.OTHER_JUDGE, count=len(gap.other_judge), among=pairs.n_pairs, names=names)]
    return []


def _without_pairs(metric: Metric, baseline: Scores, gap: Gaps) -> Reason:
    """What of the baseline lacks a value for every query: what its run states, a judge's word, or the metric."""
    need = next((need for need in baseline.unstated if need in metric.needs), None)
    if need:
        return Reason(ReasonKind.NOT_STATED, need=need)
    lacking = len(gap.missing_before)
    if RunField.VERDICTS in metric.needs and lacking:
        return Reason(ReasonKind.NO_VERDICT, count=lacking, among=lacking, source="baseline")
    return Reason(ReasonKind.NOT_IN_BASELINE)


def _giver(metric: Metric, scores: Scores, rows: Sequence[int]) -> str:
    """Who gave most of the values in these rows."""
    givers = scores.givers.get(metric.name, {})
    count = Counter(givers.get(scores.query_ids[row]) or "" for row in rows)
    return served_text(max(count, key=lambda name: (count[name], name)))
