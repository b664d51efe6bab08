"""What a retriever may return, and the items that it becomes.

A list, tuple or other ordered iterable of ids (text or integers), of (id, score) pairs, or of mappings in the
contract's item shape; or one mapping that is a whole run line with `topk`.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat

from rankgate.errors import shown


class ResultError(ValueError):
    """What is wrong with a result, as a clause that begins with "it"."""


def drained(result: Any) -> Any:
    """The result with generators and other lazy iterables run to their end: their work is part of the call."""
    if isinstance(result, Mapping):
        return {key: _listed(value) for key, value in result.items()}
    return _listed(result)


def _listed(value: Any) -> Any:
    lazy = isinstance(value, Iterable) and not isinstance(value, _HELD)
    return list(value) if lazy else value


_HELD = (str, bytes, Mapping, list, tuple, set, frozenset)
ACCEPTED = "return a list of ids, of (id, score) pairs, or of mappings with chunk_id"


def ranked_items(result: Any, where: str) -> list[dict[str, Any]]:
    """The items of a list with ranks 1 to n in the given order; repeated ids stay, and so do the items' own keys.

    Args:
        result: the list, drained.
        where: names it in messages where it is not the result itself.

    Raises:
        ResultError: it is none of the accepted lists, or items are of several kinds, without an id, with a score that
            is not a finite number, or with a rank that is not their position.
    """
    _refuse_lookalikes(result, where)
    items: list[dict[str, Any]] = []
    first = ""
    for position, entry in enumerate(result, start=1):
        name = f"{where}item {position}"
        kind = _kind(entry, name)
        first = first or kind
        if kind != first:
            raise ResultError(f"it returned a mixture: {name} is {kind}, the first is {first}; return one kind")
        if isinstance(entry, Mapping):
            item = _checked_item(entry, position, name)
        elif kind == _PAIR:
            item = {"chunk_id": _id(entry[0], name), "score": _score(entry[1], name)}
        else:
            item = {"chunk_id": _id(entry, name)}
        items.append({"rank": position, **item})
    return items


def _refuse_lookalikes(result: Any, where: str) -> None:
    if isinstance(result, str | bytes):
        raise ResultError(f"it returned {where}a bare string, {shown(result)}; return a list, also of one id")
    if result is None:
        raise ResultError(f"it returned {where}None; return a list, an empty one where nothing was found")
    if inspect.iscoroutine(result):
        result.close()
        raise ResultError("it returned a coroutine that nobody awaits; write the function with `async def`")
    if isinstance(result, set | frozenset):
        raise ResultError(f"it returned {where}a set, which has no order; {ACCEPTED}, best first")
    if isinstance(result, Mapping) or not isinstance(result, Iterable):
        raise ResultError(f"it returned {where}{described(result)}; {ACCEPTED}")


_ID, _PAIR, _MAPPING = "an id", "a pair", "a mapping"


def _kind(entry: Any, name: str) -> str:
    if isinstance(entry, Mapping):
        return _MAPPING
    if isinstance(entry, tuple | list):
        if len(entry) != len((_ID, "score")):
            raise ResultError(f"{name} is a {type(entry).__name__} of {len(entry)}; a pair is (id, score)")
        return _PAIR
    if _is_id(entry):
        return _ID
    raise ResultError(f"{name} is {described(entry)}; {ACCEPTED}")


def _checked_item(entry: Mapping[str, Any], position: int, name: str) -> dict[str, Any]:
    item = {key: value for key, value in entry.items() if key != "rank"}
    if item.get("chunk_id") is None and item.get("id") is None:
        raise ResultError(f"{name} has neither chunk_id nor id ({keys_of(entry)})")
    if entry.get("rank") not in (None, position):
        raise ResultError(f"{name} says rank {shown(entry['rank'])}; return the items in order, or without ranks")
    for key in ("chunk_id", "id"):
        if item.get(key) is not None:
            item[key] = _id(item[key], f"{name}: {key}")
    if item.get("score") is not None:
        item["score"] = _score(item["score"], name)
    return item


def _is_id(value: Any) -> bool:
    return isinstance(value, str | numbers.Integral) and not isinstance(value, bool)


def _id(value: Any, name: str) -> str | int:
    if not _is_id(value):
        raise ResultError(f"{name} has {described(value)} where an id (text or integer) belongs")
    return value if isinstance(value, str) else int(value)


def _score(value: Any, name: str) -> float:
    score = _number(value)
    if score is None:
        raise ResultError(f"{name} has the score {shown(value)}; a score is a finite number")
    return score


def _number(value: Any) -> float | None:
    """A finite number, also from NumPy and the like; None for anything else."""
    if isinstance(value, str | bytes | bool) or not isinstance(value, SupportsFloat):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None
    if not math.isfinite(number):
        return None
    return value if isinstance(value, int) else number


def stages(own: Any) -> dict[str, float]:
    """The `latency_ms` that a run line states itself; empty where it states none.

    Raises:
        ResultError: it is not a mapping of stages to milliseconds.
    """
    if own is None:
        return {}
    if not isinstance(own, Mapping):
        raise ResultError(f'its latency_ms is {shown(own)}; write {{"stage": milliseconds}}')
    stages: dict[str, float] = {}
    for stage, time in own.items():
        number = _number(time)
        if number is None or number < 0:
            raise ResultError(f"its latency_ms.{stage} is {shown(time)}, not a number of milliseconds")
        stages[str(stage)] = number
    return stages


def described(value: Any) -> str:
    """A value and its type, for a message."""
    return f"{shown(value)} (type {type(value).__name__})"


def keys_of(value: Mapping[str, Any]) -> str:
    """The keys of a mapping, for a message."""
    return f"keys: {', '.join(map(str, value)) or 'none'}"
