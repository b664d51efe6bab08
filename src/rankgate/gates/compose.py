"""From decisions to the report: the overall verdict, what was compared with what, and which of its texts may leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from rankgate import __version__
from rankgate.criteria import Criteria
from rankgate.diagnosis.gold_set import mark_of
from rankgate.diagnosis.listings import oddities_of
from rankgate.diagnosis.notes import judged_value, notes_of, stray_scores, untrusted_notes
from rankgate.errors import Problem
from rankgate.gates.commands import call_of, command_of
from rankgate.gates.conclude import concluded, empties_of
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.results import Changes, losers
from rankgate.metrics.base import Metric
from rankgate.metrics.estimates import attainable, distribution, estimate, is_rate
from rankgate.metrics.gaps import baseline_column, gaps
from rankgate.metrics.matching import OF_THE_LINE, By
from rankgate.model.answers import AnswerLoss, Unsupported
from rankgate.model.conclusion import Traffic
from rankgate.model.details import Expected
from rankgate.model.gate_result import GateResult
from rankgate.model.lineage import GoldMark
from rankgate.model.report import (
    BaselineSource,
    Explanation,
    Measurements,
    MetricValue,
    Moved,
    Provenance,
    Published,
    Queries,
    Remarks,
    Report,
    RunChanges,
    RunOrigin,
    Source,
    TrendPoint,
)
from rankgate.model.scores import Scores
from rankgate.model.values import CONFIDENCE, Gold, Verdict
from rankgate.readers.base import Run
from rankgate.readers.formats import fingerprint_of

MAX_IDS = 20


def compose(
    case: Case, evaluation: Evaluation, results: list[GateResult], changes: Changes, trend: Sequence[TrendPoint] = ()
) -> Report:
    """Put the report together and conclude it; nothing is decided here but the worst of the verdicts."""
    inputs, criteria, gold = case.inputs, case.criteria, evaluation.gold
    run = evaluation.run.run
    baseline = evaluation.baseline.run if evaluation.baseline else None
    mark = mark_of(gold, fingerprint_of(gold), by_query=False)
    remarks, losses, explanation = _of_baseline(case, evaluation, results, changes, mark)
    spans = _of_spans(case, evaluation)
    report = Report(
        verdict=Verdict.PASS,
        summary="",
        problems=_problems(results, criteria),
        gates=results,
        remarks=replace(
            remarks,
            warnings=[*remarks.warnings, *spans.warnings],
            notes=[
                *untrusted_notes(criteria, untrusted=inputs.untrusted_run),
                *spans.notes,
                *stray_scores(evaluation.run),
                *remarks.notes,
                *_unjudged(results),
                *notes_of(criteria, evaluation.run, evaluation.baseline, explanation.gold_changes),
            ],
        ),
        measured=replace(_measured(case, evaluation, results), segments=changes.segments, trend=list(trend)),
        changes=_run_changes(case, evaluation, results, changes, losses),
        explanation=replace(
            explanation, diagnosis=changes.findings, oddities=oddities_of(gold, criteria.match, changes.plain)
        ),
        origin=RunOrigin(untrusted_run=inputs.untrusted_run, fork_runs=criteria.fork_runs),
        provenance=Provenance(
            rankgate=__version__,
            date=inputs.date,
            criteria=criteria.name,
            gold=Source(path=gold.name, format=gold.format),
            gold_fingerprint=mark.fingerprint,
            gold_queries_fingerprint=mark.queries_fingerprint,
            run=Source(**_source(run)),
            baseline=BaselineSource(**_source(baseline), lineage=baseline.lineage) if baseline else None,
            depth=baseline.depth if baseline else None,
            judge=run.judge or UNSET,
            command=command_of(inputs, criteria, gold, run, baseline),
        ),
        call=call_of(inputs, criteria, gold, run, baseline),
    )
    if case.names_traffic:
        from rankgate.gates.traffic import with_traffic  # noqa: PLC0415 -- paid only where there is traffic

        report = with_traffic(report, case, evaluation)
    if case.waivers and case.waivers.entries:
        from rankgate.gates.apply_waivers import waive  # noqa: PLC0415 -- paid only where there are waivers

        report = waive(report, case.waivers, inputs.date)
    return concluded(report)


def _of_baseline(
    case: Case, evaluation: Evaluation, results: Sequence[GateResult], changes: Changes, mark: GoldMark
) -> tuple[Remarks, RunChanges, Explanation]:
    if evaluation.baseline is None:
        return Remarks(), RunChanges(), Explanation()
    from rankgate.gates.baseline_facts import facts_of  # noqa: PLC0415 -- paid only where there is a baseline

    return facts_of(case, evaluation, evaluation.baseline, results, changes, mark)


def _of_spans(case: Case, evaluation: Evaluation) -> Remarks:
    """What of the lists makes a pass doubtful, and facts that change no verdict, where passages are matched."""
    if case.criteria.match.by is not By.SPAN:
        return Remarks()
    from rankgate.gates.spans import span_remarks  # noqa: PLC0415 -- paid only where passages are matched

    return span_remarks(evaluation)


def _unjudged(results: Sequence[GateResult]) -> list[str]:
    """What documents that nobody has judged can make of the gates' changes."""
    pooled = [gate for gate in results if gate.evidence.unjudged and gate.segment is None]
    if not pooled:
        return []
    from rankgate.model.reasons import unjudged_text  # noqa: PLC0415 -- paid only where the gold set is pooled

    return list(dict.fromkeys(f"{unjudged_text(gate)}." for gate in pooled))


