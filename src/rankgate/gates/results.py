"""What the gates decide, and what changed between the runs beside that: by question, by tag, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from rankgate.diagnosis.listings import Lists, RunLists
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.judging import fallen, judge_all, overall_results
from rankgate.metrics.base import Kind, Metric
from rankgate.metrics.gaps import baseline_column
from rankgate.model.conclusion import OF_GATES, ConclusionKind
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Diagnosis, Movement, Report, Row, Segment
from rankgate.model.scores import Scores
from rankgate.model.values import TOLERANCE, Gold, Verdict

if TYPE_CHECKING:
    from rankgate.criteria import Gate


def results_of(case: Case, evaluation: Evaluation) -> list[GateResult]:
    """A result for every gate, in doubt where what nobody has judged may undo a proof of harm."""
    results = judge_all(case, evaluation)
    gains = (gain for sample in evaluation.gold.samples.values() for gain in sample.gains.values())
    if not fallen(evaluation.plan, results) or all(gain > 0 for gain in gains):
        return results
    from rankgate.gates.pooled import doubt_unjudged  # noqa: PLC0415 -- few gold sets are pooled

    return doubt_unjudged(case, evaluation, results)


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """By the `leading` metric the questions that moved, and all metrics by tag; what explains the gates' results.

    `plain` are the lists where they are shown: a verdict alone names no document.
    """

    leading: Metric | None
    segments: list[Segment]
    moved: list[Movement]
    lists: RunLists
    plain: Lists
    findings: list[Diagnosis]


def changes_of(case: Case, evaluation: Evaluation, results: Sequence[GateResult]) -> Changes:
    """What changed; the metric whose changes are listed is the caller's, else that of the first gate violated."""
    gold, metrics = evaluation.gold, evaluation.plan.metrics
    scores, baseline = evaluation.scores, evaluation.baseline_scores
    leading = case.inputs.details.leading if case.inputs.details else None
    if leading is None:
        leading = leading_metric(case.criteria.gates, overall_results(results))
    lists = RunLists(gold, evaluation.plan, evaluation.run, evaluation.baseline)
    segments: list[Segment] = []
    moved: list[Movement] = []
    findings: list[Diagnosis] = []
    if any(sample.tags for sample in gold.samples.values()):
        from rankgate.diagnosis.movements import by_tag  # noqa: PLC0415 -- paid only where questions have tags

        segments = by_tag(gold, metrics, scores, baseline, leading)
    if baseline and leading is not None:
        from rankgate.diagnosis.movements import movements  # noqa: PLC0415 -- paid only where there is a baseline

        moved = movements(gold, leading, scores, baseline, results)
    if baseline or any(gate.verdict is not Verdict.PASS for gate in results):
        from rankgate.diagnosis.findings import diagnose  # noqa: PLC0415 -- paid only where there is anything to explain

        findings = diagnose(gold, metrics, results, scores, baseline, lists)
    plain = (None, None) if case.inputs.verdict_alone else lists.plain
    return Changes(leading=leading, segments=segments, moved=moved, lists=lists, plain=plain, findings=findings)


def with_diagnosis(report: Report, evaluation: Evaluation, changes: Changes) -> Report:
    """The report with what explains its conclusion, where that speaks of a gate or a part that does not hold."""
    if report.conclusion.kind not in (*OF_GATES, ConclusionKind.LOST_PART):
        return report
    from rankgate.diagnosis.findings import diagnose_conclusion  # noqa: PLC0415 -- paid only where something does not hold

    gold, metrics = evaluation.gold, evaluation.plan.metrics
    scores, baseline = evaluation.scores, evaluation.baseline_scores
    diagnosis = diagnose_conclusion(report, gold, metrics, scores, baseline, changes.lists)
    return replace(report, explanation=replace(report.explanation, diagnosis=diagnosis))


def leading_metric(gates: Sequence[Gate], results: Sequence[GateResult]) -> Metric | None:
    """The metric whose changes are listed: the first failed gate's, else the first warned, else the first gate's.

    Only metrics of relevant documents count, since a change in latency moves none; None where no gate has one.
    """
    both = zip(gates, results, strict=True)
    ranked = [(gate.metric, result) for gate, result in both if gate.metric.kind is Kind.RELEVANCE]
    for verdict in (Verdict.FAIL, Verdict.WARN):
        for metric, result in ranked:
            if result.verdict is verdict and result.change.delta:
                return metric
    return ranked[0][0] if ranked else None


def losers(
    gold: Gold, metrics: Sequence[Metric], results: Sequence[GateResult], candidate: Scores, baseline: Scores | None
) -> tuple[dict[Row, list[str]], dict[Row, str]]:
    """By row the questions that got worse in its metric, the most first, and the one of the lowest value.

    Of rows that pass as well, so that a pass that proves little can name a question.
    """
    worse: dict[Row, list[str]] = {}
    lowest: dict[Row, str] = {}
    columns: dict[str, Sequence[float | None]] = {}
    if baseline:
        columns |= baseline.values  # a row may be by a metric that no gate names
        columns |= {metric.name: baseline_column(metric, baseline) for metric in metrics}
    members = _rows_by_segment(gold, candidate, results)
    for result in results:
        sign = result.direction.sign
        values = candidate.values[result.metric]
        old_column = columns.get(result.metric)
        changes: list[tuple[float, str]] = []
        upright_values: list[tuple[float, str]] = []
        for row in members[result.segment]:
            query = candidate.query_ids[row]
            value = values[row]
            if value is None:
                continue
            upright_values.append((sign * value, query))
            old = old_column[row] if old_column else None
            if old is not None and sign * (value - old) < -TOLERANCE:
                changes.append((sign * (value - old), query))
        worse[result.row_key] = [query for _, query in sorted(changes)]
        if upright_values:
            lowest[result.row_key] = min(upright_values)[1]
    return worse, lowest


def _rows_by_segment(gold: Gold, scores: Scores, results: Sequence[GateResult]) -> Mapping[str | None, Sequence[int]]:
    """The rows of the questions of each segment that has a result, and under None those of all."""
    rows: dict[str, list[int]] = {result.segment: [] for result in results if result.segment is not None}
    if rows:
        from rankgate.metrics.tags import SegmentIndex, part_names  # noqa: PLC0415 -- paid only where there are segments

        index = SegmentIndex(rows)
        for row, query in enumerate(scores.query_ids):
            for segment in dict.fromkeys(index.of(part_names(gold.samples[query]))):
                rows[segment].append(row)
    members: dict[str | None, Sequence[int]] = {None: range(len(scores.query_ids))}
    return members | rows
