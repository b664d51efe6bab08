"""A check against a base: the base's files judge the run, and so do the pull request's own; the worst of both counts.

Otherwise a pull request could lower the limit that it misses, or remove the questions that it loses.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.changes import (
    gate_changes,
    key_changes,
    moved_toward,
    query_changes,
    values_move,
    waiver_changes,
)
from rankgate.base_ref.files import FilesAtBase, files_at
from rankgate.base_ref.inputs import (
    Gate,
    Shared,
    acceptances,
    base_baseline,
    base_criteria,
    base_gate,
    baseline_change,
    head_baseline,
    head_gate,
    shared_with,
)
from rankgate.base_ref.worst import worst_of
from rankgate.criteria import Criteria, InputFile
from rankgate.criteria.inputs import Inputs, baseline_of, run_of
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.criteria.run_code import with_code
from rankgate.errors import Problem, RankgateError, bad_input, option
from rankgate.files.git import GitError
from rankgate.gates.apply_waivers import refusal, waive
from rankgate.gates.compose import not_judged
from rankgate.metrics.base import Metric
from rankgate.metrics.matching import By
from rankgate.model.base_ref import BaseSide
from rankgate.model.report import Report
from rankgate.model.values import Gold, Need, Ranking, Verdict
from rankgate.model.waiver_use import ACCEPT_CHANGE
from rankgate.readers.source import STDIN, parts_of, shown_path

Judge = Callable[[Inputs, Criteria, Gold], Report]  # of one side


def check_with_base(inputs: Inputs, ref: str, judge: Judge) -> Report:
    """Judge a run by the base's files and by the pull request's own; what cannot be judged by either blocks.

    Where the label stands on the pull request, and counts, its own files judge alone, and warn at least.

    Raises:
        RankgateError: git cannot read the base, or the base is stale; the commit brings what a judge said.
    """
    with files_at(ref, inputs.tip) as files:
        files.refuse_head()
        label = next((label for label in inputs.labels if label.name == ACCEPT_CHANGE), None)
        accepted = label is not None and label.standing == "counts"
        base = _base(inputs, files)
        if base.shared is not None and not inputs.untrusted_run:
            base = replace(base, shared=_kept(base.shared, files))  # what comes through a pipe is read twice
        head = _head(inputs, base, files)
        shared = _shared(inputs, base, head, files, accepted=accepted)
        head = head if accepted else _without_other_labels(base.gate, head, shared)
        _refuse_committed_verdicts(inputs, [base, head], files)
        once = base.gate is not None and head.gate is not None and _same(base.gate, head.gate)
        asked = replace(inputs, gold=None, run=None, baseline=None)
        by_base = None if once or base.introduced else _judged(asked, base, base.shared, judge, files)
        by_head = _judged(asked, head, shared, judge, files)
        side = _side(_Case(inputs=inputs, base=base, head=head, shared=shared), judge, files)
        side = replace(side, head_verdict=by_head.verdict, accepted_by=label.by if label and accepted else None)
        report = worst_of(by_base, by_head, side)
        if note := refusal(label, "lets a pull request's own files judge alone"):
            report = replace(report, notes=[*report.notes, note])
        return _with_names(report, inputs, shared, head.gate or base.gate, files)


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
        RankgateError: as for `check_with_base`; or the base cannot be read, or names no judge.
    """
    with files_at(ref, inputs.tip) as files:
        files.refuse_head()
        base = _base(inputs, files)
        head = _head(inputs, base, files)
        if base.problems or head.problems:
            raise RankgateError([*base.problems, *head.problems])
        if base.gate is None or base.shared is None or base.shared.judge is None:
            raise bad_input(
                f"{files.commit.shown} names no judge; that of a pull request counts once it is merged", key="judge"
            )
        gates = [base.gate, *([head.gate] if head.gate else [])]
        metrics = {metric.name: metric for gate in gates for metric in gate.criteria.metrics()}
        golds = [gate.gold for gate in gates]
        criteria = base.shared.given_to(base.gate.criteria)
        yield ToJudge(criteria, base.shared.judge, golds, list(metrics.values()), base.shared.run)


class _Side(msgspec.Struct, frozen=True, kw_only=True):
    """What one commit judges by, or why it cannot; `shared` is of the base alone."""

    gate: Gate | None = None
    shared: Shared | None = None
    problems: list[Problem] = []
    introduced: bool = False


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    """Both sides, and what they are judged with."""

    inputs: Inputs
    base: _Side
    head: _Side
    shared: Shared | None


def _base(inputs: Inputs, files: FilesAtBase) -> _Side:
    """Made first, of the base's files and the caller's alone."""
    try:
        criteria = base_criteria(inputs, files)
        if criteria is None:
            return _Side(introduced=True)
        gate = base_gate(inputs, criteria, files)
        baseline = base_baseline(inputs, criteria, files)
        return _Side(gate=gate, shared=shared_with(inputs, criteria, baseline, files))
    except GitError:
        raise
    except RankgateError as error:
        return _Side(problems=files.problems(error))