def _problems(results: Sequence[GateResult], criteria: Criteria) -> list[Problem]:
    """Why gates could not be judged."""
    if all(gate.verdict is not Verdict.NOT_JUDGED for gate in results):
        return []
    from rankgate.model.reasons import problems_of  # noqa: PLC0415 -- paid only where a gate is not judged

    return problems_of(results, criteria.name)


def _measured(case: Case, evaluation: Evaluation, results: Sequence[GateResult]) -> Measurements:
    """The values of both runs, and how many questions and lists they are of."""
    metrics = case.criteria.metrics()
    gold, scores, baseline_scores = evaluation.gold, evaluation.scores, evaluation.baseline_scores
    overall = [each for each in reversed(results) if each.segment is None and each.limits.confidence == CONFIDENCE]
    gates = {each.metric: each for each in overall}
    baseline_metrics: dict[str, MetricValue] = {}
    if baseline_scores:
        for metric in metrics:
            baseline_metrics[metric.name] = _value(metric, baseline_column(metric, baseline_scores), baseline_scores)
    return Measurements(
        metrics={metric.name: _candidate_value(metric, scores, gates.get(metric.name)) for metric in metrics},
        baseline_metrics=baseline_metrics,
        queries=_queries(gold, scores, baseline_scores),
        empties=empties_of(gold, scores, baseline_scores),
    )


def _candidate_value(metric: Metric, scores: Scores, gate: GateResult | None) -> MetricValue:
    missing = len(gaps(metric, scores, None).missing) or (0 if metric.needs & OF_THE_LINE else None)
    value = _value(metric, scores.uncut_values(metric.name), scores, gate)
    return replace(value, missing=missing, with_judge=judged_value(metric, scores))


def _value(
    metric: Metric, column: Sequence[float | None], scores: Scores, gate: GateResult | None = None
) -> MetricValue:
    """A column's value and interval; a gate at the report's confidence has both, as they would come out again."""
    about = MetricValue(
        value=None,
        ci=None,
        n=0,
        undefined=len(column),
        unit=metric.unit,
        direction=metric.direction,
        meaning=metric.meaning,
    )
    if gate is not None:
        measured = gate.measured
        n = measured.n
        spread = distribution([value for value in column if value is not None]) if is_rate(metric) and n else None
        return replace(about, value=measured.value, ci=measured.ci, n=n, undefined=len(column) - n, distribution=spread)
    known = estimate(column, metric, scores.clusters, ends=attainable(metric, scores, column))
    if known is None:
        return about
    return replace(
        about, value=known.value, ci=known.ci, n=known.n, undefined=known.undefined, distribution=known.distribution
    )


