"""A run line of any accepted shape, and its ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from rankgate.errors import shown
from rankgate.model.values import Details, Generated, Ranking, RunField
from rankgate.model.values import Item as RankedItem
from rankgate.readers.base import all_of, id_of
from rankgate.readers.dates import iso_day
from rankgate.readers.strict_lines import (
    ANSWER_KEYS,
    ANSWER_KINDS,
    CAMEL,
    LONGEST,
    SEQUENCE,
    Id,
    plausible,
    rising,
    stages_of,
)

ONE_LIST = "write one of topk, retrieved, actual_output"

# Looked up once, not for every item.
_DOC = RunField.DOCS.value
_VERSION = RunField.VERSIONS.value
_TEXT = RunField.TEXTS.value
_SOURCE = RunField.SOURCE.value
_OF_ITEMS = frozenset(
    {RunField.DOCS, RunField.VERSIONS, RunField.TEXTS, RunField.ITEM_SCORES, RunField.SOURCE, RunField.OFFSETS}
)


class Item(msgspec.Struct, gc=False):
    """A retrieved item. Its score is read only to refuse one that is not finite, unless a metric needs it."""

    chunk_id: Id | None = None
    id: Id | None = None
    rank: int | None = None
    score: float | None = None

    @property
    def name(self) -> Id | None:
        """The id, by whichever key it is written."""
        return self.id if self.chunk_id is None else self.chunk_id


class LooseLine(msgspec.Struct, gc=False, rename=CAMEL):
    """Every accepted shape; `loose_shape` adds the keys that metrics need, and the lists of results."""

    query_id: Id | None = None
    id: Id | None = None
    topk: Any = None
    retrieved: Any = None
    actual_output: Any = None
    camel: Any = None
    question_sha256: str | None = None
    traffic: Any = None

    def written_id(self) -> str:
        """The query's id; a ValueError where there is none."""
        query_id = self.id if self.query_id is None else self.query_id
        if query_id is None:
            raise ValueError("no query id; write it as query_id (or id)")
        return id_of(query_id, "the query")

    def items(self) -> list[Item]:
        """The one list of results; a ValueError where there is none, or two compete."""
        lists = [value for value in (self.topk, self.retrieved, self.actual_output, self.camel) if value is not None]
        if len(lists) != 1:
            raise ValueError(f"{'more than one' if lists else 'no'} list of results; {ONE_LIST}")
        return as_items(lists[0] if isinstance(lists[0], list) else lists[0].retrieved)


def as_items(listed: Iterable[Item | Id]) -> list[Item]:
    """Items; a bare id is one too."""
    return [item if isinstance(item, Item) else Item(chunk_id=item) for item in listed]


class Judged(msgspec.Struct, gc=False):
    """Another tool's number with who gave it."""

    value: float | None
    judge: str | None = None


# What each need adds to an item and to a line: the key, and the kind of its value.
_ITEM_KEYS: dict[RunField, Any] = dict.fromkeys((RunField.DOCS, RunField.VERSIONS, RunField.SOURCE), Id | None)
_ITEM_KEYS[RunField.TEXTS] = str | None
# By which other tools state offsets: LlamaIndex by its own keys, LangChain by `metadata.start_index` beside the text.
_OFFSET_KEYS = dict.fromkeys(("start", "end", "start_char_idx", "end_char_idx"), int | None) | {"metadata": Any}
_LINE_KEYS: dict[RunField, Any] = {
    RunField.LATENCY: dict[str, float | None] | float | None,
    RunField.SOURCE: Id | list[Id] | None,
    RunField.ENTITIES: list[str] | None,
    RunField.SCORES: dict[str, float | Judged | None] | None,
}
_ANSWER_FIELDS = [(key, kind | None, None) for key, kind in ANSWER_KINDS.items()]
_stated = attrgetter(*ANSWER_KEYS)


