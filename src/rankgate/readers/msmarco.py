"""Runs as MS MARCO's leaderboards take them: three columns `query document rank`, parted by tabs or blanks."""

from __future__ import annotations

from collections.abc import Iterator

from rankgate.errors import Problem, shown
from rankgate.model.values import Need, Ranking
from rankgate.readers.base import ProblemLog
from rankgate.readers.rows import Order, Row, Rows
from rankgate.readers.source import Source, utf8_message
from rankgate.readers.tables import whole_number

MSMARCO_COLUMNS = 3


def read_msmarco(source: Source, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings in the order of their ranks, queries in the order in which they first appear.

    The ranks of a query are 1 to n, each once, in any order of rows. A gap, as filtering leaves it, is an error: the
    leaderboard's script counts the ranks as written, most other tools close the gap, and which is meant is not ours to
    guess.
    """
    rows = Rows(Order.RANK)
    for number, line in source.lines():
        try:
            columns = columns_of(line)
        except UnicodeDecodeError as error:
            log.add(Problem(utf8_message(error), source.name, number))
            continue
        if len(columns) != MSMARCO_COLUMNS:
            message = f"expected {MSMARCO_COLUMNS} columns (query document rank), found {len(columns)}"
            log.add(Problem(f"{message}: {shown(' '.join(columns))}", source.name, number))
            continue
        query_id, doc, text = columns
        rank = whole_number(text)
        if rank is None:
            header = "; if that is a header, remove the row" if not rows.queries else ""
            message = f"query {shown(query_id)}: the rank of {shown(doc)} is {shown(text)}, not a whole number{header}"
            log.add(Problem(message, source.name, number))
            continue
        rows.add(query_id, Row(doc, rank=rank), number)
    yield from rows.rankings(source.name, needs, log)


def columns_of(line: bytes) -> list[str]:
    """The columns of a line: parted by tabs where there is one, so that ids may hold blanks, else by blanks.

    Raises:
        UnicodeDecodeError: not UTF-8.
    """
    parts = line.rstrip(b"\r\n").split(b"\t") if b"\t" in line else line.split()
    return [part.decode("utf-8") for part in parts]
