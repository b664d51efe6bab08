"""What a judge's word is worth in a gate: it counts, or it is lowered to a warning, for one reason.

Gates on judged answers are scored and decided as any other, in people's units (`people.py`). Here alone is said what
becomes of that: where labels do not bear it, a violation warns. Whether there is an answer at all needs no judge, so a
gate on `answered_rate` whose judge does not count still fails by `given_rate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from rankgate.criteria import Criteria, Gate
from rankgate.diagnosis.answers import failed_verdicts
from rankgate.gates.people import PeopleUnits, gate_judge
from rankgate.gates.trust import Trust, trust_of, without_labels
from rankgate.judge.calibration import read_calibration
from rankgate.judge.identity import judges_of
from rankgate.judge.sample import answers_key
from rankgate.metrics.answers import AnsweredRate, JudgedMetric, criterion_of
from rankgate.metrics.base import Metric
from rankgate.metrics.lines import GivenRate
from rankgate.model.answer_losses import NoVerdicts
from rankgate.model.answers import Advisory, GateJudge, JudgeMark, has_labels
from rankgate.model.gate_result import OF_QUESTIONS, GateResult
from rankgate.model.scores import Scores
from rankgate.model.values import Reason, ReasonKind, Ruling, RunField, Verdict
from rankgate.model.verdicts import served_text
from rankgate.readers.dates import days_between

_ENOUGH = 0.5  # of the questions that have a value: those of the labelled run
_LIMITS = (ReasonKind.THRESHOLD, ReasonKind.REGRESSION)


class Judge(NamedTuple):
    """The judge of a metric, None where it gave no verdict, and the units in which people have checked it.

    `judges` are the ids of all whose verdicts are there.
    """

    mark: JudgeMark | None
    units: PeopleUnits
    judges: tuple[str, ...] = ()


def people_of(
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


def without_judge(gate: Gate, judge: Judge, candidate: Scores, baseline: Scores | None) -> Gate | None:
    """The gate on `given_rate`, which needs no judge; None where it is on another rate, or the judge's word counts."""
    given = GivenRate()
    scored = given.name in candidate.values and (baseline is None or given.name in baseline.values)
    lowered = gate_judge(gate, judge.units.trust).reason or (gate.segments and judge.units.of_segments.trust.floor)
    by_given = isinstance(gate.metric, AnsweredRate) and scored and lowered
    return gate.model_copy(update={"metric": given}) if by_given else None


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
    results[:1] = [_with_causes(gate, judge, row, candidate, baseline) for row in results[:1]]
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

    def caused(reason: Reason) -> Reason:
        scores = baseline if reason.source == "baseline" else candidate
        if scores is None:
            return reason
        details = [query.details for query in scores.matched.values() if query.details]
        if len(scores.query_ids) - sum(each.generated is not None for each in details) >= reason.count:
            return replace(reason, need=RunField.ANSWER)  # there is nothing to judge
        lacking = _failed(gate, scores)
        known = any(verdicts.served for each in details for verdicts in each.verdicts or ())
        return replace(reason, kinds=lacking.kinds if lacking else {}, names=() if known else judge.judges)

    reasons = [caused(each) if each.kind is ReasonKind.NO_VERDICT else each for each in row.decision.reasons]
    return replace(row, decision=replace(row.decision, reasons=reasons))


def _lowered(row: GateResult, trust: Trust) -> GateResult:
    """A failed gate as far as what it fails for counts; as a warning where nothing of it does."""
    decision = replace(row.decision, hard_check_failed=row.decision.hard_check_failed and trust.drop is None)
    row = replace(row, decision=decision)
    if decision.verdict is not Verdict.FAIL:
        return row
    broken = [
        each
        for each in decision.reasons
        if each.kind in OF_QUESTIONS or (each.kind in _LIMITS and each.ruling is Ruling.VIOLATED)
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