@cache
def loose_shape(needs: frozenset[RunField], *, stored: bool = False) -> type[LooseLine]:
    """The loose shape with the keys that these needs add, so that nothing is decoded, or refused, without need."""
    more = _added(_ITEM_KEYS, needs | ({RunField.TEXTS, RunField.DOCS} if RunField.OFFSETS in needs else set()))
    more += [(key, kind, None) for key, kind in _OFFSET_KEYS.items() if RunField.OFFSETS in needs]
    item = msgspec.defstruct("Item", more, bases=(Item,), gc=False) if needs else Item
    listed: Any = list[item | Id]  # type: ignore[valid-type]
    nested: Any = msgspec.defstruct("Nested", [("retrieved", listed)], gc=False)
    lists = [("topk", listed | None, None), ("retrieved", listed | None, None)]
    lists += [(name, listed | nested | None, None) for name in ("actual_output", "camel")]
    if RunField.RAW in needs:
        lists.append((RunField.RAW.value, listed | None, None))
    if RunField.REWRITES in needs:
        rewrite: Any = msgspec.defstruct("Rewrite", [("topk", listed), ("query", str | None, None)], gc=False)
        lists.append((RunField.REWRITES.value, list[rewrite] | None, None))
    fields = lists + _added(_LINE_KEYS, needs)
    if RunField.SCORES in needs:
        fields.append(("judge", str | None, None))
    if RunField.ANSWER in needs:
        fields += _ANSWER_FIELDS
    if stored and RunField.VERDICTS in needs:  # of another run they are what its author would like to read
        fields.append((RunField.VERDICTS.value, Any, None))
    return msgspec.defstruct("Line", fields, bases=(LooseLine,), gc=False, rename=CAMEL)  # type: ignore[return-value]


def _added(keys: dict[RunField, Any], needs: frozenset[RunField]) -> list[tuple[str, Any, Any]]:
    return [(need.value, kind, None) for need, kind in keys.items() if need in needs]


def to_ranking(line: LooseLine, query_id: str, needs: frozenset[RunField]) -> Ranking:
    """The ranking of a line, in the order of its ranks where it states them, each id once; else a ValueError."""
    items = line.items()
    try:
        ranking = _ranking(query_id, items, needs)
        details = _details(line, ranking, needs) if needs else None
    except ValueError as error:
        raise ValueError(f"query {shown(query_id)}: {error}") from error
    return Ranking(
        query_id,
        ranking.ids,
        ranking.duplicates,
        details,
        ranking.rising,
        question_digest=line.question_sha256,
        traffic=line.traffic is True,
    )


def _details(line: LooseLine, ranking: Ranking, needs: frozenset[RunField]) -> Details | None:
    """What the line states beyond the ids of its list; None where that is nothing."""
    times = stages_of(getattr(line, RunField.LATENCY.value, None))
    if not plausible(times):
        raise ValueError(f"latency_ms must lie between 0 and {LONGEST:g}")
    items = ranking.details.items if ranking.details else None
    raw = getattr(line, RunField.RAW.value, None)
    if raw is not None:
        raw = _other_list(ranking.query_id, raw, needs, "raw_topk")
    rewrites = getattr(line, RunField.REWRITES.value, None)
    if rewrites is not None:
        lists = enumerate(each.topk for each in rewrites)
        rewrites = [_other_list(ranking.query_id, listed, needs, f"rewrites[{at}]") for at, listed in lists]
    source = getattr(line, RunField.SOURCE.value, None)
    if source is None:
        source = [item.source for item in items or () if item.source is not None] or None
    scores = getattr(line, RunField.SCORES.value, None)
    judge = getattr(line, "judge", None)
    given = {name: each if isinstance(each, Judged) else Judged(each) for name, each in (scores or {}).items()}
    verdicts = getattr(line, RunField.VERDICTS.value, None)
    details = Details(
        items=items,
        raw=raw,
        rewrites=rewrites,
        latency_ms=times or None,
        source=None if source is None else all_of(source),
        entities=getattr(line, RunField.ENTITIES.value, None),
        scores=None if scores is None else {name: each.value for name, each in given.items()},
        judges={name: who for name, each in given.items() if (who := each.judge or judge)} or None,
        generated=generated_of(line, ranking.ids) if RunField.ANSWER in needs else None,
        records=None if verdicts is None else msgspec.json.encode(verdicts),
    )
    return None if details == Details() else details


def generated_of(line: LooseLine, ids: Sequence[str]) -> Generated | None:
    """What a line of the loose shape, with `RunField.ANSWER`, states of an answer; None where it has no key of it.

    Raises:
        ValueError: an id of the context stands twice, or is neither in the list nor has a text, or a text is of an id
            that is not in the context, nor, without one, in the list.
    """
    answer, citations, context, texts, abstained = _stated(line)
    held = None if context is None else tuple(map(str, context))
    listed = {*ids}
    seen: set[str] = set()
    for each in held or ():
        if each in seen:
            raise ValueError(f"context: {shown(each)} stands twice; name each passage of the prompt once")
        if each not in listed and each not in (texts or {}):
            advice = "list it there, or give what the prompt held of it in context_texts"
            raise ValueError(f"context: {shown(each)} is not in the list of results; {advice}")
        seen.add(each)
    stray = next((each for each in texts or () if each not in (listed if held is None else seen)), None)
    if stray is not None:
        where = "the list of results" if held is None else "context"
        raise ValueError(f"context_texts: {shown(stray)} is not in {where}, so the prompt did not hold it")
    generated = Generated(
        answer=answer,
        citations=None if citations is None else tuple(dict.fromkeys(map(str, citations))),
        context=held,
        texts=texts or None,
        abstained=abstained,
    )
    return None if generated == Generated() else generated


