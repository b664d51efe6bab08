"""What a judge's word is worth in a gate: it counts, or it is lowered to a warning, for one reason.

Gates on judged answers are scored and decided as any other, in people's units as far as people have checked the judge:
a floor by value(run) = value(labelled run) + change since / J, a drop by change / J, where J is the part of a true
difference that the judge sees, if it errs alike on both runs. `estimate` judges the drop as the judge saw it. A change
may please the judge more than people, so no floor counts a gain since the labelled run.

Where labels do not bear a violation it warns. Whether there is an answer at all needs no judge, so a gate on
`answered_rate` whose judge does not count still fails by `given_rate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_field
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import astuple, replace

from rankgate.criteria import Criteria, Gate
from rankgate.diagnosis.answers import failed_verdicts
from rankgate.gates.measurement import Units, Value
from rankgate.judge.calibration import read_calibration
from rankgate.judge.identity import judges_of
from rankgate.judge.sample import answers_key
from rankgate.metrics.answers import AnsweredRate, JudgedMetric, criterion_of
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, paired
from rankgate.metrics.estimates import Estimate
from rankgate.metrics.lines import GivenRate
from rankgate.model.answers import (
    MIN_ANSWERS,
    MIN_CLUSTERS,
    MIN_RARER,
    SEES_LITTLE,
    Advisory,
    GateJudge,
    JudgeMark,
    LabelCounts,
    NoVerdicts,
    Rate,
    has_labels,
)
from rankgate.model.gate_result import LIMITS, OF_QUESTIONS, GateResult
from rankgate.model.scores import Scores
from rankgate.model.values import Direction, Evidence, Reason, ReasonKind, Ruling, RunField, Verdict
from rankgate.model.verdicts import Calibration, MetricCalibration, served_text
from rankgate.readers.dates import days_between
from rankgate.statistics.calibration import Change, Measured, anchored, people_change

_ENOUGH = 0.5  # of the questions that have a value: those of the labelled run
CANNOT_TELL = 0.1  # of the lower bound of J


class Judge(NamedTuple):
    """The judge of a metric, None where it gave no verdict, and the units in which people have checked it.

    `judges` are the ids of all whose verdicts are there.
    """

    mark: JudgeMark | None
    units: PeopleUnits
    judges: tuple[str, ...] = ()


def judges_by_metric(
    criteria: Criteria,
    judge: JudgeMark | None,
    today: str,
    candidate: Scores | None = None,
    judges: tuple[str, ...] = (),
) -> dict[str, Judge]:
    """What people found of the judge, by judged metric; where none gave a verdict, of any that the criteria may mean.

    `judges` are the ids of all whose verdicts are there.
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
    aged = None
    if age < -1:  # a day: time zones
        aged = Advisory.AHEAD
    elif named and age > named.max_days:
        aged = Advisory.AGE
    metrics = {metric.name: metric for metric in criteria.metrics() if isinstance(metric, JudgedMetric)}
    if calibration is None:
        lacks = {name: Advisory.FILE if has_labels(name) else Advisory.METRIC for name in metrics}
        return {name: Judge(judge, PeopleUnits(without_labels(lack)), judges) for name, lack in lacks.items()}
    itself = answers_key(_keys(candidate) if candidate else {}) == calibration.answers
    people: dict[str, Judge] = {}
    for name, metric in metrics.items():
        trust = trust_of(calibration, mark, name, aged)
        known = calibration.metrics.get(name) if trust.labels else None
        if known and known.criterion != criterion_of(metric, block.rubrics):
            trust = without_labels(Advisory.METRIC)  # the labels are of another text under that name
            known = None
        if known and candidate and (known.value is None or not _labelled_alike(known.values, candidate, metric)):
            trust = replace(trust, floor=Advisory.QUERIES)
        elif itself and trust.floor is Advisory.CANNOT_TELL:
            trust = replace(trust, floor=None)
        people[name] = Judge(judge, PeopleUnits(trust, known, itself), judges)
    return people


