"""What decides besides the candidate's run, as the base has it: criteria, gold set and baseline."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.files import FilesAtBase
from rankgate.baselines.directory import DirectoryStore
from rankgate.baselines.memory import anchor_of, rewritten
from rankgate.baselines.packing import RUN
from rankgate.baselines.records import LOGS, Record
from rankgate.baselines.stores import is_remote
from rankgate.baselines.tree import MANIFEST, log_name
from rankgate.criteria import DEFAULT_PATHS, WAIVERS, Criteria, InputFile, beside, load_criteria
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.judge_block import CalibrationFile, JudgeBlock
from rankgate.criteria.waivers import Waivers, load_waivers
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.files.git import GitError
from rankgate.model.base_ref import LogChange
from rankgate.model.values import Gold
from rankgate.readers.formats import read_gold
from rankgate.readers.source import STDIN, is_spread, shown_path

BaselineChange = Literal["added", "deleted", "replaced"]
WaiversChange = Literal["added", "deleted", "edited"]
_GATES = r"""(^|[{, "'])gates["']?[[:space:]]*:"""  # a line that ship criteria have, and not they alone
_Read = TypeVar("_Read")
_Other = TypeVar("_Other")


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """The pull request's own criteria and gold set, and what the caller named."""

    inputs: Inputs
    path: str
    criteria: Criteria
    gold: Gold

    @property
    def baseline(self) -> InputFile | None:
        """The pull request's copy, whether it is there or not."""
        return self.inputs.baseline or self.criteria.inputs.baseline


class Acceptances(NamedTuple):
    """What the pull request did to the log of acceptances, and the day of the base's anchor."""

    change: LogChange | None = None
    anchor: str | None = None


class BaseInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The base's criteria, gold set and baseline; in place of criteria and gold that cannot be read stand the own ones.

    `criteria` are None where the base has none for this gate; `elsewhere` are the places where it has others. What is
    byte by byte the pull request's is its very object. `baseline` says where to read the base's, None where it has none
    or none that can be read; `problems` say what could not be. Of a gold set that is no file of the base,
    `gold_unknown` says whether the job made it or the base's is not there at all, so that the pull request's own stands
    in; `lenient` that the base's criteria let gold sets change. `waivers`, and `waiver_label`, by which violations may
    be waived, and `judge` are those of the base alone: criteria of the pull request that stand in for broken ones waive
    nothing, and name nobody to whom a key is sent.
    """

    criteria: Criteria | None
    elsewhere: tuple[str, ...]
    gold: Gold
    gold_unknown: Literal["supplied", "absent"] | None
    lenient: bool
    baseline: InputFile | None
    baseline_changed: BaselineChange | None
    acceptances: Acceptances
    waivers: Waivers
    waiver_label: str | None
    judge: JudgeBlock | None
    waivers_changed: WaiversChange | None
    problems: tuple[Problem, ...]


def base_inputs(own: Own, files: FilesAtBase) -> BaseInputs:
    """Read what the base has; what cannot be read is among its problems, unless git fails or the base is stale."""
    problems: list[Problem] = []
    names = [own.inputs.criteria] if own.inputs.criteria else DEFAULT_PATHS
    files.refuse_moved_link(names)

    def tried(read: Callable[[], _Read], otherwise: _Other) -> _Read | _Other:
        try:
            return read()
        except GitError:
            raise
        except RankgateError as error:
            problems.extend(files.problems(error))
            return otherwise

    criteria = tried(lambda: _criteria(own, names, files), own.criteria)
    criteria, elsewhere = (criteria, []) if criteria else _criteria_elsewhere(own, files)
    read = None if problems else criteria
    gold = tried(lambda: _gold(own, criteria, files), own.gold) if criteria else own.gold
    baseline, changed = tried(lambda: _baseline(own, criteria, files), (None, None))
    none = Waivers(name=own.criteria.inputs.waivers)
    waivers, waivers_changed = tried(lambda: _waivers(own, read, files), (none, None))
    judge = read.judge if read else None
    if judge and (block := judge.calibration):
        checked = tried(lambda: _calibration(block, files), None)
        judge = judge.model_copy(update={"calibration": checked})
    named = _gold_named(own, criteria)
    waived = read.inputs.waivers if read else own.criteria.inputs.waivers
    files.refuse_stale([*names, *([named.path] if named else []), waived])
    return BaseInputs(
        criteria=criteria,
        elsewhere=tuple(elsewhere),
        gold=gold,
        gold_unknown=tried(lambda: _gold_unknown(own, criteria, files), "absent") if criteria else None,
        lenient=read is not None and read.gold_changes == "warn",
        baseline=baseline,
        baseline_changed=changed,
        acceptances=_acceptances(own, baseline) if changed in ("replaced", "deleted") else Acceptances(),
        waivers=waivers,
        waiver_label=read.waiver_label if read else None,
        judge=judge,
        waivers_changed=waivers_changed,
        problems=tuple(problems),
    )


def _calibration(named: CalibrationFile, files: FilesAtBase) -> CalibrationFile | None:
    """As the base has it; what no commit of the base has counts as none."""
    from rankgate.judge.calibration import read_calibration  # noqa: PLC0415 -- paid only where answers are judged

    copy = files.find(named.file)
    if copy is None or copy == named.file:
        return None
    read_calibration(copy)
    return named.model_copy(update={"file": copy})


def _criteria(own: Own, names: Sequence[str], files: FilesAtBase) -> Criteria | None:
    """The criteria that a check of the base itself would find."""
    for path in names:
        found = files.find(path)
        if found is None or found == path or not Path(found).is_file():
            continue  # what the job made is none of the base's
        if path == own.path and _same_file(found, path):
            return own.criteria
        try:
            return load_criteria(found, at=path).model_copy(update={"name": files.name(path)})
        except RankgateError as error:  # main cannot be fixed by installing less: there these criteria were read
            named = [problem for problem in files.problems(error) if (problem.key or "").endswith((".name", ".metric"))]
            if named:
                raise GitError(f"{named[0]} (install what has it, or fix the base)") from error
            raise
    return None


def _criteria_elsewhere(own: Own, files: FilesAtBase) -> tuple[Criteria | None, list[str]]:
    """Criteria of the base that this check does not read: this gate's all the same, else the places of all.

    This gate's are those that HEAD has no longer in their place, and those that name the same run or baseline.
    """
    found: dict[str, Criteria] = {}
    for path in files.matching(_GATES):
        with suppress(RankgateError):
            found[path] = load_criteria(files.find(path) or path, at=path)
    mine = {_place(own.inputs.run or own.criteria.inputs.run), _place(own.baseline)} - {None}
    this = [
        path
        for path, criteria in found.items()
        if mine & {_place(criteria.inputs.run), _place(criteria.inputs.baseline)} or not _kept(path, files)
    ]
    if len(this) > 1:
        places = ", ".join(map(shown_path, this))
        raise bad_input(f"the base has criteria of this gate in several places ({places}); change one at a time")
    own_one = found[this[0]].model_copy(update={"name": files.name(this[0])}) if this else None
    return own_one, [] if own_one else sorted(map(shown_path, found))


def _kept(path: str, files: FilesAtBase) -> bool:
    """Whether HEAD still has criteria in a place, and no link leads there."""
    with suppress(RankgateError):
        files.refuse_link(path)
        copy = files.find_in_head(path)
        return copy is not None and bool(load_criteria(copy))
    return False


def _place(file: InputFile | None) -> str | None:
    return None if file is None or file.path == STDIN else os.path.realpath(file.path)


def _gold(own: Own, criteria: Criteria | None, files: FilesAtBase) -> Gold:
    mine, named = own.inputs.gold or own.criteria.inputs.gold, _gold_named(own, criteria)
    if named is None:  # a check without a gold set does not come this far
        return own.gold
    found = files.find(named.path)
    if found is None:
        raise bad_input("there is no such file", file=files.name(named.path))
    if named == mine and (found == named.path or _same_file(found, named.path)):
        return own.gold
    gold = read_gold(found, named.format, named.map)
    return gold if found == named.path else replace(gold, name=files.name(named.path))


def _gold_named(own: Own, criteria: Criteria | None) -> InputFile | None:
    return own.inputs.gold or (criteria and criteria.inputs.gold) or own.criteria.inputs.gold


def _gold_unknown(own: Own, criteria: Criteria, files: FilesAtBase) -> Literal["supplied", "absent"] | None:
    named = _gold_named(own, criteria)
    found = files.find(named.path) if named else None
    if named is None or (found is not None and found != named.path):
        return None
    there = found is not None and (named.path == STDIN or Path(named.path).exists())
    return "supplied" if there else "absent"


def _baseline(
    own: Own, criteria: Criteria | None, files: FilesAtBase
) -> tuple[InputFile | None, BaselineChange | None]:
    """Where to read the base's baseline, and what the pull request did to it."""
    mine = own.baseline if own.baseline and _is_baseline(own.baseline) else None
    named = filter(None, (own.inputs.baseline, criteria.inputs.baseline if criteria else None))
    found = (_baseline_at_base(file, files) for file in (list(named) or filter(None, [own.criteria.inputs.baseline])))
    theirs = next(filter(None, found), None)
    if theirs is None:
        return (None, "added") if mine else (own.baseline, None)
    if mine is None:
        return theirs, "deleted"
    alike = (mine.format, mine.map) == (theirs.format, theirs.map)
    same = alike and (mine.path == theirs.path or _same_baseline(mine.path, theirs.path))
    return (own.baseline, None) if same else (theirs, "replaced")


def _acceptances(own: Own, theirs: InputFile | None) -> Acceptances:
    """Directories alone have a copy on either side; the base's that cannot be read is said where it is opened."""
    if theirs is None or not Path(theirs.path).is_dir():
        return Acceptances()
    base = _accepted(theirs.path)
    mark = anchor_of(base, DirectoryStore(theirs.path).memory.keeps)
    change = rewritten(base, _accepted(own.baseline.path) if own.baseline else [], mark)
    return Acceptances(change, mark.date if mark else None)


def _accepted(folder: str) -> Sequence[Record]:
    with suppress(RankgateError):
        return DirectoryStore(folder).memory.read("accepted")
    return []


def _baseline_at_base(named: InputFile, files: FilesAtBase) -> InputFile | None:
    """Where to read what lay at a place, unless the pull request commits files where the job writes; else None."""
    found = named.path if is_remote(named.path) else files.find(named.path)
    if found is None and _is_baseline(named):
        copy: str | None = None
        with suppress(RankgateError):
            copy = files.find_in_head(named.path)
        if copy is None or not _same_baseline(named.path, copy):
            why = "the job makes this baseline, and the pull request commits files in its place"
            raise GitError(f"{shown_path(named.path)}: {why}; take them out of the commit")
    theirs = replace(named, path=found) if found is not None else None
    return theirs if theirs and _is_baseline(theirs) else None


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


def _waivers(own: Own, criteria: Criteria | None, files: FilesAtBase) -> tuple[Waivers, WaiversChange | None]:
    """What the base waives, and what became of the file.

    A file that git does not know may have been written by the pull request's own code, so that it is not read: unlike
    a gold set or a baseline, waivers count only as the base has them.
    """
    named, mine = criteria.inputs.waivers if criteria else beside(own.path, WAIVERS), own.criteria.inputs.waivers
    found = files.find(named)
    if found is None or found == named or not Path(found).is_file():
        return Waivers(name=named), "added" if Path(mine).is_file() else None
    changed: WaiversChange | None = None if _same_file(found, mine) else "edited" if Path(mine).is_file() else "deleted"
    return load_waivers(found, name=files.name(named)), changed
