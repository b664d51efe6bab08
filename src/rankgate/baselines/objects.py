"""Whole objects by their name: files below a directory, or wherever fsspec reaches.

`file://` needs no package and is as strict as an object store. Keys and passwords stay out of messages.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from rankgate.errors import RankgateError, bad_input, redacted
from rankgate.files.writing import write_atomic, write_new
from rankgate.readers.source import S3, cloud_at, cloud_reason

LOCAL = "file://"
MAX_TRIES = 3  # to create an object; below that the store's own client repeats what is lost
_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<place>[^?#*\[\]\s]+)", re.IGNORECASE)


def objects_at(url: str) -> Objects:
    """What lies at a plain `scheme://` address: `file://` by itself, all others through fsspec."""
    return _LocalObjects(url) if url.startswith(LOCAL) else _CloudObjects(url)


class Objects(ABC):
    """A place for objects, each under a path of plain words; `spec` is how users name it, without passwords.

    Every method raises a RankgateError where the place cannot be reached, or may not be read or written.
    """

    _errors: ClassVar[type[Exception]] = Exception  # every store has its own

    def __init__(self, url: str) -> None:
        self.spec = redacted(url).rstrip("/")

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of what lies in a folder now, without the folder; none where there is no folder."""

    @abstractmethod
    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """The bytes of objects, many at once where the store allows it; those that are not there are left out."""

    @abstractmethod
    def holds(self, name: str) -> bool:
        """Whether there is such an object."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Write an object, whole or not at all; False where there is one of that name with other bytes, which stays."""

    @abstractmethod
    def replace(self, name: str, data: bytes) -> None:
        """Write an object, also in place of another."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete an object, if it is there."""

    @abstractmethod
    def modified(self, name: str) -> float | None:
        """When an object was written, in seconds by the store's own clock; None where it is not there or none says."""

    @contextmanager
    def _access(self, name: str, *, optional: bool = False) -> Iterator[None]:
        """Errors named by the object that is accessed; of an optional one the error that it is not there, as it is."""
        try:
            yield
        except self._errors as error:
            if optional and isinstance(error, FileNotFoundError):
                raise
            raise self._error(error, name) from None

    def _error(self, error: Exception, name: str) -> RankgateError:
        return bad_input(self._reason(error), file=f"{self.spec}/{name}" if name else self.spec)

    @staticmethod
    @abstractmethod
    def _reason(error: Any) -> str:
        """What an error means, in words that show no secret."""


class _LocalObjects(Objects):
    """Files below an absolute path; a name with a dot at its front is a file that is still being written."""

    _errors = OSError

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._root = Path(url.removeprefix(LOCAL))
        if not self._root.is_absolute():
            raise bad_input("a file:// address has an absolute path, as file:///srv/baseline", file=url)

    def names(self, folder: str) -> list[str]:
        with suppress(FileNotFoundError), self._access(folder, optional=True):
            return [file.name for file in (self._root / folder).iterdir()]
        return []

    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        data: dict[str, bytes] = {}
        for name in names:
            with suppress(FileNotFoundError), self._access(name, optional=True):
                data[name] = (self._root / name).read_bytes()
        return data

    def holds(self, name: str) -> bool:
        return self.modified(name) is not None

    def create(self, name: str, data: bytes) -> bool:
        return write_new(self._root / name, data) or self.read([name]).get(name) == data

    def replace(self, name: str, data: bytes) -> None:
        write_atomic(self._root / name, data)

    def delete(self, name: str) -> None:
        with self._access(name):
            (self._root / name).unlink(missing_ok=True)

    def modified(self, name: str) -> float | None:
        with suppress(FileNotFoundError), self._access(name, optional=True):
            return (self._root / name).stat().st_mtime
        return None

    @staticmethod
    def _reason(error: OSError) -> str:
        return f"cannot be used: {error.strerror or error}"


class _CloudObjects(Objects):
    """Objects below an address; credentials are those that fsspec and the store's own client are configured with."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._files, self._root = cloud_at(url, _ADDRESS)
        self._scheme = url.partition(":")[0].lower()

    def names(self, folder: str) -> list[str]:
        path = self._path(folder)
        try:
            with self._access(folder, optional=True):
                self._files.invalidate_cache()
                listed = self._files.ls(path, detail=False)
        except FileNotFoundError as error:
            # A prefix without objects is an empty memory; a bucket that is not there is a mistake in writing.
            if self._scheme in S3 and not self._files.exists(self._root.split("/")[0]):
                raise self._error(error, "") from None
            return []
        names = (str(each).rstrip("/").rpartition("/")[2] for each in listed if str(each).rstrip("/") != path)
        return [name for name in names if name]

    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        if not names:
            return {}
        with self._access(names[0]):
            data: Mapping[str, Any] = self._files.cat([self._path(name) for name in names], on_error="return")
        answers = {name: data.get(self._path(name), FileNotFoundError()) for name in names}
        for name, answer in answers.items():
            if isinstance(answer, Exception) and not isinstance(answer, FileNotFoundError):
                raise self._error(answer, name)
        return {name: answer for name, answer in answers.items() if isinstance(answer, bytes)}

    def holds(self, name: str) -> bool:
        with self._access(name):
            return bool(self._files.exists(self._path(name)))

    def create(self, name: str, data: bytes) -> bool:
        # On S3 the store itself refuses a second one (`If-None-Match: *`). After an answer that was lost, or a refusal
        # in the store's own words, what is there decides.
        error: Exception = FileNotFoundError()
        for _ in range(MAX_TRIES):
            try:
                self._files.pipe_file(self._path(name), data, mode="create")
            except Exception as refusal:  # noqa: BLE001 -- every store has its own errors
                error = refusal
            else:
                return True
            there = self.read([name])
            if name in there:
                return there[name] == data
        raise self._error(error, name) from None

    def replace(self, name: str, data: bytes) -> None:
        with self._access(name):
            self._files.pipe_file(self._path(name), data)

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError), self._access(name, optional=True):
            self._files.rm_file(self._path(name))

    def modified(self, name: str) -> float | None:
        with suppress(FileNotFoundError), self._access(name, optional=True):
            try:
                return float(self._files.modified(self._path(name)).timestamp())
            except NotImplementedError:
                return None
        return None

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    _reason = staticmethod(cloud_reason)
