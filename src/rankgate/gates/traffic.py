"""What a change does to questions that nobody has labelled: which share of them, and where.

The share that gets other results is an upper limit of what can be lost: where both runs return the same, nothing is. So
it is known without a label whether more than a gate allows may be lost. It never fails by itself.

Gates over traffic rule on the change of precision@k or hit@k over all its questions, from labels of those that changed.
Harm is proven by the interval alone, and only from the draw for this very pair of runs. Where too few of its questions
are labelled nothing is measured, and nothing fails; where fewer changed than the limit allows to lose, nothing can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rankgate.collecting.traffic import LEAST, Bounds, bounds_of, drawn_by, drawn_for, known_labels
from rankgate.criteria import Criteria, Gate
from rankgate.criteria.traffic import TrafficRuns, compared_as, traffic_gate, traffic_runs
from rankgate.gates.decision_rule import Finding, rule_on_drop
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.lost_parts import moved_most
from rankgate.metrics.sets import Hit, Precision
from rankgate.metrics.tags import parts_of
from rankgate.model.conclusion import Traffic, TrafficExample, TrafficSegment
from rankgate.model.gate_result import NO_CHANGE, GateDecision, GateEvidence, GateLimits, GateResult, MeasuredValue
from rankgate.model.remarks import NOT_THERE, absent_traffic
from rankgate.model.report import Report
from rankgate.model.traffic_lists import (
    TrafficFiles,
    TrafficLabel,
    TrafficLists,
    TrafficPair,
    TrafficQuestion,
    TrafficSheet,
)
from rankgate.model.values import (
    TOLERANCE,
    WARNING_LEVEL,
    Evidence,
    EvidenceState,
    Gold,
    Reason,
    ReasonKind,
    Ruling,
    Sample,
    Unit,
    Verdict,
)
from rankgate.statistics.binomial import share_interval
from rankgate.statistics.traffic import TrafficEstimate, estimate_change

MOST_EXAMPLES, MOST_REPEATED = 20, 20


def traffic_of(criteria: Criteria, gold: Gold, runs: TrafficRuns) -> Traffic:
    """What both runs return for the traffic, compared as the first gate that blocks looks at a list."""
    k, by_order = compared_as(criteria)
    lists = runs.lists(k, by_order=by_order)
    changed = lists.changed
    gate = traffic_gate(criteria)
    bounded = gate is not None and gate.metric.unit in (Unit.SHARE, Unit.SCORE)
    traffic = Traffic(
        named=lists.named,
        recorded=len({each.query_id for each in runs.now}),
        asked=len(lists.pairs),
        k=k,
        limit=gate.regression_max if gate and bounded else None,
        repeated=repeated(runs.files.questions, gold)[:MOST_REPEATED],
    )
    if not lists.pairs:
        return traffic
    segments = _segments(lists.pairs)
    return replace(
        traffic,
        changed=len(changed),
        share=lists.share,
        bound=bound_of(gate, lists, runs.files.labels),
        interval=share_interval(len(changed), len(lists.pairs)),
        empty=sum(bool(pair.before) and not pair.now for pair in changed),
        absent=sum(pair.absent for pair in changed),
        labelled=len(_labelled(changed, runs.files)),
        concentrated=_concentrated(lists.pairs, segments),
        segments=segments,
        examples=_examples(changed),
    )


def with_traffic(report: Report, case: Case, evaluation: Evaluation) -> Report:
    """The report with the gates over traffic and what became of it; it warns where the run lacks some of it."""
    criteria, files, remarks = case.criteria, case.traffic, report.remarks
    if files is None:  # of a job that judges forks, which may lack what users ask
        if not criteria.traffic_gates:
            return report.with_notes(f"{NOT_THERE[:1].upper()}{NOT_THERE[1:]}.")
        return replace(report, remarks=replace(remarks, warnings=[*remarks.warnings, NOT_THERE]))
    runs = traffic_runs(files, criteria.match, evaluation.run, evaluation.baseline)
    k, _ = compared_as(criteria)
    lists = runs.lists(k)
    gates = [decide_traffic(gate, lists, files.labels, files.sheets) for gate in criteria.traffic_gates]
    measured = bool(gates) and all(gate.change.delta is not None for gate in gates)
    traffic = replace(traffic_of(criteria, evaluation.gold, runs), measured=measured)
    return replace(
        report,
        gates=[*report.gates, *gates],
        measured=replace(report.measured, traffic=traffic),
        remarks=replace(remarks, warnings=[*remarks.warnings, *warnings_of(traffic)]),
    )


def warnings_of(traffic: Traffic) -> list[str]:
    """That the run has no line for some of the traffic."""
    return [absent_traffic(traffic)] if traffic.absent else []


def repeated(questions: Sequence[TrafficQuestion], gold: Gold) -> list[str]:
    """Ids of questions of the traffic whose id or text the gold set has, too."""
    texts = {_plain(sample.question) for sample in gold.samples.values() if sample.question}
    return [each.query_id for each in questions if each.query_id in gold.samples or _plain(each.question) in texts]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _labelled(changed: Sequence[TrafficPair], files: TrafficFiles) -> list[TrafficPair]:
    """The changed questions of which every document that only one list has is labelled."""
    known: dict[str, set[str]] = {}
    for label in files.labels:
        known.setdefault(label.query_id, set()).add(label.document)
    return [pair for pair in changed if pair.needed <= known.get(pair.question.query_id, set())]


def _segments(pairs: Sequence[TrafficPair]) -> list[TrafficSegment]:
    """By tag, as far as a tag has few values and a value five questions; what changed most first."""
    weight = sum(pair.question.count for pair in pairs if pair.changed)
    segments: list[TrafficSegment] = []
    for tag, rows in _parts(pairs).items():
        changed = [pairs[row] for row in rows if pairs[row].changed]
        share = sum(pair.question.count for pair in changed) / weight if weight else 0.0
        segments.append(TrafficSegment(tag=tag, asked=len(rows), changed=len(changed), share=share))
    return sorted(segments, key=lambda each: (-each.changed / each.asked, each.tag))


def _concentrated(pairs: Sequence[TrafficPair], segments: Sequence[TrafficSegment]) -> TrafficSegment | None:
    """The tag that has most questions more among what changed than a random draw would put there."""
    moved = moved_most([float(pair.changed) for pair in pairs], _parts(pairs))
    rate = sum(pair.changed for pair in pairs) / len(pairs)
    beyond = {each.tag: each.changed - each.asked * rate for each in segments if each.tag in moved}
    named = max(beyond, key=beyond.__getitem__, default=None)
    return next((each for each in segments if each.tag == named), None)


def _parts(pairs: Sequence[TrafficPair]) -> dict[str, list[int]]:
    questions = (pair.question for pair in pairs)
    return parts_of([Sample(query_id=each.query_id, gains={}, tags=each.tags) for each in questions])


def _examples(changed: Sequence[TrafficPair]) -> list[TrafficExample]:
    ordered = sorted(changed, key=lambda pair: (-pair.question.count, pair.question.query_id))
    return [
        TrafficExample(
            query_id=pair.question.query_id,
            question=pair.question.question,
            count=pair.question.count,
            before=pair.before,
            now=pair.now,
        )
        for pair in ordered[:MOST_EXAMPLES]
    ]


def changes_of(gate: Gate, lists: TrafficLists, labels: Sequence[TrafficLabel]) -> dict[str, Bounds]:
    """By changed question the least and the greatest change of the metric that the labels leave."""
    known = known_labels(labels)
    hit = isinstance(gate.metric, Hit)
    return {
        pair.question.query_id: bounds_of(pair, known.get(pair.question.query_id, ()), k=lists.k, hit=hit)
        for pair in lists.changed
    }


def _most_lost(lists: TrafficLists, changes: Mapping[str, Bounds]) -> float:
    """What is lost if all that nobody has labelled is as bad as it can be; no sample has a say in it."""
    losses = (pair.question.count * changes[pair.question.query_id][0] for pair in lists.changed)
    return max(0.0, -math.fsum(losses) / lists.total)


def bound_of(gate: Gate | None, lists: TrafficLists, labels: Sequence[TrafficLabel]) -> float:
    """What can be lost at most: of precision and hit by the labels that there are, of others the share that changed."""
    if gate is None or type(gate.metric) not in (Hit, Precision):
        return lists.share
    if gate.metric != type(gate.metric)(cutoff=gate.metric.cutoff):  # of grades no label says anything
        return lists.share
    return _most_lost(lists, changes_of(gate, lists, labels))


def decide_traffic(
    gate: Gate, lists: TrafficLists, labels: Sequence[TrafficLabel], sheets: Sequence[TrafficSheet]
) -> GateResult:
    """The gate's result; `lists` are compared as sets of the first k that its metric looks at."""
    if not lists.pairs:
        missing = Reason(ReasonKind.NO_BASELINE)
        return _result(gate, lists, None, missing, Verdict.WARN)
    changes = changes_of(gate, lists, labels)
    draw = drawn_for(lists, drawn_by(lists, sheets))
    estimate = estimate_change(draw, changes, confidence=gate.confidence)
    needed = min(LEAST, len(lists.changed))
    most = _most_lost(lists, changes)
    if most <= (gate.regression_max or 0.0) + TOLERANCE:
        holds = Reason(ReasonKind.TRAFFIC, ruling=Ruling.HOLDS, state=EvidenceState.CLEAR, at_worst=-most)
        return _result(gate, lists, estimate if estimate.labelled >= needed else None, holds, Verdict.PASS)
    if estimate.labelled < needed:
        state = EvidenceState.NO_INTERVAL
        lacking = needed - estimate.labelled
        unknown = Reason(ReasonKind.TRAFFIC, state=state, count=lacking, limit=needed, at_worst=-most)
        return _result(gate, lists, None, unknown, Verdict.PASS)
    ruled = _ruled(gate, estimate)
    reason = Reason(
        ReasonKind.TRAFFIC,
        ruling=ruled.ruling,
        state=ruled.state,
        count=estimate.labelled,
        among=estimate.drawn,
        at_worst=-most,
    )
    verdict = Verdict.PASS
    if ruled.ruling is Ruling.VIOLATED:
        verdict = Verdict.FAIL if gate.blocks else Verdict.WARN
    elif ruled.ruling is Ruling.INCONCLUSIVE and gate.blocks:
        wider = estimate_change(draw, changes, confidence=1 - 2 * WARNING_LEVEL)
        verdict = Verdict.WARN if _ruled(gate, wider).ruling is Ruling.VIOLATED else Verdict.PASS
    return _result(gate, lists, estimate, reason, verdict, ruled)


