"""The gate as one commit has it: criteria, gold set and waivers; and what both sides share, which is the base's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.files import FilesAtBase
from rankgate.baselines.directory import DirectoryStore
from rankgate.baselines.memory import anchor_of, rewritten
from rankgate.baselines.packing import RUN
from rankgate.baselines.records import LOGS, Record
from rankgate.baselines.stores import is_remote
from rankgate.baselines.tree import MANIFEST, log_name
from rankgate.criteria import DEFAULT_PATHS, Criteria, InputFile, find_criteria, load_criteria
from rankgate.criteria.inputs import Awaited, Inputs, require_inputs
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.criteria.paths import MAX_BYTES
from rankgate.criteria.waivers import Waivers, load_waivers
from rankgate.errors import RankgateError, bad_input, option
from rankgate.files.git import GitError
from rankgate.model.base_ref import LogChange
from rankgate.model.values import Gold
from rankgate.readers.formats import read_gold
from rankgate.readers.source import STDIN, is_spread, parts_of, shown_path
from rankgate.readers.yaml_text import load_yaml

# No parser reads the key of criteria from a text without one of these: escapes are the only other way to write letters.
_SPELLED = re.compile(rb"gates|\\[xuU\r\n]")

BaselineChange = Literal["added", "deleted", "replaced"]


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What one commit judges by; `supplied` says that the job made the gold set, which the commit does not have."""

    criteria: Criteria
    gold: Gold
    waivers: Waivers
    supplied: bool


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What both sides are judged with: the base's, and the caller's where it names one."""

    run: InputFile | None
    scores: str | None
    baseline: InputFile | None
    judge: JudgeBlock | None
    awaits: Awaited | None
    fork_runs: Literal["untrusted", "trusted"]

    def given_to(self, criteria: Criteria) -> Criteria:
        """The criteria with what is shared in place of what they name themselves."""
        named = {"run": self.run, "scores": self.scores, "baseline": self.baseline}
        inputs = criteria.inputs.model_copy(update=named)
        judge = self.judge
        if judge is None and criteria.judge is not None:  # nobody is asked, the gates wait, and no file of it is read
            judge = criteria.judge.model_copy(update={"prompts": None, "calibration": None})
        return criteria.model_copy(update={"inputs": inputs, "judge": judge, "fork_runs": self.fork_runs})


# --- the base


def base_criteria(inputs: Inputs, files: FilesAtBase) -> Criteria | None:
    """The base's criteria of this gate; None where it has none at all, so that rankgate is being introduced.

    Raises:
        RankgateError: they are broken, or the base has others, of which nobody can tell whose they are.
    """
    names = [inputs.criteria] if inputs.criteria else DEFAULT_PATHS
    files.refuse_moved_link(names)
    for path in names:
        copy = files.find(path)
        if copy is not None and copy != path and Path(copy).is_file():  # what the job made is none of the base's
            return _loaded(path, copy, files)
    return _criteria_elsewhere(files)


def _loaded(path: str, copy: str, files: FilesAtBase) -> Criteria:
    try:
        return load_criteria(copy, at=path).model_copy(update={"name": files.name(path)})
    except RankgateError as error:  # main cannot be fixed by installing less: there these criteria were read
        named = [problem for problem in files.problems(error) if (problem.key or "").endswith((".name", ".metric"))]
        if named:
            raise GitError(f"{named[0]} (install what has it, or fix the base)") from error
        raise


def _criteria_elsewhere(files: FilesAtBase) -> Criteria | None:
    """The base's criteria that HEAD no longer has in their place; None where the base has none anywhere."""
    criteria: dict[str, Criteria] = {}
    for path, text in files.documents(MAX_BYTES):
        if not _SPELLED.search(text):
            continue
        with suppress(RankgateError):
            document = load_yaml(text.decode("utf-8", "replace"), path).value
            if isinstance(document, dict) and "gates" in document:
                criteria[path] = load_criteria(files.find(path) or path, at=path)
    gone = [path for path in criteria if not _kept(path, files)]
    if len(gone) == 1:
        return criteria[gone[0]].model_copy(update={"name": files.name(gone[0])})
    if criteria:
        places = ", ".join(map(shown_path, sorted(gone or criteria)))
        what = f"the base has ship criteria ({places}), but not where this check reads them"
        raise bad_input(f"{what}; move them first, or one at a time")
    return None


def _kept(path: str, files: FilesAtBase) -> bool:
    """Whether HEAD still has criteria in a place, and no link leads there."""
    with suppress(RankgateError):
        files.refuse_link(path)
        copy = files.find_in_head(path)
        return copy is not None and bool(load_criteria(copy))
    return False


