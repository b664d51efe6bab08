"""Judged values in people's units, as far as people have checked the judge.

A floor is judged by value(run) = value(labelled run) + change since / J, a drop by change / J, where J is the part of a
true difference that the judge sees, if it errs alike on both sides. `estimate` judges the drop as the judge saw it. A
change may please the judge more than people, so no floor counts a gain since the labelled run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_field
from typing import TYPE_CHECKING, Literal

from msgspec.structs import astuple, replace

from rankgate.gates.measurement import Units, Value
from rankgate.gates.trust import Trust
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, paired
from rankgate.metrics.estimates import Estimate
from rankgate.model.answers import GateJudge
from rankgate.model.calibration import MetricCalibration
from rankgate.model.scores import Scores
from rankgate.model.values import Direction, Evidence
from rankgate.statistics.calibration import Change, Measured, anchored, people_change

if TYPE_CHECKING:
    from rankgate.criteria import Gate


@dataclass(frozen=True)
class PeopleUnits(Units):
    """The units of people, as far as they have checked the judge of a metric; without a calibration the judge's own.

    `itself` tells that the run is the labelled one.
    """

    trust: Trust
    calibration: MetricCalibration | None = None
    itself: bool = False

    def may_block(self, gate: Gate) -> bool:
        """As far as a limit counts by this judge."""
        return gate.blocks and gate_judge(gate, self.trust).counts

    def value(self, gate: Gate, candidate: Scores, values: Sequence[float | None], own: Estimate) -> Value:
        """The run's value in people's units, which `own` is by the judge."""
        known = self.calibration
        if known is None or known.value is None or self.trust.floor:
            return Value(own, own)
        labelled = list(map(known.values.get, candidate.query_ids))
        pairs = paired(gate.metric, values, labelled, clusters=candidate.clusters, same=self.itself)
        since_labelled = pairs.compared(gate.confidence) if pairs else None
        if since_labelled is None:
            return Value(own, own)
        change = people_change(since_labelled.delta, since_labelled.ci or (None, None), self._j)
        bounds = known.value.bounds(gate.confidence)
        value = anchored(known.value.value, bounds, change)
        counted = without_gain(value, change, gate.metric.direction)
        return Value(_within(gate.metric, own, value), _within(gate.metric, own, counted))

    def change(self, gate: Gate, pairs: Comparison, *, moved: float = 0.0) -> Comparison:
        """The comparison in people's units: the change divided by J, where the gate's drop is judged by that.

        `moved` is by how much the run's value differs in people's units from that of the judge. Both runs are moved by
        it, so that the change stays; numbers of questions (`counts`) have no meaning in these units.
        """
        value = pairs.value + moved
        baseline = pairs.baseline + moved
        ci = pairs.ci
        change = None
        if self.assumes(gate, value=False):
            change = people_change(pairs.delta, pairs.ci or (None, None), self._j)
        if change is not None and change.value is not None:
            baseline = value - change.value
            ci = pairs.ci and change.ci
        elif not moved:
            return pairs
        return replace(pairs, value=value, baseline=baseline, ci=ci, counts=None)

    def assumes(self, gate: Gate, *, value: bool) -> Literal["alike"] | None:
        """What a drop, or with `value` the run's value, assumes in people's units; None where it is as the judge saw.

        That is that the judge errs alike on both runs.
        """
        if self.trust.drop or gate.evidence is Evidence.ESTIMATE:
            return "alike" if value and not self.itself else None
        return "alike"

    @property
    def slope(self) -> float:
        """J where drops are converted by it."""
        return self.trust.j.value if self.trust.j and not self.trust.drop else 1.0

    @property
    def of_segments(self) -> PeopleUnits:
        """The same for segments, whose floors only warn."""
        return replace_field(self, trust=self.trust.of_segments)

    @property
    def _j(self) -> Measured | None:
        return Measured(*astuple(self.trust.j)) if self.trust.j else None


def gate_judge(gate: Gate, trust: Trust) -> GateJudge:
    """What the gate's limits may do by this trust in its judge."""
    of_questions = bool(gate.must_pass or gate.segments) or gate.max_lost_queries is not None
    return trust.judge(floors=gate.threshold is not None, drops=of_questions or gate.regression_max is not None)


def without_gain(value: Change, since_labelled: Change, direction: Direction) -> Change:
    """The value without what is for the better of the change since the labelled run; its interval is as wide."""
    if value.value is None or since_labelled.value is None:
        return value
    change = since_labelled.value
    gain = max(change, 0.0) if direction is Direction.HIGHER else min(change, 0.0)
    low, high = value.ci
    low = None if low is None else low - gain
    high = None if high is None else high - gain
    return Change(value.value - gain, (low, high))


def _within(metric: Metric, estimate: Estimate, converted: Change) -> Estimate:
    """The estimate with the converted value and interval, within the metric's range."""
    if converted.value is None:
        return estimate

    def cut(bound: float) -> float:
        bound = bound if metric.low is None else max(bound, metric.low)
        return bound if metric.high is None else min(bound, metric.high)

    low, high = converted.ci
    low = None if low is None else cut(low)
    high = None if high is None else cut(high)
    return replace(estimate, value=cut(converted.value), ci=(low, high))
