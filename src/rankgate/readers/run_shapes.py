"""A run line: the contract's shape, which is the hot path, the loose one for its cousins, and the ranking of either."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from rankgate.errors import shown
from rankgate.model.values import FROM_MATCH, Details, Generated, Ranking, RunField
from rankgate.model.values import Item as RankedItem
from rankgate.readers.base import all_of
from rankgate.readers.dates import iso_day

Id = str | int
CAMEL = {"camel": "actualOutput"}
ONE_LIST = "write one of topk, retrieved, actual_output"

LONGEST = 1e12  # milliseconds: thirty years
MIN_SCORES = 5  # of a list, before they are said to rise

# Looked up once, not for every item.
_DOC, _VERSION, _TEXT, _SOURCE = (
    need.value for need in (RunField.DOCS, RunField.VERSIONS, RunField.TEXTS, RunField.SOURCE)
)
_OF_ITEMS = frozenset(
    {RunField.DOCS, RunField.VERSIONS, RunField.TEXTS, RunField.ITEM_SCORES, RunField.SOURCE, RunField.OFFSETS}
)
ANSWER_KEYS = (RunField.ANSWER.value, "citations", "context", "context_texts", "abstained")  # as they are written
_OF_LINES = tuple(
    need.value for need in (RunField.RAW, RunField.REWRITES, RunField.LATENCY, RunField.SOURCE, RunField.SCORES)
)
SEQUENCE: list[int | None] = list(range(1, 1_001))


class StrictItem(msgspec.Struct, gc=False):
    """An item exactly as the contract writes it."""

    rank: int
    chunk_id: str
    score: float | None = None


class StrictLine(msgspec.Struct, gc=False, rename=CAMEL):
    """A line as the contract writes it, or with bare ids under `retrieved`, as a baseline is stored: the hot path."""

    query_id: str
    topk: list[StrictItem] | None = None
    retrieved: list[str] | None = None
    actual_output: Any = None
    camel: Any = None
    question_sha256: str | None = None
    traffic: Any = None


class TimedLine(StrictLine, gc=False, rename=CAMEL):
    """The same with its times."""

    latency_ms: dict[str, float | None] | None = None


class StrictDocItem(StrictItem, gc=False):
    """The same with the document that it is a part of."""

    doc_id: str | None = None


class DocLine(StrictLine, gc=False, rename=CAMEL):
    """A line with its items' documents."""

    topk: list[StrictDocItem] | None = None  # type: ignore[assignment]


class TimedDocLine(DocLine, gc=False, rename=CAMEL):
    """The same with its times."""

    latency_ms: dict[str, float | None] | None = None


_STRICT: dict[frozenset[RunField], type[StrictLine]] = {
    frozenset(): StrictLine,
    frozenset({RunField.LATENCY}): TimedLine,
    frozenset({RunField.DOCS}): DocLine,
    frozenset({RunField.DOCS, RunField.LATENCY}): TimedDocLine,
}


def strict_shape(needs: frozenset[RunField]) -> type[StrictLine] | None:
    """The strict shape that holds all that is needed; None where more of items, or answers, are looked at."""
    return _STRICT.get(needs - FROM_MATCH)


