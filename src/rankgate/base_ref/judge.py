"""A check against a base: judged by what the pull request has and by what the base has; the stricter verdict decides.

Otherwise a pull request could lower the limit that it misses, or remove the questions that it loses.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.changes import (
    common,
    fitting,
    gate_changes,
    key_changes,
    musts_gone,
    query_changes,
    renamed_gates,
    values_move,
)
from rankgate.base_ref.files import FilesAtBase, files_at
from rankgate.base_ref.inputs import BaseInputs, Own, base_inputs
from rankgate.base_ref.stricter import reason_if_worse, stricter
from rankgate.criteria import Criteria, InputFile, find_criteria, load_criteria
from rankgate.criteria.inputs import Awaited, Inputs, Opener, accepted_run, baseline_of, gold_of, require_inputs, run_of
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.criteria.waivers import waivers_of
from rankgate.errors import Problem, RankgateError, bad_input, option
from rankgate.gates.apply_waivers import refusal, waive, waive_by_label
from rankgate.metrics.base import Metric
from rankgate.model.base_ref import BaseSide, GoldState, QueryChanges
from rankgate.model.report import Report
from rankgate.model.values import Gold, Need, Ranking
from rankgate.model.waiver_use import ACCEPT_GOLD, ACCEPT_RUN, SetLabel
from rankgate.readers.formats import read_gold
from rankgate.readers.source import STDIN, parts_of, shown_path

Judge = Callable[[Inputs, Criteria, Gold], Report]  # of one side


def check_with_base(inputs: Inputs, ref: str, judge: Judge) -> Report:
    """Judge a run by both sides; what it is compared with is the base's baseline either time.

    The head is the pull request's criteria and gold set, the base's are those of the base. Where that lets gold sets
    change, its own decides on the queries that both have; where a label accepts the new one, it does not decide.

    Raises:
        RankgateError: the run cannot be judged as the head or as the base asks, or git cannot read the base; the
            criteria are no file of the commit, or the run is a link.
    """
    with files_at(ref, inputs.tip) as files:
        own, base = _sides(inputs, files)
        case = _case(own, base, files, _by_judge_of_base(judge, own, base, files))
        _refuse_committed_verdicts(case)
        _refuse_values_by_other_labels(case)
        head, theirs = _head(case), _theirs(case)
        whole = _with_removed(case) if theirs and case.base.lenient else None
        side = _base_side(case, head, theirs, whole)
        judged = stricter(head.report, theirs.report if theirs else None, side, whole=whole, renamed=_renamed(case))
        judged = replace(judged, notes=[*judged.notes, *_refusals(case, side)])
        judged = waive(judged, case.base.waivers, inputs.date)
        if label := _label(inputs, case.base.waiver_label):
            judged = waive_by_label(judged, label, case.base.waiver_label)
        return _with_names(judged, own, files)


class ToJudge(msgspec.Struct, frozen=True):
    """What a judge is asked about for a check against a base: the base's criteria, and what both sides judge by."""

    criteria: Criteria
    block: JudgeBlock
    golds: list[Gold]
    metrics: list[Metric]
    run: InputFile | None


@contextmanager
def judging_at(inputs: Inputs, ref: str) -> Iterator[ToJudge]:
    """What to ask for `check_with_base`: the judge, its prompts and its budget are the base's.

    Beside the base's metrics and gold set count those of the pull request, by which it is checked too.

    Raises:
        RankgateError: as for `check_with_base`; or the base names no judge.
    """
    with files_at(ref, inputs.tip) as files:
        own, base = _sides(inputs, files)
        block = _judge_of_base(base, files)
        if base.criteria is None or block is None:
            raise bad_input(
                f"{files.commit.shown} names no judge; that of a pull request counts once it is merged", key="judge"
            )
        criteria = base.criteria.compared_with(base.baseline)
        metrics = {metric.name: metric for each in (base.criteria, own.criteria) for metric in each.metrics()}
        golds = [base.gold] if base.gold is own.gold else [base.gold, own.gold]
        yield ToJudge(criteria, block, golds, list(metrics.values()), _judged_run(own, base.criteria, files)[0])


class _Case(msgspec.Struct, frozen=True):
    """What is judged by what: `gold` is what the base's criteria judge by, None where that is nothing else.

    `moved` says that the run is the pull request's own, where the base's is absent; `label` is to accept the gold set.
    """

    own: Own
    base: BaseInputs
    files: FilesAtBase
    judge: Judge
    gold: Gold | None
    run: InputFile | None
    moved: bool
    label: SetLabel | None
    accepted: bool
    baseline: InputFile | None


class _Judged(msgspec.Struct, frozen=True):
    """What one side says, what could not be used for it, and whether that was the gold set of the base."""

    report: Report
    problems: tuple[Problem, ...] = ()
    gold_lost: bool = False


