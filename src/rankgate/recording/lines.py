"""The run line that a result becomes."""

from __future__ import annotations

import datetime as dt
import json
import numbers
from collections.abc import Mapping
from typing import Any

import msgspec

from rankgate.errors import shown
from rankgate.readers.json_text import spoken
from rankgate.readers.run_shapes import Item
from rankgate.recording.results import ACCEPTED, ResultError, described, keys_of, ranked_items, stages

_BUILT_HERE = frozenset({"query_id", "topk", "raw_topk", "latency_ms"})


class Line(msgspec.Struct, frozen=True):
    """A line of the run as bytes that end in a newline, and the sum of its `latency_ms`."""

    data: bytes
    ms: float


def run_line(query_id: str, result: Any, measured_ms: float, provenance: Mapping[str, Any]) -> Line:
    """The run line of one question.

    Items get ranks 1 to n in the given order; repeated ids stay. What a whole run line says itself (`latency_ms`,
    `system`, …) wins over what was measured and over the provenance; its `query_id` may be left out.

    Args:
        query_id: the gold's id of the question.
        result: what the retriever returned, drained.
        measured_ms: the duration of the call.
        provenance: keys that every line carries.

    Raises:
        ResultError: the result has none of the accepted shapes, or no reader could read it.
    """
    whole = result if isinstance(result, Mapping) else {"topk": result}
    if "topk" not in whole:
        raise ResultError(f"it returned a mapping without topk ({keys_of(whole)}); {ACCEPTED}")
    if str(whole.get("query_id", query_id)) != query_id:
        raise ResultError(f"it returned a run line of query {shown(whole['query_id'])} for this question")
    line = {"query_id": query_id, **provenance}
    line |= {key: value for key, value in whole.items() if key not in _BUILT_HERE}
    line["topk"] = ranked_items(whole["topk"], "")
    if whole.get("raw_topk") is not None:
        line["raw_topk"] = ranked_items(whole["raw_topk"], "raw_topk: ")
    line["latency_ms"] = stages(whole.get("latency_ms")) or {"retrieve": round(measured_ms, 3)}
    try:
        return read_back(encoded(line))
    except msgspec.MsgspecError as error:
        raise ResultError(f"it returned what no reader accepts: {spoken(error)}") from error


def encoded(value: Mapping[str, Any]) -> bytes:
    """Compact JSON on one line.

    Raises:
        ResultError: JSON cannot hold a value.
    """
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


def read_back(data: bytes) -> Line:
    """The line, once it is sure that a reader takes it.

    Raises:
        msgspec.MsgspecError: it does not.
    """
    times = msgspec.json.decode(data, type=_Recorded).latency_ms
    return Line(data, sum(times.values()) if times else 0.0)


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
