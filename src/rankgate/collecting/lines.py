"""The run line that a result becomes, and the partial file that keeps the lines of an interrupted recording.

The partial file's first line names the gold set, the questions, the retriever and the provenance; then follow run lines
in the order in which the answers came. Each is appended whole, so that a killed process leaves at most one torn line.
"""

from __future__ import annotations

import datetime as dt
import json
import numbers
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import msgspec

from rankgate.collecting.code_state import PARTIAL
from rankgate.errors import RankgateError, bad_input, redacted
from rankgate.files.writing import write_atomic
from rankgate.model.values import RunField
from rankgate.readers.base import TEXT_KEY
from rankgate.readers.json_text import spoken
from rankgate.readers.results import ResultError, described, written_line
from rankgate.readers.run_shapes import Item, generated_of, loose_shape
from rankgate.readers.strict_lines import PER_QUERY_KEYS

_MARK = "rankgate_partial"
_VERSION = 1


class Key(NamedTuple):
    """A question: its id, the digest of its text, and whether it is of the traffic."""

    query_id: str
    digest: str | None = None
    traffic: bool = False


class Line(NamedTuple):
    """A line of the run, whose bytes end in a newline; `ms` is the `total` of its `latency_ms`, or else their sum."""

    key: Key
    data: bytes
    ms: float | None


def run_line(key: Key, result: Any, measured_ms: float, provenance: Mapping[str, Any]) -> Line:
    """The run line of what the retriever returned; a ResultError where no reader could read it.

    A result that is a complete run line wins with what it states (`latency_ms`, `system`, …) over what was measured and
    over the provenance, but not over the digest of the question's text, and whether that is of the traffic.
    """
    stated: dict[str, Any] = {}
    if key.digest:
        stated[TEXT_KEY] = key.digest
    if key.traffic:
        stated[RunField.TRAFFIC.value] = True
    line = {"query_id": key.query_id, **stated, **provenance} | written_line(key.query_id, result) | stated
    line.setdefault("latency_ms", {"retrieve": round(measured_ms, 3)})
    try:
        return read_back(encoded(line))
    except msgspec.MsgspecError as error:
        raise ResultError(f"the result is what no reader accepts: {spoken(error)}") from error


def checked_provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What is stated of a whole run, as its first line holds it."""
    for key in provenance:
        if key in PER_QUERY_KEYS:
            raise bad_input(f"{key!r} cannot be set for the whole run: it belongs to each query's result")
    try:
        checked: dict[str, Any] = json.loads(encoded(provenance))
    except ResultError as error:
        raise bad_input(f"the provenance: {error}") from error
    return checked


def encoded(value: Mapping[str, Any]) -> bytes:
    """Compact JSON on one line; a ResultError where it cannot hold a value."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
        return text.encode() + b"\n"
    except UnicodeEncodeError as error:
        raise ResultError("it holds text with half of a surrogate pair, which is not valid Unicode") from error
    except RecursionError as error:
        raise ResultError("it is nested too deeply for JSON") from error
    except (TypeError, ValueError) as error:
        raise ResultError(f"it cannot be written as JSON: {error}") from error


def _plain(value: Any) -> Any:
    """What JSON does not know, where there is one obvious way to write it."""
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"it holds {described(value)}")


class _Recorded(msgspec.Struct):
    """What every recorded line holds."""

    query_id: str
    topk: list[Item]
    latency_ms: dict[str, float] | None = None
    question_sha256: str | None = None
    traffic: bool = False


_ANSWERED = loose_shape(frozenset({RunField.ANSWER}))


def read_back(data: bytes) -> Line:
    """The line, once it is sure that a reader takes it; else a MsgspecError or a ResultError."""
    line = msgspec.json.decode(data, type=_Recorded)
    try:
        generated_of(msgspec.json.decode(data, type=_ANSWERED), [str(item.name) for item in line.topk])
    except msgspec.MsgspecError:
        raise
    except ValueError as error:
        raise ResultError(f"its {error}") from error
    times = line.latency_ms
    ms = times.get("total", sum(times.values())) if times else None
    return Line(Key(line.query_id, line.question_sha256, line.traffic), data, ms)