def _other_list(query_id: str, written: list[Item | Id], needs: frozenset[RunField], key: str) -> Ranking:
    try:
        return _ranking(query_id, as_items(written), needs)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error


def _ranking(query_id: str, written: list[Item], needs: frozenset[RunField]) -> Ranking:
    first: dict[str, Item] = {}
    for position, item in enumerate(_by_rank(written), start=1):
        if item.name is None:
            raise ValueError(f"item {position} has neither chunk_id nor id")
        first.setdefault(id_of(item.name, f"item {position}"), item)
    items = list(first.values())
    stated = [_item(item, needs) for item in items] if needs & _OF_ITEMS else None
    if needs & _OF_ITEMS == {RunField.SOURCE} and all(item.source is None for item in stated or ()):
        stated = None  # the query is routed as a whole
    details = None if stated is None else Details(items=stated)
    return Ranking(query_id, list(first), len(written) - len(items), details, rising(items))


def _item(item: Item, needs: frozenset[RunField]) -> RankedItem:
    doc = getattr(item, _DOC, None)
    version = getattr(item, _VERSION, None)
    source = getattr(item, _SOURCE, None)
    day = None if version is None else iso_day(version)
    if version is not None and day is None:
        what = f"the doc_version of {shown(item.name)} is {shown(version)}"
        raise ValueError(f"{what}; write a date, as 2025-06-01")
    text = getattr(item, _TEXT, None)
    start = end = None
    if RunField.OFFSETS in needs:
        start, end = offsets_of(item, text)
    return RankedItem(
        doc_id=None if doc is None else str(doc),
        version=day,
        text=text,
        score=item.score if RunField.ITEM_SCORES in needs else None,
        source=None if source is None else str(source),
        start=start,
        end=end,
    )


def offsets_of(item: Any, text: str | None) -> tuple[int | None, int | None]:
    """Where an item lies in its document's text, or two None where it does not say; else a ValueError."""
    offsets = [getattr(item, key, None) for key in _OFFSET_KEYS]  # a bare id has none of these
    start, end, other_start, other_end, metadata = offsets
    written = metadata.get("start_index") if isinstance(metadata, Mapping) else None
    start = next((each for each in (start, other_start, written) if each is not None), None)
    end = other_end if end is None else end
    if (start is None and end is None) or (start == written == -1):  # so LangChain says that it found no place
        return None, None
    if type(start) is int and end is None and text is not None:
        end = start + len(text)
    if type(start) is not int or end is None or not 0 <= start <= end:
        what = f"{shown(item.name)} states start {shown(start)} and end {shown(end)}"
        raise ValueError(f"{what}; write the code points of its document at which it begins and, exclusive, ends")
    return start, end


def _by_rank(items: list[Item]) -> Sequence[Item]:
    """Items in the order of their ranks, which must be 1 to n, each once; as listed where none has a rank."""
    ranks = [item.rank for item in items]
    if ranks == SEQUENCE[: len(ranks)] or ranks.count(None) == len(ranks):
        return items
    lacking = next((item for item in items if item.rank is None), None)
    if lacking is not None:
        raise ValueError(f"{shown(lacking.name)} has no rank but others do; give all or none")
    ordered = sorted(items, key=lambda item: item.rank or 0)
    refuse_gaps((item.rank or 0, item.name) for item in ordered)
    return ordered


def refuse_gaps(ranked: Iterable[tuple[int, object]]) -> None:
    """A ValueError where ranks, ascending, each with the id that has it, are not 1 to n, each once."""
    above: object = None
    for expected, (rank, name) in enumerate(ranked, start=1):
        if rank < 1:
            raise ValueError(f"{shown(name)} has rank {rank}; ranks start at 1")
        if rank < expected:
            raise ValueError(f"rank {rank} stands twice ({shown(above)}, {shown(name)})")
        if rank > expected:
            raise ValueError(f"rank {expected} is missing; ranks run from 1 without gaps")
        above = name