def _queries(gold: Gold, candidate: Scores, baseline: Scores | None) -> Queries:
    relevant = sum(bool(sample.relevant()) for sample in gold.samples.values())
    missing = [query_id for query_id in candidate.query_ids if query_id in candidate.missing]
    return Queries(
        total=len(gold.samples),
        scored=relevant,
        no_relevant=len(gold.samples) - relevant,
        missing=len(missing),
        missing_ids=missing[:MAX_IDS],
        unjudged=len(candidate.unknown_queries),
        duplicates=candidate.duplicates,
        new=len(baseline.new_queries) if baseline else 0,
    )


def _run_changes(
    case: Case, evaluation: Evaluation, results: Sequence[GateResult], changes: Changes, losses: RunChanges
) -> RunChanges:
    """The questions that moved, beside the `losses` that no gate decides."""
    metrics = case.criteria.metrics()
    scores, baseline_scores = evaluation.scores, evaluation.baseline_scores
    gates = {gate.metric.name: gate.name for gate in reversed(case.criteria.gates)}  # the row may be by another metric
    overall = {each.name: each for each in results if each.segment is None}
    lost = losses.lost_parts
    rows = [replace(overall[gates[part.metric]], metric=part.metric, segment=part.segment) for part in lost]
    worse_by_row, lowest_by_row = losers(evaluation.gold, metrics, [*results, *rows], scores, baseline_scores)
    worse = sum(movement.worse for movement in changes.moved)
    answers = None
    if evaluation.run.run.judge:
        from rankgate.diagnosis.answers import answer_changes  # noqa: PLC0415 -- paid only where they are judged

        answers = answer_changes(results, metrics, scores, baseline_scores)
    return replace(
        losses,
        moved=Moved(worse=worse, better=len(changes.moved) - worse) if evaluation.baseline else None,
        answers=answers,
        losers=worse_by_row,
        lowest=lowest_by_row,
    )


def _source(run: Run) -> dict[str, Any]:
    return {"path": run.name, "format": run.format, "about": dict(sorted(run.provenance.items()))}


def published(report: Report, texts: Published) -> Report:
    """The report with as many texts of questions, answers and passages as may leave: all, none, or none of traffic.

    By `numbers` what the gold set expects has no ids but its texts, and is numbered.
    """
    if texts == "full":
        return report
    traffic = report.measured.traffic
    if traffic is not None:
        traffic = _by_id(traffic, documents=texts != "numbers")
        report = replace(report, measured=replace(report.measured, traffic=traffic))
    if texts == "gold":
        return report
    misses = [replace(move, question=None) for move in report.changes.misses]
    if texts == "numbers":
        misses = [replace(move, documents=_numbered(move.documents)) for move in misses]
    answers = report.changes.answers
    if answers is not None:
        losses = [_without_texts(loss) for loss in answers.losses]
        answers = replace(answers, losses=losses, unsupported=[_unquoted(each) for each in answers.unsupported])
    oddities = report.explanation.oddities
    if oddities is not None and texts == "numbers":
        oddities = replace(oddities, examples=[], spellings=[])
    details = report.explanation.details
    if details is not None:
        questions = [replace(each, question=None) for each in details.questions]
        if texts == "numbers":
            questions = [replace(each, expected=tuple(_numbered(each.expected))) for each in questions]
        details = replace(details, questions=tuple(questions), texts=({}, {}))
    return replace(
        report,
        changes=replace(report.changes, misses=misses, answers=answers),
        explanation=replace(report.explanation, oddities=oddities, details=details),
    )


def _numbered(documents: Sequence[Expected]) -> list[Expected]:
    return [replace(each, id=f"passage {number}") for number, each in enumerate(documents, start=1)]


def _by_id(traffic: Traffic, *, documents: bool) -> Traffic:
    examples = [replace(each, question=None) for each in traffic.examples]
    if not documents:
        examples = [replace(each, before=(), now=()) for each in examples]
    return replace(traffic, examples=examples)


def _without_texts(loss: AnswerLoss) -> AnswerLoss:
    return replace(loss, question=None, claims=tuple(replace(claim, text="") for claim in loss.claims))


def _unquoted(answer: Unsupported) -> Unsupported:
    return replace(answer, question=None, claims=tuple(replace(claim, text="", quote="") for claim in answer.claims))