def _ruled(gate: Gate, estimate: TrafficEstimate) -> Finding:
    limit = gate.regression_max or 0.0
    return rule_on_drop(Evidence.PROVEN_HARM, estimate.delta, estimate.ci, limit, gate.metric.direction)


def _result(
    gate: Gate,
    lists: TrafficLists,
    estimate: TrafficEstimate | None,
    reason: Reason,
    verdict: Verdict,
    ruled: Finding | None = None,
) -> GateResult:
    violated = ruled is not None and ruled.ruling is Ruling.VIOLATED
    return GateResult(
        name=gate.name,
        metric=f"{gate.metric.name} over traffic",
        meaning=f"{gate.metric.meaning}, over all traffic",
        unit=gate.metric.unit,
        direction=gate.metric.direction,
        segment=None,
        severity="error" if gate.blocks else "warning",
        line=gate.line,
        measured=MeasuredValue(value=None, ci=None, n=len(lists.pairs)),
        change=replace(NO_CHANGE, delta=estimate.delta, delta_ci=estimate.ci) if estimate else NO_CHANGE,
        limits=GateLimits(
            threshold=None,
            regression_max=gate.regression_max,
            evidence=Evidence.PROVEN_HARM,
            confidence=gate.confidence,
        ),
        evidence=GateEvidence(
            evidence_state=reason.state or EvidenceState.NO_BASELINE,
            only_inconclusive=verdict is Verdict.WARN and not violated and reason.state is EvidenceState.INCONCLUSIVE,
        ),
        decision=GateDecision(
            verdict=verdict, reasons=[reason], violation=ruled.beyond if ruled and violated else None
        ),
    )