class PartialRun:
    """Lines by question, each on disk as soon as it is added. Used as a context manager, which keeps the file open.

    `notice` is one sentence for the user where an earlier recording is resumed, or cannot be; else None.
    """

    def __init__(
        self,
        run: Path,
        binding: Mapping[str, Any],
        questions: Collection[Key],
        *,
        name: str,
        restart: bool = False,
        refused: str | None = None,
    ) -> None:
        """Take over what an earlier recording left, unless it belongs to something else or `restart` is set.

        What it belongs to is in `binding`, each under the words for it, as `gold set`. Messages call the run by `name`.
        What is `refused`, for this reason, is deleted before anything is read.
        A RankgateError where the file cannot be read or written.
        """
        self.path = run.with_name(run.name + PARTIAL)
        self.name = redacted(name + PARTIAL)
        self.lines: dict[Key, Line] = {}
        self.notice: str | None = None
        header = encoded({_MARK: _VERSION, **binding})
        if refused and not restart and os.path.lexists(self.path):
            self.notice = f"{self.name} {refused}; starting over"
        if restart or refused:
            self._delete()
        self._take_over(json.loads(header), questions)
        write_atomic(self.path, header + b"".join(line.data for line in self.lines.values()))

    def add(self, line: Line) -> None:
        """Keep a line; a RankgateError where it cannot be written: what was kept before stays."""
        try:
            self._file.write(line.data)
            self._file.flush()
        except OSError as error:
            raise self._refused("written", error) from error
        self.lines[line.key] = line

    def kept(self) -> int:
        """How many lines the file holds, which is one more than `lines` where an interrupt came between the two."""
        with suppress(OSError):  # the retriever may have moved it away
            self._file.flush()
            return self.path.read_bytes().count(b"\n") - 1
        return 0

    def remove(self) -> None:
        """Delete the file, when the run is written or there is nothing to keep."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _delete(self) -> None:
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise self._refused("deleted", error) from error

    def _take_over(self, wanted: Mapping[str, Any], questions: Collection[Key]) -> None:
        try:
            # What follows the last newline is a torn line, or nothing.
            first, *rest = self.path.read_bytes().split(b"\n")[:-1] or [b""]
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._refused("read", error) from error
        other = _differences(first, wanted)
        if other:
            self.notice = f"{self.name} is {other}; starting over"
            self._delete()
            return
        for data in rest:
            with suppress(ValueError):
                line = read_back(data + b"\n")
                if line.key in questions:
                    self.lines[line.key] = line
        if self.lines:
            count = f"{len(self.lines):,} of {len(questions):,} questions are recorded already and not asked again"
            hint = f"if the retriever has changed since, remove {self.name} to begin again (restart=True in Python)"
            self.notice = f"resuming {self.name}: {count}; {hint}"

    def _refused(self, what: str, error: OSError) -> RankgateError:
        return bad_input(f"cannot be {what}: {error.strerror or error}", file=self.name)

    def __enter__(self) -> Self:
        try:
            self._file: BinaryIO = self.path.open("ab")
        except OSError as error:
            raise self._refused("written", error) from error
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # every line was flushed, and its failure raised, when it was added
            self._file.close()


def _differences(first: bytes, wanted: Mapping[str, Any]) -> str:
    """What a header line belongs to instead of what is wanted; nothing where it fits."""
    try:
        header = json.loads(first)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get(_MARK) != _VERSION:
        return "damaged or of another version of rankgate"
    other = [key for key, value in wanted.items() if _canonical(header.get(key)) != _canonical(value)]
    return f"of another {' and another '.join(other)}" if other else ""


def _canonical(value: object) -> str:
    """One text a value, whatever the order of keys; `1`, `1.0` and `true` differ."""
    return json.dumps(value, sort_keys=True)
