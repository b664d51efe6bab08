"""From decisions to the report: the overall verdict, its one sentence, and what was compared with what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from rankgate import __version__
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.rereading import lists_of
from rankgate.diagnosis.causes import STALE
from rankgate.diagnosis.differences import gold_differences, run_differences
from rankgate.diagnosis.gold_changes import gold_changes, mark_of
from rankgate.diagnosis.listings import oddities_of, with_displacers
from rankgate.diagnosis.movements import losers, most_telling
from rankgate.diagnosis.notes import judged_value, notes_of, stray_scores, untrusted_notes
from rankgate.errors import shown
from rankgate.gates.apply_waivers import waive
from rankgate.gates.commands import call_of, command_of
from rankgate.gates.conclude import concluded, empties_of
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.given_up import given_up, in_steps, noted
from rankgate.gates.lost_parts import unnamed_losses
from rankgate.gates.results import Changes
from rankgate.metrics.base import Metric
from rankgate.metrics.estimates import attainable, distribution, estimate, is_rate
from rankgate.metrics.gaps import baseline_column, gaps
from rankgate.metrics.matching import OF_THE_LINE, By
from rankgate.metrics.registry import packages_of
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.answer_losses import AnswerChanges
from rankgate.model.conclusion import PartLoss
from rankgate.model.differences import Difference
from rankgate.model.gate_result import GateResult
from rankgate.model.gold_changes import GoldChanges, GoldMark
from rankgate.model.lineage_words import (
    age_problems,
    anchor_problem,
    clock_problems,
    lineage_note,
    package_problems,
    passed_over_text,
)
from rankgate.model.reasons import problems_of, unjudged_text
from rankgate.model.report import (
    NAMED,
    BaselineSource,
    Diagnosis,
    MetricValue,
    Moved,
    Provenance,
    Queries,
    Report,
    Source,
)
from rankgate.model.scores import Scores, Unfit
from rankgate.model.values import CONFIDENCE, Gold, Verdict
from rankgate.model.wording import count_text
from rankgate.readers.base import Run
from rankgate.readers.formats import fingerprint_of

if TYPE_CHECKING:
    from rankgate.gates.traffic import TrafficResult

MAX_IDS = 20
_EMPTY_BASELINE = (
    "the baseline is empty: no question got a result there, so that no loss can show; accept a run that has some"
)
_STALE = (
    "the gold set is partly stale: relevant ids that the baseline found are in no list any more, and ids that it never "
    "returned stand in their place; map the gold set to the new ids, or gate by document with `match: doc`"
)


def compose(case: Case, evaluation: Evaluation, results: list[GateResult], changes: Changes) -> Report:
    """Put the report together and conclude it; nothing is decided here but the worst of the verdicts.

    Args:
        case: what judged.
        evaluation: the scores.
        results: of all gates over the gold set.
        changes: what changed beside them.
    """
    inputs, criteria, gold = case.inputs, case.criteria, evaluation.gold
    run, baseline, anchor = evaluation.run, evaluation.baseline, evaluation.anchor
    scores, baseline_scores = evaluation.scores, evaluation.baseline_scores
    lists = (None, None) if inputs.verdict_alone else changes.lists.plain
    metrics = criteria.metrics()
    lineage = baseline.run.lineage if baseline else None
    fingerprint = fingerprint_of(gold)
    mark = mark_of(gold, fingerprint, by_query=False)
    edited = gold_changes(gold, fingerprint, baseline.run.gold) if baseline else None
    lost = _lost_parts(case, evaluation, results)
    overall = {each.metric: each for each in reversed(results) if each.segment is None}
    rows_of_parts = [replace(overall[part.metric], segment=part.segment) for part in lost]
    worse_questions, lowest_questions = losers(gold, [*results, *rows_of_parts], scores, baseline_scores)
    adding = given_up(criteria.gates, scores, anchor, results) if anchor else []
    aged = _aged(case, evaluation)
    blocking_age = criteria.baseline.max_age.severity == "error"
    worse = sum(movement.worse for movement in changes.moved)
    traffic = _traffic(case, evaluation)
    waived = waive([*results, *(traffic.gates if traffic else [])], case.waivers, inputs.date)
    report = Report(
        verdict=Verdict.PASS,
        summary="",
        lost_parts=lost,
        given_up=in_steps(adding, results),
        anchor=noted(anchor, adding) if anchor else None,
        empties=empties_of(gold, scores, baseline_scores),
        losers=worse_questions,
        lowest=lowest_questions,
        call=call_of(inputs, criteria, gold, run.run, baseline.run if baseline else None),
        problems=problems_of(results, criteria.name),
        failures=aged if blocking_age else [],
        warnings=[
            *_stale_warnings(changes.findings),
            *([] if blocking_age else aged),
            *_warnings(case, evaluation),
            *(traffic.warnings if traffic else []),
            *waived.warnings,
        ],
        notes=[
            *_notes(case, evaluation, results, edited),
            *(traffic.notes if traffic else []),
            *waived.notes,
        ],
        diagnosis=changes.findings,
        gates=waived.gates,
        waivers=waived.uses,
        metrics={metric.name: _candidate_value(metric, scores, results) for metric in metrics},
        baseline_metrics=_baseline_values(metrics, baseline_scores, results) if baseline_scores else {},
        queries=_queries(gold, scores, baseline_scores),
        segments=changes.segments,
        oddities=oddities_of(gold, criteria.match, lists),
        misses=with_displacers(most_telling(changes.moved), *lists, scores.rank_summaries),
        moved=Moved(worse=worse, better=len(changes.moved) - worse) if baseline else None,
        answers=_answers(results, metrics, scores, baseline_scores) if run.run.judge else None,
        gold_changes=edited,
        differences=_differences(inputs, mark, run.run, baseline.run) if baseline else [],
        untrusted_run=inputs.untrusted_run,
        fork_runs=criteria.fork_runs,
        traffic=traffic.traffic if traffic else None,
        provenance=Provenance(
            rankgate=__version__,
            date=inputs.date,
            criteria=criteria.name,
            gold=Source(path=gold.name, format=gold.format),
            gold_fingerprint=fingerprint,
            gold_queries_fingerprint=mark.queries_fingerprint,
            run=Source(**_source(run.run)),
            baseline=BaselineSource(**_source(baseline.run), lineage=lineage) if baseline else None,
            depth=baseline.run.depth if baseline else None,
            judge=run.run.judge or UNSET,
            command=command_of(inputs, criteria, gold, run.run, baseline.run if baseline else None),
        ),
    )
    return concluded(report)


def _traffic(case: Case, evaluation: Evaluation) -> TrafficResult | None:
    """What became of the questions without labels that the criteria name."""
    if not case.names_traffic:
        return None
    from rankgate.gates.traffic import judge_traffic  # noqa: PLC0415 -- paid only where there is traffic

    return judge_traffic(case, evaluation)


def _lost_parts(case: Case, evaluation: Evaluation, results: Sequence[GateResult]) -> list[PartLoss]:
    """The parts that lost and that no gate names already."""
    if evaluation.baseline_scores is None:
        return []
    named = {(each.metric, each.segment) for each in results if each.verdict is not Verdict.PASS}
    losses = unnamed_losses(case.criteria, evaluation.gold, evaluation.scores, evaluation.baseline_scores)
    return [part for part in losses if (part.metric, part.segment) not in named]


def _aged(case: Case, evaluation: Evaluation) -> list[str]:
    """That the baseline is older than the criteria allow."""
    lineage = evaluation.baseline.run.lineage if evaluation.baseline else None
    age = case.criteria.baseline.max_age
    return age_problems(lineage, age.days, age.commits) if lineage else []


def _stale_warnings(findings: Sequence[Diagnosis]) -> list[str]:
    return [_STALE for finding in findings if finding.rule == STALE]


def _warnings(case: Case, evaluation: Evaluation) -> list[str]:
    """What of the baseline, of the anchor and of the lists makes a pass doubtful."""
    criteria, baseline, anchor = case.criteria, evaluation.baseline, evaluation.anchor
    warnings: list[str] = []
    lineage = baseline.run.lineage if baseline else None
    if lineage:
        warnings += clock_problems(lineage, case.inputs.date)
    if lineage and lineage.packages:
        warnings += package_problems(lineage, packages_of(criteria.metrics()))
    if anchor and anchor.problem:
        warnings.append(anchor_problem(anchor.mark, anchor.problem))
    if criteria.match.by is By.SPAN:
        unplaced = [_unplaced(run, evaluation.gold) for run in evaluation.runs]
        warnings += [warning for warning, _ in unplaced if warning]
        for run in evaluation.runs:
            warnings += [_unfit(run, why) for why in dict.fromkeys(run.scores.unfit.values())]
    if baseline and _is_empty(baseline.scores):
        warnings.append(_EMPTY_BASELINE)
    return warnings


def _notes(case: Case, evaluation: Evaluation, results: Sequence[GateResult], edited: GoldChanges | None) -> list[str]:
    """Facts that change no verdict."""
    criteria, baseline, anchor = case.criteria, evaluation.baseline, evaluation.anchor
    notes = [*untrusted_notes(criteria, untrusted=case.inputs.untrusted_run)]
    if criteria.match.by is By.SPAN:
        unplaced = [_unplaced(run, evaluation.gold) for run in evaluation.runs]
        notes += [note for _, note in unplaced if note]
    notes += stray_scores(evaluation.run)
    if baseline and baseline.run.lineage and (note := lineage_note(baseline.run.lineage)):
        notes.append(note)
    if anchor and anchor.mark and anchor.passed_over:
        notes.append(passed_over_text(anchor.mark, anchor.passed_over))
    unjudged = [f"{unjudged_text(each)}." for each in results if each.evidence.unjudged and each.segment is None]
    return [*notes, *dict.fromkeys(unjudged), *notes_of(criteria, evaluation.run, baseline, edited)]


def _baseline_values(
    metrics: Sequence[Metric], scores: Scores, results: Sequence[GateResult]
) -> dict[str, MetricValue]:
    columns = {metric: baseline_column(metric, scores) for metric in metrics}
    return {metric.name: _value(metric, column, scores, results, own=False) for metric, column in columns.items()}


def _unplaced(run: ScoredRun, gold: Gold) -> tuple[str, str]:
    """What to warn of, results without offsets and text, and what to note, those that are judged by their texts."""
    listed = (each.details.items or () for each in lists_of(run) if each.details and each.query_id in gold.samples)
    items = [item for each in listed for item in each]
    texts = [item.text is not None for item in items if item.start is None]
    among = f"of {count_text(len(items), 'item')} of {run.run.name} state no offsets"
    warning = f"{texts.count(False):,} {among} and no text, so that they match nothing" if not all(texts) else ""
    return warning, f"{texts.count(True):,} {among}; passages are searched in their texts." if any(texts) else ""


def _unfit(run: ScoredRun, why: Unfit) -> str:
    """What to warn of where nobody can say whether passages are in the lists."""
    queries = [query_id for query_id, each in run.scores.unfit.items() if each is why]
    named = ", ".join([*map(shown, queries[:NAMED]), *(["…"] if queries[NAMED:] else [])])
    which = f"{count_text(len(queries), 'question')} ({named})"
    if why is Unfit.STALE:
        return (
            f"the gold set is partly stale: {run.run.name} shows another text where passages of {which} should stand; "
            "these have no value. Correct their spans: `rankgate gold anchor` lists those that stand elsewhere"
        )
    return (
        f"{which} cannot be judged in {run.run.name}: their spans state no `text` and results no offsets; write `text` "
        "into the spans: `rankgate gold anchor` does"
    )


def _value(
    metric: Metric, column: Sequence[float | None], scores: Scores, results: Sequence[GateResult], *, own: bool
) -> MetricValue:
    """A column's value.

    If the gates are of the column's own run, as one of them has it: its interval would come out the same again.
    """
    whole = (gate for gate in results if gate.segment is None and gate.metric == metric.name)
    gate = next((gate for gate in whole if own and gate.limits.confidence == CONFIDENCE), None)
    if gate is None:
        found = estimate(column, metric, scores.clusters, ends=attainable(metric, scores, column))
        value, ci, n, spread = (found.value, found.ci, found.n, found.distribution) if found else (None, None, 0, None)
    else:
        value, ci, n = gate.measured.value, gate.measured.ci, gate.measured.n
        spread = distribution([x for x in column if x is not None]) if is_rate(metric) and n else None
    return MetricValue(
        value=value,
        ci=ci,
        n=n,
        undefined=len(column) - n,
        unit=metric.unit,
        direction=metric.direction,
        meaning=metric.meaning,
        distribution=spread,
    )


def _candidate_value(metric: Metric, scores: Scores, results: Sequence[GateResult]) -> MetricValue:
    missing = len(gaps(metric, scores, None).missing) or (0 if metric.needs & OF_THE_LINE else None)
    value = _value(metric, scores.uncut_values(metric.name), scores, results, own=True)
    return replace(value, missing=missing, with_judge=judged_value(metric, scores))


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


def _differences(inputs: Inputs, gold: GoldMark, run: Run, baseline: Run) -> list[Difference]:
    """What differs; nothing is read of what an untrusted run says of itself, so that it cannot be compared."""
    of_runs = [] if inputs.untrusted_run else run_differences(baseline.provenance, run.provenance)
    return [*of_runs, *gold_differences(baseline.gold, gold)]


def _answers(
    results: Sequence[GateResult], metrics: Sequence[Metric], scores: Scores, baseline: Scores | None
) -> AnswerChanges:
    from rankgate.diagnosis.answers import answer_changes  # noqa: PLC0415 -- paid only where they are judged

    return answer_changes(results, metrics, scores, baseline)


def _source(run: Run) -> dict[str, Any]:
    return {"path": run.name, "format": run.format, "about": dict(sorted(run.provenance.items()))}


def _is_empty(scores: Scores) -> bool:
    """Whether a run with lists, of questions that it was asked, has not one result."""
    if not scores.rank_summaries:
        return len(scores.new_queries) < len(scores.missing) == len(scores.query_ids)
    return scores.listed and not any(each.retrieved for each in scores.rank_summaries.values())
