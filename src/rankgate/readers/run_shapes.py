"""The shapes of a run line: the contract's own, which is the hot path, and the loose one that takes its cousins too."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from rankgate.model.values import Need

Id = str | int
CAMEL = {"camel": "actualOutput"}
TWO_LISTS = "more than one list of results; write one of topk, retrieved, actual_output"

SEQUENCE: list[int | None] = list(range(1, 1_001))


class StrictItem(msgspec.Struct, gc=False):
    """An item exactly as the contract writes it."""

    chunk_id: str
    rank: int
    score: float | None = None


class ContractLine(msgspec.Struct, gc=False, rename=CAMEL):
    """The contract's own shape: the hot path. What is at all unusual about a line is left to `LooseLine`."""

    query_id: str
    topk: list[StrictItem]
    retrieved: Any = None
    actual_output: Any = None
    camel: Any = None

    def settled(self) -> list[str] | None:
        """The ids by rank, or None where the line needs a closer look."""
        ids = [item.chunk_id for item in self.topk]
        count = len(ids)
        if [item.rank for item in self.topk] != SEQUENCE[:count] or len(set(ids)) != count:
            return None
        return ids if self.retrieved is self.actual_output is self.camel is None else None


class StoredLine(msgspec.Struct, gc=False, rename=CAMEL):
    """Bare ids in order: the shape in which a baseline is stored."""

    query_id: str
    retrieved: list[str]
    topk: Any = None
    actual_output: Any = None
    camel: Any = None

    def settled(self) -> list[str] | None:
        """The ids in order, or None where the line needs a closer look."""
        if len(set(self.retrieved)) != len(self.retrieved):
            return None
        return self.retrieved if self.topk is self.actual_output is self.camel is None else None


SettledLine = ContractLine | StoredLine


class Item(msgspec.Struct, gc=False):
    """A retrieved item. Its score is read only to refuse one that is not finite, unless a metric needs it."""

    chunk_id: Id | None = None
    id: Id | None = None
    rank: int | None = None
    score: float | None = None


class LooseLine(msgspec.Struct, gc=False, rename=CAMEL):
    """Every accepted shape; `loose_shape` adds the keys that metrics need, and the lists of results."""

    query_id: Id | None = None
    id: Id | None = None
    topk: Any = None
    retrieved: Any = None
    actual_output: Any = None
    camel: Any = None

    def written_id(self) -> str:
        """The query's id.

        Raises:
            ValueError: there is none.
        """
        query_id = self.id if self.query_id is None else self.query_id
        if query_id is None:
            raise ValueError("no query id; write it as query_id (or id)")
        return str(query_id)

    def items(self) -> list[Item]:
        """The one list of results.

        Raises:
            ValueError: there is none, or two compete.
        """
        lists = [value for value in (self.topk, self.retrieved, self.actual_output, self.camel) if value is not None]
        if len(lists) != 1:
            raise ValueError(TWO_LISTS if lists else TWO_LISTS.replace("more than one list", "no list"))
        return as_items(lists[0] if isinstance(lists[0], list) else lists[0].retrieved)


def as_items(listed: Iterable[Item | Id]) -> list[Item]:
    """Items; a bare id is one too."""
    return [item if isinstance(item, Item) else Item(chunk_id=item) for item in listed]


class Judged(msgspec.Struct, gc=False):
    """Another tool's number with who gave it."""

    value: float | None
    judge: str | None = None


# What each need adds to an item and to a line: the key, and the kind of its value.
_ITEM_KEYS: dict[Need, Any] = {Need.DOCS: Id | None, Need.VERSIONS: Id | None, Need.TEXTS: str | None}
_LINE_KEYS: dict[Need, Any] = {
    Need.LATENCY: dict[str, float | None] | None,
    Need.SOURCE: Id | None,
    Need.ENTITIES: list[str] | None,
    Need.SCORES: dict[str, float | Judged | None] | None,
}


@cache
def loose_shape(needs: frozenset[Need]) -> type[LooseLine]:
    """The loose shape with the keys that these needs add, so that nothing is decoded, or refused, without need."""
    item = msgspec.defstruct("Item", _added(_ITEM_KEYS, needs), bases=(Item,), gc=False) if needs else Item
    listed: Any = list[item | Id]  # type: ignore[valid-type]
    nested: Any = msgspec.defstruct("Nested", [("retrieved", listed)], gc=False)
    lists = [("topk", listed | None, None), ("retrieved", listed | None, None)]
    lists += [(name, listed | nested | None, None) for name in ("actual_output", "camel")]
    if Need.RAW in needs:
        lists.append((Need.RAW.value, listed | None, None))
    if Need.REWRITES in needs:
        rewrite: Any = msgspec.defstruct("Rewrite", [("topk", listed), ("query", str | None, None)], gc=False)
        lists.append((Need.REWRITES.value, list[rewrite] | None, None))
    fields = lists + _added(_LINE_KEYS, needs)
    fields += [("judge", str | None, None)] * (Need.SCORES in needs)
    return msgspec.defstruct("Line", fields, bases=(LooseLine,), gc=False, rename=CAMEL)  # type: ignore[return-value]


def _added(keys: dict[Need, Any], needs: frozenset[Need]) -> list[tuple[str, Any, Any]]:
    return [(need.value, kind, None) for need, kind in keys.items() if need in needs]


@cache
def fast_shapes(needs: frozenset[Need]) -> tuple[type[SettledLine], ...]:
    """The shapes of the hot path that hold all that is needed; none where items or other lists are looked at."""
    if not needs:
        return (ContractLine, StoredLine)
    if needs == {Need.LATENCY}:
        timed = _added(_LINE_KEYS, needs)
        made = [
            msgspec.defstruct(f"Timed{shape.__name__}", timed, bases=(shape,), gc=False, rename=CAMEL)
            for shape in (ContractLine, StoredLine)
        ]
        return tuple(made)  # type: ignore[arg-type]
    return ()
