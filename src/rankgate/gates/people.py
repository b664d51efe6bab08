"""Judged values in people's units, and what a gate may do by them: as far as people have checked the judge.

A floor is judged by value(run) = value(labelled run) + change since / J, a drop by change / J, where J is the part of a
true difference that the judge sees, if it errs alike on both sides. `estimate` judges the drop as the judge saw it. A
change may please the judge more than people, so no floor counts a gain since the labelled run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import astuple, replace

from rankgate.criteria import Criteria, Gate
from rankgate.judge.calibration import read_calibration
from rankgate.judge.identity import judges_of
from rankgate.judge.sample import answers_key
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, paired
from rankgate.metrics.estimates import Estimate
from rankgate.model.answers import LABELLED, JudgeMark, JudgeState, Lack, Standing
from rankgate.model.calibration import MetricCalibration, without_labels
from rankgate.model.values import Direction, Evidence, ReasonKind, Scores
from rankgate.readers.dates import days_between
from rankgate.statistics.calibration import Change, Measured, anchored, people_change

_ENOUGH = 0.5  # of the questions that have a value: those of the labelled run


class Floor(NamedTuple):
    """A run's value in people's units, and what of it counts for its floor."""

    shown: Estimate
    counted: Estimate


class People(NamedTuple):
    """What people found of the judge in one metric; without a calibration nothing is converted.

    `itself` tells that the run is the labelled one.
    """

    standing: Standing
    calibration: MetricCalibration | None = None
    itself: bool = False

    def counts(self, kind: ReasonKind) -> bool:
        """Whether what breaks a limit of this kind may block."""
        return (self.standing.floor if kind is ReasonKind.THRESHOLD else self.standing.drop) is JudgeState.CALIBRATED

    def may_block(self, gate: Gate) -> bool:
        """Whether a limit of this gate may block."""
        drops = (gate.regression_max, gate.max_lost_queries)
        floor_alone = drops == (None, None) and not (gate.must_pass or gate.segments)
        floor = gate.threshold is not None and self.standing.floor is JudgeState.CALIBRATED
        return floor or (not floor_alone and self.standing.drop is JudgeState.CALIBRATED)

    def floor(self, gate: Gate, candidate: Scores, values: Sequence[float | None], own: Estimate) -> Floor:
        """The run's value in people's units, which `own` is by the judge."""
        known = self.calibration
        if known is None or known.value is None or self.standing.floor is not JudgeState.CALIBRATED:
            return Floor(own, own)
        labelled, same = list(map(known.values.get, candidate.query_ids)), lambda: self.itself
        pairs = paired(gate.metric, values, labelled, clusters=candidate.clusters, same=same)
        since = pairs.compared(gate.confidence) if pairs else None
        if since is None:
            return Floor(own, own)
        change = people_change(since.delta, since.ci or (None, None), self._slope)
        bounds = known.value.bounds(gate.confidence)
        found = anchored(known.value.value, bounds, change)
        counted = without_gain(found, change, gate.metric.direction)
        return Floor(_within(gate.metric, own, found), _within(gate.metric, own, counted))

    def drop(self, gate: Gate, pairs: Comparison, *, moved: float = 0.0) -> Comparison:
        """The pairs in people's units; `moved` is by how much the run's value is another in these."""
        value, change = pairs.value + moved, None
        if self.assumes(gate):
            change = people_change(pairs.delta, pairs.ci or (None, None), self._slope)
        if change is None or change.value is None:
            return replace(pairs, value=value, baseline=pairs.baseline + moved) if moved else pairs
        return replace(pairs, value=value, baseline=value - change.value, ci=pairs.ci and change.ci)

    def assumes(self, gate: Gate, *, value: bool = False) -> Literal["alike"] | None:
        """What a drop in people's units rests on, or else the `value`; None where both are as the judge saw them."""
        if self.standing.drop is not JudgeState.CALIBRATED or gate.evidence is Evidence.ESTIMATE:
            return "alike" if value and not self.itself else None
        return "alike"

    @property
    def _slope(self) -> Measured | None:
        return Measured(*astuple(self.standing.slope)) if self.standing.slope else None

    @property
    def of_segments(self) -> People:
        """The same for segments, whose floors warn at most: nobody has drawn labels for each of them."""
        lack = self.standing.lack or Lack.SEGMENT
        advisory = replace(self.standing, floor=JudgeState.UNCALIBRATED, lack=lack)
        return self._replace(standing=advisory)


