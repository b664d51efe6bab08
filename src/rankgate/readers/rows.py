"""Results that come one a row: gathered by query, ordered by score or rank, and made rankings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from itertools import pairwise
from operator import attrgetter
from typing import Any

import msgspec

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, deduplicated
from rankgate.readers.field_map import CUT, named
from rankgate.readers.json_text import spoken
from rankgate.readers.run_shapes import loose_shape, refuse_gaps, to_ranking


class Order(Enum):
    """What orders the rows of a query.

    `SCORE`: descending, ties by id descending, as trec_eval does; scores compare as 64-bit floats. `RANK`: ascending,
    1 to n, each once. `BOTH`: the score, and the rank where scores tie; ranks that contradict the scores are an error,
    since one of them does not mean what it says. Ranks that are all the same, as some writers leave them, say nothing.
    """

    SCORE = "score"
    RANK = "rank"
    BOTH = "both"

    @staticmethod
    def of(*, scored: bool, ranked: bool) -> Order:
        """By what the rows have; one of the two at least."""
        if scored and ranked:
            return Order.BOTH
        return Order.SCORE if scored else Order.RANK


class Row(msgspec.Struct, gc=False, frozen=True):
    """One result: its id, what orders it, and what metrics need of it beyond, under the contract's keys."""

    doc: str
    score: float = 0.0
    rank: int = 0
    extras: Mapping[str, Any] | None = None


Tag = tuple[str, str]  # of a row: a column that names its system, and what stands there


class Gathered(msgspec.Struct, gc=False):
    """A query's rows, the line of the first, and what the query took where a row says so."""

    line: int | None
    rows: list[Row] = []
    times: Any = None
    tags: dict[Tag, int | None] = {}  # and the line on which each first stands


class Rows:
    """Rows of any order, gathered by query; queries keep the order in which they first appear."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.queries: dict[str, Gathered] = {}

    def add(self, query_id: str, row: Row, line: int | None, times: Any = None, tags: Iterable[Tag] = ()) -> None:
        """Take one row; of the times that a query's rows state, the first count."""
        gathered = self.queries.get(query_id)
        if gathered is None:
            gathered = self.queries[query_id] = Gathered(line)
        gathered.rows.append(row)
        if gathered.times is None:
            gathered.times = times
        for tag in tags:
            gathered.tags.setdefault(tag, line)

    def rankings(self, name: str, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
        """A ranking a query; a RankgateError with every problem noted so far, and those of ranks and details."""
        log.raise_if_any()
        for query_id, gathered in self.queries.items():
            refuse_systems(query_id, gathered, name)
            try:
                yield ranking_of(query_id, gathered, self.order, needs)
            except ValueError as error:
                log.add(Problem(str(error), name, gathered.line))
        log.raise_if_any()


def refuse_systems(query_id: str, gathered: Gathered, name: str) -> None:
    """Refuse rows of two systems, whose scores would make one list of two; once, for the whole file is like that.

    A tag may differ from query to query. Within one it may where ranks tell one list: where no rank stands twice; and
    so may a k that numbers the rows.
    """
    ranks = {row.rank for row in gathered.rows}
    if len(gathered.tags) < 2 or len(ranks) == len(gathered.rows):  # noqa: PLR2004 -- two systems
        return
    values = Counter(column for column, _ in gathered.tags)
    first: dict[str, tuple[str, int | None]] = {}
    for (column, tag), line in gathered.tags.items():
        other, before = first.setdefault(column, (tag, line))
        numbers = values[column] == len(gathered.rows) and named([CUT], [column])
        if other != tag and not numbers:
            raise bad_input(two_systems(query_id, (other, tag), column, before), file=name, line=line)


def two_systems(query_id: str, tags: tuple[str, str], column: str, before: int | None = None) -> str:
    """That one file holds two runs, and what to do."""
    one, other = tags
    where = f" (line {before})" if before else ""
    kind = "cut-offs" if named([CUT], [column]) else "systems"
    what = f"query {shown(query_id)} has rows of two {kind} by {shown(column)}, {shown(one)}{where} and {shown(other)}"
    return f"{what}; split the file by it, or write one value there if these rows are one list"


def ranking_of(query_id: str, gathered: Gathered, order: Order, needs: frozenset[RunField]) -> Ranking:
    """The ranking that a query's rows make; a ValueError says what is wrong with their ranks or their details."""
    rows = gathered.rows
    try:
        _sort(rows, order)
    except ValueError as error:
        raise ValueError(f"query {shown(query_id)}: {error}") from error
    tied = order is Order.SCORE and len(rows) > 1 and rows[0].score == rows[-1].score
    if not needs or (gathered.times is None and not any(row.extras for row in rows)):
        return Ranking(query_id, *deduplicated([row.doc for row in rows]), tied=tied)
    items = [{"chunk_id": row.doc, **(row.extras or {})} for row in rows]
    line = {"query_id": query_id, "topk": items, RunField.LATENCY.value: gathered.times}
    try:
        written = msgspec.convert(line, loose_shape(needs))
    except msgspec.ValidationError as error:
        raise ValueError(f"query {shown(query_id)}: {spoken(error)}") from error
    return msgspec.structs.replace(to_ranking(written, query_id, needs), tied=tied)


def _sort(rows: list[Row], order: Order) -> None:
    """Put the best first."""
    if order is Order.SCORE:
        rows.sort(key=attrgetter("score", "doc"), reverse=True)
    elif order is Order.RANK:
        rows.sort(key=attrgetter("rank"))
        try:
            refuse_gaps((row.rank, row.doc) for row in rows)
        except ValueError as error:
            raise ValueError(f"{error}: renumber them, or order the rows by a score") from error
    else:
        rows.sort(key=attrgetter("doc"), reverse=True)
        rows.sort(key=attrgetter("rank"))
        rows.sort(key=attrgetter("score"), reverse=True)
        _refuse_contradiction(rows)


def _refuse_contradiction(rows: list[Row]) -> None:
    for better, worse in pairwise(rows):
        if better.rank > worse.rank:
            what = f"{shown(better.doc)} has the better score and {shown(worse.doc)} the better rank"
            raise ValueError(f"{what}; drop one of the two columns, or map the one that orders")
