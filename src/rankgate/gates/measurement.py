"""What a gate is decided on: its values and their change, in the units in which its limits are meant."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from rankgate.metrics.estimates import Estimate, attainable, estimate
from rankgate.metrics.gaps import Gaps, baseline_column, gaps, too_many
from rankgate.model.scores import Scores
from rankgate.model.values import RunField

if TYPE_CHECKING:
    from rankgate.criteria import Gate
    from rankgate.metrics.comparison import Comparison, Pairs

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
        """Whether a limit of this gate, or of one of its segments, may block."""
        return gate.may_block

    def value(self, gate: Gate, candidate: Scores, values: Sequence[float | None], by_metric: Estimate) -> Value:
        """The run's value, which `by_metric` is by the metric."""
        del gate, candidate, values
        return Value(by_metric, by_metric)

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


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A gate with the runs' scores, and the numbers that its limits are held against.

    `value` is the run's and `change` that of the pairs, both in the gate's units; `counted` is what of the value counts
    for its floor. The same by the metric alone are `metric_value` and `metric_change`. None of them is there where
    nothing can be computed; where a value is not finite that is `finite`. `relevant` is how many relevant documents a
    query has on average, over those that have any; 1 where none has.
    """

    gate: Gate
    candidate: Scores
    baseline: Scores | None
    units: Units
    gaps: Gaps
    baseline_values: Sequence[float | None]
    relevant: float
    finite: bool = True
    value: Estimate | None = None
    counted: Estimate | None = None
    change: Comparison | None = None
    metric_value: Estimate | None = None
    metric_change: Comparison | None = None

    @property
    def values(self) -> Sequence[float | None]:
        """The run's, a row a query."""
        return self.candidate.values[self.gate.metric.name]

    @property
    def by_judge(self) -> bool:
        """Whether a judge's word decides the metric."""
        return RunField.VERDICTS in self.gate.metric.needs

    @property
    def not_comparable(self) -> bool:
        """Whether too many pairs are values of two judges."""
        return self.change is not None and too_many(self.gaps.other_judge, self.change.n_pairs)

    @property
    def comparable_change(self) -> Comparison | None:
        """The change, unless too many of its pairs are values of two judges."""
        return None if self.not_comparable else self.change

    @property
    def scored(self) -> int:
        """How many queries have a value or lack one; those for which the metric is undefined count for nothing."""
        values = self.values
        return len(values) - values.count(None) + sum(values[row] is None for row in self.gaps.missing)

    def compared(self, pairs: Pairs) -> Comparison:
        """Other pairs in the same units."""
        return self.units.change(self.gate, pairs.compared(self.gate.confidence))


def measure(gate: Gate, candidate: Scores, baseline: Scores | None, units: Units = METRIC_UNITS) -> Measurement:
    """The numbers that the gate's limits are held against."""
    metric = gate.metric
    baseline_values = baseline_column(metric, baseline) if baseline else []
    summaries = map(candidate.rank_summaries.get, candidate.query_ids)  # a segment has those of all queries
    relevant = [len(summary.ranks) for summary in summaries if summary and summary.ranks]
    nothing = Measurement(
        gate=gate,
        candidate=candidate,
        baseline=baseline,
        units=units,
        gaps=gaps(metric, candidate, baseline),
        baseline_values=baseline_values,
        relevant=sum(relevant) / len(relevant) if relevant else 1.0,
    )
    if not all(abs(value) <= LARGEST for value in chain(nothing.values, baseline_values) if value):
        return replace(nothing, finite=False)
    column = candidate.uncut_values(metric.name)
    ends = attainable(metric, candidate, column)
    clusters = candidate.clusters
    by_metric = estimate(column, metric, clusters, confidence=gate.confidence, ends=ends, baseline=baseline_values)
    change = _change(gate, candidate, baseline) if baseline else None
    measured = replace(nothing, metric_value=by_metric, metric_change=change, change=change)
    if by_metric is None:
        return measured
    value, counted = units.value(gate, candidate, column, by_metric)
    in_units = units.change(gate, change, moved=value.value - by_metric.value) if change else None
    return replace(measured, value=value, counted=counted, change=in_units)


def _change(gate: Gate, candidate: Scores, baseline: Scores) -> Comparison | None:
    from rankgate.metrics.comparison import paired_scores  # noqa: PLC0415 -- paid only where there is a baseline

    pairs = paired_scores(gate.metric, candidate, baseline)
    return pairs.compared(gate.confidence) if pairs else None
