"""Verdicts as lines of JSON: the one file that a judge appends to, and that every check reads.

A file's lines count in their order. Of a slot the first verdict stays; one takes the place of an `Unjudged`, and a line
with `replaces` that of whatever stands before it. So files may be appended to each other, and nothing is rewritten.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from io import BytesIO, FileIO
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Self

import msgspec
from msgspec.structs import replace as changed

from rankgate.baselines.records import RESTORE
from rankgate.errors import RankgateError, bad_input, shown
from rankgate.judge.model import canonical
from rankgate.judge.records import Record, Slot
from rankgate.readers.base import Run, line_json
from rankgate.readers.json_text import explain

if sys.platform != "win32":
    import fcntl

_BEGINNINGS = (b'{"fingerprint":', b'{"judge":')  # of every line of ours
_IN_USE = "another `rankgate judge` writes to it; wait until that has ended (`judge --store FILE` takes another file)"


class Store:
    """The verdicts of one file, for any number of threads of one process at a time; without a file, for this one alone.

    The lock is the system's and ends with the process, however that ends. Readers need none.
    """

    def __init__(self, path: str | Path | None = None, *, writes: bool = True) -> None:
        """Open or create the file, and cut off a last line that a killed process left unfinished.

        Without `writes` it is only read, where it is there, and what comes is forgotten with the process.
        """
        self._records: dict[Slot, Record] = {}
        self.name = str(path)
        self._lock = Lock()
        self._file: FileIO | None = None
        if path is not None and writes:
            try:
                self._file = self._open(Path(path))
            except OSError as error:
                raise self._unusable(error) from error
        elif path is not None and Path(path).exists():
            self._records = read_verdicts(path)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the file back; a thread that still comes with a verdict is refused."""
        with self._lock:
            if self._file:
                self._file.close()

    @property
    def records(self) -> Mapping[Slot, Record]:
        """All records."""
        return self._records

    def get(self, slot: Slot, /) -> Record | None:
        """The record of a slot; None where there is none."""
        return self._records.get(slot)

    def put(self, *records: Record, replace: bool = False) -> None:
        """Keep records unless their slots have verdicts; they are on the disk when this returns.

        With `replace` what slots have is given up.
        """
        with self._lock:
            new = [each for each in records if replace or counts_after(each, self._records.get(each.slot))]
            if self._file and new:
                self._append(self._file, b"".join(line_of(changed(each, replaces=replace)) for each in new))
            self._records |= {each.slot: each for each in new}

    def _open(self, path: Path) -> FileIO:
        if path.exists() and not path.is_file():
            raise bad_input("is no file to append verdicts to", file=self.name)
        with ExitStack() as undo:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = undo.enter_context(path.open("ab+", buffering=0))
            if not _locked(file):
                raise bad_input(_IN_USE, file=self.name)
            data = path.read_bytes()
            self._records = by_slot(_read(BytesIO(data), self.name))
            last = data[data.rfind(b"\n") + 1 :]
            if last and _torn(last):
                file.truncate(len(data) - len(last))
            elif last:
                file.write(b"\n")
            undo.pop_all()
        return file

    def _append(self, file: FileIO, data: bytes) -> None:
        """Write whole lines, or as good as none: a later line must not follow the half of one."""
        try:
            size = file.seek(0, os.SEEK_END)
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise
        except (OSError, ValueError) as error:  # a full disk, or a file that was given back
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> RankgateError:
        why = getattr(error, "strerror", None) or str(error)
        return bad_input(f"cannot keep verdicts: {why}; `judge --store FILE` takes another file", file=self.name)


def line_of(record: Record) -> bytes:
    """A record as a line, which ends in a newline."""
    return canonical(msgspec.to_builtins(record)) + b"\n"


def record_of(line: bytes) -> Record:
    """The record of a line."""
    return msgspec.convert(line_json(line), Record)


def read_verdicts(path: str | Path) -> dict[Slot, Record]:
    """What a file holds, also while a judge writes to it: a last line that is not yet whole does not count."""
    try:
        with Path(path).open("rb") as lines:
            return by_slot(_read(lines, str(path)))
    except OSError as error:
        raise bad_input(f"cannot be read: {error.strerror}", file=str(path)) from error


def by_slot(records: Iterable[Record]) -> dict[Slot, Record]:
    """One record a slot: which counts of these, in their order."""
    known: dict[Slot, Record] = {}
    for record in records:
        if record.replaces:
            known[record.slot] = changed(record, replaces=False)
        elif counts_after(record, known.get(record.slot)):
            known[record.slot] = record
    return known


def listed(records: Iterable[Record]) -> bytes:
    """Records as a JSON list, sorted, as a stored run holds them; each is as its line of a `verdicts.jsonl`."""
    return b"[" + b",".join(written(records).splitlines()) + b"]"


def stored_verdicts(run: Run) -> dict[Slot, Record]:
    """What was stored with the answers of a run, which is read for it, with `RunField.VERDICTS`."""
    stored: list[Record] = []
    for ranking in run.rankings:
        data = (ranking.details.records if ranking.details else None) or b"[]"
        try:
            stored += [record_of(bytes(line)) for line in msgspec.json.decode(data, type=list[msgspec.Raw])]
        except (ValueError, RecursionError) as error:
            problem = f"damaged baseline: the verdicts on {shown(ranking.query_id)}: {explain(data, error)}"
            raise bad_input(f"{problem}; {RESTORE}", file=run.name) from error
    return by_slot(stored)


def written(records: Iterable[Record]) -> bytes:
    """A `verdicts.jsonl`: a line a record, sorted."""
    return b"".join(line_of(record) for record in sorted(records, key=attrgetter("slot")))


def counts_after(record: Record, earlier: Record | None) -> bool:
    """Whether a record counts after the one that its slot has."""
    return earlier is None or (earlier.unjudged is not None and record.unjudged is None)


def _read(lines: Iterable[bytes], name: str) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if _torn(line):
            return
        try:
            yield record_of(line)
        except (ValueError, RecursionError) as error:
            raise bad_input(explain(line, error), file=name, line=number) from error


def _torn(line: bytes) -> bool:
    """Whether a line is the beginning of one of ours; zeros may end it after a loss of power."""
    if line.endswith(b"\n"):
        return False
    ours = line.rstrip(b"\0")
    if not any(ours.startswith(beginning) or beginning.startswith(ours) for beginning in _BEGINNINGS):
        return False
    try:
        line_json(line)
    except (ValueError, RecursionError):
        return True
    return False


def _locked(file: FileIO) -> bool:
    """Take the lock of a file; False where another process has it."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
    return True
