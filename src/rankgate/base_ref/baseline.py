"""The baseline as the base has it, and what the pull request does to it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from rankgate.base_ref.files import Trees
from rankgate.baselines.directory import directory_store, holds_acceptance
from rankgate.baselines.memory import FOLDERS
from rankgate.baselines.packing import kept_line
from rankgate.baselines.records import Record, anchor_of
from rankgate.criteria import Criteria, InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.runs import RunFile
from rankgate.errors import RankgateError
from rankgate.files.git import GitError
from rankgate.model.lineage import AnchorMark
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.source import STDIN, is_remote, is_spread, shown_path

BaselineChange = Literal["added", "deleted", "replaced"]


def baseline_at(inputs: Inputs, criteria: Criteria, trees: Trees) -> InputFile | None:
    """Where to read what the base has accepted; None where it has nothing yet.

    Raises:
        GitError: the pull request commits files where the job writes it.
    """
    for named in filter(None, (inputs.baseline, criteria.inputs.baseline)):
        copy = named.path if is_remote(named.path) else trees.base.copy(named.path)
        if copy is None and trees.head.has(named.path) and _is_baseline(named):
            in_head = None
            with suppress(RankgateError):
                in_head = trees.head.copy(named.path)
            if in_head is None or not _same_baseline(Path(named.path), Path(in_head)):
                why = "the job makes this baseline, and the pull request commits files in its place"
                raise GitError(f"{shown_path(named.path)}: {why}; take them out of the commit")
            continue
        at_base = replace(named, path=copy or named.path)
        if _is_baseline(at_base):
            return at_base
    return None


def baseline_in(inputs: Inputs, criteria: Criteria, trees: Trees, *, known: Criteria | None) -> InputFile | None:
    """What the pull request would have as its baseline: the commit's, or what the job made where known criteria say."""
    named = inputs.baseline or criteria.inputs.baseline
    if named is None or is_remote(named.path) or named.path == STDIN:
        return named
    copy = trees.head.copy(named.path)
    if copy is None and named not in (inputs.baseline, known and known.inputs.baseline):
        return None
    in_head = replace(named, path=copy or named.path)
    return in_head if _is_baseline(in_head) else None


def baseline_change(base: InputFile | None, head: InputFile | None) -> BaselineChange | None:
    """What the pull request did to the baseline."""
    if base is None:
        return "added" if head else None
    if head is None:
        return "deleted"
    read_in_one_way = (base.format, base.map) == (head.format, head.map)
    same = read_in_one_way and (base.path == head.path or _same_baseline(Path(base.path), Path(head.path)))
    return None if same else "replaced"


class AcceptanceLog(NamedTuple):
    """The acceptances of a directory, oldest first, and their anchor; None where its run is not kept."""

    records: Sequence[Record] = ()
    anchor: AnchorMark | None = None


def acceptances(stored: InputFile | None) -> AcceptanceLog:
    """The log of a directory; nothing of other stores, or where it cannot be read: that is said where it is opened."""
    with suppress(RankgateError):
        if stored is not None and Path(stored.path).is_dir():
            memory = directory_store(stored.path).memory
            records = memory.read("accepted")
            mark = anchor_of(records, memory.keeps)
            kept = mark is not None and any(each.id == mark.id and memory.keeps(each) for each in records)
            return AcceptanceLog(records, mark if kept else None)
    return AcceptanceLog()


class StoredLists(NamedTuple):
    """A digest of each list of a stored run, its depth, and the questions of its gold set, where these are known."""

    digests: dict[str, int]
    depth: int | None
    questions: Collection[str]


def stored_lists(stored: InputFile | None, gold: Gold, needs: frozenset[RunField] = frozenset()) -> StoredLists | None:
    """The lists of a stored run that answer a gold set; None where it cannot be read, which is said where it is judged.

    A stored line that states another text than the gold set has answers nothing, as in a run.
    """
    if stored is None or stored.is_table or not Path(stored.path).exists():
        return None
    try:
        opened = RunFile(file=replace(stored, stored=True), gold=gold.by_id).open(needs)
        questions = (opened.gold and opened.gold.judged) or ()
        return StoredLists(digests(opened.rankings, opened.depth), opened.depth, questions)
    except RankgateError:
        return None


def digests(rankings: Iterable[Ranking], depth: int | None) -> dict[str, int]:
    """A number for each list and what was read beside it, by question; there may be millions."""
    encode = msgspec.json.Encoder(order="sorted").encode
    most = sys.maxsize if depth is None else depth
    return {
        each.query_id: int.from_bytes(hashlib.sha256(encode(kept_line(each, most))).digest()[:8]) for each in rankings
    }


def _is_baseline(file: InputFile) -> bool:
    """Whether anything was accepted there; a directory with neither an acceptance nor Parquet is still empty."""
    path = Path(file.path)
    if is_spread(file.path) and not path.is_dir() and not is_remote(file.path):
        raise GitError(f"{shown_path(file.path)}: a pattern does not say which files the base has; name their folder")
    if path.is_dir():
        return holds_acceptance(path) or any(path.rglob("*.parquet"))
    return is_remote(file.path) or file.path == STDIN or path.exists()


def _same_baseline(first: Path, second: Path) -> bool:
    """Whether two files are the same, or all that is read of two directories: no more in one of them either."""
    if not (first.is_dir() and second.is_dir()):
        return _same_file(first, second)
    names = _files_in(first) | _files_in(second)
    if holds_acceptance(first) or holds_acceptance(second):  # the others are read by nobody
        names = {name for name in names if name.partition("/")[0] in FOLDERS}
    return all(_same_file(first / name, second / name) for name in names)


def _files_in(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def _same_file(first: Path, second: Path) -> bool:
    return first.is_file() and second.is_file() and first.read_bytes() == second.read_bytes()
