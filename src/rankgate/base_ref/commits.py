"""What the base and the pull request judge by, read from both commits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.baseline import baseline_at, baseline_in
from rankgate.base_ref.changes import query_changes
from rankgate.base_ref.files import Tree, Trees, digest_below, digest_of, refuse_stale, trees_at
from rankgate.criteria import DEFAULT_PATHS, Criteria, InputFile, find_criteria, load_criteria
from rankgate.criteria.inputs import Inputs, require_inputs
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.criteria.paths import MAX_BYTES
from rankgate.criteria.traffic import traffic_files
from rankgate.criteria.waivers import Waivers, load_waivers
from rankgate.errors import Problem, RankgateError, bad_input, option
from rankgate.files.git import GitError
from rankgate.metrics.base import Metric
from rankgate.metrics.plugins import known_alone
from rankgate.model.base_ref import KeyChange
from rankgate.model.traffic_lists import TrafficFiles, TrafficQuestion
from rankgate.model.values import Gold
from rankgate.readers.base import texts_changed
from rankgate.readers.formats import read_gold
from rankgate.readers.source import STDIN, parts_of, shown_path
from rankgate.readers.yaml_text import load_yaml

# No parser reads the key of criteria from a text without one of these: escapes are the only other way to write letters.
_SPELLED = re.compile(rb"gates|\\[xuU\r\n]")
_OF_TRAFFIC = ("traffic", "traffic_labels")  # keys of `inputs`
_ONLY = f"with {option('base')} only those count as"


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What one commit judges by; `supplied` says that the job made the gold set, which the commit does not have."""

    criteria: Criteria
    gold: Gold
    waivers: Waivers
    supplied: bool
    traffic: TrafficFiles | None = None


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
    paths = [inputs.verdicts] if inputs.verdicts else beside  # beside a run none is read where one is named
    for path in paths:
        if trees.head.copy(path) is not None:
            which = f"with {option('base')} only verdicts of a `rankgate judge` in the same job count"
            raise bad_input(f"is a file of the commit; {which}", file=shown_path(path))


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


# --- the base


def base_criteria(inputs: Inputs, trees: Trees) -> Criteria | None:
    """The base's criteria of this gate; None where it has none at all, so that rankgate is being introduced.

    Raises:
        RankgateError: they are broken, or the base has others, of which nobody can tell whose they are.
    """
    trees.refuse_moved_link(_places(inputs))
    for path in _places(inputs):
        copy = trees.base.copy(path)
        if copy is None or not Path(copy).is_file():
            continue
        try:
            return load_criteria(copy, at=path).model_copy(update={"name": trees.base.name(path)})
        except RankgateError as error:  # main cannot be fixed by installing less: there these criteria were read
            named = [problem for problem in trees.problems(error) if (problem.key or "").endswith((".name", ".metric"))]
            if named:
                raise GitError(f"{named[0]} (install what has it, or fix the base)") from error
            raise
    return _criteria_elsewhere(trees)


def _criteria_elsewhere(trees: Trees) -> Criteria | None:
    """The base's criteria that HEAD no longer has in their place; None where the base has none anywhere."""
    criteria: dict[str, Criteria] = {}
    for path, text in trees.base.documents(MAX_BYTES):
        if not _SPELLED.search(text):
            continue
        with suppress(RankgateError):
            document = load_yaml(text.decode("utf-8", "replace"), path).value
            if isinstance(document, dict) and "gates" in document:
                criteria[path] = load_criteria(trees.base.copy(path) or path, at=path)
    gone = [path for path in criteria if not _kept(path, trees)]
    if len(gone) == 1:
        return criteria[gone[0]].model_copy(update={"name": trees.base.name(gone[0])})
    if criteria:
        places = ", ".join(map(shown_path, sorted(gone or criteria)))
        what = f"the base has ship criteria ({places}), but not where this check reads them"
        raise bad_input(f"{what}; move them first, or one at a time")
    return None


def _kept(path: str, trees: Trees) -> bool:
    """Whether HEAD still has criteria in a place, and no link leads there."""
    with suppress(RankgateError), known_alone(()):
        trees.refuse_link(path)
        copy = trees.head.copy(path)
        return copy is not None and bool(load_criteria(copy))
    return False


def base_gate(inputs: Inputs, criteria: Criteria, trees: Trees) -> Gate:
    """What the base judges by: a function of its files and the job's alone.

    Raises:
        RankgateError: gold set or waivers are broken or not there, or no longer those of the branch's tip.
    """
    named = _gold_named(inputs, criteria)
    copy = trees.base.copy(named.path)
    supplied = copy is None and trees.supplied(named.path)
    if copy is None and not supplied:
        raise bad_input("there is no such file", file=trees.base.name(named.path))
    gold = read_gold(copy or named.path, named.format, named.map)
    gold = gold if supplied else replace(gold, name=trees.base.name(named.path))
    waivers = _waivers(criteria, trees.base, trees.base.name(criteria.inputs.waivers))
    if inputs.pull.tip:
        paths = [*_places(inputs), named.path, criteria.inputs.waivers, *filter(None, _traffic_paths(criteria))]
        refuse_stale(trees, inputs.pull.tip, paths)
    traffic = _traffic(inputs, criteria, trees.base, trees, criteria)
    return Gate(criteria=criteria, gold=gold, waivers=waivers, supplied=supplied, traffic=traffic)


