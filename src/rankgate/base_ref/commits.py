"""What the base and the pull request judge by, read from both commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.changes import query_changes
from rankgate.base_ref.files import Trees, trees_at
from rankgate.base_ref.inputs import Gate, base_criteria, base_gate, head_gate, located
from rankgate.criteria import Criteria, InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.errors import Problem, RankgateError, bad_input, option
from rankgate.files.git import GitError
from rankgate.metrics.base import Metric
from rankgate.model.question_text import texts_changed
from rankgate.model.traffic_lists import TrafficQuestion
from rankgate.model.values import Gold
from rankgate.readers.source import shown_path


class Commits(msgspec.Struct, frozen=True, kw_only=True):
    """What the base and the judged commit judge by, or why they cannot.

    `shared` are the base's criteria with what both judge with, and `introduced` says that the base has none.
    """

    base: Gate | None = None
    head: Gate | None = None
    shared: Criteria | None = None
    introduced: bool = False
    base_problems: list[Problem] = []
    head_problems: list[Problem] = []


def read_commits(inputs: Inputs, trees: Trees, *, accepted: bool) -> Commits:
    """The base first, of its own files and the caller's alone; then the commit that is judged."""
    commits = Commits()
    try:
        criteria = base_criteria(inputs, trees)
        if criteria is None:
            commits = Commits(introduced=True)
        else:
            gate = base_gate(inputs, criteria, trees)
            commits = Commits(base=gate, shared=located(inputs, criteria, trees))
    except GitError:
        raise
    except RankgateError as error:
        commits = Commits(base_problems=trees.problems(error))
    try:
        alone = accepted or commits.introduced
        commits = replace(commits, head=head_gate(inputs, commits.base, trees, alone=alone))
    except GitError:
        raise
    except RankgateError as error:
        commits = replace(commits, head_problems=trees.problems(error))
    base, head = commits.base, commits.head
    if base is None or head is None:
        return commits
    gold = replace(base.gold, by_text=texts_changed(base.gold, head.gold))
    return replace(commits, base=replace(base, gold=gold))


def base_questions(inputs: Inputs, ref: str) -> tuple[Gold | None, Sequence[TrafficQuestion]]:
    """The gold set by which a base judges, and its traffic, for `record`; None where it has no criteria."""
    with trees_at(ref) as trees:
        criteria = base_criteria(inputs, trees)
        if criteria is None:
            return None, ()
        gate = base_gate(inputs, criteria, trees)
        return gate.gold, gate.traffic.questions if gate.traffic else ()


class ToJudge(msgspec.Struct, frozen=True):
    """What a judge is asked about for a check against a base: the base's criteria, and what both commits judge by."""

    criteria: Criteria
    block: JudgeBlock
    golds: list[Gold]
    metrics: list[Metric]
    run: InputFile | None


@contextmanager
def judging_at(inputs: Inputs, ref: str) -> Iterator[ToJudge]:
    """What to ask for a check against a base: the judge, its prompts and its budget are the base's.

    Beside the base's metrics and gold set count those of the pull request, by which it is checked too.

    Raises:
        RankgateError: as for a check; or the base cannot be read, or names no judge.
    """
    with trees_at(ref) as trees:
        commits = read_commits(inputs, trees, accepted=False)
        if problems := [*commits.base_problems, *commits.head_problems]:
            raise RankgateError(problems)
        shared = commits.shared
        if shared is None or shared.judge is None:
            what = "names no judge; that of a pull request counts once it is merged"
            raise bad_input(f"{trees.base.commit.shown} {what}", key="judge")
        gates = [gate for gate in (commits.base, commits.head) if gate]
        metrics = {metric.name: metric for gate in gates for metric in gate.criteria.metrics()}
        golds = [gate.gold for gate in gates]
        yield ToJudge(shared, shared.judge, golds, list(metrics.values()), shared.inputs.run)


def without_other_labels(commits: Commits) -> Commits:
    """Values in place of a run count only for the gold set and the way to match that made them."""
    base, head, shared = commits.base, commits.head, commits.shared
    if base is None or head is None or shared is None:
        return commits
    table = next((file for file in (shared.inputs.run, shared.inputs.baseline) if file and file.is_table), None)
    queries = query_changes(base.gold, head.gold, base.criteria, head.criteria) if table else None
    ways = {(gate.criteria.match, gate.criteria.default_k) for gate in (base, head)}
    relabelled = queries is not None and bool(queries.relabelled or queries.edited)
    if table is None or not (relabelled or len(ways) > 1):
        return commits
    what = "labels of the gold set" if relabelled else "`match` or `default_k`"
    what = f"the pull request changes {what}, and this table has values by the one or by the other alone"
    problem = Problem(f"{what}; give --run and --baseline, judged by both", shown_path(table.path))
    return replace(commits, head=None, head_problems=[problem])


def refuse_committed_verdicts(inputs: Inputs, commits: Commits, trees: Trees) -> None:
    """What a judge said counts from the job that judges alone: a RankgateError where a commit has it."""
    criteria = [gate.criteria for gate in (commits.base, commits.head) if gate and gate.criteria.judge]
    if not criteria:
        return
    from rankgate.judge.runs import verdicts_beside  # noqa: PLC0415 -- paid only where answers are judged

    runs = [inputs.run, *(each.inputs.run for each in criteria)]
    beside = [verdicts_beside(run.path) for run in runs if run]
    for path in [inputs.verdicts] if inputs.verdicts else beside:  # beside a run none is read where one is named
        if trees.head.copy(path) is not None:
            which = f"with {option('base')} only verdicts of a `rankgate judge` in the same job count"
            raise bad_input(f"is a file of the commit; {which}", file=shown_path(path))