def _head(inputs: Inputs, base: _Side, files: FilesAtBase) -> _Side:
    try:
        return _Side(gate=head_gate(inputs, base.gate, files))
    except GitError:
        raise
    except RankgateError as error:
        return _Side(problems=files.problems(error))


def _shared(inputs: Inputs, base: _Side, head: _Side, files: FilesAtBase, *, accepted: bool) -> Shared | None:
    """The base's; the pull request's own where there is no base, or where a label lets it stand in for what is gone."""
    shared = base.shared
    waits = head.gate is not None and head.gate.criteria.judge is not None and (shared is None or shared.judge is None)
    if shared is not None:
        shared = replace(shared, awaits="merge" if waits else None)
    if head.gate is None or not (base.introduced or accepted):
        return shared
    criteria = head.gate.criteria
    own = Shared(
        run=inputs.run or criteria.inputs.run,
        scores=criteria.inputs.scores,
        baseline=head_baseline(inputs, criteria, files),
        judge=None,
        awaits="merge" if waits else None,
        fork_runs="untrusted" if base.problems else criteria.fork_runs,
    )
    if shared is None:
        return own
    gone = shared.run is not None and inputs.run is None and not os.path.lexists(shared.run.path)
    baseline = None if _is_run(own.baseline, shared, inputs) else shared.baseline
    return replace(shared, run=own.run if gone else shared.run, baseline=baseline)


def _kept(shared: Shared, files: FilesAtBase) -> Shared:
    run, baseline = shared.run, shared.baseline
    return replace(
        shared,
        run=run and replace(run, path=files.kept(run.path)),
        baseline=baseline and replace(baseline, path=files.kept(baseline.path)),
    )


def _same(base: Gate, head: Gate) -> bool:
    """Whether both would say the same."""
    criteria = base.criteria.model_copy(update={"name": head.criteria.name}) == head.criteria
    return criteria and base.waivers.entries == head.waivers.entries and base.gold.samples == head.gold.samples


def _judged(inputs: Inputs, side: _Side, shared: Shared | None, judge: Judge, files: FilesAtBase) -> Report:
    if side.gate is None or shared is None:
        problems = side.problems or [Problem("the base's files cannot judge, and so nothing says which run to judge")]
        return not_judged(inputs, problems)
    inputs = replace(inputs, awaits=shared.awaits or inputs.awaits)
    try:
        report = judge(inputs, shared.given_to(side.gate.criteria), side.gate.gold)
    except GitError:
        raise
    except RankgateError as error:
        return not_judged(replace(inputs, run=shared.run, baseline=shared.baseline), files.problems(error))
    return waive(report, side.gate.waivers, inputs.date)


def _side(case: _Case, judge: Judge, files: FilesAtBase) -> BaseSide:
    """What the pull request changed of the gate, as values."""
    about = BaseSide(
        ref=files.commit.ref, sha=files.commit.sha, head_verdict=Verdict.PASS, introduced=case.base.introduced
    )
    base, head, shared = case.base.gate, case.head.gate, case.base.shared
    if base is None or head is None or shared is None:
        return about
    queries = query_changes(base.gold, head.gold, base.criteria, head.criteria)
    by_ids = {gate.criteria.match.by for gate in (base, head)} == {By.CHUNK}
    lists = _rankings(shared.run, case.inputs) if queries and queries.relabelled and by_ids else None
    if queries and lists is not None:
        queries = replace(queries, toward=moved_toward(lists, base.gold, head.gold))
    brought = head_baseline(case.inputs, head.criteria, files)
    changed = baseline_change(shared.baseline, brought)
    log, anchor = acceptances(shared.baseline, brought) if changed in ("replaced", "deleted") else (None, None)
    is_new = brought is not None and changed in ("added", "replaced")
    return replace(
        about,
        gates=gate_changes(base.criteria, head.criteria),
        keys=key_changes(base.criteria, head.criteria),
        waivers=waiver_changes(base.waivers, head.waivers),
        queries=queries,
        baseline_changed=changed,
        baseline_verdict=_verdict_of(brought, case, judge, files) if brought and is_new else None,
        acceptances_changed=log,
        anchor=anchor,
        gold_supplied=base.supplied,
        values_brought=_brings_values(base, head, shared, files),
        run_brought=shared.run is not None and not shared.run.is_table and files.brought(shared.run.path) is not None,
    )


def _verdict_of(brought: InputFile, case: _Case, judge: Judge, files: FilesAtBase) -> Verdict | None:
    """How the base's files judge the run that the pull request brings as a baseline, as `accept` would.

    None where it is the run that is judged anyway, or lies in a store elsewhere.
    """
    shared = case.shared
    if shared is None or not Path(brought.path).exists() or brought.is_table or _is_run(brought, shared, case.inputs):
        return None
    stored = replace(shared, run=InputFile(brought.path, held=partial(_stored, brought)))
    asked = replace(case.inputs, gold=None, run=None, baseline=None, details=None, untrusted_run=False)
    return _judged(asked, case.base, stored, judge, files).verdict