def located(inputs: Inputs, criteria: Criteria, trees: Trees) -> Criteria:
    """The base's criteria, with the run, the scores, the baseline and the judge that both commits judge with.

    Raises:
        RankgateError: the run is none of the base's, or a link; the judge's prompts are none of the base's.
    """
    run = inputs.run or criteria.inputs.run
    require_inputs(replace(inputs, run=run), criteria)
    baseline = baseline_at(inputs, criteria, trees)
    for key, file in (("run", run), ("baseline", baseline)):
        if file is not None and (file.path == STDIN or Path(file.path).is_fifo()):
            raise bad_input(f"with {option('base')} the {key} is read more than once; name a file", key=option(key))
    paths = parts_of(run.path) if run else []
    if criteria.inputs.scores:
        paths = [*paths, criteria.inputs.scores]
    for path in paths:
        trees.refuse_link(path)
    if run and inputs.run is None and trees.brought(run.path) == "added":
        raise bad_input("only the pull request's commit has this run; let the job record it", file=shown_path(run.path))
    files = criteria.inputs.model_copy(update={"run": run, "baseline": baseline})
    return criteria.model_copy(update={"inputs": files, "judge": _judge_of(criteria, trees)})


def _judge_of(criteria: Criteria, trees: Trees) -> JudgeBlock | None:
    """The judge, with prompts and calibration as the base has them; a calibration that it lacks counts as none."""
    block = criteria.judge
    if block is None:
        return None
    prompts = block.prompts and trees.base.copy(block.prompts)
    if block.prompts and prompts is None:
        what = "is no folder of the base; its prompts count as files of a commit"
        raise bad_input(what, file=trees.base.name(block.prompts))
    calibration = None
    copy = trees.base.copy(block.calibration.file) if block.calibration else None
    if block.calibration and copy:
        from rankgate.judge.calibration import read_calibration  # noqa: PLC0415 -- paid only where answers are judged

        with suppress(RankgateError):  # a damaged one blocks nothing
            read_calibration(copy)
            calibration = block.calibration.model_copy(update={"file": copy})
    return block.model_copy(update={"prompts": prompts, "calibration": calibration})


# --- the head


def head_gate(inputs: Inputs, base: Gate | None, trees: Trees, *, alone: bool) -> Gate:
    """What the commit that is judged has; nothing that it names is opened but files of its own, unless it stands alone.

    Raises:
        RankgateError: it cannot be read; or the criteria, or a gold set that the base does not name, are no file of it.
    """
    path, copy = _head_criteria(inputs, trees)
    of_base = base.criteria.metrics() if base else ()
    with nullcontext() if alone else known_alone(of_base):
        criteria = load_criteria(copy, at=path).model_copy(update={"name": shown_path(path)})
    waivers = _waivers(criteria, trees.head, shown_path(criteria.inputs.waivers))
    without_base = criteria if alone else None
    known = base.criteria if base else without_base
    traffic = _traffic(inputs, criteria, trees.head, trees, known)
    named = _gold_named(inputs, criteria)
    same_place = base is not None and named == _gold_named(inputs, base.criteria)
    if base is not None and same_place and (base.supplied or trees.same(named.path)):
        gold = replace(base.gold, name=shown_path(named.path))
        return Gate(criteria=criteria, gold=gold, waivers=waivers, supplied=base.supplied, traffic=traffic)
    gold_copy = trees.head.copy(named.path)
    if gold_copy is None and (base is not None or not alone):
        raise bad_input(f"is no file of the commit; {_ONLY} gold set", file=shown_path(named.path))
    if gold_copy is None and inputs.gold is None:
        trees.refuse_outside(named.path)
    gold = read_gold(gold_copy or named.path, named.format, named.map)
    gold = replace(gold, name=shown_path(named.path))
    return Gate(criteria=criteria, gold=gold, waivers=waivers, supplied=gold_copy is None, traffic=traffic)


def _head_criteria(inputs: Inputs, trees: Trees) -> tuple[str, str]:
    for path in _places(inputs):
        copy = trees.head.copy(path)
        if copy is not None and Path(copy).is_file():
            return path, copy
    path = inputs.criteria or find_criteria()
    raise bad_input(f"is no file of the commit; {_ONLY} criteria", file=shown_path(path))


