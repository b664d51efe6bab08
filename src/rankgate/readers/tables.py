"""Runs as CSV or TSV with a header, one result a row; the columns have the usual names, or those of a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Need, Ranking
from rankgate.readers.base import ProblemLog, finite_number, whole_number
from rankgate.readers.delimited import BEIR_COLUMNS, RAGAS_CSV, RAGAS_NAMES, Table
from rankgate.readers.mapping import NAMES, FieldMap, MissingNameError, needed
from rankgate.readers.recognition import Beginning, Likeness, Recognised, RunFormat, plain
from rankgate.readers.rows import Order, Row, Rows
from rankgate.readers.source import Source

N = TypeVar("N", int, float)

QUERY_NAMES = ("query_id", "q_id", "qid", "query-id")
DOC_NAMES = ("chunk_id", "doc_id", "docid", "docno", "corpus-id", "id")
_OPTIONAL = ("score", "rank", "text", "doc_id", "doc_version", "start", "end", "latency_ms")
# Two names in one table that are no contradiction: the first is the result's id.
_TOGETHER = (("chunk_id", "doc_id"), ("docno", "docid"))


def row_keys(needs: frozenset[Need]) -> list[str]:
    """What is read of a row beside its order, by the contract's key, which is also the map's."""
    scored = ["score"] if Need.ITEM_SCORES in needs else []
    return [*(key for key in ("doc_id", "doc_version", "text", "start", "end") if needed(key, needs)), *scored]


def _read_csv(source: Source, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from a table whose columns have usual names, in the order in which queries first appear."""
    table = Table(source, log)
    return _read(table, usual_map(table.columns, table.name, table.line), needs, log)


def read_mapped_csv(fields: FieldMap, source: Source, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from a table whose columns a map names."""
    table = Table(source, log)
    if fields.items is not None:
        raise bad_input("a CSV file holds no lists; leave `items` out, and map score or rank", file=table.name)
    return _read(table, fields, needs, log)


def usual_map(columns: Sequence[str], name: str, line: int | None = None) -> FieldMap:
    """The map that a table's column names imply; else a RankgateError says what they lack, or have twice."""
    written = {plain(column): column for column in columns}
    listed = f"found {', '.join(map(shown, columns))}; name the columns with `map:` under inputs.run"
    if any(each in written for each in RAGAS_NAMES):
        raise bad_input(RAGAS_CSV, file=name, line=line)
    queries = [each for each in QUERY_NAMES if each in written]
    docs = [each for each in DOC_NAMES if each in written]
    for better, other in _TOGETHER:
        if better in docs and other in docs:
            docs.remove(other)
    for what, names, known in (("the query", queries, QUERY_NAMES), ("the result", docs, DOC_NAMES)):
        if not names:
            raise bad_input(f"no column with the id of {what} ({', '.join(known)}): {listed}", file=name, line=line)
        if len(names) > 1:
            both = f"{' and '.join(names)} could both be the id of {what}"
            raise bad_input(f"{both}: {listed}", file=name, line=line)
    if "score" not in written and "rank" not in written:
        raise bad_input(f"no column score or rank, so nothing orders the results: {listed}", file=name, line=line)
    optional: dict[str, Any] = {each: written[each] for each in _OPTIONAL if each in written and each != docs[0]}
    return FieldMap(query_id=written[queries[0]], chunk_id=written[docs[0]], **optional)


def _read(table: Table, fields: FieldMap, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    places = _places(table, fields, log)
    query_at, doc_at, score_at, rank_at = (places[key] for key in ("query_id", "chunk_id", "score", "rank"))
    extras_at = [(key, at) for key in row_keys(needs) if (at := places[key]) is not None]
    time_at = places["latency_ms"] if Need.LATENCY in needs else None
    rows = Rows(Order.of(scored=score_at is not None, ranked=rank_at is not None))
    for number, cells in table.rows():
        query_id, doc = cells[query_at or 0], cells[doc_at or 0]
        try:
            _refuse_no_id(query_id, doc)
            score = 0.0 if score_at is None else fields.sign * _number(cells[score_at], "score", doc, finite_number)
            rank = 0 if rank_at is None else _number(cells[rank_at], "rank", doc, whole_number)
            extras = _extras(cells, extras_at, score, doc) if extras_at else None
            time = "" if time_at is None else cells[time_at].strip()
            times = {"total": _number(time, "latency_ms", doc, finite_number)} if time else None
        except ValueError as error:
            log.add(Problem(f"query {shown(query_id)}: {error}", table.name, number))
            continue
        rows.add(query_id, Row(doc, score, rank, extras), number, times)
    yield from rows.rankings(table.name, needs, log)


def _places(table: Table, fields: FieldMap, log: ProblemLog) -> dict[str, int | None]:
    """Where each mapped column stands; None for those that the map leaves out."""
    places: dict[str, int | None] = {}
    for key in NAMES:
        name = getattr(fields, key)
        places[key] = None if name is None else table.place(name)
        if name is not None and places[key] is None:
            error = MissingNameError(key, name, "the table", table.columns)
            log.add(error.at(Problem("", table.name, table.line)))
    log.raise_if_any()
    return places


def _number(text: str, what: str, doc: str, read: Callable[[str], N | None]) -> N:
    value = read(text.strip())
    if value is None:
        kind = "a whole number" if read is whole_number else "a finite number"
        raise ValueError(f"the {what} of {shown(doc)} is {shown(text)}; expected {kind}")
    return value


def _extras(cells: list[str], extras_at: list[tuple[str, int]], score: float, doc: str) -> dict[str, Any]:
    """What metrics need of a row, under the contract's keys; an empty cell says nothing."""
    written: dict[str, Any] = {key: cells[at] for key, at in extras_at if cells[at]}
    written |= {key: _number(written[key], key, doc, whole_number) for key in ("start", "end") if key in written}
    return written | {"score": score} if "score" in written else written


def _refuse_no_id(query_id: str, doc: str) -> None:
    if not query_id or not doc:
        raise ValueError(f"the id of the {'result' if query_id else 'query'} is empty")
    for cell in (query_id, doc):
        if cell[0] == "[" and cell.startswith(("['", '["')) and cell.endswith("]"):
            raise ValueError(f"{shown(cell)} is no id: {RAGAS_CSV}")


def _recognise(start: Beginning) -> Recognised:
    header = start.header
    if start.json or len(header) == 1 or not any(name in header for name in QUERY_NAMES):
        return Likeness.NO
    if set(BEIR_COLUMNS) <= set(header) and start.has_whole_numbers(BEIR_COLUMNS[-1]):
        return "that looks like BEIR qrels, which is a gold set; if these are scores, name the format: csv"
    return Likeness.YES


CSV = RunFormat(
    recognise=_recognise,
    read=_read_csv,
    shape="a header such as `qid,docid,score`, then one result per row; commas, tabs or semicolons",
    order="the score, or else the rank",
    looks_like="that looks like a run as a table",
)