def base_gate(inputs: Inputs, criteria: Criteria, files: FilesAtBase) -> Gate:
    """What the base judges by: a function of its files and the job's alone."""
    named = _gold_named(inputs, criteria)
    copy = files.find(named.path)
    if copy is None:
        raise bad_input("there is no such file", file=files.name(named.path))
    supplied = copy == named.path
    gold = read_gold(copy, named.format, named.map)
    gold = gold if supplied else replace(gold, name=files.name(named.path))
    waivers = _waivers(criteria, files.find(criteria.inputs.waivers), files.name(criteria.inputs.waivers))
    files.refuse_stale([*_places(inputs), named.path, criteria.inputs.waivers])
    return Gate(criteria=criteria, gold=gold, waivers=waivers, supplied=supplied)


def _places(inputs: Inputs) -> Sequence[str]:
    return [inputs.criteria] if inputs.criteria else DEFAULT_PATHS


def _gold_named(inputs: Inputs, criteria: Criteria) -> InputFile:
    named = inputs.gold or criteria.inputs.gold
    if named is None:
        require_inputs(replace(inputs, run=inputs.run or InputFile(STDIN)), criteria)
        raise AssertionError
    return named


def _waivers(criteria: Criteria, copy: str | None, name: str) -> Waivers:
    """A file that git does not know may have been written by the pull request's own code, so that it is not read."""
    named = criteria.inputs.waivers
    if copy is None or copy == named or not Path(copy).is_file():
        if criteria.waivers_named:
            raise bad_input("there is no such file", file=name)
        return Waivers(name=name)
    return load_waivers(copy, name=name)


def shared_with(inputs: Inputs, criteria: Criteria, baseline: InputFile | None, files: FilesAtBase) -> Shared:
    """The run, the scores, the baseline and the judge, as the base names them.

    Raises:
        RankgateError: the run is none of the base's, or a link; the judge's prompts are none of the base's.
    """
    run = inputs.run or criteria.inputs.run
    require_inputs(replace(inputs, run=run), criteria)
    for path in (*(parts_of(run.path) if run else ()), *filter(None, [criteria.inputs.scores])):
        files.refuse_link(path)
    if run and inputs.run is None and files.brought(run.path) == "added":
        raise bad_input("only the pull request's commit has this run; let the job record it", file=shown_path(run.path))
    return Shared(
        run=run,
        scores=criteria.inputs.scores,
        baseline=baseline,
        judge=judge_of(criteria, files),
        awaits=None,
        fork_runs=criteria.fork_runs,
    )


def judge_of(criteria: Criteria, files: FilesAtBase) -> JudgeBlock | None:
    """The judge, with prompts and calibration as the base has them; a calibration that it lacks counts as none."""
    block = criteria.judge
    if block is None:
        return None
    known: dict[str, Any] = {}
    if block.prompts is not None:
        copy = files.find(block.prompts)
        if copy is None or copy == block.prompts:
            what = "is no folder of the base; its prompts count as files of a commit"
            raise bad_input(what, file=files.name(block.prompts))
        known["prompts"] = copy
    if block.calibration is not None:
        from rankgate.judge.calibration import read_calibration  # noqa: PLC0415 -- paid only where answers are judged

        copy = files.find(block.calibration.file)
        known["calibration"] = None
        if copy is not None and copy != block.calibration.file:
            with suppress(RankgateError):  # a damaged one blocks nothing
                read_calibration(copy)
                known["calibration"] = block.calibration.model_copy(update={"file": copy})
    return block.model_copy(update=known)


# --- the head


def head_gate(inputs: Inputs, base: Gate | None, files: FilesAtBase) -> Gate:
    """What the commit that is judged has; nothing that it names is opened but files of its own.

    Raises:
        RankgateError: it cannot be read; or the criteria, or a gold set that the base does not name, are no file of it.
    """
    path, copy = _head_criteria(inputs, files)
    criteria = load_criteria(copy, at=path).model_copy(update={"name": shown_path(path)})
    waivers_copy = files.find_in_head(criteria.inputs.waivers)
    waivers = _waivers(criteria, waivers_copy, shown_path(criteria.inputs.waivers))
    named = _gold_named(inputs, criteria)
    same_place = base is not None and named == _gold_named(inputs, base.criteria)
    if base is not None and same_place and (base.supplied or files.same(named.path)):
        gold = replace(base.gold, name=shown_path(named.path))
        return Gate(criteria=criteria, gold=gold, waivers=waivers, supplied=base.supplied)
    gold_copy = files.find_in_head(named.path)
    if gold_copy is None and base is not None:
        what = f"is no file of the commit; with {option('base')} only those count as gold set"
        raise bad_input(what, file=shown_path(named.path))
    gold = read_gold(gold_copy or named.path, named.format, named.map)
    gold = replace(gold, name=shown_path(named.path))
    return Gate(criteria=criteria, gold=gold, waivers=waivers, supplied=gold_copy is None)