def people_of(
    criteria: Criteria, judge: JudgeMark | None, today: str, candidate: Scores | None = None
) -> dict[str, People]:
    """What people found of the judge, by judged metric; where none gave a verdict, of any that the criteria may mean.

    Raises:
        RankgateError: the calibration is damaged.
    """
    block = criteria.judge
    if block is None:
        return {}
    named = block.calibration
    calibration = read_calibration(named.file) if named else None
    marks = [JudgeMark(each.id, each.model) for each in judges_of(block) if not judge or each.short == judge.id]
    marks = marks or [judge] if judge else marks
    mark = next((each for each in marks if calibration and calibration.judge == each.id), marks[0])
    age = days_between(calibration.date, today) if calibration else 0
    aged = Lack.AHEAD if age < -1 else Lack.AGE if named and age > named.max_days else None  # a day: time zones
    metrics = {metric.name: metric for metric in criteria.metrics() if isinstance(metric, JudgedMetric)}
    if calibration is None:
        return {name: People(without_labels(Lack.FILE if name in LABELLED else Lack.METRIC)) for name in metrics}
    itself = answers_key(_keys(candidate) if candidate else {}) == calibration.answers
    found: dict[str, People] = {}
    for name, metric in metrics.items():
        standing = calibration.standing(mark, name, aged)
        known = None if standing.lack not in {None, Lack.CLUSTERS} else calibration.metrics[name]
        if known and candidate and (known.value is None or not _labelled_alike(known.values, candidate, metric)):
            standing = replace(standing, floor=JudgeState.UNCALIBRATED, lack=Lack.QUERIES)
        if itself and standing.floor is JudgeState.UNINFORMATIVE:
            standing = replace(standing, floor=JudgeState.CALIBRATED)
        found[name] = People(standing, known, itself)
    return found


def _keys(run: Scores) -> dict[str, str]:
    """The keys of a run's answers by query."""
    details = ((query_id, query.details) for query_id, query in run.matched.items())
    verdicts = ((query_id, each.verdicts[0]) for query_id, each in details if each and each.verdicts)
    return {query_id: each.key for query_id, each in verdicts if each.key}


def _labelled_alike(labelled: Mapping[str, float], candidate: Scores, metric: Metric) -> bool:
    rows = zip(candidate.query_ids, candidate.values[metric.name], strict=True)
    valued = [query_id for query_id, value in rows if value is not None]
    return sum(query_id in labelled for query_id in valued) >= _ENOUGH * len(valued)


def without_gain(found: Change, since: Change, direction: Direction) -> Change:
    """The value without what is for the better of the change since the labelled run; its interval is as wide."""
    if found.value is None or since.value is None:
        return found
    gain = max(since.value, 0.0) if direction is Direction.HIGHER else min(since.value, 0.0)
    low, high = (None if bound is None else bound - gain for bound in found.ci)
    return Change(found.value - gain, (low, high))


def _within(metric: Metric, own: Estimate, found: Change) -> Estimate:
    """The estimate with this value and interval, within the metric's range."""
    if found.value is None:
        return own

    def cut(bound: float) -> float:
        bound = bound if metric.low is None else max(bound, metric.low)
        return bound if metric.high is None else min(bound, metric.high)

    low, high = (bound if bound is None else cut(bound) for bound in found.ci)
    return replace(own, value=cut(found.value), ci=(low, high))