def strict_ranking(line: StrictLine) -> Ranking | None:
    """The ranking of a strict line, or None where it needs a closer look."""
    if line.actual_output is not None or line.camel is not None or (line.topk is None) == (line.retrieved is None):
        return None
    items = line.topk or ()
    ids = [item.chunk_id for item in items] if line.retrieved is None else line.retrieved
    if len(set(ids)) != len(ids) or [item.rank for item in items] != SEQUENCE[: len(items)]:
        return None
    times = getattr(line, RunField.LATENCY.value, None)
    if times and not plausible(times):
        return None
    documents = None
    if isinstance(line, DocLine):
        stated = [item.doc_id for item in line.topk or ()]
        if stated.count(None) < len(stated):
            documents = [_BARE if name is None else RankedItem(name) for name in stated]
    details = None if documents is None and not times else Details(items=documents, latency_ms=times or None)
    traffic = line.traffic is True
    return Ranking(line.query_id, ids, 0, details, rising(items), question_digest=line.question_sha256, traffic=traffic)


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
        return str(query_id)

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
    RunField.LATENCY: dict[str, float | None] | None,
    RunField.SOURCE: Id | list[Id] | None,
    RunField.ENTITIES: list[str] | None,
    RunField.SCORES: dict[str, float | Judged | None] | None,
}
_ANSWER_KINDS: tuple[Any, ...] = (str, list[Id], list[Id], dict[str, str], bool)
_ANSWER_FIELDS = [(key, kind | None, None) for key, kind in zip(ANSWER_KEYS, _ANSWER_KINDS, strict=True)]
_stated = attrgetter(*ANSWER_KEYS)


_LOOSE_KEYS = {**_LINE_KEYS, RunField.LATENCY: dict[str, float | None] | float | None}  # a bare number is the total


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
    fields = lists + _added(_LOOSE_KEYS, needs)
    fields += [("judge", str | None, None)] * (RunField.SCORES in needs) + _ANSWER_FIELDS * (RunField.ANSWER in needs)
    if stored and RunField.VERDICTS in needs:  # of another run they are what its author would like to read
        fields.append((RunField.VERDICTS.value, Any, None))
    return msgspec.defstruct("Line", fields, bases=(LooseLine,), gc=False, rename=CAMEL)  # type: ignore[return-value]


def _added(keys: dict[RunField, Any], needs: frozenset[RunField]) -> list[tuple[str, Any, Any]]:
    return [(need.value, kind, None) for need, kind in keys.items() if need in needs]


def to_ranking(line: LooseLine, query_id: str, needs: frozenset[RunField]) -> Ranking:
    """The ranking of a line, in the order of its ranks where it states them, each id once; else a ValueError."""
    ranked, asked = _ranking(query_id, line.items(), needs), line.question_sha256
    traffic = line.traffic is True
    if not needs:
        plain = asked is None and not traffic
        return ranked if plain else msgspec.structs.replace(ranked, question_digest=asked, traffic=traffic)
    raw, rewrites, times, source, scores = (getattr(line, key, None) for key in _OF_LINES)
    times = {"total": times} if isinstance(times, int | float) else times
    if not plausible(times):
        raise ValueError(f"query {shown(query_id)}: latency_ms must lie between 0 and {LONGEST:g}")
    items = (ranked.details.items if ranked.details else None) or ()
    of_items: list[Id] = [item.source for item in items if item.source is not None]
    judge, verdicts = getattr(line, "judge", None), getattr(line, RunField.VERDICTS.value, None)
    given = {name: each if isinstance(each, Judged) else Judged(each) for name, each in (scores or {}).items()}
    details = Details(
        items=ranked.details.items if ranked.details else None,
        raw=None if raw is None else _ranking(query_id, as_items(raw), needs, "raw_topk: "),
        rewrites=None
        if rewrites is None
        else [
            _ranking(query_id, as_items(each.topk), needs, f"rewrites[{index}]: ")
            for index, each in enumerate(rewrites)
        ],
        latency_ms=times or None,
        source=all_of(of_items if source is None else source) if of_items or source is not None else None,
        entities=getattr(line, RunField.ENTITIES.value, None),
        scores=None if scores is None else {name: each.value for name, each in given.items()},
        judges={name: who for name, each in given.items() if (who := each.judge or judge)} or None,
        generated=_generated(line, ranked) if RunField.ANSWER in needs else None,
        records=None if verdicts is None else msgspec.json.encode(verdicts),
    )
    stated = None if details == Details() else details
    return Ranking(
        query_id, ranked.ids, ranked.duplicates, stated, ranked.rising, question_digest=asked, traffic=traffic
    )


def _generated(line: LooseLine, ranked: Ranking) -> Generated | None:
    try:
        return generated_of(line, ranked.ids)
    except ValueError as error:
        raise ValueError(f"query {shown(ranked.query_id)}: {error}") from error