def head_criteria_of(inputs: Inputs, gate: Gate, base: Gate | None, trees: Trees, *, trusted: bool) -> Criteria:
    """The pull request's own criteria where it stands alone: there is no base, or a label lets it.

    Nobody is asked: a judge that the base lacks waits for the merge.
    """
    criteria = gate.criteria
    baseline = baseline_in(inputs, criteria, trees, known=criteria if trusted else None)
    known = base.criteria.inputs if base else None
    for key in ("run", "baseline"):
        file = getattr(criteria.inputs, key)
        if getattr(inputs, key) is None and file is not None and file != getattr(known, key, None):
            trees.refuse_outside(file.path)
    if known is None:
        trees.refuse_outside(criteria.inputs.scores)
    files = criteria.inputs.model_copy(update={"run": inputs.run or criteria.inputs.run, "baseline": baseline})
    fork_runs = criteria.fork_runs if trusted else "untrusted"
    return criteria.model_copy(update={"inputs": files, "judge": None, "fork_runs": fork_runs})


def given(criteria: Criteria, shared: Criteria) -> Criteria:
    """The pull request's criteria with run, scores, baseline and judge of others."""
    judge = shared.judge
    if judge is None and criteria.judge is not None:  # nobody is asked, the gates wait, and no file of it is read
        judge = criteria.judge.model_copy(update={"prompts": None, "calibration": None})
    named = {key: getattr(shared.inputs, key) for key in ("run", "scores", "baseline")}
    files = criteria.inputs.model_copy(update=named)
    return criteria.model_copy(update={"inputs": files, "judge": judge, "fork_runs": shared.fork_runs})


def _places(inputs: Inputs) -> Sequence[str]:
    return [inputs.criteria] if inputs.criteria else DEFAULT_PATHS


def _gold_named(inputs: Inputs, criteria: Criteria) -> InputFile:
    named = inputs.gold or criteria.inputs.gold
    if named is None:
        require_inputs(replace(inputs, run=inputs.run or InputFile(STDIN)), criteria)
        raise AssertionError
    return named


def _waivers(criteria: Criteria, tree: Tree, name: str) -> Waivers:
    """Those of the commit alone: a file that git does not know may be written by the pull request's own code."""
    copy = tree.copy(criteria.inputs.waivers)
    if copy is not None and Path(copy).is_file():
        return load_waivers(copy, criteria.every_gate, name=name)
    if criteria.waivers_named:
        raise bad_input("there is no such file", file=name)
    return Waivers(name=name)


def _traffic(
    inputs: Inputs, criteria: Criteria, tree: Tree, trees: Trees, known: Criteria | None
) -> TrafficFiles | None:
    """The traffic of a commit: its files, or those that the job supplied where known criteria name them."""
    of_job = _traffic_paths(known) if known else ()
    copies: dict[str, str | None] = {}
    for key, path in zip(_OF_TRAFFIC, _traffic_paths(criteria), strict=True):
        if path:
            copies[key] = tree.copy(path)
        if path and copies[key] is None and path in of_job and trees.supplied(path):
            copies[key] = path
    if criteria.inputs.traffic and copies["traffic"] is None:
        if tree is trees.head:  # what nobody knows yet is not opened; it counts once it is merged
            return None
        raise bad_input("there is no such file", file=tree.name(criteria.inputs.traffic), key="inputs.traffic")
    if tree is trees.head and known is criteria:
        for path in of_job:
            trees.refuse_outside(path)
    copied = criteria.model_copy(update={"inputs": criteria.inputs.model_copy(update=copies)})
    return traffic_files(copied, may_lack=inputs.untrusted_run)


def _traffic_paths(criteria: Criteria) -> tuple[str | None, ...]:
    return tuple(getattr(criteria.inputs, key) for key in _OF_TRAFFIC)


def judge_file_changes(base: Criteria, head: Criteria, trees: Trees) -> list[KeyChange]:
    """Keys of a judge's files that name the same path in both commits, where another content lies, or none."""
    if base.judge is None or head.judge is None:
        return []
    files = {"judge.prompts": (base.judge.prompts, head.judge.prompts)}
    if base.judge.calibration and head.judge.calibration:
        files["judge.calibration.file"] = (base.judge.calibration.file, head.judge.calibration.file)
    changes: list[KeyChange] = []
    for key, (base_path, head_path) in files.items():
        if base_path is None or base_path != head_path:
            continue
        if _digest_in(trees.base, base_path) != _digest_in(trees.head, base_path):
            changes.append(KeyChange(key=key, before=base_path, after=base_path, weakens=True))
    return changes


def _digest_in(tree: Tree, path: str) -> str | None:
    with suppress(RankgateError):
        copy = tree.copy(path)
        if copy is not None:
            return digest_below(Path(copy)) if Path(copy).is_dir() else digest_of([Path(copy)])
    return None
