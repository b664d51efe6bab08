"""A tally of a part of a run as bytes, from the process that made it to the one that adds them all up."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import msgspec

from rankgate.metrics.scoring import Tally
from rankgate.model.values import MatchedQuery, Need, Sample

Column = list[float | None]


class _Packed(msgspec.Struct, array_like=True):
    """What a tally holds beyond gold and plan; of a column the values, and for each a byte that is 1 if undefined."""

    rows: bytes
    columns: list[tuple[bytes, bytes]]
    with_judge: list[tuple[bytes, bytes]]
    matched: list[MatchedQuery]
    strangers: list[str]
    duplicates: int
    cut: int
    silent: dict[Need, str]
    stated: list[Need]
    givers: dict[str, dict[str, str | None]]
    again: bool


# What is as the class has it is left out, so that an empty tuple does not come back as an empty list.
class _Sent(MatchedQuery, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A matched query on its way."""


def packed(tally: Tally) -> bytes:
    """All that the tally holds."""
    rows = [row for row, seen in enumerate(tally.seen) if seen]
    return msgspec.msgpack.encode(
        _Packed(
            rows=array("Q", rows).tobytes(),
            columns=[_flat(column, rows) for column in tally.columns],
            with_judge=[_flat(column, rows) for column in tally.with_judge],
            matched=[_bare(query) for query in tally.matched.values()],
            strangers=tally.strangers,
            duplicates=tally.duplicates,
            cut=tally.cut,
            silent=tally.silent,
            stated=list(tally.stated),
            givers=tally.givers,
            again=tally.again,
        )
    )


def add_packed(tally: Tally, data: bytes) -> None:
    """Add to a tally that of the part of the run that follows its own.

    Raises:
        MsgspecError: the bytes are not, or not all, that `packed` gave.
    """
    part = msgspec.msgpack.decode(data, type=_Packed)
    rows = array("Q", part.rows)
    for row in rows:
        tally.again |= bool(tally.seen[row])
        tally.seen[row] = 1
    for column, flat in zip((*tally.columns, *tally.with_judge), (*part.columns, *part.with_judge), strict=True):
        for row, value, undefined in zip(rows, array("d", flat[0]), flat[1], strict=True):
            column[row] = None if undefined else value
    for query in part.matched:
        tally.matched[query.query_id] = _seen_through(query, tally.gold.samples[query.query_id])
    tally.strangers += part.strangers
    tally.duplicates += part.duplicates
    tally.cut += part.cut
    for need, query_id in part.silent.items():
        tally.silent.setdefault(need, query_id)
    tally.stated.update(part.stated)
    for name, givers in part.givers.items():
        tally.givers.setdefault(name, {}).update(givers)
    tally.again |= part.again


def _flat(column: Column, rows: Sequence[int]) -> tuple[bytes, bytes]:
    values = [column[row] for row in rows]
    return array("d", [value or 0.0 for value in values]).tobytes(), bytes(value is None for value in values)


def _bare(query: MatchedQuery) -> MatchedQuery:
    """Without the sample, which the other side has."""
    fields = {name: getattr(query, name) for name in query.__struct_fields__ if name != "sample"}
    fields["raw"] = query.raw and _bare(query.raw)
    fields["rewrites"] = tuple(map(_bare, query.rewrites))
    return _Sent(**fields)


def _seen_through(query: MatchedQuery, sample: Sample) -> MatchedQuery:
    seen: MatchedQuery = msgspec.structs.replace(
        query,
        sample=sample,
        raw=query.raw and _seen_through(query.raw, sample),
        rewrites=tuple([_seen_through(other, sample) for other in query.rewrites]),
    )
    return seen
