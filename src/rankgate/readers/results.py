"""What a retriever may return, or a notebook hold, for one question: the items that it becomes, and the run line.

A list, tuple, array or other ordered iterable of ids (text or integers), of (id, score) pairs, of mappings in the
contract's item shape, or of objects with an id, as search libraries return them; or one mapping that is a whole run
line with `topk`. Nothing else is accepted, since what is no id would match nothing and score 0.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, SupportsFloat

from rankgate.errors import shown
from rankgate.readers.field_map import DOC, named
from rankgate.readers.recognition import ORDERS
from rankgate.readers.strict_lines import ANSWER_KEYS

ACCEPTED = "give a list of ids, of (id, score) pairs, of mappings with chunk_id, or of objects with an id"
_HELD = (str, bytes, bytearray, memoryview, Mapping, list, tuple, set, frozenset)
_BUILT_HERE = frozenset({"query_id", "topk", "raw_topk", "latency_ms", "traffic", *ANSWER_KEYS})
_ID, _PAIR, _MAPPING = "an id", "a pair", "a mapping"
# Under the contract's keys, what objects call it: LangChain's and Haystack's `Document`, Qdrant's `ScoredPoint`,
# LlamaIndex' `NodeWithScore` and its `node`.
_ATTRIBUTES: dict[str, Sequence[str]] = {"score": ["score"], "doc_id": ["doc_id", "ref_doc_id"]}
_ATTRIBUTES |= {"start": ["start_char_idx"], "end": ["end_char_idx"]}
_ATTRIBUTES |= {"chunk_id": ["chunk_id", "id", "node_id"], "text": ["text", "page_content", "content"]}


class ResultError(ValueError):
    """What is wrong with a result, as a clause of its own."""


def to_items(result: Any) -> Any:
    """The result with generators and other lazy iterables run to their end: their work is part of the call."""
    if isinstance(result, Mapping):
        return {key: listed(value) for key, value in result.items()}
    return listed(result)


def listed(value: Any) -> Any:
    """A list of what an array or a lazy iterable has; everything else as it is, tables too, which have no one order."""
    lazy = isinstance(value, Iterable) and not isinstance(value, _HELD) and not hasattr(value, "to_dict")
    return list(value) if lazy and getattr(value, "ndim", 1) != 0 else value


def written_line(query_id: str, result: Any) -> dict[str, Any]:
    """The run line of one question from what was retrieved, as `to_items` gives it; of a run line its other keys too.

    Raises:
        ResultError: it has none of the accepted shapes.
    """
    stated = result if isinstance(result, Mapping) else {"topk": result}
    if "topk" not in stated:
        raise ResultError(f"the result is a mapping without topk ({_keys(stated)}); {ACCEPTED}")
    if str(stated.get("query_id", query_id)) != query_id:
        raise ResultError(f"the result is a run line of query {shown(stated['query_id'])} for this question")
    if ORDERS.intersection(stated) and (documents := named(DOC, {*map(str, stated)} - {"id"})):
        raise ResultError(f"the result has topk, as a run line, and {documents[0]}, as one row; {ACCEPTED}")
    line = {"query_id": query_id, **{key: value for key, value in stated.items() if key not in _BUILT_HERE}}
    line["topk"] = _ranked_items(stated["topk"], "")
    if stated.get("raw_topk") is not None:
        line["raw_topk"] = _ranked_items(stated["raw_topk"], "raw_topk: ")
    line |= _answer(stated)
    times = _stages(stated.get("latency_ms"))
    return {**line, "latency_ms": times} if times else line


def _answer(line: Mapping[str, Any]) -> dict[str, Any]:
    """What a run line states of an answer, as far as it is there, in the order of `ANSWER_KEYS`."""
    stated = {key: line[key] for key in ANSWER_KEYS if line.get(key) is not None}
    for key, value in stated.items():
        kinds, words = _ANSWER_KINDS[key]
        if not isinstance(value, kinds):
            raise ResultError(f"its {key} is {described(value)}; give {words}")
        if isinstance(value, list | tuple):
            stated[key] = [_id(entry, f"{key}: item {at}") for at, entry in enumerate(value, start=1)]
    return stated


_ANSWER_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "answer": (str, "a text"),
    **dict.fromkeys(("citations", "context"), ((list, tuple), "a list of ids")),
    "context_texts": (Mapping, "a mapping of ids to texts"),
    "abstained": (bool, "True or False"),
}


def by_score(scores: Mapping[Any, Any]) -> list[tuple[str | int, float]]:
    """Pairs of `{id: score}`, the highest score first, ties by id descending, as in score files; else a ResultError."""
    pairs = [(_id(doc, "a key"), _score(score, shown(doc))) for doc, score in scores.items()]
    return sorted(pairs, key=lambda pair: (pair[1], str(pair[0])), reverse=True)


def _ranked_items(result: Any, where: str) -> list[dict[str, Any]]:
    """The items of a list with ranks 1 to n in the given order; repeated ids stay, and so do the items' own keys."""
    _refuse_lookalikes(result, where)
    items: list[dict[str, Any]] = []
    first = ""
    for position, entry in enumerate(result, start=1):
        name = f"{where}item {position}"
        opened = _opened(entry, name)
        kind = _kind(opened, name)
        first = first or kind
        if kind != first:
            raise ResultError(f"the result is a mixture: {name} is {kind}, the first is {first}; give one kind")
        opened = _opened(entry[0], name) if kind == _PAIR else opened
        item = _checked_item(opened, position, name) if isinstance(opened, Mapping) else {"chunk_id": _id(opened, name)}
        items.append({"rank": position, **item, **({"score": _score(entry[1], name)} if kind == _PAIR else {})})
    return items


