"""What the gates decide, and what changed between the runs beside that: by question, by tag, and why."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rankgate.diagnosis.findings import diagnose
from rankgate.diagnosis.listings import RunLists
from rankgate.diagnosis.movements import by_tag, leading_metric, movements
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.judging import fell_by_a_pool, judge_all, overall_results
from rankgate.metrics.base import Metric
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Diagnosis, Movement, Segment


def results_of(case: Case, evaluation: Evaluation) -> list[GateResult]:
    """A result for every gate, in doubt where what nobody has judged may undo a proof of harm."""
    results = judge_all(case, evaluation)
    if not fell_by_a_pool(evaluation, results):
        return results
    from rankgate.gates.pooled import doubt_unjudged  # noqa: PLC0415 -- few gold sets are pooled

    return doubt_unjudged(case, evaluation, results)


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """By the `leading` metric the questions that moved, and all metrics by tag; what explains the gates' results."""

    leading: Metric | None
    segments: list[Segment]
    moved: list[Movement]
    lists: RunLists
    findings: list[Diagnosis]


def changes_of(case: Case, evaluation: Evaluation, results: Sequence[GateResult]) -> Changes:
    """What changed; the metric whose changes are listed is the caller's, else that of the first gate violated."""
    gold, metrics = evaluation.gold, evaluation.plan.metrics
    scores, baseline = evaluation.scores, evaluation.baseline_scores
    leading = case.inputs.leading or leading_metric(case.criteria.gates, overall_results(results))
    lists = RunLists(gold, evaluation.plan, evaluation.run, evaluation.baseline)
    return Changes(
        leading=leading,
        segments=by_tag(gold, metrics, scores, baseline, leading),
        moved=movements(gold, leading, scores, baseline, results) if baseline and leading else [],
        lists=lists,
        findings=diagnose(gold, metrics, results, scores, baseline, lists),
    )