def _stored(brought: InputFile, needs: frozenset[Need], criteria: Criteria | None) -> object:
    return baseline_of(brought, criteria, needs)


def _rankings(run: InputFile | None, inputs: Inputs) -> Iterable[Ranking] | None:
    """The lists of the run, read once more; None of values in their place, or where they cannot be read."""
    if run is None or run.is_table or run.path == STDIN or not Path(run.path).is_file():
        return None
    try:
        return list(run_of(run, None, untrusted=inputs.untrusted_run).rankings)
    except RankgateError:  # what is wrong with the run is said where it is judged
        return None


def _is_run(stored: InputFile | None, shared: Shared, inputs: Inputs) -> bool:
    """Whether a stored run has the rankings that are judged, to the depth of that."""
    if stored is None or not Path(stored.path).exists():
        return False
    lists = _rankings(shared.run, inputs)
    try:
        opened = baseline_of(stored, None)
        if opened is None or lists is None:
            return False
        return _digest(opened.rankings, opened.depth) == _digest(lists, opened.depth)
    except RankgateError:  # with what is wrong with it nothing is accepted
        return False


def _digest(rankings: Iterable[Ranking], depth: int | None) -> int:
    """One number for all lists, in any order; there may be millions."""
    encode = msgspec.json.Encoder().encode
    lists = (encode((ranking.query_id, ranking.ids[:depth])) for ranking in rankings)
    return sum(int.from_bytes(hashlib.sha256(each).digest()) for each in lists)


def _brings_values(base: Gate, head: Gate, shared: Shared, files: FilesAtBase) -> bool:
    """Whether the pull request changes files of values that a gate reads."""
    reads = any(Need.SCORES in gate.criteria.plan().needs for gate in (base, head))
    paths = [path for path in (shared.scores, head.criteria.inputs.scores) if path and reads]
    paths += parts_of(shared.run.path) if shared.run and shared.run.is_table else []
    return any(files.brought(path) for path in paths)


def _refuse_committed_verdicts(inputs: Inputs, sides: Iterable[_Side], files: FilesAtBase) -> None:
    """What a judge said counts from the job that judges alone: a RankgateError where a commit has it."""
    criteria = [side.gate.criteria for side in sides if side.gate and side.gate.criteria.judge]
    if not criteria:
        return
    from rankgate.judge.runs import verdicts_beside  # noqa: PLC0415 -- paid only where answers are judged

    runs = [inputs.run, *(each.inputs.run for each in criteria)]
    beside = [verdicts_beside(run.path) for run in runs if run]
    for path in [inputs.verdicts] if inputs.verdicts else beside:  # beside a run none is read where one is named
        if files.find_in_head(path) is not None:
            which = f"with {option('base')} only verdicts of a `rankgate judge` in the same job count"
            raise bad_input(f"is a file of the commit; {which}", file=shown_path(path))


def _without_other_labels(base: Gate | None, head: _Side, shared: Shared | None) -> _Side:
    """A table of values is by one gold set and one way to match: a head that has others cannot be judged by it."""
    if base is None or head.gate is None or shared is None:
        return head
    table = next((file for file in (shared.run, shared.baseline) if file and file.is_table), None)
    ways = {(gate.criteria.match, gate.criteria.default_k) for gate in (base, head.gate)}
    relabelled = bool(table) and values_move(base.gold, head.gate.gold)
    if table and (relabelled or len(ways) > 1):
        what = "labels of the gold set" if relabelled else "`match` or `default_k`"
        what = f"the pull request changes {what}, and this table has values by the one or by the other alone"
        return _Side(problems=[Problem(f"{what}; give --run and --baseline, judged by both", shown_path(table.path))])
    return head


def _with_names(report: Report, inputs: Inputs, shared: Shared | None, gate: Gate | None, files: FilesAtBase) -> Report:
    """The report with names in place of the copies' paths, what its run says of its code, and the command."""
    if gate is not None:
        report = with_code(report, replace(inputs, run=shared.run if shared else inputs.run), gate.criteria)
    old = report.provenance
    run = old.run and replace(old.run, path=files.told(old.run.path))
    baseline = old.baseline and replace(old.baseline, path=files.told(old.baseline.path))
    command = [files.typed(word) for word in old.command]
    for name in ("gold", "run", "baseline"):
        file: InputFile | None = getattr(inputs, name)
        if file is not None and not {f"--{name}", f"--{name}-per-query"} & {*command}:
            command += [f"--{name}-per-query" if file.is_table else f"--{name}", file.path]
    command += ["--base", files.commit.ref]
    return replace(report, provenance=replace(old, run=run, baseline=baseline, command=command))
