"""From a decoded run line of any accepted shape to a checked ranking, with what metrics need beyond its ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankgate.errors import shown
from rankgate.model.values import Details, Item, Need, Ranking
from rankgate.readers.dates import iso_day
from rankgate.readers.run_shapes import SEQUENCE, Judged, LooseLine, as_items
from rankgate.readers.run_shapes import Item as WrittenItem

LONGEST = 1e12  # milliseconds: thirty years

_DOC, _VERSION, _TEXT = Need.DOCS.value, Need.VERSIONS.value, Need.TEXTS.value  # looked up once, not for every item
_OF_ITEMS = frozenset({Need.DOCS, Need.VERSIONS, Need.TEXTS, Need.ITEM_SCORES})


def to_ranking(line: LooseLine, query_id: str, needs: frozenset[Need]) -> Ranking:
    """The ranking of a line, in the order of its ranks where it states them, each id once.

    Raises:
        ValueError: what is wrong with it.
    """
    ranked = _ranking(query_id, line.items(), needs)
    if not needs:
        return ranked
    raw = getattr(line, Need.RAW.value, None)
    rewrites = getattr(line, Need.REWRITES.value, None)
    times = getattr(line, Need.LATENCY.value, None)
    if not plausible(times):
        raise ValueError(f"query {shown(query_id)}: latency_ms must lie between 0 and {LONGEST:g}")
    source = getattr(line, Need.SOURCE.value, None)
    judge, scores = getattr(line, "judge", None), getattr(line, Need.SCORES.value, None)
    given = {name: each if isinstance(each, Judged) else Judged(each) for name, each in (scores or {}).items()}
    details = Details(
        items=ranked.details.items if ranked.details else None,
        raw=None if raw is None else _ranking(query_id, as_items(raw), needs, "raw_topk"),
        rewrites=None
        if rewrites is None
        else [
            _ranking(query_id, as_items(each.topk), needs, f"rewrites[{index}]") for index, each in enumerate(rewrites)
        ],
        latency_ms=times or None,
        source=None if source is None else str(source),
        entities=getattr(line, Need.ENTITIES.value, None),
        scores=None if scores is None else {name: each.value for name, each in given.items()},
        judges={name: who for name, each in given.items() if (who := each.judge or judge)} or None,
    )
    return Ranking(query_id, ranked.ids, ranked.duplicates, None if details == Details() else details)


def plausible(times: Mapping[str, float | None] | None) -> bool:
    """Whether all times lie between nothing and thirty years."""
    return all(time is None or 0 <= time <= LONGEST for time in (times or {}).values())


def _ranking(query_id: str, written: list[WrittenItem], needs: frozenset[Need], where: str = "") -> Ranking:
    name = f"query {shown(query_id)}: {where}: " if where else f"query {shown(query_id)}: "
    try:
        items = _by_rank(written)
    except ValueError as error:
        raise ValueError(f"{name}{error}") from error
    ids: list[str] = []
    for position, item in enumerate(items, start=1):
        found = item.id if item.chunk_id is None else item.chunk_id
        if found is None:
            raise ValueError(f"{name}item {position} has neither chunk_id nor id")
        ids.append(found if isinstance(found, str) else str(found))
    duplicates = len(ids) - len(set(ids))
    if duplicates:
        first = {item_id: position for position, item_id in reversed(list(enumerate(ids)))}
        kept = sorted(first.values())
        ids, items = [ids[position] for position in kept], [items[position] for position in kept]
    if not needs & _OF_ITEMS:
        return Ranking(query_id, ids, duplicates)
    try:
        return Ranking(query_id, ids, duplicates, Details(items=[_item(item, needs) for item in items]))
    except ValueError as error:
        raise ValueError(f"{name}{error}") from error


def _item(item: WrittenItem, needs: frozenset[Need]) -> Item:
    doc = getattr(item, _DOC, None)
    version = getattr(item, _VERSION, None)
    day = None if version is None else iso_day(version)
    if version is not None and day is None:
        name = item.id if item.chunk_id is None else item.chunk_id
        raise ValueError(f"the doc_version of {shown(name)} is {shown(version)}; freshness needs a date, as 2025-06-01")
    return Item(
        doc_id=None if doc is None else str(doc),
        version=day,
        text=getattr(item, _TEXT, None),
        score=item.score if Need.ITEM_SCORES in needs else None,
    )


def _by_rank(items: list[WrittenItem]) -> Sequence[WrittenItem]:
    """Items in the order of their ranks, which must be 1 to n, each once; as listed where none has a rank."""
    ranks = [item.rank for item in items]
    if ranks == SEQUENCE[: len(ranks)] or ranks.count(None) == len(ranks):
        return items
    order: dict[int, WrittenItem] = {}
    for item in items:
        name, rank = shown(_name(item)), item.rank
        if rank is None:
            raise ValueError(f"{name} has no rank but others do; give all or none")
        if rank < 1:
            raise ValueError(f"{name} has rank {rank}; ranks start at 1")
        if rank in order:
            raise ValueError(f"rank {rank} stands twice ({shown(_name(order[rank]))}, {name})")
        order[rank] = item
    if len(order) != max(order):
        missing = next(rank for rank in range(1, max(order)) if rank not in order)
        raise ValueError(f"rank {missing} is missing; ranks run from 1 without gaps")
    return [order[rank] for rank in sorted(order)]


def _name(item: WrittenItem) -> object:
    return item.id if item.chunk_id is None else item.chunk_id
