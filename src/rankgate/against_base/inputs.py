"""What decides besides the candidate's run, as the base has it: criteria, gold set and baseline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from rankgate.against_base.files import FilesAtBase
from rankgate.against_base.waivers import WaiversAtBase, waivers_at_base
from rankgate.baselines.packing import RUN
from rankgate.baselines.records import LOGS
from rankgate.baselines.stores import is_remote
from rankgate.baselines.tree import MANIFEST, log_name
from rankgate.criteria import DEFAULT_PATHS, Criteria, InputFile, load_criteria
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.git import GitError
from rankgate.inputs import Inputs
from rankgate.model import Gold
from rankgate.readers.formats import read_gold
from rankgate.readers.source import STDIN
from rankgate.waivers import Waivers

BaselineChange = Literal["added", "deleted", "replaced"]
_Read = TypeVar("_Read")


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """The pull request's own criteria and gold set, and what the caller named."""

    inputs: Inputs
    path: str
    criteria: Criteria
    gold: Gold

    @property
    def baseline(self) -> InputFile | None:
        """The pull request's copy, whether it is there or not."""
        return self.inputs.baseline or self.criteria.baseline


class BaseInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The base's criteria, gold set and baseline; in place of criteria and gold that cannot be read stand the own ones.

    `criteria` are None where the base has none. What is byte by byte the pull request's is its very object.
    `baseline` says where to read the base's, None where it has none or none that can be read; `problems` say what could
    not be. Of a gold set that is no file of the base, `gold_unknown` says whether the job made it or the base's is not
    there at all, so that the pull request's own stands in; `lenient` that the base's criteria let gold sets change.
    """

    criteria: Criteria | None
    gold: Gold
    gold_unknown: Literal["supplied", "absent"] | None
    lenient: bool
    baseline: InputFile | None
    baseline_changed: BaselineChange | None
    waivers: WaiversAtBase
    problems: tuple[Problem, ...]


def base_inputs(own: Own, files: FilesAtBase) -> BaseInputs:
    """Read what the base has.

    Raises:
        GitError: git cannot read a file.
    """
    problems: list[Problem] = []

    def tried(read: Callable[[], _Read], otherwise: _Read) -> _Read:
        try:
            return read()
        except GitError:
            raise
        except RankgateError as error:
            problems.extend(files.problems(error))
            return otherwise

    mine: Criteria | None = own.criteria
    criteria = tried(lambda: _criteria(own, files), mine)
    read = None if problems else criteria
    gold = tried(lambda: _gold(own, criteria, files), own.gold) if criteria else own.gold
    nothing: tuple[InputFile | None, BaselineChange | None] = (None, None)
    baseline, changed = tried(lambda: _baseline(own, criteria, files), nothing)
    none = WaiversAtBase(waivers=Waivers(name=own.criteria.waivers), label=read.waiver_label if read else None)
    waivers = tried(lambda: waivers_at_base(own.criteria, read, own.path, files), none)
    return BaseInputs(
        criteria=criteria,
        gold=gold,
        gold_unknown=tried(lambda: _gold_unknown(own, criteria, files), "absent") if criteria else None,
        lenient=read is not None and read.gold_changes == "warn",
        baseline=baseline,
        baseline_changed=changed,
        waivers=waivers,
        problems=tuple(problems),
    )


def _criteria(own: Own, files: FilesAtBase) -> Criteria | None:
    """The criteria that a check of the base itself would find."""
    for path in [own.inputs.criteria] if own.inputs.criteria else DEFAULT_PATHS:
        found = files.find(path)
        if found is None or found == path or not Path(found).is_file():
            continue  # what the job made is none of the base's
        if path == own.path and _same_file(found, path):
            return own.criteria
        return replace(load_criteria(found, at=path), name=files.name(path))
    return None


def _gold(own: Own, criteria: Criteria | None, files: FilesAtBase) -> Gold:
    mine, named = own.inputs.gold or own.criteria.gold, _gold_named(own, criteria)
    if named is None:  # a check without a gold set does not come this far
        return own.gold
    found = files.find(named.path)
    if found is None:
        raise bad_input("there is no such file", file=files.name(named.path))
    if named == mine and (found == named.path or _same_file(found, named.path)):
        return own.gold
    gold = read_gold(found, named.format)
    return gold if found == named.path else replace(gold, name=files.name(named.path))


def _gold_named(own: Own, criteria: Criteria | None) -> InputFile | None:
    return own.inputs.gold or (criteria and criteria.gold) or own.criteria.gold


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
    named = own.inputs.baseline or (criteria and criteria.baseline) or own.criteria.baseline
    found = named and (named.path if is_remote(named.path) else files.find(named.path))
    theirs = replace(named, path=found) if named and found is not None else None
    if theirs is None or not _is_baseline(theirs):
        return (None, "added") if mine else (own.baseline, None)
    if mine is None:
        return theirs, "deleted"
    alike = (mine.format, mine.map) == (theirs.format, theirs.map)
    same = alike and (mine.path == theirs.path or _same_baseline(mine.path, theirs.path))
    return (own.baseline, None) if same else (theirs, "replaced")


def _is_baseline(file: InputFile) -> bool:
    """Whether anything was accepted there; a directory without a manifest is still empty."""
    path = Path(file.path)
    return (path / MANIFEST).exists() if path.is_dir() else is_remote(file.path) or file.path == STDIN or path.exists()


def _same_baseline(mine: str, theirs: str) -> bool:
    """Whether two files are the same, or all that a baseline has in two directories: no more in one of them either."""
    folders = Path(mine), Path(theirs)
    if not all(map(Path.is_dir, folders)):
        return _same_file(theirs, mine)
    names = {file.name for folder in folders for file in folder.iterdir() if _is_baselines(file.name)}
    return all(_same_file(*(str(folder / name) for folder in folders)) for name in names)


def _is_baselines(name: str) -> bool:
    """Whether a file of that name is read as a part of a baseline."""
    return name == MANIFEST or name in map(log_name, LOGS) or RUN.fullmatch(name) is not None


def _same_file(one: str | None, other: str) -> bool:
    files = [Path(one), Path(other)] if one is not None else []
    return bool(files) and all(map(Path.is_file, files)) and files[0].read_bytes() == files[1].read_bytes()