def _head_criteria(inputs: Inputs, files: FilesAtBase) -> tuple[str, str]:
    for path in _places(inputs):
        copy = files.find_in_head(path)
        if copy is not None and Path(copy).is_file():
            return path, copy
    path = inputs.criteria or find_criteria()
    what = f"is no file of the commit; with {option('base')} only those count as criteria"
    raise bad_input(what, file=shown_path(path))


# --- the baseline


def base_baseline(inputs: Inputs, criteria: Criteria, files: FilesAtBase) -> InputFile | None:
    """Where to read what the base has accepted; None where it has nothing yet."""
    for named in filter(None, (inputs.baseline, criteria.inputs.baseline)):
        at_base = _baseline_at_base(named, files)
        if at_base is not None:
            return at_base
    return None


def _baseline_at_base(named: InputFile, files: FilesAtBase) -> InputFile | None:
    """Where to read what lay at a place, unless the pull request commits files where the job writes; else None."""
    copy = named.path if is_remote(named.path) else files.find(named.path)
    if copy is None and _is_baseline(named):
        in_head: str | None = None
        with suppress(RankgateError):
            in_head = files.find_in_head(named.path)
        if in_head is None or not _same_baseline(named.path, in_head):
            why = "the job makes this baseline, and the pull request commits files in its place"
            raise GitError(f"{shown_path(named.path)}: {why}; take them out of the commit")
    at_base = replace(named, path=copy) if copy is not None else None
    return at_base if at_base and _is_baseline(at_base) else None


def head_baseline(inputs: Inputs, criteria: Criteria, files: FilesAtBase) -> InputFile | None:
    """What the pull request would have as its baseline: the commit's, or else what the job made."""
    named = inputs.baseline or criteria.inputs.baseline
    if named is None or is_remote(named.path) or named.path == STDIN:
        return named
    in_head = replace(named, path=files.find_in_head(named.path) or named.path)
    return in_head if _is_baseline(in_head) else None


def baseline_change(before: InputFile | None, after: InputFile | None) -> BaselineChange | None:
    """What the pull request did to the baseline."""
    if before is None:
        return "added" if after else None
    if after is None:
        return "deleted"
    alike = (before.format, before.map) == (after.format, after.map)
    same = alike and (before.path == after.path or _same_baseline(before.path, after.path))
    return None if same else "replaced"


def acceptances(before: InputFile | None, after: InputFile | None) -> tuple[LogChange | None, str | None]:
    """What the pull request did to the log of acceptances, and the day of the base's anchor.

    Directories alone have a copy on either side; the base's that cannot be read is said where it is opened.
    """
    if before is None or not Path(before.path).is_dir():
        return None, None
    base = _accepted(before.path)
    mark = anchor_of(base, DirectoryStore(before.path).memory.keeps)
    change = rewritten(base, _accepted(after.path) if after else [], mark)
    return change, mark.date if mark else None


def _accepted(folder: str) -> Sequence[Record]:
    with suppress(RankgateError):
        return DirectoryStore(folder).memory.read("accepted")
    return []


def _is_baseline(file: InputFile) -> bool:
    """Whether anything was accepted there; a directory with neither a manifest nor Parquet is still empty."""
    path = Path(file.path)
    if is_spread(file.path) and not path.is_dir() and not is_remote(file.path):
        raise GitError(f"{shown_path(file.path)}: a pattern does not say which files the base has; name their folder")
    if path.is_dir():
        return (path / MANIFEST).exists() or any(path.rglob("*.parquet"))
    return is_remote(file.path) or file.path == STDIN or path.exists()


def _same_baseline(mine: str, theirs: str) -> bool:
    """Whether two files are the same, or all that is read of two directories: no more in one of them either."""
    folders = Path(mine), Path(theirs)
    if not all(map(Path.is_dir, folders)):
        return _same_file(theirs, mine)
    parts = {MANIFEST, *map(log_name, LOGS)}
    names = {file.relative_to(folder).as_posix() for folder in folders for file in folder.rglob("*") if file.is_file()}
    if any((folder / MANIFEST).exists() for folder in folders):  # the others are read by nobody
        names = {name for name in names if name in parts or RUN.fullmatch(name)}
    return all(_same_file(*(str(folder / name) for folder in folders)) for name in names)


def _same_file(*paths: str) -> bool:
    files = [*map(Path, paths)]
    return all(map(Path.is_file, files)) and files[0].read_bytes() == files[1].read_bytes()
