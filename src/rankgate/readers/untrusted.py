"""An untrusted run, which may be any bytes: measured before anything parses it, and read by one reader only.

What is allowed is far more than a run of rankings needs, and far less than it takes to fill a machine's memory or an
hour of it.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from sys import getsizeof

import msgspec

from rankgate.errors import bad_input, shown
from rankgate.model.values import Details, Generated, Ranking, RunField
from rankgate.readers.base import Run
from rankgate.readers.formats import read_run
from rankgate.readers.gzipped import Unzipped
from rankgate.readers.source import BOM, GZIP, MAGIC, STDIN, shown_path

MAX_PACKED = 100_000_000  # bytes, as they lie in the file
MAX_UNPACKED = 256_000_000  # bytes, of a gzipped file
MAX_LINES = 1_000_000
MAX_LINE = 4_000_000  # bytes of one line
MAX_ITEMS = 10_000  # of one list of results
MAX_TEXTS = 3_000_000  # ids, names and texts of all lines together
MAX_HELD = 256_000_000  # bytes that these take in memory, where one rare character makes a text four times as large
MAX_GOLD = 5_000_000  # bytes of a gold set, unpacked: each may become thirty in memory, of YAML eighty

_FLAG = "--untrusted-run"
_CHUNK = 1 << 18


def read_untrusted_run(path: str, *, needs: frozenset[RunField] = frozenset()) -> Run:
    """Open an untrusted run: JSONL in a regular file, plain or gzipped, within the limits above.

    It is always read as JSONL, so that no other reader ever sees it, in one process, and what it says about its own
    origin is left out.

    Raises:
        RankgateError: no such file, or it is not allowed; while reading: malformed, or a list that is too long.
    """
    if path == STDIN:
        raise bad_input(f"{_FLAG} reads a file, not standard input; name it with --run")
    _measured(path, MAX_UNPACKED, jsonl=True)
    run = read_run(path, "jsonl", needs=needs)
    return msgspec.structs.replace(run, rankings=_bounded(run), provenance={}, quick=None)


def refuse_large_gold(path: str) -> None:
    """Refuse a gold set that a pull request may have changed where it is too large, no regular file, or Parquet."""
    _measured(path, MAX_GOLD, jsonl=False)
    with Path(path).open("rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            raise bad_input(f"is Parquet, which {_FLAG} does not read; write it as CSV or JSONL", file=shown_path(path))


def _measured(path: str, most: int, *, jsonl: bool) -> None:
    """Refuse what is no regular file, or beyond the limits, without holding more than a chunk of it."""
    name = shown_path(path)
    try:
        with os.fdopen(_opened(path, name), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_PACKED:
                raise bad_input(f"has {size:,} bytes; {_FLAG} allows {MAX_PACKED:,}", file=name)
            packed = file.read(len(GZIP)) == GZIP
            file.seek(0)
            read = io.BufferedReader(Unzipped(file, name), _CHUNK).read1 if packed else file.read
            _measure_lines(read, name, most, jsonl=jsonl)
    except OSError as error:
        raise bad_input(f"cannot be read: {error.strerror or error}", file=name) from error
    except ValueError as error:
        raise bad_input("cannot be read: no file can have this name", file=name) from error


def _opened(path: str, name: str) -> int:
    """The file, opened without waiting for anybody and without following a link."""
    if stat.S_ISLNK(os.lstat(path).st_mode):
        raise bad_input(f"is a link; {_FLAG} reads regular files alone", file=name)
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise bad_input(f"is no regular file; {_FLAG} reads no other", file=name)
    return file


def _measure_lines(read: Callable[[int], bytes], name: str, most: int, *, jsonl: bool) -> None:
    total = 0
    lines = 0
    length = 0  # of the line that has not ended yet
    begun = False
    while chunk := read(_CHUNK):
        if jsonl and not begun and (start := (chunk if total else chunk.removeprefix(BOM)).lstrip()):
            begun = True
            if not start.startswith(b"{"):
                what = "is no JSONL: the first line is no JSON object"
                raise bad_input(f"{what}; {_FLAG} reads no other format", file=name)
        total += len(chunk)
        first, *others = chunk.split(b"\n")
        length += len(first)
        if jsonl and length > MAX_LINE:  # any other line lies within the chunk
            what = f"a line of more than {MAX_LINE:,} bytes"
            raise bad_input(f"{what}; {_FLAG} allows no longer one", file=name, line=lines + 1)
        if others:
            lines += len(others)
            length = len(others[-1])
        if total > most:
            raise bad_input(f"unpacks to more than {most:,} bytes; {_FLAG} allows no more", file=name)
        if lines + bool(length) > MAX_LINES:
            raise bad_input(f"has more than {MAX_LINES:,} lines; {_FLAG} allows no more", file=name)


def _bounded(run: Run) -> Iterator[Ranking]:
    """The rankings, none of them longer than allowed, and together no more than memory is meant to hold."""
    count = 0
    held = 0
    for ranking in run.rankings:
        details = ranking.details or Details()
        for each in filter(None, [ranking, details.raw, *(details.rewrites or ())]):
            length = len(each.ids) + each.duplicates
            if length > MAX_ITEMS:
                message = f"query {shown(ranking.query_id)} lists {length:,} results; {_FLAG} allows {MAX_ITEMS:,}"
                raise bad_input(message, file=run.name)
            texts = _texts(each)
            count += len(texts)
            held += sum(map(getsizeof, texts))
        if count > MAX_TEXTS or held > MAX_HELD:
            most = f"{MAX_TEXTS:,}" if count > MAX_TEXTS else f"{MAX_HELD:,} bytes in memory of"
            raise bad_input(f"has more than {most} ids and texts; {_FLAG} allows no more", file=run.name)
        yield ranking


def _texts(ranking: Ranking) -> list[str]:
    """Whatever of a ranking is a text: what a report, a metric or a look at all ids could keep of it."""
    details = ranking.details or Details()
    stated = ((item.doc_id, item.version, item.text, item.source) for item in details.items or ())
    items = [text for texts in stated for text in texts if text]
    named = [*(details.entities or ()), *(details.scores or ()), *(details.latency_ms or ()), *(details.source or ())]
    named += (details.judges or {}).values()
    generated = details.generated or Generated()
    named += [generated.answer or "", *(generated.citations or ()), *(generated.context or ())]
    named += (generated.texts or {}).values()
    return [ranking.query_id, *ranking.ids, *items, *named]
