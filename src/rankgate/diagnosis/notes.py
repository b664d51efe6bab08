"""Facts that a careful reader of a report would ask for. Hold no text from the inputs but metric names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from rankgate.metrics.base import Metric
from rankgate.metrics.gaps import gaps
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.lineage import GoldChanges
from rankgate.model.report import JudgedValue
from rankgate.model.scores import Scores
from rankgate.model.wording import count_text, value_text

if TYPE_CHECKING:
    from rankgate.criteria import Criteria


def absent_notes(scores: Scores, name: str) -> list[str]:
    """Which questions a run lacks: those that it was asked, and of a baseline those that are new to it."""
    absent_count = len(scores.missing - scores.new_queries)
    new = len(scores.new_queries)
    notes: list[str] = []
    if absent_count:
        absent = f"{count_text(absent_count, 'question is', 'questions are')} absent from {name}"
        notes.append(f"{absent}; where relevance is scored, that counts as the worst.")
    if new:
        notes.append(f"{count_text(new, 'question is', 'questions are')} absent from {name}, and not compared.")
    return notes


def notes_of(
    criteria: Criteria, candidate: ScoredRun, baseline: ScoredRun | None, changes: GoldChanges | None = None
) -> list[str]:
    """One sentence a fact: what was left out, counted as worst, cut, or judged otherwise."""
    scores = candidate.scores
    unknown = len(scores.unknown_queries)
    without = f"{count_text(unknown, 'question of the run has', 'questions of the run have')} no judgment"
    ignored = f"{without} and {'was' if unknown == 1 else 'were'} ignored."
    removed = f"{count_text(scores.duplicates, 'repeated id was', 'repeated ids were')} removed from the rankings."
    notes = absent_notes(scores, "the run")
    notes += [ignored] if unknown else []
    notes += [removed] if scores.duplicates else []
    runs = {"run": candidate, "baseline": baseline}
    if unlisted := [f"the {name}" for name, run in runs.items() if run and not run.scores.listed]:
        what = "known by values per query and not by rankings: no documents are named, nor whether lists are the same"
        notes.append(f"{' and '.join(unlisted)} {'is' if len(unlisted) == 1 else 'are'} {what}.".capitalize())
    notes += judge_notes(criteria.metrics(), scores)
    if baseline is None:
        drops = any(gate.limits_drop for gate in criteria.gates)
        floors = any(gate.threshold is not None for gate in criteria.gates)
        what = "floors were judged, drops were not" if floors else "drops were not judged"
        return [*notes, f"There is no baseline yet: {what}."] if drops else notes
    from rankgate.diagnosis.differences import baseline_notes  # noqa: PLC0415 -- paid only where there is a baseline

    absent = absent_notes(baseline.scores, "the baseline")
    return [*notes, *absent, *baseline_notes(criteria, candidate, baseline, changes)]


def untrusted_notes(criteria: Criteria, *, untrusted: bool) -> list[str]:
    """What it means that the run is untrusted; nothing where nobody says so."""
    if not untrusted:
        return []
    counts = "; a pass counts once a maintainer has accepted them" if criteria.fork_runs == "untrusted" else ""
    scored = "they were scored here, by this repository's own gold set and criteria"
    unseen = f"but nobody here has seen the retriever return them{counts}"
    return [f"Rankings supplied by the pull request: {scored}, {unseen}."]


def stray_scores(candidate: ScoredRun) -> list[str]:
    """How many queries have scores of `inputs.scores` and no line in the run; nothing where none does."""
    scores = candidate.scores
    known = ({*scores.query_ids} - {*scores.missing}) | {*scores.unknown_queries}
    stray = candidate.run.scored - known
    count = count_text(len(stray), "question of inputs.scores is", "questions of inputs.scores are")
    return [f"{count} absent from the run; `rankgate validate` names them."] if stray else []


def missing_notes(metrics: Sequence[Metric], scores: Scores, run: str = "the run") -> list[str]:
    """How many questions lack a value that the run should state, one sentence a metric."""
    counts = ((metric, len(gaps(metric, scores, None).missing)) for metric in metrics)
    among = count_text(len(scores.query_ids), "question")
    lacks = "is missing (absent, null or NaN) for"
    return [f"{metric.name} {lacks} {count:,} of {among} in {run}." for metric, count in counts if count]


def judge_notes(metrics: Sequence[Metric], scores: Scores) -> list[str]:
    """What a judge's labels beside the gold would make of the values, one sentence a metric that they move."""
    notes: list[str] = []
    for metric in metrics if scores.with_judge else ():
        judged = judged_value(metric, scores)
        defined = [value for value in scores.values[metric.name] if value is not None]
        by_gold = metric.aggregate(defined) if defined else None
        if judged is None or judged.value is None or by_gold is None or judged.value == by_gold:
            continue
        gold_only = value_text(by_gold, metric.unit)
        both = value_text(judged.value, metric.unit)
        if judged.bound:
            notes.append(f"{metric.name} lies between {gold_only} (gold alone) and {both} (with the judge's labels).")
        else:
            notes.append(f"{metric.name} is {gold_only} by the gold alone, {both} with the judge's labels.")
    return notes


def judged_value(metric: Metric, scores: Scores) -> JudgedValue | None:
    """The metric with a judge's labels added to the gold's; None where the gold has none."""
    if metric.name not in scores.with_judge:
        return None
    defined = [value for value in scores.with_judge[metric.name] if value is not None]
    bound: Literal["upper"] | None = "upper" if metric.judge_bounds else None
    return JudgedValue(value=metric.aggregate(defined) if defined else None, n=len(defined), bound=bound)
