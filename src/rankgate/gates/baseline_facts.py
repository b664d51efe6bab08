"""What a report says because there is a baseline: what parts lost, what adds up, how old it is, what else differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rankgate.baselines.stores import same_file
from rankgate.diagnosis.causes import STALE
from rankgate.diagnosis.differences import gold_differences, run_differences
from rankgate.diagnosis.gold_set import gold_changes
from rankgate.diagnosis.movements import movements_to_list, with_displacers
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.lost_parts import unnamed_losses
from rankgate.gates.results import Changes
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.gate_result import GateResult
from rankgate.model.lineage import GoldMark
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
    differences = gold_differences(baseline.run.gold, mark)
    if not case.inputs.untrusted_run:  # of which nothing is read that it says of itself
        differences = [*run_differences(baseline.run.provenance, evaluation.run.run.provenance), *differences]
    changed = gold_changes(evaluation.gold, mark.fingerprint, baseline.run.gold)
    explanation = Explanation(gold_changes=changed, differences=differences)
    remarks = _remarks(case, baseline, evaluation.anchor, changes)
    return remarks, _losses(case, evaluation, baseline, results, changes), explanation


def _losses(
    case: Case, evaluation: Evaluation, baseline: ScoredRun, results: Sequence[GateResult], changes: Changes
) -> RunChanges:
    """The questions that changed most, the parts that lost and that no gate names already, and what adds up."""
    named = {(each.metric, each.segment) for each in results if each.verdict is not Verdict.PASS}
    lost_parts = unnamed_losses(case.criteria, evaluation.gold, evaluation.scores, baseline.scores)
    losses = RunChanges(
        misses=with_displacers(movements_to_list(changes.moved), *changes.plain, evaluation.scores.rank_summaries),
        lost_parts=[part for part in lost_parts if (part.metric, part.segment) not in named],
    )
    anchor = evaluation.anchor
    if anchor is None:
        return losses
    from rankgate.gates.anchor import given_up, in_steps, noted  # noqa: PLC0415 -- paid only where a store remembers runs

    adding = given_up(case.criteria.gates, evaluation.scores, anchor, results)
    return replace(losses, given_up=in_steps(adding, results), anchor=noted(anchor, adding))


def _remarks(case: Case, baseline: ScoredRun, anchor: ScoredAnchor | None, changes: Changes) -> Remarks:
    """What of the baseline and of the anchor makes a pass doubtful, or no pass, and what to know of them."""
    lineage, age = baseline.run.lineage, case.criteria.baseline.max_age
    warnings = [_STALE for finding in changes.findings if finding.rule == STALE]
    failures: list[str] = []
    notes: list[str] = []
    if lineage:
        aged = failures if age.severity == "error" else warnings
        aged += age_problems(lineage, age.days, age.commits)
        warnings += clock_problems(lineage, case.inputs.date)
        notes += filter(None, [lineage_note(lineage)])
    if lineage and lineage.packages:
        from rankgate.metrics.plugins import packages_of  # noqa: PLC0415 -- paid only where a package gave a metric

        warnings += package_problems(lineage, packages_of(case.criteria.metrics()))
    if anchor and anchor.problem:
        warnings.append(anchor_problem(anchor.mark, anchor.problem))
    if anchor and anchor.mark and anchor.passed_over:
        notes.append(passed_over_text(anchor.mark, anchor.passed_over))
    if _is_empty(baseline.scores):
        warnings.append(_EMPTY_BASELINE)
    if _is_the_run(case):
        warnings.append(_OWN_BASELINE)
    return Remarks(failures=failures, warnings=warnings, notes=notes)


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
