"""A memory of runs in a directory, usually in the repository itself.

The manifest is written last and makes a run the baseline: killed at any byte, the directory holds the old or the new.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rankgate.baselines.base import Chosen, Where, lineage_of, open_record
from rankgate.baselines.packing import RUN
from rankgate.baselines.records import LOGS
from rankgate.baselines.tree import MANIFEST, TreeMemory, log_name
from rankgate.errors import RankgateError, bad_input, redacted
from rankgate.files.writing import make_directories, write_atomic
from rankgate.model.values import Need
from rankgate.readers.base import Run

if sys.platform != "win32":
    import fcntl

_LOGS = frozenset(map(log_name, LOGS))
# A temporary file that a killed process left; never anything that somebody else put there.
_LEFT = re.compile(rf"\.(?:{RUN.pattern}|{'|'.join(map(re.escape, [MANIFEST, *sorted(_LOGS)]))})\.\w+\.tmp")


class DirectoryTree:
    """The files of a directory that are a baseline's, and no others; `spec` is what it is a copy of, if of anything."""

    def __init__(self, path: str, spec: str | None = None) -> None:
        self.path, self.spec = path, redacted(spec or path)
        self._seen: dict[str, bytes | None] = {}

    def read(self, name: str) -> bytes | None:
        """A file; what was read of manifest and logs is what a later `commit` must find unchanged."""
        data = self._bytes(name)
        if data is None and name == MANIFEST and any(not _ours(each) for each in self.names()):
            raise bad_input(f"is no baseline: it has no {MANIFEST}", file=self.path)
        if not RUN.fullmatch(name):
            self._seen[name] = data
        return data

    def tail(self, name: str, size: int) -> bytes:
        """The last bytes of a file; nothing before them is read."""
        return self._bytes(name, size) or b""

    def names(self) -> list[str]:
        """All that lies there; nothing where there is no such directory."""
        return sorted(file.name for file in Path(self.path).iterdir()) if Path(self.path).is_dir() else []

    def commit(self, writes: Mapping[str, bytes], deletes: Collection[str], message: str) -> bool:
        """Write run files, then logs, then the manifest; then delete, also what killed processes left."""
        del message
        try:
            make_directories(Path(self.path))
        except OSError as error:
            raise bad_input(f"cannot be written: {error.strerror}", file=self.path) from error
        with _locked(self.path, alone=True):
            if any(self._bytes(name) != data for name, data in self._seen.items()):
                return False
            left = [name for name in self.names() if _LEFT.fullmatch(name)]
            for name in sorted(writes, key=lambda name: (name == MANIFEST, name in _LOGS)):
                if self._bytes(name) != writes[name]:
                    write_atomic(Path(self.path) / name, writes[name])
            for name in (*deletes, *left):
                (Path(self.path) / name).unlink(missing_ok=True)
        self.refresh()
        return True

    def still(self) -> AbstractContextManager[None]:
        """Whoever writes is waited for, where the system has locks."""
        return _locked(self.path, alone=False) if Path(self.path).is_dir() else nullcontext()

    def refresh(self) -> None:
        """Forget what was read."""
        self._seen = {}

    def repairs(self) -> bool:
        """Whether a manifest that is damaged or gone is a baseline's: alone, or beside a log or a run."""
        names = self.names()
        return names == [MANIFEST] or any(map(_ours, names))

    def _bytes(self, name: str, last: int | None = None) -> bytes | None:
        file = Path(self.path) / name
        try:
            with file.open("rb") as opened:
                if last is not None:
                    opened.seek(max(0, opened.seek(0, os.SEEK_END) - last))
                return opened.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise bad_input(f"cannot be read: {error.strerror}", file=file.as_posix()) from error


class DirectoryStore(msgspec.Struct, frozen=True):
    """The default store: what is accepted now, in a directory."""

    path: str

    @property
    def memory(self) -> TreeMemory:
        """All that the directory remembers; of older runs their numbers alone, since a repository should stay small."""
        tree = DirectoryTree(self.path)
        return TreeMemory(tree, every_run=False, repairs=tree.repairs)

    def open(self, needs: frozenset[Need], *, deepest: int = 0, where: Where | None = None) -> Run | None:
        """The accepted run, its digest checked. There is but one: which commit's it is was decided by who merged it."""
        memory = self.memory
        try:
            return _opened(memory, needs, deepest, where)
        except RankgateError:  # somebody who accepts a run at this moment deletes the one before
            with memory.tree.still():
                return _opened(memory, needs, deepest, where)


def _opened(memory: TreeMemory, needs: frozenset[Need], deepest: int, where: Where | None) -> Run | None:
    record = memory.accepted()
    if record is None:
        return None
    run = open_record(memory, record, needs, deepest=deepest)
    if where is None:
        return run
    ancestors = list(where.ancestors()) if record.commit else []
    behind = ancestors.index(record.commit) if record.commit in ancestors else None
    return replace(run, lineage=lineage_of(Chosen(record=record, how="here", commits_behind=behind), where.date))


def _ours(name: str) -> bool:
    return bool(RUN.fullmatch(name) or _LEFT.fullmatch(name)) or name in _LOGS


@contextmanager
def _locked(path: str, *, alone: bool) -> Iterator[None]:
    """One writer at a time, or readers among themselves, where the system has locks; they end with the process."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)
