"""Gates over traffic: the change of precision@k or hit@k over all its questions, from labels of those that changed.

Harm is proven by the interval alone, and only from the draw for this very pair of runs. Where too few of its questions
are labelled nothing is measured, and nothing fails; where fewer changed than the limit allows to lose, nothing can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rankgate.collecting.traffic_draw import LEAST, Bounds, bounds_of, drawn_by, drawn_for, known_labels
from rankgate.criteria import Criteria, Gate
from rankgate.criteria.traffic import TrafficRuns, compared_as
from rankgate.gates.decision_rule import Finding, rule_on_drop
from rankgate.metrics.sets import Hit, Precision
from rankgate.model.gate_result import NO_CHANGE, GateDecision, GateEvidence, GateLimits, GateResult, MeasuredValue
from rankgate.model.traffic_lists import TrafficLabel, TrafficLists, TrafficSheet
from rankgate.model.values import (
    TOLERANCE,
    WARNING_LEVEL,
    Evidence,
    EvidenceState,
    Reason,
    ReasonKind,
    Ruling,
    Verdict,
)
from rankgate.statistics.traffic import TrafficEstimate, estimate_change


def traffic_rows(criteria: Criteria, runs: TrafficRuns) -> list[GateResult]:
    """A result for each gate over traffic."""
    k, _ = compared_as(criteria)
    lists = runs.lists(k)
    return [decide_traffic(gate, lists, runs.files.labels, runs.files.sheets) for gate in criteria.traffic_gates]


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
        harmless = Reason(ReasonKind.TRAFFIC, ruling=Ruling.HOLDS, state=EvidenceState.CLEAR, at_worst=-most)
        return _result(gate, lists, estimate if estimate.labelled >= needed else None, harmless, Verdict.PASS)
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
