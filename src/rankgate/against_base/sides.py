"""A check against a base: judged by what the pull request has and by what the base has; the stricter verdict decides.

Otherwise a pull request could lower the limit that it misses, or remove the questions that it loses.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rankgate.against_base.criteria_changes import gate_changes, key_changes, renamed_gates
from rankgate.against_base.files import FilesAtBase, files_at
from rankgate.against_base.inputs import BaseInputs, Own, base_inputs
from rankgate.against_base.own_baseline import is_this_run
from rankgate.against_base.queries import common, fitting, query_changes
from rankgate.against_base.stricter import reason_if_worse, stricter
from rankgate.base_side import BaseSide, QueryChanges
from rankgate.criteria import Criteria, InputFile, find_criteria, load_criteria
from rankgate.errors import Problem, RankgateError
from rankgate.inputs import Inputs, gold_of, refuse_nothing
from rankgate.model import Gold
from rankgate.report import Report
from rankgate.staleness import GOLD_STALE
from rankgate.waivers import waivers_of
from rankgate.waiving import waive, waive_by_label

# Judges one side.
Judge = Callable[[Inputs, Criteria, Gold], Report]


def check_both(inputs: Inputs, ref: str, judge: Judge) -> Report:
    """Judge a run by both sides.

    The head is the pull request's criteria and gold set. The base's are those of the base, on the queries that both
    gold sets have. What the run is compared with on both sides is the base's baseline.

    Args:
        inputs: what the caller names.
        ref: names the base.
        judge: judges one side.

    Raises:
        RankgateError: the run cannot be judged as the head or as the base asks, or git cannot read the base.
    """
    path = inputs.criteria or find_criteria()
    criteria = load_criteria(path)
    refuse_nothing(inputs, criteria)
    waivers_of(criteria)  # they count once they are merged, but malformed ones must not get so far
    gold = gold_of(inputs.gold, criteria, untrusted=inputs.untrusted_run)
    own = Own(inputs=inputs, path=path, criteria=criteria, gold=gold)
    with files_at(ref) as files:
        case = _case(own, base_inputs(own, files), files, judge)
        head = _head(case)
        theirs = _theirs(case)
        whole = _with_removed(case) if theirs else None
        by_base = theirs.report if theirs else None
        said = _said(case, head, theirs, whole)
        judged = stricter(head.report, by_base, said, whole=whole, renamed=_renamed(case))
        return _told(_waived(judged, inputs, case.base), own, files)


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    """What is judged by what: `gold` is what the base's criteria judge by, None where that is nothing else."""

    own: Own
    base: BaseInputs
    files: FilesAtBase
    judge: Judge
    gold: Gold | None
    run: InputFile | None
    baseline: InputFile | None


class _Judged(msgspec.Struct, frozen=True):
    """What one side says, and what could not be used for it."""

    report: Report
    problems: tuple[Problem, ...] = ()


def _case(own: Own, base: BaseInputs, files: FilesAtBase, judge: Judge) -> _Case:
    gold = common(base.gold, own.gold) or own.gold
    same = base.criteria is None or (base.criteria is own.criteria and gold is own.gold)
    run, baseline = own.inputs.run or own.criteria.run, base.baseline
    if not same and not own.inputs.untrusted_run:  # what comes through a pipe is read twice; a stranger's never does
        run, baseline = (file and replace(file, path=files.kept(file.path)) for file in (run, baseline))
    return _Case(own=own, base=base, files=files, judge=judge, gold=None if same else gold, run=run, baseline=baseline)


def _renamed(case: _Case) -> dict[str, str]:
    """New names of gates by their old ones; a name for which a waiver waits is another gate, which covers nothing."""
    if case.base.criteria is None:
        return {}
    waived = {waiver.gate for waiver in case.base.waivers.waivers.entries}
    renamed = renamed_gates(case.base.criteria, case.own.criteria)
    return {old: new for old, new in renamed.items() if new not in waived}


def _head(case: _Case) -> _Judged:
    """By the pull request's criteria and gold set."""
    own = case.own
    inputs = replace(own.inputs, run=case.run) if case.gold else own.inputs
    if case.baseline == own.baseline:  # as it is without a base, errors and all
        return _Judged(case.judge(inputs, own.criteria, own.gold))
    return _judged(case, inputs, own.criteria, own.gold)


def _theirs(case: _Case) -> _Judged | None:
    """As the base asks; None where that is nothing else."""
    if case.gold is None or case.base.criteria is None:
        return None
    try:
        return _as_the_base_asks(case, case.gold)
    except RankgateError as error:
        stale = any(problem.message.startswith(GOLD_STALE) for problem in error.problems)
        if not stale or case.gold is case.own.gold:
            raise RankgateError([_asked_by_base(problem, case.files) for problem in error.problems]) from error
        # Ids and labels changed together: the old labels say nothing of this run, the old limits still do.
        found = _as_the_base_asks(case, case.own.gold)
        return _Judged(found.report, (*case.files.problems(error), *found.problems))


