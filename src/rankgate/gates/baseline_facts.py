"""What a report says because there is a baseline: what parts lost, what adds up, how old it is, what else differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rankgate.baselines.stores import same_file
from rankgate.criteria.inputs import Inputs
from rankgate.diagnosis.causes import STALE
from rankgate.diagnosis.differences import gold_differences, run_differences
from rankgate.diagnosis.gold_set import gold_changes
from rankgate.diagnosis.movements import movements_to_list, with_displacers
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.lost_parts import unnamed_losses
from rankgate.gates.results import Changes
from rankgate.metrics.plugins import packages_of
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.conclusion import GivenUp, PartLoss
from rankgate.model.gate_result import GateResult
from rankgate.model.lineage import AnchorMark, Difference, GoldMark, Lineage
from rankgate.model.remarks import (
    age_problems,
    anchor_problem,
    clock_problems,
    lineage_note,
    package_problems,
    passed_over_text,
)
from rankgate.model.report import Explanation, Remarks, RunChanges
from rankgate.model.scores import Scores
from rankgate.model.values import Verdict
from rankgate.readers.base import Run

if TYPE_CHECKING:
    from rankgate.gates.anchor import ScoredAnchor

_EMPTY_BASELINE = (
    "the baseline is empty: no question got a result there, so that no loss can show; accept a run that has some"
)
_OWN_BASELINE = "the baseline is the run itself, so that no loss can show; name a run that was accepted"
_STALE = (
    "the gold set is partly stale: relevant ids that the baseline found are in no list any more, and ids that it never "
    "returned stand in their place; map the gold set to the new ids, or gate by document with `match: doc`"
)


def facts_of(
    case: Case,
    evaluation: Evaluation,
    baseline: ScoredRun,
    results: Sequence[GateResult],
    changes: Changes,
    mark: GoldMark,
) -> tuple[Remarks, RunChanges, Explanation]:
    """Of an evaluation that has this baseline; `mark` is what the gold set is now."""
    anchor = evaluation.anchor
    lineage, age = baseline.run.lineage, case.criteria.baseline.max_age
    losses: list[GivenUp] = []
    noted_anchor: AnchorMark | None = None
    if anchor:
        from rankgate.gates.anchor import given_up, in_steps, noted  # noqa: PLC0415 -- paid only where a store remembers runs

        adding = given_up(case.criteria.gates, evaluation.scores, anchor, results)
        losses = in_steps(adding, results)
        noted_anchor = noted(anchor, adding)
    stale = [_STALE for finding in changes.findings if finding.rule == STALE]
    aged = age_problems(lineage, age.days, age.commits) if lineage else []
    warnings = _warnings(case, baseline, anchor)
    remarks = Remarks(warnings=[*stale, *aged, *warnings], notes=_notes(lineage, anchor))
    if age.severity == "error":
        remarks = replace(remarks, failures=aged, warnings=[*stale, *warnings])
    lost = RunChanges(
        misses=with_displacers(movements_to_list(changes.moved), *changes.plain, evaluation.scores.rank_summaries),
        lost_parts=_lost_parts(case, evaluation, results, baseline.scores),
        given_up=losses,
        anchor=noted_anchor,
    )
    explanation = Explanation(
        gold_changes=gold_changes(evaluation.gold, mark.fingerprint, baseline.run.gold),
        differences=_differences(case.inputs, mark, evaluation.run.run, baseline.run),
    )
    return remarks, lost, explanation


def _lost_parts(
    case: Case, evaluation: Evaluation, results: Sequence[GateResult], baseline_scores: Scores
) -> list[PartLoss]:
    """The parts that lost and that no gate names already."""
    named = {(each.metric, each.segment) for each in results if each.verdict is not Verdict.PASS}
    losses = unnamed_losses(case.criteria, evaluation.gold, evaluation.scores, baseline_scores)
    return [part for part in losses if (part.metric, part.segment) not in named]


def _warnings(case: Case, baseline: ScoredRun, anchor: ScoredAnchor | None) -> list[str]:
    """What of the baseline and of the anchor makes a pass doubtful."""
    lineage = baseline.run.lineage
    warnings: list[str] = []
    if lineage:
        warnings += clock_problems(lineage, case.inputs.date)
    if lineage and lineage.packages:
        warnings += package_problems(lineage, packages_of(case.criteria.metrics()))
    if anchor and anchor.problem:
        warnings.append(anchor_problem(anchor.mark, anchor.problem))
    if _is_empty(baseline.scores):
        warnings.append(_EMPTY_BASELINE)
    if _is_the_run(case):
        warnings.append(_OWN_BASELINE)
    return warnings


def _is_the_run(case: Case) -> bool:
    """Whether the baseline is the very file of the run, of which no map selects another part."""
    run = case.inputs.run or case.criteria.inputs.run
    baseline = case.inputs.baseline or case.criteria.inputs.baseline
    if run is None or baseline is None or not (run.is_file and baseline.is_file):
        return False
    return run.map == baseline.map and same_file(run.path, baseline.path)


def _is_empty(scores: Scores) -> bool:
    """Whether a run with lists, of questions that it was asked, has not one result."""
    if not scores.rank_summaries:
        return len(scores.new_queries) < len(scores.missing) == len(scores.query_ids)
    return scores.listed and not any(each.retrieved for each in scores.rank_summaries.values())


def _notes(lineage: Lineage | None, anchor: ScoredAnchor | None) -> list[str]:
    notes: list[str] = []
    if lineage and (note := lineage_note(lineage)):
        notes.append(note)
    if anchor and anchor.mark and anchor.passed_over:
        notes.append(passed_over_text(anchor.mark, anchor.passed_over))
    return notes


def _differences(inputs: Inputs, gold: GoldMark, run: Run, baseline: Run) -> list[Difference]:
    """What differs; nothing is read of what an untrusted run says of itself, so that it cannot be compared."""
    of_runs = [] if inputs.untrusted_run else run_differences(baseline.provenance, run.provenance)
    return [*of_runs, *gold_differences(baseline.gold, gold)]
