"""Runs as JSON: one line a query (the contract and its looser cousins), a list of such objects, or `{query: [ids]}`.

The contract's line is `{"query_id": …, "topk": [{"rank": 1, "chunk_id": …, "score": …}]}`. Read as well are `id` for
the query, `retrieved`, `actual_output` or `actualOutput` for the list, and items that are `{"id": …}` or a bare id.
Order: by rank where the items state ranks, else as listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import msgspec

from rankgate.errors import Problem, shown
from rankgate.metrics.base import Need
from rankgate.model import Ranking
from rankgate.readers.base import ProblemLog, once
from rankgate.readers.json_text import JsonError, explain, infinite_score, spoken, strict_json
from rankgate.readers.source import Source

Id = str | int


LONGEST = 1e12  # milliseconds: thirty years
CAMEL = {"camel": "actualOutput"}
TWO_LISTS = "more than one list of results; write one of topk, retrieved, actual_output"


class Item(msgspec.Struct, gc=False):
    """A retrieved item, of which only identity and order are read; the score only to refuse one that is not finite."""

    chunk_id: Id | None = None
    id: Id | None = None
    rank: int | None = None
    score: float | None = None


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
        if [item.rank for item in self.topk] != _SEQUENCE[:count] or len(set(ids)) != count:
            return None
        return ids if self.retrieved is self.actual_output is self.camel is None else None


class TimedLine(ContractLine, gc=False):
    """The same, for metrics that need latencies."""

    latency_ms: dict[str, float] | None = None


class StoredLine(msgspec.Struct, gc=False, rename=CAMEL):
    """Bare ids in order: the shape in which a baseline is stored."""

    query_id: str
    retrieved: list[str]
    topk: Any = None
    actual_output: Any = None
    camel: Any = None
    latency_ms: dict[str, float] | None = None

    def settled(self) -> list[str] | None:
        """The ids in order, or None where the line needs a closer look."""
        if len(set(self.retrieved)) != len(self.retrieved):
            return None
        return self.retrieved if self.topk is self.actual_output is self.camel is None else None


class Nested(msgspec.Struct, gc=False):
    """A list one level down, as some evaluation tools write `actual_output`."""

    retrieved: list[Item | Id]


class LooseLine(msgspec.Struct, gc=False, rename=CAMEL):
    """Every accepted shape."""

    query_id: Id | None = None
    id: Id | None = None
    topk: list[Item | Id] | None = None
    retrieved: list[Item | Id] | None = None
    actual_output: list[Item | Id] | Nested | None = None
    camel: list[Item | Id] | Nested | None = None

    def parts(self) -> Parts:
        """Query id, item ids, and the ranks as written.

        Raises:
            ValueError: a part is missing, or two lists compete.
        """
        query_id = self.id if self.query_id is None else self.query_id
        if query_id is None:
            raise ValueError("no query id; write it as query_id (or id)")
        lists = [value for value in (self.topk, self.retrieved, self.actual_output, self.camel) if value is not None]
        if len(lists) != 1:
            raise ValueError(TWO_LISTS if lists else TWO_LISTS.replace("more than one list", "no list"))
        listed = lists[0].retrieved if isinstance(lists[0], Nested) else lists[0]
        items = [item if isinstance(item, Item) else Item(chunk_id=item) for item in listed]
        return query_id, _ids(items), [item.rank for item in items]


class TimedLooseLine(LooseLine, gc=False):
    """The same, for metrics that need latencies."""

    latency_ms: dict[str, float] | None = None


Parts = tuple[Id, list[Id | None], list[int | None]]

# Keys of a line that belong to the query's result, not to the system that made it.
PER_QUERY_KEYS = frozenset(
    {"query_id", "id", "topk", "raw_topk", "retrieved", "actual_output", "actualOutput", "latency_ms", "source"}
    | {"entities", "scores", "input", "expected_output", "rewrites"}
)


def read_jsonl(source: Source, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from JSONL, one line a query. Lines in the usual shape are settled at once, all others looked into."""
    shapes: list[type[Settled]] = [TimedLine if Need.LATENCY in needs else ContractLine, StoredLine]
    decode = next(filter(None, (_fitting(source.head, shape) for shape in shapes)), None)
    decode_loose = msgspec.json.Decoder(_loose_shape(needs)).decode
    seen: dict[str, int] = {}
    for number, line in source.lines():
        parsed = ids = None
        if decode is not None:
            try:
                if not line.isascii():
                    line.decode()
                parsed = decode(line)
                ids = parsed.settled()
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                ids = None
        times = getattr(parsed, "latency_ms", None)
        if parsed is not None and ids is not None and parsed.query_id not in seen and _plausible(times):
            seen[parsed.query_id] = number
            yield Ranking(parsed.query_id, ids, 0, times)
            continue
        place = Problem("", source.name, number)
        try:
            line.decode()
            loose = decode_loose(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            log.add(msgspec.structs.replace(place, message=explain(line, error)))
            continue
        ranking = checked(loose, seen, number, place, log)
        if ranking is not None:
            yield ranking
    log.raise_if_any()


Settled = ContractLine | StoredLine


def _fitting(head: bytes, shape: type[Settled]) -> Callable[[bytes], Settled] | None:
    """The decoder of a shape if the first line has it."""
    decode = msgspec.json.Decoder(shape).decode
    try:
        decode(head.lstrip().partition(b"\n")[0])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return decode


def _loose_shape(needs: frozenset[Need]) -> type[LooseLine]:
    return TimedLooseLine if Need.LATENCY in needs else LooseLine


def _plausible(times: Mapping[str, float] | None) -> bool:
    return not times or (min(times.values()) >= 0 and max(times.values()) <= LONGEST)


def read_document(source: Source, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from one JSON value: a list of line objects, one line object, or `{query id: [ids]}`."""
    shape = _loose_shape(needs)
    seen: dict[str, int] = {}
    for number, (key, entry) in enumerate(_entries(source, log), start=1):
        place = Problem("", source.name, None, key)
        try:
            parsed = msgspec.convert(entry, shape)
        except msgspec.ValidationError as error:
            log.add(msgspec.structs.replace(place, message=spoken(error)))
            continue
        ranking = checked(parsed, seen, number, place, log)
        if ranking is not None:
            yield ranking
    log.raise_if_any()


def provenance(source: Source) -> Mapping[str, Any]:
    """What the first line of a JSONL run says about the system; empty when it does not parse or says nothing."""
    try:
        value = msgspec.json.decode(source.head.lstrip().partition(b"\n")[0])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    known = value.items() if isinstance(value, dict) else ()
    return {key: entry for key, entry in known if key not in PER_QUERY_KEYS}


def _entries(source: Source, log: ProblemLog) -> Iterator[tuple[str | None, object]]:
    text = source.text()
    try:
        value = strict_json(text)
    except JsonError as error:
        culprit = infinite_score(text)
        log.add(Problem(culprit or str(error), source.name, None if culprit else error.line))
        return
    if isinstance(value, list):
        yield from ((f"[{index}]", entry) for index, entry in enumerate(value))
    elif isinstance(value, dict) and not value.keys() & {"topk", "retrieved", "actual_output", "actualOutput"}:
        for query_id, ids in value.items():
            if isinstance(ids, list):
                yield query_id, {"query_id": query_id, "topk": ids}
            else:
                message = f"expected a list of ids for this query, found {shown(ids)}"
                log.add(Problem(message, source.name, None, query_id))
    else:
        yield None, value


def checked(line: LooseLine, seen: dict[str, int], number: int, place: Problem, log: ProblemLog) -> Ranking | None:
    """The ranking of a decoded line, or None after noting what is wrong with it.

    Args:
        line: the decoded line.
        seen: the queries so far, with the number of their line.
        number: this line's.
        place: file, line and key for messages.
        log: takes the problem.
    """
    try:
        written, raw_ids, ranks = line.parts()
        query_id = str(written)
        first = seen.setdefault(query_id, number)
        if first != number:
            what = "line" if place.line else "entry"
            raise ValueError(f"query {shown(query_id)} stands twice (first on {what} {first}); keep one ranking of it")
        if None in raw_ids:
            raise ValueError(f"query {shown(query_id)}: item {raw_ids.index(None) + 1} has neither chunk_id nor id")
        times = getattr(line, "latency_ms", None)
        if not _plausible(times):
            raise ValueError(f"query {shown(query_id)}: latency_ms must lie between 0 and {LONGEST:g}")
        ids = cast("list[str]", raw_ids) if set(map(type, raw_ids)) <= {str} else [str(chunk) for chunk in raw_ids]
        if ranks and ranks != _SEQUENCE[: len(ranks)] and ranks.count(None) < len(ranks):
            ids = _by_rank(query_id, ids, ranks)
    except ValueError as error:
        log.add(msgspec.structs.replace(place, message=str(error)))
        return None
    ids, duplicates = once(ids)
    return Ranking(query_id, ids, duplicates, times)


_SEQUENCE: list[int | None] = list(range(1, 1_001))


def _ids(items: list[Item]) -> list[Id | None]:
    ids = [item.chunk_id for item in items]
    return [item.id if chunk is None else chunk for chunk, item in zip(ids, items, strict=True)] if None in ids else ids


def _by_rank(query_id: str, ids: list[str], ranks: list[int | None]) -> list[str]:
    """Ids in the order of their ranks, which must be 1 to n, each once."""
    order: dict[int, str] = {}
    for chunk, rank in zip(ids, ranks, strict=True):
        if rank is None:
            raise ValueError(f"query {shown(query_id)}: {shown(chunk)} has no rank but others do; give all or none")
        if rank < 1:
            raise ValueError(f"query {shown(query_id)}: {shown(chunk)} has rank {rank}; ranks start at 1")
        if rank in order:
            both = f"{shown(order[rank])}, {shown(chunk)}"
            raise ValueError(f"query {shown(query_id)}: rank {rank} stands twice ({both})")
        order[rank] = chunk
    if len(order) != max(order):
        missing = next(rank for rank in range(1, max(order)) if rank not in order)
        raise ValueError(f"query {shown(query_id)}: rank {missing} is missing; ranks run from 1 without gaps")
    return [order[rank] for rank in sorted(order)]
