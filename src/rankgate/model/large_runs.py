"""What a run of very many queries has in place of maps by query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rankgate.model.scores import RankSummary

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

    def __getitem__(self, query_id: str) -> RankSummary:
        summary = self._by_row[self._rows[query_id]]
        if summary is None:
            raise KeyError(query_id)
        return summary

    def __iter__(self) -> Iterator[str]:
        return (query_id for query_id, each in zip(self._rows, self._by_row, strict=True) if each)

    def __len__(self) -> int:
        return len(self._by_row) - self._by_row.count(None)
