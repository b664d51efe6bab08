"""What very many questions are held in, in place of maps and lists: rows, summaries, gains, ids, and times."""

from __future__ import annotations

import math
from array import array
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import overload

from msgspec.structs import force_setattr

from rankgate.model.scores import MatchedQuery, RankSummary

_NEAR = 64  # rows: how many queries of the gold a run may lack between two, and still follow its order


class Rows(Mapping[str, int]):
    """Finds the row of a query. Who asks in the order of the gold, as most runs do, needs no map of all queries."""

    def __init__(self, query_ids: tuple[str, ...]) -> None:
        self.query_ids = query_ids
        self._last = 0
        self._rows: dict[str, int] = {}

    def __getitem__(self, query_id: str) -> int:
        if not self._rows:
            for start in (self._last, 0):
                try:
                    self._last = self.query_ids.index(query_id, start, start + _NEAR)
                except ValueError:
                    continue
                return self._last
            self._rows = {each: row for row, each in enumerate(self.query_ids)}
        return self._rows[query_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.query_ids)

    def __len__(self) -> int:
        return len(self.query_ids)


class RankSummaries(Mapping[str, RankSummary]):
    """Those of the queries that a run has, in a list with a row each: a map takes five times as much."""

    def __init__(self, rows: Mapping[str, int], by_row: Sequence[RankSummary | None]) -> None:
        self._rows = rows
        self._by_row = by_row
        self._count = len(by_row) - by_row.count(None)  # once: each segment asks whether there are any

    def __getitem__(self, query_id: str) -> RankSummary:
        summary = self._by_row[self._rows[query_id]]
        if summary is None:
            raise KeyError(query_id)
        return summary

    def __iter__(self) -> Iterator[str]:
        return (query_id for query_id, each in zip(self._rows, self._by_row, strict=True) if each)

    def __len__(self) -> int:
        return self._count


_FEW = 5  # entries of the smallest dict, which takes the same with one


@lru_cache(maxsize=4096)
def _shared(gains: tuple[float, ...]) -> tuple[float, ...]:
    return gains


class FewGains(Mapping[str, float]):
    """Gains by id, of which there is at least one and none has several lines.

    The ids as one text, and a tuple that equal gains share, take half of what a dict does.
    """

    __slots__ = ("_docs", "_gains")

    def __init__(self, docs: str, gains: Iterable[float]) -> None:
        self._docs = docs
        self._gains = _shared(tuple(gains))

    def __getitem__(self, doc: str) -> float:
        return dict(self.items())[doc]

    def __iter__(self) -> Iterator[str]:
        return iter(self._docs.split("\n"))

    def __len__(self) -> int:
        return len(self._gains)

    def items(self) -> ItemsView[str, float]:
        """As those of a dict, in its order."""
        return dict(zip(self._docs.split("\n"), self._gains)).items()  # noqa: B905 -- `strict` shows on the hot path


def compact(gains: Mapping[str, float]) -> Mapping[str, float]:
    """The same gains in less memory."""
    docs = "\n".join(gains)
    few = 0 < len(gains) <= _FEW and docs.count("\n") == len(gains) - 1
    return FewGains(docs, gains.values()) if few else gains


class PackedIds(Sequence[str]):
    """Ids as one text, in a quarter of the memory; an id of several lines is not packed."""

    __slots__ = ("_text",)

    def __init__(self, ids: Sequence[str]) -> None:
        self._text = "\n".join(ids)

    def __len__(self) -> int:
        return self._text.count("\n") + 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._text.split("\n")[index]


def trim(query: MatchedQuery, most: int) -> None:
    """Keep the first ids of its list alone: all that is known of 62,500 questions is half a gigabyte."""
    ids = query.ids[:most]
    force_setattr(query, "ids", PackedIds(ids) if ids and "\n" not in "".join(ids) else tuple(ids))
    force_setattr(query, "found", ())
    force_setattr(query, "documents", ())
    force_setattr(query, "details", None)


class NumberColumn(Sequence[float | None]):
    """A value a row, of which none is NaN: that stands for None. Objects of their own would take four times as much."""

    __slots__ = ("_numbers",)

    def __init__(self, rows: int) -> None:
        self._numbers = array("d", [math.nan]) * rows

    @overload
    def __getitem__(self, row: int) -> float | None: ...
    @overload
    def __getitem__(self, row: slice) -> list[float | None]: ...
    def __getitem__(self, row: int | slice) -> float | list[float | None] | None:
        if isinstance(row, slice):
            return [None if math.isnan(number) else number for number in self._numbers[row]]
        number = self._numbers[row]
        return None if math.isnan(number) else number

    def __setitem__(self, row: int, value: float | None) -> None:
        self._numbers[row] = math.nan if value is None else value

    def __iter__(self) -> Iterator[float | None]:
        return (None if math.isnan(number) else number for number in self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        return repr([*self])
