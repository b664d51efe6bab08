"""Runs in a directory: one in the repository, which is committed, or any other at a `file://` address.

Writers exclude each other by a lock. A record is linked to its name once it is whole: killed at any byte, the directory
holds what it held before, or all of what was added.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rankgate.baselines.base import MemoryStore
from rankgate.baselines.memory import ACCEPTED, DAY, ENTRY, FOLDERS, OBJECT, Memory, is_object
from rankgate.baselines.records import LOGS
from rankgate.errors import bad_input, redacted
from rankgate.files.writing import make_directories, write_atomic, write_new

if sys.platform != "win32":
    import fcntl

LOCAL = "file://"
# A file that is still being written, or that a killed process left; never anything that somebody else put there.
_LEFT = re.compile(rf"\.(?:{OBJECT.pattern}|{ENTRY.pattern})\.\w+\.tmp")


class DirectoryPlace:
    """The folders of a directory; `spec` is what it is a copy of, or its address.

    With `every_run` it is shared, maybe over a network: nothing goes that another machine may have just written.
    """

    def __init__(self, path: str, spec: str | None = None, *, every_run: bool = False) -> None:
        self.path = path
        self.spec = redacted(spec or path).rstrip("/")
        self.every_run = self.has_strays = every_run
        self._seen: dict[str, Sequence[str]] = {}

    def refresh(self) -> None:
        """Forget what was read; whoever writes is waited for, where the system has locks."""
        self._seen = {}
        if Path(self.path).is_dir():
            with self._locked(alone=False):
                pass

    def names(self, folder: str) -> Sequence[str]:
        """A folder's files; what was seen of a log first is what a change must find as it was."""
        listed = self._listed(folder)
        if folder in LOGS:
            self._seen.setdefault(folder, listed)
        return listed

    def read(self, names: Sequence[str], *, exact: bool = False) -> Mapping[str, bytes]:
        """Files, as they are now."""
        del exact
        files: dict[str, bytes] = {}
        for name in names:
            with suppress(FileNotFoundError), self._access(name):
                files[name] = (Path(self.path) / name).read_bytes()
        return files

    def create(self, files: Mapping[str, bytes], message: str) -> bool:
        """Write objects, then the record."""
        del message
        try:
            make_directories(Path(self.path))
        except OSError as error:
            raise bad_input(f"cannot be written: {error.strerror}", file=self.spec) from error
        with self._locked(alone=True):
            if self._has_changed():
                return False
            for name, data in files.items():
                if is_object(name):
                    write_atomic(Path(self.path) / name, data)
                elif not write_new(Path(self.path) / name, data):
                    return False
        return True

    def delete(self, names: Collection[str], message: str) -> bool:
        """Delete records, then objects, then what killed processes left."""
        del message
        with self._locked(alone=True):
            if self._has_changed():
                return False
            for name in names:
                if not is_object(name):
                    self._unlink(name)
            left = [f"{folder}/{name}" for folder in FOLDERS for name in self._all(folder) if _LEFT.fullmatch(name)]
            # By the clock of the file system, on which a folder changes with the files that are deleted from it.
            folders = [Path(self.path) / folder for folder in FOLDERS]
            now = max((folder.stat().st_mtime for folder in folders if folder.is_dir()), default=0.0)
            for name in (*filter(is_object, names), *left):
                if not self.every_run or self._is_older(name, now - DAY):
                    self._unlink(name)
        return True

    def _unlink(self, name: str) -> None:
        with self._access(name, "deleted"):
            (Path(self.path) / name).unlink(missing_ok=True)

    def _is_older(self, name: str, moment: float) -> bool:
        with suppress(FileNotFoundError):
            return (Path(self.path) / name).stat().st_mtime < moment
        return False

    def _listed(self, folder: str) -> Sequence[str]:
        return sorted(name for name in self._all(folder) if not _LEFT.fullmatch(name))

    def _all(self, folder: str) -> list[str]:
        with suppress(FileNotFoundError), self._access(folder):
            return os.listdir(f"{self.path}/{folder}")  # noqa: PTH208 -- names alone, of ten thousand files
        if folder == ACCEPTED and not self.every_run:
            self._refuse_foreign()
        return []

    def _refuse_foreign(self) -> None:
        """A directory without acceptances that has anything else in it is somebody else's."""
        names = os.listdir(self.path) if Path(self.path).is_dir() else []  # noqa: PTH208 -- as above
        if any(name not in FOLDERS for name in names):
            raise bad_input(f"is no baseline: it has no folder {ACCEPTED}/", file=self.spec)

    def _has_changed(self) -> bool:
        return any(self._listed(folder) != names for folder, names in self._seen.items())

    @contextmanager
    def _access(self, name: str, what: str = "read") -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise bad_input(f"cannot be {what}: {error.strerror}", file=f"{self.spec}/{name}") from error

    @contextmanager
    def _locked(self, *, alone: bool) -> Iterator[None]:
        """One writer at a time, or readers among themselves, where the system has locks; they end with the process."""
        handle: int | None = None
        with suppress(OSError):  # a file system without locks, or a directory that cannot be read
            if sys.platform != "win32":
                handle = os.open(self.path, os.O_RDONLY)
                fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)


def holds_acceptance(folder: Path) -> bool:
    """Whether anything was ever accepted into a directory."""
    return any(ENTRY.fullmatch(file.name) for file in folder.glob(f"{ACCEPTED}/*"))


def directory_store(path: str) -> MemoryStore:
    """The default store: what is accepted now, in a directory, and of older runs their numbers alone."""
    return MemoryStore(Memory(DirectoryPlace(path)))


def local_memory(url: str) -> Memory:
    """The memory at a `file://` address, which keeps every run."""
    path = url.removeprefix(LOCAL)
    if not Path(path).is_absolute():
        raise bad_input("a file:// address has an absolute path, as file:///srv/baseline", file=url)
    return Memory(DirectoryPlace(path, url, every_run=True))
