"""The run line that a result becomes."""

from __future__ import annotations

import datetime as dt
import json
import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from rankgate.errors import bad_input
from rankgate.model.question_text import TEXT_KEY
from rankgate.model.values import RunField
from rankgate.readers.json_text import spoken
from rankgate.readers.results import ResultError, described, written_line
from rankgate.readers.run_shapes import Item, generated_of, loose_shape
from rankgate.readers.strict_lines import PER_QUERY_KEYS


class Key(NamedTuple):
    """A question: its id, the digest of its text, and whether it is of the traffic."""

    query_id: str
    digest: str | None
    traffic: bool


class Line(msgspec.Struct, frozen=True):
    """A line of the run as bytes that end in a newline, and its time: `total` of `latency_ms`, the sum, or None.

    `digest` is that of the question's text.
    """

    query_id: str
    data: bytes
    ms: float | None
    digest: str | None = None
    traffic: bool = False

    @property
    def key(self) -> Key:
        """Which question it answers."""
        return Key(self.query_id, self.digest, self.traffic)


def run_line(
    query_id: str,
    result: Any,
    measured_ms: float,
    provenance: Mapping[str, Any],
    digest: str | None = None,
    *,
    traffic: bool = False,
) -> Line:
    """The run line of what the retriever returned; a ResultError where no reader could read it.

    A result that is a complete run line wins with what it states (`latency_ms`, `system`, …) over what was measured and
    over the provenance, but not over the `digest` of the question's text, and whether that is of the `traffic`.
    """
    stated: dict[str, Any] = {}
    if digest:
        stated[TEXT_KEY] = digest
    if traffic:
        stated[RunField.TRAFFIC.value] = True
    line = {"query_id": query_id, **stated, **provenance} | written_line(query_id, result) | stated
    line.setdefault("latency_ms", {"retrieve": round(measured_ms, 3)})
    try:
        return read_back(encoded(line))
    except msgspec.MsgspecError as error:
        raise ResultError(f"the result is what no reader accepts: {spoken(error)}") from error


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


class _Recorded(msgspec.Struct):
    """What every recorded line holds."""

    query_id: str
    topk: list[Item]
    latency_ms: dict[str, float] | None = None
    question_sha256: str | None = None
    traffic: bool = False


def read_back(data: bytes) -> Line:
    """The line, once it is sure that a reader takes it.

    Raises:
        msgspec.MsgspecError: it does not.
        ResultError: the context names what is not there.
    """
    line = msgspec.json.decode(data, type=_Recorded)
    try:
        generated_of(msgspec.json.decode(data, type=_ANSWERED), [str(item.name) for item in line.topk])
    except msgspec.MsgspecError:
        raise
    except ValueError as error:
        raise ResultError(f"its {error}") from error
    times = line.latency_ms
    ms = times.get("total", sum(times.values())) if times else None
    return Line(line.query_id, data, ms, line.question_sha256, line.traffic)


_ANSWERED = loose_shape(frozenset({RunField.ANSWER}))


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


def checked_provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What is stated of a whole run, as its first line holds it.

    Raises:
        RankgateError: a key belongs to each query's result, or a value cannot be written as JSON.
    """
    for key in provenance:
        if key in PER_QUERY_KEYS:
            raise bad_input(f"{key!r} cannot be set for the whole run: it belongs to each query's result")
    try:
        checked: dict[str, Any] = json.loads(encoded(provenance))
    except ResultError as error:
        raise bad_input(f"the provenance: {error}") from error
    return checked
