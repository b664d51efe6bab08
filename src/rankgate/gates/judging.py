"""All gates: each on its whole, on single queries, and on its segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rankgate.criteria import Criteria, Gate
from rankgate.criteria.inputs import Awaited
from rankgate.gates.decide import decide
from rankgate.gates.decision_rule import beyond_drop
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.measurement import METRIC_UNITS, Units, measure
from rankgate.metrics.base import Metric, sees_hits_alone
from rankgate.metrics.gaps import gaps
from rankgate.metrics.plan import Plan
from rankgate.model.gate_result import NO_CHANGE, GateResult, MeasuredValue
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Reason, ReasonKind, RunField, Verdict

if TYPE_CHECKING:
    from rankgate.gates.judged import Judge

_AWAITED = {"label": ReasonKind.AWAITS_LABEL, "merge": ReasonKind.AWAITS_MERGE}


def judge_all(case: Case, evaluation: Evaluation) -> list[GateResult]:
    """A result for every gate, in order, each followed by those of its segments."""
    scores, baseline_scores = evaluation.scores, evaluation.baseline_scores
    awaits = case.inputs.pull.awaits
    return judge_scores(case.criteria, evaluation.gold, scores, baseline_scores, awaits, evaluation.judges)


def judge_scores(
    criteria: Criteria,
    gold: Gold,
    candidate: Scores,
    baseline: Scores | None,
    awaits: Awaited | None = None,
    judges: Mapping[str, Judge] = {},
) -> list[GateResult]:
    """A result for every gate, in order, each followed by those of its segments.

    `judges` has by metric who judged the answers, and what that may block. A gate that lacks the verdicts of a judge
    who will be asked later (`awaits`) only waits: it has one row, which warns.
    """
    results: list[GateResult] = []
    for gate in criteria.gates:
        judge = judges.get(gate.metric.name)
        rows = _rows(gate, gold, candidate, baseline, judge.units if judge else METRIC_UNITS)
        waits = awaits and RunField.VERDICTS in gate.metric.needs and gaps(gate.metric, candidate, None).missing
        if awaits and waits:
            rows = [_waiting(rows[0], awaits, len(waits), len(candidate.query_ids))]
        if judge:
            from rankgate.gates.judged import filtered, without_judge  # noqa: PLC0415 -- paid only where asked for

            given_gate = None if waits else without_judge(gate, judge, candidate, baseline)
            given_rows = _rows(given_gate, gold, candidate, baseline, METRIC_UNITS) if given_gate else []
            rows = filtered(gate, judge, rows, given_rows, candidate, baseline)
        results += rows
    return results


def _rows(gate: Gate, gold: Gold, candidate: Scores, baseline: Scores | None, units: Units) -> list[GateResult]:
    """The gate's result with its rules for single questions, and those of its segments."""
    result = decide(measure(gate, candidate, baseline, units))
    if gate.must_pass or gate.max_lost_queries is not None:
        from rankgate.gates.segments import with_hard_checks  # noqa: PLC0415 -- paid only where asked for

        result = with_hard_checks(result, gate, gold, candidate, baseline)
    if not gate.segments:
        return [result]
    from rankgate.gates.segments import decide_segments  # noqa: PLC0415 -- as above

    return [result, *decide_segments(gate, gold, candidate, baseline, units.of_segments)]


def _waiting(result: GateResult, awaits: Awaited, count: int, among: int) -> GateResult:
    """The gate without numbers, warning that they are still to come."""
    reason = Reason(_AWAITED[awaits], count=count, among=among)
    return replace(
        result,
        measured=MeasuredValue(value=None, ci=None, n=0),
        change=NO_CHANGE,
        evidence=replace(result.evidence, only_inconclusive=False, detectable=None),
        decision=replace(result.decision, verdict=Verdict.WARN, reasons=[reason], doubts=1, violation=None),
    )


def overall_results(results: Sequence[GateResult]) -> list[GateResult]:
    """The results over all queries, one a gate."""
    return [result for result in results if result.segment is None]


def fallen(plan: Plan, results: Sequence[GateResult]) -> list[Metric]:
    """The metrics that fell and see nothing of a list but which results are relevant."""
    fell = {
        each.metric for each in results if each.change.delta and beyond_drop(each.change.delta, 0.0, each.direction) > 0
    }
    return [metric for metric in plan.metrics if metric.name in fell and sees_hits_alone(metric)]
