"""Which store a `--baseline` value names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from rankgate.baselines.base import BaselineStore, MemoryStore, Where, chosen_of
from rankgate.errors import bad_input
from rankgate.model.values import RunField
from rankgate.readers.base import Run
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import read_run
from rankgate.readers.source import STORES, is_remote

if TYPE_CHECKING:
    from rankgate.baselines.memory import Memory


class RunFileStore(msgspec.Struct, frozen=True):
    """A run file of any known format, or of a shape that a map describes."""

    path: str
    format: str | None = None
    map: FieldMap | None = None
    memory: None = None  # a run remembers nothing

    def open(self, needs: frozenset[RunField], *, deepest: int = 0, where: Where | None = None) -> Run:
        """The run; its lists are whole, so that any cut-off can be read."""
        del deepest, where
        return read_run(self.path, self.format, needs=needs, map=self.map)


def store_for(
    spec: str,
    format: str | None = None,  # noqa: A002
    map: FieldMap | None = None,  # noqa: A002
) -> BaselineStore:
    """A directory, or a path that does not exist and has no suffix, is a directory store; all else is a run file.

    `format` and `map` say how a run file is read, and a map also that it is one.

    Raises:
        RankgateError: a map for a store or a directory.
    """
    path = Path(spec)
    if is_remote(spec):
        if map is not None:
            raise bad_input("is a baseline store, whose run needs no map; leave out `map:`", file=spec)
        return MemoryStore(remote_memory(spec))
    parquet = path.is_dir() and next(path.rglob("*.parquet"), None) is not None  # a run, as Spark writes one
    new_directory = not path.exists() and (spec.endswith("/") or not path.suffix) and spec != "-"
    if map is not None and path.is_dir() and not parquet:
        raise bad_input("is a baseline directory, whose run needs no map; leave out `map:`", file=path.as_posix())
    if map is None and not parquet and (path.is_dir() or new_directory):
        from rankgate.baselines.directory import directory_store  # noqa: PLC0415 -- each kind is paid for where it is named

        return directory_store(path.as_posix())
    return RunFileStore(spec, format, map)


def same_file(first: str, second: str) -> bool:
    """Whether two paths lead to one file, by links too."""
    return os.path.realpath(first) == os.path.realpath(second)


def copied(memory: Memory, to: str, where: Where) -> None:
    """Copy what a check reads of a memory into a directory: the accepted run that it would choose, and its anchor."""
    chosen = chosen_of(memory, where)
    if chosen is None:
        return
    copy = _copy(to, memory.spec)
    mark = chosen.record.anchor
    anchors = [each for each in memory.read("accepted") if mark and mark.id == each.id != chosen.record.id]
    for record in (*filter(memory.keeps, anchors[:1]), chosen.record):
        copy.add("accepted", replace(record, gold=memory.gold_of(record)), memory.fetch(record))


def store_in(copy: str, spec: str, format: str | None = None, map: FieldMap | None = None) -> BaselineStore:  # noqa: A002
    """As `store_for`, but what has a scheme is read in the directory that `copied` has written."""
    return MemoryStore(_copy(copy, spec), copy=True) if is_remote(spec) else store_for(spec, format, map)


def _copy(path: str, spec: str) -> Memory:
    from rankgate.baselines.directory import DirectoryPlace  # noqa: PLC0415 -- as above
    from rankgate.baselines.memory import Memory  # noqa: PLC0415 -- as above

    return Memory(DirectoryPlace(path, spec))


def remote_memory(spec: str) -> Memory:
    """The memory that a value with a scheme names; an error where there is no such kind."""
    if spec.startswith("git+branch:"):
        from rankgate.baselines.branch import branch_memory  # noqa: PLC0415 -- as above

        return branch_memory(spec)
    if spec.startswith("file://"):
        from rankgate.baselines.directory import local_memory  # noqa: PLC0415 -- as above

        return local_memory(spec)
    if "://" in spec:
        from rankgate.baselines.bucket import bucket_memory  # noqa: PLC0415 -- as above

        return bucket_memory(spec)
    raise bad_input(f"unknown kind of baseline store; known are {STORES}, and run files", file=spec)
