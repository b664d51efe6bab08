"""Byte ranges of one file, each of whole lines and whole queries, so that several processes can read it together.

What reads a range is quick and knows nothing of the other ranges: neither the number of a line nor which queries stood
before. It answers only for a flawless file; whoever meets a flaw reads the file again from its beginning, carefully,
to say what is wrong and where.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any, BinaryIO

import msgspec

from rankgate.model.values import Need, Ranking
from rankgate.readers.source import FileMark

LARGE = 100_000_000  # bytes: below, starting processes gains little
_BUFFER = 1 << 18
Rankings = Iterator[Ranking]
QueryOf = Callable[[bytes], bytes | None]


class Quick(msgspec.Struct, frozen=True):
    """How to read the ranges of one kind of run.

    Attributes:
        read: the rankings of a range, from its bytes, the beginning of the whole file, what is needed beyond ids, and
            the size of the file. Any exception means that the file must be read carefully.
        query_of: which query a line belongs to, None for a blank one. Not given where every line is a whole query.
    """

    read: Callable[[BinaryIO, bytes, frozenset[Need], int], Iterator[Ranking]]
    query_of: QueryOf | None = None


class Part:
    """An open range of a file, or of what is as good as one."""

    def __init__(self, raw: io.FileIO | io.BytesIO, start: int, end: int, read: Callable[[Any], Rankings]) -> None:
        self.raw = raw
        self.start = start
        self.end = end
        self.read = read
        raw.seek(start)

    def rankings(self) -> Iterator[Ranking]:
        """The rankings of this range, to be read once."""
        return self.read(self.raw)

    def position(self) -> int:
        """How many of its bytes have been read, also by a process that was forked after it was opened."""
        return self.raw.tell() - self.start


class RunFile(msgspec.Struct, frozen=True):
    """A run that lies in one regular file, and so can be read in parts."""

    mark: FileMark
    head: bytes
    needs: frozenset[Need]
    quick: Quick

    @property
    def size(self) -> int:
        """In bytes."""
        return self.mark.size

    @property
    def by_line(self) -> bool:
        """Whether every line is a whole query."""
        return self.quick.query_of is None

    @contextmanager
    def parts(self, count: int) -> Iterator[Sequence[Part]]:
        """The file in at most that many ranges, opened; none where another file has taken its place.

        On leaving, a RankgateError where the file has changed its size.
        """
        with ExitStack() as opened:
            first = self._opened(opened)
            if first is None:
                yield ()
                return
            begins = borders(first, self.mark.start, self.size, count, self.quick.query_of)
            files = [first, *(self._opened(opened) for _ in begins[2:])]
            ranges = zip(files, begins, begins[1:], strict=False)
            parts = [Part(raw, start, end, partial(self._read, end - start)) for raw, start, end in ranges if raw]
            yield parts if len(parts) == len(files) else ()
            self.mark.refuse_changed(os.fstat(first.fileno()).st_size)

    def _read(self, limit: int, raw: io.FileIO) -> Iterator[Ranking]:
        return self.quick.read(io.BufferedReader(_Within(raw, limit), _BUFFER), self.head, self.needs, self.size)

    def _opened(self, stack: ExitStack) -> io.FileIO | None:
        try:
            raw = stack.enter_context(io.FileIO(self.mark.path))
        except OSError:
            return None
        now = os.fstat(raw.fileno())
        same = (now.st_dev, now.st_ino, now.st_size) == (self.mark.device, self.mark.inode, self.mark.size)
        return raw if same else None


class StoredRun(msgspec.Struct, frozen=True):
    """A stored run, in the place of a `RunFile`: what is compressed has one part, however many are asked for."""

    size: int
    parts: Callable[[int], AbstractContextManager[Sequence[Part]]]
    by_line: bool = True


def borders(raw: io.FileIO, start: int, end: int, count: int, query_of: QueryOf | None) -> list[int]:
    """Where up to `count` ranges of about the same size begin, and the end of the last."""
    begins = [start]
    for index in range(1, count):
        border = _next_query(raw, max(begins[-1], start + (end - start) * index // count), query_of)
        if border >= end:
            break
        if border > begins[-1]:
            begins.append(border)
    return [*begins, end]


def _next_query(raw: io.FileIO, at: int, query_of: QueryOf | None) -> int:
    """The beginning of a query behind this place, which may lie within a line; or the end of the file."""
    raw.seek(at)
    lines = io.BufferedReader(raw, _BUFFER)
    try:
        at += len(lines.readline())
        before = None
        while query_of and (line := lines.readline()):
            query = query_of(line)
            if query is not None and before is not None and query != before:
                break
            before = query or before
            at += len(line)
        return at
    finally:
        lines.detach()


class _Within(io.RawIOBase):
    """The next bytes of a file, up to a limit."""

    def __init__(self, raw: io.FileIO, limit: int) -> None:
        super().__init__()
        self.raw = raw
        self.limit = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self.raw.readinto(memoryview(buffer)[: self.limit]) or 0
        self.limit -= count
        return count