def _refuse_lookalikes(result: Any, where: str) -> None:
    if isinstance(result, str | bytes | bytearray | memoryview):
        raise ResultError(f"the result is {where}a bare string, {shown(result)}; give a list, also of one id")
    if result is None:
        raise ResultError(f"the result is {where}None; give a list, an empty one where nothing was found")
    if inspect.iscoroutine(result):
        result.close()
        raise ResultError("the result is a coroutine that nobody awaits; write the function with `async def`")
    if not isinstance(result, list | tuple):
        what = "a set, which has no order" if isinstance(result, set | frozenset) else described(result)
        raise ResultError(f"the result is {where}{what}; {ACCEPTED}, best first")


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


def _opened(entry: Any, name: str) -> Any:
    """An object with an id, which may be None, as the mapping that it stands for; all else as it is."""
    if _is_id(entry) or not any(hasattr(entry, each) for each in _ATTRIBUTES["chunk_id"]):
        return entry
    item = {key: value for key, names in _ATTRIBUTES.items() if (value := _stated(entry, names)) is not None}
    metadata = _stated(entry, ["metadata"])
    stated = metadata.get("id", metadata.get("_id")) if isinstance(metadata, Mapping) else None
    item = {"chunk_id": stated, **item} if _is_id(stated) else item  # as some of LangChain's stores write it
    if "chunk_id" not in item:
        raise ResultError(f"{name} is a {type(entry).__name__} whose id is None; set it, or give an id in its place")
    if isinstance(metadata, Mapping):
        if "start_index" in metadata:  # LangChain's
            item["metadata"] = {"start_index": metadata["start_index"]}
        if "doc_id" not in item and _is_id(metadata.get("doc_id")):  # its documents have no field for it
            item["doc_id"] = _id(metadata["doc_id"], name)
    return item


def _stated(entry: Any, names: Sequence[str]) -> Any:
    """The first of these attributes that an object or its `node` has: no method, not None, no property that raises."""
    for owner in (entry, getattr(entry, "node", None)):
        for name in names:
            with suppress(Exception):  # a property is the user's code
                value = getattr(owner, name)
                if value is not None and not callable(value):
                    return value
    return None


def _checked_item(entry: Mapping[str, Any], position: int, name: str) -> dict[str, Any]:
    item = {key: value for key, value in entry.items() if key != "rank"}
    if item.get("chunk_id") is None and item.get("id") is None:
        empty = next((key for key in ("chunk_id", "id") if key in item), None)
        what = f"None under {empty}" if empty else "neither chunk_id nor id"
        raise ResultError(f"{name} has {what} ({_keys(entry)})")
    if entry.get("rank") not in (None, position):
        raise ResultError(f"{name} says rank {shown(entry['rank'])}; return the items in order, or without ranks")
    for key in ("chunk_id", "id"):
        if item.get(key) is not None:
            item[key] = _id(item[key], f"{name}: {key}")
    for first, last in (("start", "end"), ("start_char_idx", "end_char_idx")):
        at, to = item.get(first), item.get(last)
        if isinstance(at, numbers.Integral) and isinstance(to, numbers.Integral) and not 0 <= int(at) <= int(to):
            raise ResultError(f"{name} has {first} {shown(at)} and {last} {shown(to)}; an end is exclusive")
    if item.get("score") is not None:
        item["score"] = _score(item["score"], name)
    return item


def _is_id(value: Any) -> bool:
    return isinstance(value, str | numbers.Integral) and not isinstance(value, bool)


def _id(value: Any, name: str) -> str | int:
    if not _is_id(value):
        raise ResultError(f"{name} has {described(value)} where an id (text or integer) belongs")
    if value == "":
        raise ResultError(f"{name} has an empty id")
    return str.__str__(value) if isinstance(value, str) else int(value)


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
    exact = value if isinstance(value, int) else number
    return exact if math.isfinite(number) else None


def _stages(written: Any) -> dict[str, float]:
    """The `latency_ms` that a run line states itself; empty where it states none."""
    if written is None:
        return {}
    if not isinstance(written, Mapping) and _number(written) is None:
        raise ResultError(f'its latency_ms is {shown(written)}; write milliseconds, or {{"stage": milliseconds}}')
    stages: dict[str, float] = {}
    for stage, time in (written if isinstance(written, Mapping) else {"total": written}).items():
        number = _number(time)
        if number is None or number < 0:
            raise ResultError(f"its latency_ms.{stage} is {shown(time)}, not a number of milliseconds")
        stages[str(stage)] = number
    return stages


def described(value: Any) -> str:
    """A value and its type, for a message."""
    return "None" if value is None else f"{shown(value)} (type {type(value).__name__})"


def _keys(value: Mapping[str, Any]) -> str:
    return f"keys: {', '.join(map(str, value)) or 'none'}"
