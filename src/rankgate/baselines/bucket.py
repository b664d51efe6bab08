"""Runs in a bucket: whatever fsspec reaches, the records created by the store's own refusal of a second one.

Records are copied by the hundred, so that a long log takes few requests. What a copy lacks is read from its record, and
the listing decides what there is, so that a copy that is behind changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

from rankgate.baselines.memory import DAY, Memory, is_object
from rankgate.baselines.records import decode_record
from rankgate.errors import RankgateError, bad_input, redacted
from rankgate.readers.buckets import S3, cloud_at, cloud_reason

MAX_TRIES = 3  # to create a record; below that the store's own client repeats what is lost
_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<place>[^?#*\[\]\s]+)", re.IGNORECASE)


class BucketPlace:
    """Objects below an address; credentials are those that fsspec and the store's own client are configured with."""

    every_run = True
    has_strays = True

    def __init__(self, url: str) -> None:
        self.spec = redacted(url).rstrip("/")
        self._files, self._root = cloud_at(url, _ADDRESS)
        self._scheme = url.partition(":")[0].lower()
        self._copies: dict[str, Mapping[str, bytes]] = {}

    def refresh(self) -> None:
        """Forget the copies."""
        self._copies.clear()

    def names(self, folder: str) -> Sequence[str]:
        """A folder as it is listed now."""
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

    def read(self, names: Sequence[str], *, exact: bool = False) -> Mapping[str, bytes]:
        """Records from their copies where these have them; all else, many at once, as it is."""
        known: dict[str, bytes] = {}
        if not exact:
            for copy, copied in self._copied(names).items():
                known |= {name: copied[name] for name in names if copy == _copy_of(name) and name in copied}
        return known | self._get([name for name in names if name not in known])

    def create(self, files: Mapping[str, bytes], message: str) -> bool:
        """Write objects, which makes them young, then the record, then its copy."""
        del message
        for name, data in files.items():
            if is_object(name):
                self._put(name, data)
                continue
            if name in self._copied([name])[_copy_of(name)]:  # of a record that somebody deleted by hand
                self._renew(_copy_of(name))
            if not self._create(name, data):
                return False
            for other in filter(is_object, files):
                if not self._holds(other):  # an older one, which was pruned just now
                    self._put(other, files[other])
            with suppress(RankgateError):  # the record is there, and the next one renews the copy
                self._renew(_copy_of(name))
        return True

    def delete(self, names: Collection[str], message: str) -> bool:
        """Delete records and renew their copies; then objects that are a day old."""
        del message
        records = [name for name in names if not is_object(name)]
        for name in records:
            self._delete(name)
        copies = sorted(set(map(_copy_of, records)))
        for copy in copies:
            self._renew(copy)
        now = max(filter(None, map(self._modified, copies)), default=0.0)  # by the store's own clock
        for name in filter(is_object, names):
            written = self._modified(name)
            if written is not None and now - written > DAY:
                self._delete(name)
        return True

    def _copied(self, names: Sequence[str]) -> dict[str, Mapping[str, bytes]]:
        """The copies that may have these records; nothing in one that is not there or damaged."""
        copies = list(dict.fromkeys(_copy_of(name) for name in names if not is_object(name)))
        data = self._get([copy for copy in copies if copy not in self._copies])
        for copy in copies:
            texts: Mapping[str, str] = {}
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                texts = msgspec.json.decode(data.get(copy, b""), type=dict[str, str])
            self._copies.setdefault(copy, {name: text.encode() for name, text in texts.items()})
        return {copy: self._copies[copy] for copy in copies}

    def _renew(self, copy: str) -> None:
        """Copy the records that are there now; of two that do so at once the later one may lack the other's record."""
        folder = copy.split("/")[1]
        names = [f"{folder}/{name}" for name in self.names(folder)]
        wanted = [name for name in names if _copy_of(name) == copy]
        self._copies.pop(copy, None)
        texts: dict[str, str] = {}
        for name, data in self.read(wanted).items():
            with suppress(RankgateError):  # whoever reads the record itself is told what is wrong with it
                decode_record(data, name, advice="")
                texts[name] = data.decode()
        if texts:
            self._put(copy, msgspec.json.encode(texts))
        else:
            self._delete(copy)
        self._copies.pop(copy, None)

    def _create(self, name: str, data: bytes) -> bool:
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
            there = self._get([name])
            if name in there:
                return there[name] == data
        raise self._error(error, name) from None

    def _get(self, names: Sequence[str]) -> dict[str, bytes]:
        if not names:
            return {}
        with self._access(names[0]):
            data: Mapping[str, Any] = self._files.cat([self._path(name) for name in names], on_error="return")
        answers = {name: data.get(self._path(name), FileNotFoundError()) for name in names}
        for name, answer in answers.items():
            if isinstance(answer, Exception) and not isinstance(answer, FileNotFoundError):
                raise self._error(answer, name)
        return {name: answer for name, answer in answers.items() if isinstance(answer, bytes)}

    def _holds(self, name: str) -> bool:
        with self._access(name):
            return bool(self._files.exists(self._path(name)))

    def _put(self, name: str, data: bytes) -> None:
        with self._access(name):
            self._files.pipe_file(self._path(name), data)

    def _delete(self, name: str) -> None:
        with suppress(FileNotFoundError), self._access(name, optional=True):
            self._files.rm_file(self._path(name))

    def _modified(self, name: str) -> float | None:
        """When it was written, in seconds; None where it is not there or the store does not say."""
        with suppress(FileNotFoundError, NotImplementedError), self._access(name, optional=True):
            return float(self._files.modified(self._path(name)).timestamp())
        return None

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _access(self, name: str, *, optional: bool = False) -> Iterator[None]:
        """Errors named by the object that is accessed; of an optional one the error that it is not there, as it is."""
        try:
            yield
        except Exception as error:  # every store has its own
            if optional and isinstance(error, (FileNotFoundError, NotImplementedError)):
                raise
            raise self._error(error, name) from None

    def _error(self, error: Exception, name: str) -> RankgateError:
        return bad_input(cloud_reason(error), file=f"{self.spec}/{name}" if name else self.spec)


def _copy_of(name: str) -> str:
    """The copy of a record: that of the hundred to which its number belongs."""
    return f"copies/{name[:-7]}.json"


def bucket_memory(url: str) -> Memory:
    """The memory at a `scheme://` address."""
    return Memory(BucketPlace(url))