def _sides(inputs: Inputs, files: FilesAtBase) -> tuple[Own, BaseInputs]:
    path = inputs.criteria or find_criteria()
    if files.find_in_head(path) is None:
        raise bad_input(
            f"is no file of the commit; with {option('base')} only those count as criteria", file=shown_path(path)
        )
    criteria = load_criteria(path)
    waivers_of(criteria)  # they count once they are merged, but malformed ones must not get so far
    gold = gold_of(inputs.gold, criteria, untrusted=inputs.untrusted_run)
    own = Own(inputs=inputs, path=path, criteria=criteria, gold=gold)
    return own, base_inputs(own, files)


def _judge_of_base(base: BaseInputs, files: FilesAtBase) -> JudgeBlock | None:
    """The base's judge, with the prompts as the base has them."""
    block = base.judge
    if block is None or block.prompts is None:
        return block
    copy = files.find(block.prompts)
    if copy is None or copy == block.prompts:
        raise bad_input(
            "is no folder of the base; its prompts count as files of a commit", file=files.name(block.prompts)
        )
    return block.model_copy(update={"prompts": copy})


def _by_judge_of_base(judge: Judge, own: Own, base: BaseInputs, files: FilesAtBase) -> Judge:
    """Either side by the base's judge; where there is none, gates wait for that of the pull request to be merged."""
    block = _judge_of_base(base, files)
    if block is None:
        waits: Awaited | None = "merge" if own.criteria.judge else None
        return lambda inputs, criteria, gold: judge(replace(inputs, awaits=waits), criteria, gold)
    return lambda inputs, criteria, gold: judge(inputs, criteria.model_copy(update={"judge": block}), gold)


def _case(own: Own, base: BaseInputs, files: FilesAtBase, judge: Judge) -> _Case:
    label = _gold_label(own, files)
    accepted = _counts(label)
    theirs = common(base.gold, own.gold) if base.lenient else base.gold
    gold = own.gold if theirs is None or accepted else theirs
    same = base.criteria is None or (base.criteria is own.criteria and gold is own.gold)
    run, moved = _judged_run(own, base.criteria, files)
    require_inputs(replace(own.inputs, run=run), own.criteria)
    baseline = base.baseline
    if not same and not own.inputs.untrusted_run:  # what comes through a pipe is read twice; an untrusted run is not
        run, baseline = (file and replace(file, path=files.kept(file.path)) for file in (run, baseline))
    judged_by = None if same else gold
    return _Case(own, base, files, judge, judged_by, run, moved, label, accepted, baseline)


def _refuse_committed_verdicts(case: _Case) -> None:
    """What a judge said counts from the job that judges alone: a RankgateError where a commit has it."""
    judged_by = [each for each in (case.own.criteria, case.base.criteria) if each and each.judge]
    if not judged_by:
        return
    from rankgate.judge.runs import verdicts_beside  # noqa: PLC0415 -- paid only where answers are judged

    inputs = case.own.inputs
    runs = (inputs.run, case.run, *(each.inputs.run for each in judged_by))
    beside = (verdicts_beside(run.path) for run in runs if run)
    for path in (inputs.verdicts,) if inputs.verdicts else beside:  # beside a run none is read where one is named
        if case.files.find_in_head(path) is not None:
            which = f"with {option('base')} only verdicts of a `rankgate judge` in the same job count"
            raise bad_input(f"is a file of the commit; {which}", file=shown_path(path))


def _refuse_values_by_other_labels(case: _Case) -> None:
    """A table of values is by one gold set and one way to match: a RankgateError where the base has others."""
    own, base = case.own, case.base
    table = next((file for file in (case.run, case.baseline) if file and file.is_table), None)
    ways = {(each.match, each.default_k) for each in (base.criteria or own.criteria, own.criteria)}
    relabelled = bool(table) and not case.accepted and values_move(base.gold, own.gold)
    if table and (relabelled or len(ways) > 1):
        end = f", or accept the gold set by the label `{ACCEPT_GOLD}`" if relabelled else ""
        what = "labels of the gold set" if relabelled else "`match` or `default_k`"
        what = f"the pull request changes {what}, and this table has values by the one or by the other alone"
        raise bad_input(f"{what}; give --run and --baseline, judged by both{end}", file=shown_path(table.path))


def _gold_label(own: Own, files: FilesAtBase) -> SetLabel | None:
    """The label that accepts the gold set, which is that of the commit and no other that the job has made."""
    label = _label(own.inputs, ACCEPT_GOLD)
    named = own.inputs.gold or own.criteria.inputs.gold
    if label is None or named is None or not _counts(label):
        return label
    copy = files.find_in_head(named.path)
    same = copy is not None and read_gold(copy, named.format, named.map).samples == own.gold.samples
    return label if same else replace(label, standing="not the head's")