def _keys(run: Scores) -> dict[str, str]:
    """The keys of a run's answers by query."""
    details = ((query_id, query.details) for query_id, query in run.matched.items())
    verdicts = ((query_id, each.verdicts[0]) for query_id, each in details if each and each.verdicts)
    return {query_id: each.key for query_id, each in verdicts if each.key}


def _labelled_alike(labelled: Mapping[str, float], candidate: Scores, metric: Metric) -> bool:
    rows = zip(candidate.query_ids, candidate.values[metric.name], strict=True)
    valued = [query_id for query_id, value in rows if value is not None]
    return sum(query_id in labelled for query_id in valued) >= _ENOUGH * len(valued)


class Trust(msgspec.Struct, frozen=True):
    """Why a floor and a drop by a judge only warn, None where they count, and what people's labels say of it."""

    floor: Advisory | None
    drop: Advisory | None
    labels: LabelCounts | None = None
    j: Rate | None = None

    @property
    def of_segments(self) -> Trust:
        """The same for segments, whose floors only warn: nobody has drawn labels for each of them."""
        return replace(self, floor=self.floor or Advisory.SEGMENT)

    def judge(self, *, floors: bool = True, drops: bool = True) -> GateJudge:
        """What a gate with limits of these kinds may do."""
        reasons: list[Advisory | None] = []
        if drops:
            reasons.append(self.drop)
        if floors:
            reasons.append(self.floor)
        reason = next(filter(None, reasons), None)
        return GateJudge(counts=None in reasons, reason=reason, labels=self.labels, j=self.j)


def trust_of(calibration: Calibration, judge: JudgeMark, metric: str, aged: Advisory | None = None) -> Trust:
    """How far to trust a judge in one metric; `aged` is why the file as a whole does not count."""
    known = calibration.metrics.get(metric)
    lack = aged if calibration.judge == judge.id else Advisory.JUDGE
    if known is None or lack:
        return without_labels(lack or Advisory.METRIC)
    labels = LabelCounts(known.labels, known.rarer, len(calibration.people), len(known.values))
    return Trust(advisory(known, drop=False), advisory(known, drop=True), labels, known.slope)


def without_labels(lack: Advisory) -> Trust:
    """The trust in a judge of whom people's labels say nothing."""
    return Trust(lack, lack)


def advisory(known: MetricCalibration, *, drop: bool) -> Advisory | None:
    """Why a drop, or the floor of a run that was not labelled itself, only warns; None where it counts."""
    low = known.slope.low if known.slope else 0.0
    if not drop and few_clusters(known):
        return Advisory.CLUSTERS
    if known.labels < MIN_ANSWERS or known.rarer < MIN_RARER:
        return Advisory.LABELS
    if low <= CANNOT_TELL:
        return Advisory.CANNOT_TELL
    return Advisory.WEAK if drop and low <= SEES_LITTLE else None


def few_clusters(known: MetricCalibration) -> bool:
    """Whether the value rests on too few clusters for its interval to hold."""
    return known.clustered and (known.value is None or known.value.n < MIN_CLUSTERS)