def generated_of(line: LooseLine, ids: Sequence[str]) -> Generated | None:
    """What a line of the loose shape, with `RunField.ANSWER`, states of an answer; None where it has no key of it.

    Raises:
        ValueError: an id of the context stands twice, or is neither in the list nor has a text, or a text is of an id
            that is not in the context, nor, without one, in the list.
    """
    answer, citations, context, texts, abstained = _stated(line)
    held, listed, seen = None if context is None else tuple(map(str, context)), {*ids}, set[str]()
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
    found = Generated(
        answer=answer,
        citations=None if citations is None else tuple(dict.fromkeys(map(str, citations))),
        context=held,
        texts=texts or None,
        abstained=abstained,
    )
    return None if found == Generated() else found


def rising(items: Sequence[StrictItem | Item]) -> bool:
    """Whether the scores of a list rise from rank to rank; see `Ranking`."""
    first, last = (items[0].score, items[-1].score) if items else (None, None)
    if first is None or last is None or first >= last:  # as good as every list
        return False
    scores = [item.score for item in items if item.score is not None]
    return len(scores) >= MIN_SCORES and scores == sorted(scores)


def plausible(times: Mapping[str, float | None] | None) -> bool:
    """Whether all times lie between nothing and thirty years."""
    return False not in [time is None or 0.0 <= time <= LONGEST for time in (times or {}).values()]


_BARE = RankedItem()  # of which nothing is stated


def _ranking(query_id: str, written: list[Item], needs: frozenset[RunField], where: str = "") -> Ranking:
    try:
        items = _by_rank(written)
        ids: list[str] = []
        for position, item in enumerate(items, start=1):
            item_id = item.name
            if item_id is None:
                raise ValueError(f"item {position} has neither chunk_id nor id")
            ids.append(item_id if isinstance(item_id, str) else str(item_id))
        duplicates = len(ids) - len(set(ids))
        if duplicates:
            first = {item_id: position for position, item_id in reversed(list(enumerate(ids)))}
            kept = sorted(first.values())
            ids, items = [ids[position] for position in kept], [items[position] for position in kept]
        of_items = needs & _OF_ITEMS
        stated = None
        if of_items == {RunField.DOCS}:
            stated = [
                RankedItem(doc_id=str(doc)) if (doc := getattr(item, _DOC, None)) is not None else _BARE
                for item in items
            ]
        elif of_items:
            stated = [_item(item, needs) for item in items]
        routed = needs & _OF_ITEMS == {RunField.SOURCE} and all(
            item.source is None for item in stated or ()
        )  # as a whole
        details = None if stated is None or routed else Details(items=stated)
    except ValueError as error:
        raise ValueError(f"query {shown(query_id)}: {where}{error}") from error
    return Ranking(query_id, ids, duplicates, details, rising(items))


def _item(item: Item, needs: frozenset[RunField]) -> RankedItem:
    doc = getattr(item, _DOC, None)
    version, source = getattr(item, _VERSION, None), getattr(item, _SOURCE, None)
    day = None if version is None else iso_day(version)
    if version is not None and day is None:
        what = f"the doc_version of {shown(item.name)} is {shown(version)}"
        raise ValueError(f"{what}; write a date, as 2025-06-01")
    text = getattr(item, _TEXT, None)
    start, end = offsets_of(item, text) if RunField.OFFSETS in needs else (None, None)
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
    start, end, other_start, other_end, metadata = (getattr(item, key, None) for key in _OFFSET_KEYS)  # or a bare id
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
    for place, (rank, name) in enumerate(ranked, start=1):
        if rank < 1:
            raise ValueError(f"{shown(name)} has rank {rank}; ranks start at 1")
        if rank < place:
            raise ValueError(f"rank {rank} stands twice ({shown(above)}, {shown(name)})")
        if rank > place:
            raise ValueError(f"rank {place} is missing; ranks run from 1 without gaps")
        above = name
