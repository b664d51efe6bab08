"""A tally of a part of a run as bytes, from the process that made it to the one that adds them all up."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from rankgate.metrics.scoring import Tally
from rankgate.model.values import MatchedQuery, Need, Outline, Sample

T = TypeVar("T")


class _Packed(msgspec.Struct, array_like=True):
    """What a tally holds beyond gold and plan; columns and outlines as values, and by row which of them."""

    rows: bytes
    columns: list[tuple[list[float | None], bytes]]
    matched: list[MatchedQuery]
    outlines: tuple[list[Outline], bytes]
    unknown_queries: list[str]
    duplicates: int
    cut: int
    unstated: dict[Need, str]
    stated: list[Need]
    givers: dict[str, dict[str, str | None]]
    again: bool


def packed(tally: Tally) -> bytes:
    """All that the tally holds."""
    rows = [row for row, seen in enumerate(tally.seen) if seen]
    return msgspec.msgpack.encode(
        _Packed(
            rows=array("Q", rows).tobytes(),
            columns=[_shared([column[row] for row in rows]) for column in tally.columns + tally.with_judge],
            matched=[_with_sample(query, None) for query in tally.matched.values()],
            outlines=_shared([tally.outlines[each] for each in tally.rows if each in tally.outlines]),
            unknown_queries=tally.unknown_queries,
            duplicates=tally.duplicates,
            cut=tally.cut,
            unstated=tally.unstated,
            stated=list(tally.stated),
            givers=tally.givers,
            again=tally.again,
        )
    )


def add_packed(tally: Tally, data: bytes) -> None:
    """Add to a tally that of the part of the run that follows its own."""
    part = msgspec.msgpack.decode(data, type=_Packed)
    rows = array("Q", part.rows)
    tally.again |= part.again or any(tally.seen[row] for row in rows)
    for row in rows:
        tally.seen[row] = 1
    for column, (once, which) in zip(tally.columns + tally.with_judge, part.columns, strict=True):
        for row, number in zip(rows, array("I", which), strict=True):
            column[row] = once[number]
    for query in part.matched:
        tally.matched[query.query_id] = _with_sample(query, tally.gold.samples[query.query_id])
    alike = [tally.alike.setdefault(outline, outline) for outline in part.outlines[0]]
    query_ids = tuple(tally.rows)
    for row, number in zip(rows, array("I", part.outlines[1]), strict=False):  # none, where they are not kept
        tally.outlines[query_ids[row]] = alike[number]
    tally.unknown_queries += part.unknown_queries
    tally.duplicates += part.duplicates
    tally.cut += part.cut
    for need, query_id in part.unstated.items():
        tally.unstated.setdefault(need, query_id)
    tally.stated.update(part.stated)
    for name, givers in part.givers.items():
        tally.givers.setdefault(name, {}).update(givers)


def _shared(values: Sequence[T]) -> tuple[list[T], bytes]:
    """Each of them once, and which stands where; told apart by identity, as 0.0 is not -0.0."""
    once = {id(value): value for value in values}
    numbers = {each: number for number, each in enumerate(once)}
    return list(once.values()), array("I", [numbers[id(value)] for value in values]).tobytes()


def _with_sample(query: MatchedQuery, sample: Sample | None) -> MatchedQuery:
    """With this sample; on its way it has none, for the other process has it."""
    rewrites = tuple([_with_sample(each, sample) for each in query.rewrites])
    return replace(query, sample=sample, raw=query.raw and _with_sample(query.raw, sample), rewrites=rewrites)