def _label(inputs: Inputs, name: str | None) -> SetLabel | None:
    return next((label for label in inputs.labels if label.name == name), None)


def _counts(label: SetLabel | None) -> bool:
    return label is not None and label.standing == "counts"


def _renamed(case: _Case) -> dict[str, str]:
    """New names of gates by their old ones; a name for which a waiver waits is another gate, which covers nothing."""
    if case.base.criteria is None:
        return {}
    waived = {waiver.gate for waiver in case.base.waivers.entries}
    renamed = renamed_gates(case.base.criteria, case.own.criteria)
    return {old: new for old, new in renamed.items() if new not in waived}


def _head(case: _Case) -> _Judged:
    own = case.own
    named = own.inputs.run or own.criteria.inputs.run
    inputs = own.inputs if case.run == named else replace(own.inputs, run=case.run)
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
        asked = f" (asked for by the criteria at {case.files.commit.shown})"
        asking = RankgateError([replace(each, message=each.message + asked) for each in error.problems])
        if case.gold is case.own.gold:
            raise asking from error
        try:  # ids and labels changed together: the old labels say nothing of this run, the old limits still do
            judged = _as_the_base_asks(case, case.own.gold)
        except RankgateError:
            raise asking from error
        return _Judged(judged.report, (*case.files.problems(error), *judged.problems), gold_lost=True)


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
    return _judged(case, replace(case.own.inputs, gold=None, run=case.run, details=None), fitting(criteria, gold), gold)


def _judged(case: _Case, inputs: Inputs, criteria: Criteria, gold: Gold) -> _Judged:
    """With the base's baseline, or without one where that cannot be used: a pull request must be able to fix it."""
    inputs, criteria = replace(inputs, baseline=None), criteria.compared_with(case.baseline)
    try:
        return _Judged(case.judge(inputs, criteria, gold))
    except RankgateError as error:
        folder, files = case.baseline.path if case.baseline else None, [problem.file for problem in error.problems]
        if folder is None or not all(file is not None and Path(file).is_relative_to(folder) for file in files):
            raise
        report = case.judge(inputs, criteria.compared_with(None), gold)
        return _Judged(report, tuple(case.files.problems(error)))


def _refusals(case: _Case, side: BaseSide) -> list[str]:
    """Why labels that would have accepted something do not."""
    gold = refusal(case.label, "accepts the gold set") if side.queries or side.gold else None
    run = refusal(_label(case.own.inputs, ACCEPT_RUN), "accepts another run") if case.moved else None
    return list(filter(None, (gold, run)))


def _base_side(case: _Case, head: _Judged, theirs: _Judged | None, whole: Report | None) -> BaseSide:
    own, base = case.own, case.base
    criteria = base.criteria or own.criteria
    by_base = theirs.report if theirs else None
    problems = [*base.problems, *head.problems, *(theirs.problems if theirs else ())]
    queries = None if base.gold is own.gold else query_changes(base.gold, own.gold)
    strict = "fail" in (criteria.gold_changes, own.criteria.gold_changes) and not case.accepted
    if theirs and not theirs.gold_lost and case.gold is base.gold:
        whole = by_base
    asking = [each for each in (own.criteria, criteria) if Need.SCORES in each.plan().needs]
    numbers = [each.inputs.scores for each in asking if each.inputs.scores]
    numbers += parts_of(case.run.path) if case.run and case.run.is_table else []
    copy = own.baseline if base.baseline_changed in ("added", "replaced") else None
    stored = partial(baseline_of, copy, None) if copy and Path(copy.path).is_dir() else None
    return BaseSide(
        ref=case.files.commit.ref,
        sha=case.files.commit.sha,
        head_verdict=head.report.verdict,
        base_verdict=by_base.verdict if by_base else None,
        introduced=base.criteria is None and not base.elsewhere,
        elsewhere=list(base.elsewhere),
        gates=gate_changes(criteria, own.criteria),
        keys=key_changes(criteria, own.criteria),
        queries=queries and _with_reason(queries, head.report, by_base, whole),
        gold_changes="fail" if strict else "warn",
        baseline_changed=base.baseline_changed,
        baseline_is_this_run=_same_rankings(stored, case.run, untrusted=own.inputs.untrusted_run),
        acceptances_changed=base.acceptances.change,
        anchor=base.acceptances.anchor,
        waivers_changed=base.waivers_changed,
        gold=_gold_state(case, theirs, queries),
        run_moved=(case.moved and ("accepted" if _counts(_label(own.inputs, ACCEPT_RUN)) else "refused")) or None,
        run_copied=_copied(case, head.report),
        scores_brought=any(map(case.files.brought, numbers)),
        problems=list(dict.fromkeys(problems)),
    )