def _with_removed(case: _Case) -> Report | None:
    """As the base asks, on all queries of its gold set; None where the pull request has them all."""
    if case.base.gold.samples.keys() <= case.own.gold.samples.keys():
        return None
    try:
        return _as_the_base_asks(case, case.base.gold).report
    except RankgateError:  # what it would have been is for information only
        return None


def _as_the_base_asks(case: _Case, gold: Gold) -> _Judged:
    criteria = case.base.criteria or case.own.criteria
    return _judged(case, replace(case.own.inputs, gold=None, run=case.run, exhibit=None), fitting(criteria, gold), gold)


def _judged(case: _Case, inputs: Inputs, criteria: Criteria, gold: Gold) -> _Judged:
    """With the base's baseline, or without one where that cannot be used: a pull request must be able to mend it."""
    inputs, criteria = replace(inputs, baseline=None), replace(criteria, baseline=case.baseline)
    try:
        return _Judged(case.judge(inputs, criteria, gold))
    except RankgateError as error:
        if case.baseline is None or not all(_within(problem.file, case.baseline.path) for problem in error.problems):
            raise
        report = case.judge(inputs, replace(criteria, baseline=None), gold)
        return _Judged(report, tuple(case.files.problems(error)))


def _within(file: str | None, folder: str) -> bool:
    return file is not None and Path(file).is_relative_to(folder)


def _asked_by_base(problem: Problem, files: FilesAtBase) -> Problem:
    return replace(problem, message=f"{problem.message} (asked for by the criteria at {files.commit.shown})")


def _waived(report: Report, inputs: Inputs, base: BaseInputs) -> Report:
    """With the violations that the base waives, or that a label which the base allows waives for this commit."""
    found = waive(report, base.waivers.waivers, inputs.date)
    return waive_by_label(found, inputs.label, base.waivers.label) if inputs.label else found


def _said(case: _Case, head: _Judged, theirs: _Judged | None, whole: Report | None) -> BaseSide:
    """What the report says of the base."""
    own, base = case.own, case.base
    criteria = base.criteria or own.criteria
    by_base = theirs.report if theirs else None
    problems = [*base.problems, *head.problems, *(theirs.problems if theirs else ())]
    queries = None if base.gold is own.gold else query_changes(base.gold, own.gold)
    return BaseSide(
        ref=case.files.commit.ref,
        sha=case.files.commit.sha,
        head_verdict=head.report.verdict,
        base_verdict=by_base.verdict if by_base else None,
        introduced=base.criteria is None,
        gates=gate_changes(criteria, own.criteria),
        keys=key_changes(criteria, own.criteria),
        queries=queries and _with_reason(queries, head.report, by_base, whole),
        gold_changes="fail" if "fail" in (criteria.gold_changes, own.criteria.gold_changes) else "warn",
        baseline_changed=base.baseline_changed,
        baseline_is_this_run=is_this_run(replace(own.inputs, run=case.run), own.criteria, own.baseline)
        if base.baseline_changed in ("added", "replaced")
        else None,
        waivers_changed=base.waivers.changed,
        problems=list(dict.fromkeys(problems)),
    )


def _with_reason(queries: QueryChanges, head: Report, by_base: Report | None, whole: Report | None) -> QueryChanges:
    """The changes with what the removed queries would have made of the verdict, as far as the run answers them."""
    if by_base is None or whole is None or by_base.queries is None or whole.queries is None:
        return queries
    unanswered = min(whole.queries.missing - by_base.queries.missing, queries.removed)
    if unanswered == queries.removed:
        return replace(queries, removed_unanswered=unanswered)
    return replace(
        queries,
        removed_unanswered=unanswered,
        verdict_with_removed=whole.verdict,
        judged_with_removed=reason_if_worse(whole, head, by_base),
    )


def _told(report: Report, own: Own, files: FilesAtBase) -> Report:
    """The report with names in place of the copies' paths, and the command that repeats this check."""
    made = report.provenance
    run, baseline = (source and replace(source, path=files.told(source.path)) for source in (made.run, made.baseline))
    command = [files.typed(word) for word in made.command]
    if own.inputs.baseline and "--baseline" not in command:
        command += ["--baseline", own.inputs.baseline.path]
    command += ["--base", files.commit.ref]
    return replace(report, provenance=replace(made, run=run, baseline=baseline, command=command))