def gate_judge(gate: Gate, trust: Trust) -> GateJudge:
    """What the gate's limits may do by this trust in its judge."""
    of_questions = bool(gate.must_pass or gate.segments) or gate.max_lost_queries is not None
    return trust.judge(floors=gate.threshold is not None, drops=of_questions or gate.regression_max is not None)


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
        return gate.may_block and gate_judge(gate, self.trust).counts

    def value(self, gate: Gate, candidate: Scores, values: Sequence[float | None], by_metric: Estimate) -> Value:
        """The run's value in people's units, which `by_metric` is by the judge."""
        known = self.calibration
        if known is None or known.value is None or self.trust.floor:
            return Value(by_metric, by_metric)
        labelled = list(map(known.values.get, candidate.query_ids))
        pairs = paired(gate.metric, values, labelled, clusters=candidate.clusters, same=self.itself)
        since_labelled = pairs.compared(gate.confidence) if pairs else None
        if since_labelled is None:
            return Value(by_metric, by_metric)
        change = people_change(since_labelled.delta, since_labelled.ci or (None, None), self._j)
        bounds = known.value.bounds(gate.confidence)
        value = anchored(known.value.value, bounds, change)
        counted = without_gain(value, change, gate.metric.direction)
        return Value(_within(gate.metric, by_metric, value), _within(gate.metric, by_metric, counted))

    def change(self, gate: Gate, pairs: Comparison, *, moved: float = 0.0) -> Comparison:
        """The comparison in people's units: the change divided by J, where the gate's drop is judged by that.

        `moved` is by how much the run's value differs in people's units from that of the judge. Both runs are moved by
        it, and further into the metric's range, so that the change stays, of which no more than that range is left;
        numbers of questions (`counts`) have no meaning in these units.
        """
        value = pairs.value + moved
        baseline = pairs.baseline + moved
        ci = pairs.ci
        change = None
        if self.assumes(gate, value=False):
            change = people_change(pairs.delta, pairs.ci or (None, None), self._j)
        if change is not None and change.value is not None:
            baseline = value - change.value
            low, high = change.ci
            ci = pairs.ci and (_of_shares(low), _of_shares(high))
        elif not moved:
            return pairs
        lower = min(value, baseline)
        upper = max(value, baseline)
        inwards = _cut(lower, gate.metric) - lower + _cut(upper, gate.metric) - upper
        value = _cut(value + inwards, gate.metric)
        baseline = _cut(baseline + inwards, gate.metric)
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
    low, high = converted.ci
    low = None if low is None else _cut(low, metric)
    high = None if high is None else _cut(high, metric)
    return replace(estimate, value=_cut(converted.value, metric), ci=(low, high))


def _of_shares(change: float | None) -> float | None:
    """A change of shares, from −1 to 1."""
    return None if change is None else min(max(change, -1.0), 1.0)


def _cut(value: float, metric: Metric) -> float:
    value = value if metric.low is None else max(value, metric.low)
    return value if metric.high is None else min(value, metric.high)


def without_judge(gate: Gate, judge: Judge, candidate: Scores, baseline: Scores | None) -> Gate | None:
    """The gate on `given_rate`, which needs no judge; None where it is on another rate, or the judge's word counts."""
    given = GivenRate()
    scored = given.name in candidate.values and (baseline is None or given.name in baseline.values)
    overall_counts = gate_judge(gate, judge.units.trust).reason is None
    segments_count = not gate.segments or judge.units.of_segments.trust.floor is None
    if not isinstance(gate.metric, AnsweredRate) or not scored or (overall_counts and segments_count):
        return None
    return gate.model_copy(update={"metric": given})


def filtered(
    gate: Gate,
    judge: Judge,
    rows: Sequence[GateResult],
    given: Sequence[GateResult],
    candidate: Scores,
    baseline: Scores | None,
) -> list[GateResult]:
    """The results of a gate on judged answers, over all and by segment, as far as its judge counts.

    `given` are the rows of `without_judge`, in the same order; none where there is no such gate.
    """
    overall = gate_judge(gate, judge.units.trust)
    results = [_filtered(gate, judge, overall, row, candidate) for row in rows]
    if results:
        results[0] = _with_causes(gate, judge, results[0], candidate, baseline)
    for index, (row, other) in enumerate(zip(results, given, strict=False)):
        lowered = row.judge is not None and row.judge.reason is not None and row.verdict is not Verdict.FAIL
        if lowered and other.verdict is Verdict.FAIL:
            results[index] = _by_given(gate, row, other, candidate)
    return results