def _gold_state(case: _Case, theirs: _Judged | None, queries: QueryChanges | None) -> GoldState | None:
    """Whether a maintainer has to accept the gold set, or has; and else whether the job made it."""
    base = case.base
    states: dict[GoldState, bool] = {
        "absent": base.gold_unknown == "absent",
        "ids": theirs is not None and theirs.gold_lost,
        "must_pass": bool(queries and base.criteria and musts_gone(base.criteria, base.gold, case.own.gold)),
    }
    refused = None if base.lenient else next((state for state, holds in states.items() if holds), None)
    if case.accepted and (queries or refused):
        return "accepted"
    return refused or ("supplied" if base.gold_unknown == "supplied" else None)


def _copied(case: _Case, head: Report) -> Literal["job", "commit"] | None:
    """Who supplied rankings that are the baseline's; where documents moved the two are not read once more."""
    inputs, criteria, run = case.own.inputs, case.own.criteria.compared_with(case.baseline), case.run
    moved = head.moved is not None and head.moved.worse + head.moved.better > 0
    if run is None or case.baseline is None or case.baseline.path == STDIN or moved:
        return None
    stored = partial(accepted_run, replace(inputs, baseline=None), criteria, frozenset(), 0)
    if not _same_rankings(stored, run, untrusted=inputs.untrusted_run):
        return None
    return "commit" if case.files.brought(run.path) else "job"


def _judged_run(own: Own, criteria: Criteria | None, files: FilesAtBase) -> tuple[InputFile | None, bool]:
    """The run, and whether it is the pull request's own in place of one that the base names and that is absent.

    What the caller names decides; else what the base's criteria name, with its format and map.
    """
    mine, theirs = own.criteria.inputs.run, (criteria or own.criteria).inputs.run
    moved = own.inputs.run is None and mine is not None and mine != theirs
    moved = moved and (theirs is None or not os.path.lexists(theirs.path))
    run = own.inputs.run or (mine if moved else theirs)
    if run is not None:
        scores = {own.criteria.inputs.scores, criteria and criteria.inputs.scores} - {None}
        for path in (*parts_of(run.path), *map(str, scores)):
            files.refuse_link(path)
    return run, moved


def _same_rankings(stored: Opener | None, run: InputFile | None, *, untrusted: bool = False) -> bool | None:
    """Whether a run holds the rankings of a stored one, to the depth of that, and perhaps those of more queries.

    None where nothing is stored, or one of the two cannot be read again.
    """
    if stored is None or run is None or not Path(run.path).is_file():
        return None
    try:
        before = stored()
        if before is None:
            return None
        lists, known = _marked(before.rankings, before.depth)
        return _marked(run_of(run, None, untrusted=untrusted).rankings, before.depth, known) == (lists, known)
    except RankgateError:  # what is wrong with the run is said where it is judged; with a copy, where it counts
        return None


def _marked(rankings: Iterable[Ranking], depth: int | None, known: set[str] | None = None) -> tuple[int, set[str]]:
    """One number for all lists of the known queries, in any order, and the queries; there may be millions of lists."""
    encode = msgspec.json.Encoder().encode
    total, queries = 0, set[str]()
    for ranking in rankings:
        if known is None or ranking.query_id in known:
            text = encode((ranking.query_id, ranking.ids[:depth]))
            total += int.from_bytes(hashlib.sha256(text).digest())
            queries.add(ranking.query_id)
    return total, queries


def _with_reason(queries: QueryChanges, head: Report, by_base: Report | None, whole: Report | None) -> QueryChanges:
    """The changes with what the removed queries would have made of the verdict, as far as the run answers them."""
    if by_base is None or whole is None or by_base.queries is None or whole.queries is None:
        return queries
    unanswered = min(whole.queries.missing - by_base.queries.missing, queries.removed)
    queries = replace(queries, removed_unanswered=unanswered)
    if unanswered == queries.removed:
        return queries
    reason = reason_if_worse(whole, head, *([] if whole is by_base else [by_base]))
    return replace(queries, verdict_with_removed=whole.verdict, judged_with_removed=reason)


def _with_names(report: Report, own: Own, files: FilesAtBase) -> Report:
    """The report with names in place of the copies' paths, and the command that repeats this check."""
    old = report.provenance
    run, baseline = (source and replace(source, path=files.told(source.path)) for source in (old.run, old.baseline))
    command = [files.typed(word) for word in old.command]
    if (named := own.inputs.baseline) and not {"--baseline", "--baseline-per-query"} & {*command}:
        command += ["--baseline-per-query" if named.is_table else "--baseline", named.path]
    command += ["--base", files.commit.ref]
    return replace(report, provenance=replace(old, run=run, baseline=baseline, command=command))
