"""Judged values in people's units, and what a gate may do by them: as far as people have checked the judge.

A floor is judged by value(run) = value(labelled run) + change since / J, a drop by change / J, where J is the part of a
true difference that the judge sees, if it errs alike on both sides. `estimate` judges the change as the judge saw it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import asdict, replace

from rankgate.criteria import Criteria, Gate
from rankgate.judge.calibration import read_calibration
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, paired
from rankgate.metrics.estimates import Estimate
from rankgate.model.answers import JudgeMark, JudgeState, Lack, Standing
from rankgate.model.calibration import MetricCalibration, without_labels
from rankgate.model.values import Evidence, ReasonKind, Scores
from rankgate.readers.dates import days_between
from rankgate.statistics.calibration import Change, Measured, anchored, people_change
from rankgate.statistics.prediction_powered import Powered

_ENOUGH = 0.5  # of the questions that have a value: those of the labelled run


class People(NamedTuple):
    """What people found of the judge in one metric; without a calibration nothing is converted."""

    standing: Standing
    calibration: MetricCalibration | None = None

    def counts(self, kind: ReasonKind) -> bool:
        """Whether what breaks a limit of this kind may block."""
        return (self.standing.floor if kind is ReasonKind.THRESHOLD else self.standing.drop) is JudgeState.CALIBRATED

    def floor(self, gate: Gate, candidate: Scores, values: Sequence[float | None], own: Estimate) -> Estimate:
        """The run's value in people's units."""
        known = self.calibration
        if known is None or known.value is None or self.standing.floor is not JudgeState.CALIBRATED:
            return own
        labelled = list(map(known.values.get, candidate.query_ids))
        pairs = paired(gate.metric, values, labelled, clusters=candidate.clusters, noise=gate.noise)
        since = pairs.compared(gate.confidence) if pairs else None
        if since is None:
            return own
        change = people_change(since.delta, since.ci or (None, None), self._slope)
        powered = Powered(**asdict(known.value))
        found = anchored(powered.value, powered.bounds(gate.confidence), change)
        return _within(gate.metric, own, found)

    def drop(self, gate: Gate, pairs: Comparison, *, moved: float = 0.0) -> Comparison:
        """The pairs in people's units; `moved` is by how much their value is to be moved beyond that."""
        if (
            self.calibration is None
            or self.standing.drop is not JudgeState.CALIBRATED
            or gate.evidence is Evidence.ESTIMATE
        ):
            return pairs
        change = people_change(pairs.delta, pairs.ci or (None, None), self._slope)
        if change.value is None:
            return pairs
        value = pairs.value + moved
        ci = None if pairs.ci is None else change.ci
        return replace(pairs, value=value, baseline=value - change.value, ci=ci)

    @property
    def _slope(self) -> Measured | None:
        rate = self.standing.slope
        return Measured(rate.value, (rate.low, rate.high), rate.n) if rate else None

    @property
    def slope(self) -> float:
        """J where drops are converted by it, else 1."""
        rate = self.standing.slope if self.standing.drop is JudgeState.CALIBRATED else None
        return rate.value if rate else 1.0

    @property
    def of_segments(self) -> People:
        """The same for segments, whose floors warn at most: nobody has drawn labels for each of them."""
        lack = self.standing.lack or Lack.SEGMENT
        advisory = replace(self.standing, floor=JudgeState.UNCALIBRATED, lack=lack)
        return self._replace(standing=advisory)


def people_of(criteria: Criteria, judge: JudgeMark, candidate: Scores, today: str) -> dict[str, People]:
    """What people found of the judge, by judged metric.

    Raises:
        RankgateError: the calibration is damaged.
    """
    named = criteria.judge.calibration if criteria.judge else None
    calibration = read_calibration(named.file) if named else None
    too_old = bool(named and calibration and days_between(calibration.date, today) > named.max_days)
    found: dict[str, People] = {}
    for metric in criteria.metrics():
        if isinstance(metric, JudgedMetric):
            standing, known = without_labels(Lack.FILE), None
            if calibration:
                standing = calibration.standing(judge, metric.name, too_old=too_old)
                known = None if standing.lack else calibration.metrics[metric.name]
            if known and not _labelled_alike(known.values, candidate, metric):
                standing = replace(standing, floor=JudgeState.UNCALIBRATED, lack=Lack.QUERIES)
            found[metric.name] = People(standing, known)
    return found


def _labelled_alike(labelled: Mapping[str, float], candidate: Scores, metric: Metric) -> bool:
    rows = zip(candidate.query_ids, candidate.values[metric.name], strict=True)
    valued = [query_id for query_id, value in rows if value is not None]
    return sum(query_id in labelled for query_id in valued) >= _ENOUGH * len(valued)


def _within(metric: Metric, own: Estimate, found: Change) -> Estimate:
    """The estimate with this value and interval, within the metric's range."""
    if found.value is None:
        return own

    def cut(bound: float) -> float:
        bound = bound if metric.low is None else max(bound, metric.low)
        return bound if metric.high is None else min(bound, metric.high)

    low, high = (bound if bound is None else cut(bound) for bound in found.ci)
    return replace(own, value=cut(found.value), ci=(low, high))