def _filtered(gate: Gate, judge: Judge, overall: GateJudge, row: GateResult, candidate: Scores) -> GateResult:
    """A row with what its judge may do, `overall` on the row over all questions, and lowered as far as it may not."""
    trust = judge.units.trust
    may_do = overall
    if not row.is_main:
        trust = trust.of_segments
        may_do = trust.judge(floors=row.limits.threshold is not None, drops=row.limits.regression_max is not None)
    if judge.mark:
        served: set[str] = set()
        for lines in candidate.givers.get(row.metric, {}).values():
            served.update((lines or "").split("\n"))
        names = tuple(served_text(name) for name in sorted(served - {""}))
        may_do = replace(may_do, id=judge.mark.id, served=names)
    lacking = _failed(gate, candidate) if judge.mark and row.is_main else None
    return _lowered(replace(row, judge=may_do, no_verdicts=lacking), trust)


def _failed(gate: Gate, scores: Scores | None) -> NoVerdicts | None:
    return failed_verdicts(gate.metric, scores) if scores and isinstance(gate.metric, JudgedMetric) else None


def _with_causes(gate: Gate, judge: Judge, row: GateResult, candidate: Scores, baseline: Scores | None) -> GateResult:
    """The result with why verdicts are missing: no answer, what the judge failed at, or whose verdicts are there."""
    before: list[Reason] = row.decision.reasons
    reasons: list[Reason] = []
    for reason in before:
        scores = baseline if reason.source == "baseline" else candidate
        if reason.kind is ReasonKind.NO_VERDICT and scores is not None:
            reasons.append(_with_cause(reason, gate, judge, scores))
        else:
            reasons.append(reason)
    return replace(row, decision=replace(row.decision, reasons=reasons))


def _with_cause(reason: Reason, gate: Gate, judge: Judge, scores: Scores) -> Reason:
    details = [query.details for query in scores.matched.values() if query.details]
    answered = sum(each.generated is not None for each in details)
    if len(scores.query_ids) - answered >= reason.count:
        return replace(reason, need=RunField.ANSWER)  # there is nothing to judge
    lacking = _failed(gate, scores)
    if lacking:
        reason = replace(reason, kinds=lacking.kinds)
    if not any(verdicts.served for each in details for verdicts in each.verdicts or ()):
        reason = replace(reason, names=judge.judges)
    return reason


def _lowered(row: GateResult, trust: Trust) -> GateResult:
    """A failed gate as far as what it fails for counts; as a warning where nothing of it does."""
    decision = replace(row.decision, hard_check_failed=row.decision.hard_check_failed and trust.drop is None)
    row = replace(row, decision=decision)
    if decision.verdict is not Verdict.FAIL:
        return row
    broken = [
        each
        for each in decision.reasons
        if each.kind in OF_QUESTIONS or (each.kind in LIMITS and each.ruling is Ruling.VIOLATED)
    ]
    lowered = [each for each in broken if (trust.floor if each.kind is ReasonKind.THRESHOLD else trust.drop)]
    if not lowered:
        return row
    counting = [each for each in broken if each not in lowered]
    others = [each for each in decision.reasons if each not in broken]
    decision = replace(
        decision,
        verdict=Verdict.FAIL if counting else Verdict.WARN,
        reasons=[*counting, *lowered, Reason(ReasonKind.ADVISORY), *others],
        doubts=len(lowered) + 1 + len(others),
    )
    return replace(row, decision=decision)


def _by_given(gate: Gate, row: GateResult, given: GateResult, candidate: Scores) -> GateResult:
    """The failed gate on what needs no judge, with the judge's further refusals counted."""
    refusals = 0
    if row.is_main:
        columns = zip(candidate.values[given.metric], candidate.values[gate.metric.name], strict=True)
        refusals = sum(there == 1.0 and asserts == 0.0 for there, asserts in columns)
    reason = Reason(ReasonKind.GIVEN, count=refusals)
    judge = row.judge and replace(row.judge, id=None, served=())
    decision = replace(given.decision, reasons=[*given.decision.reasons, reason])
    return replace(given, judge=judge, decision=decision)
