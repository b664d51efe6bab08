"""Runs with one result a row: CSV or TSV with a header, JSON, and MS MARCO's three columns `query document rank`.

The columns of a table have usual names, or those of a map.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from rankgate.errors import Problem, bad_input
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, finite_number
from rankgate.readers.delimited import BEIR_COLUMNS, RAGAS_CSV, RAGAS_NAMES, Table, columns_of
from rankgate.readers.field_map import DOC, QUERY, FieldMap, Sets, named
from rankgate.readers.mapped import json_records, read_records
from rankgate.readers.mapping import usual_names
from rankgate.readers.recognition import ORDERS, Beginning, Likeness, Recognised, RunFormat, plain
from rankgate.readers.source import Source

_OPTIONAL = ("score", "rank", "text", "doc_id", "doc_version", "start", "end", "latency_ms")
_MSMARCO = "query document rank"


def _read_csv(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from a table whose columns have usual names, in the order in which queries first appear."""
    table = Table(source, log)
    fields = usual_map(table.columns, table.name, table.line)
    return read_records(fields, table.records(fields), table.name, needs, log, cells=True)


def _read_rows(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from objects with one result each, in the order in which queries first appear."""
    records = iter(json_records(source, log))
    first = next(records, None)
    if first is None or not isinstance(first[1], Mapping):
        log.raise_if_any()
        raise bad_input("expected objects with one result each", file=source.name)
    fields = usual_map([*first[1]], source.name, first[0].line)
    if isinstance(first[1][fields.query_id], Mapping | list):
        what = 'holds columns in place of rows; write rows, as pandas does with to_json(path, orient="records")'
        raise bad_input(what, file=source.name, line=first[0].line, key=fields.query_id)
    return read_records(fields, chain([first], records), source.name, needs, log)


def read_mapped_csv(fields: FieldMap, source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from a table whose columns a map names."""
    table = Table(source, log)
    if fields.items is not None or fields.records is not None:
        what = "`items` and `records`" if fields.records else "`items`"
        raise bad_input(f"a CSV file holds no lists; leave {what} out, and map score or rank", file=table.name)
    return read_records(fields, table.records(fields), table.name, needs, log, cells=True)


def usual_map(columns: Sequence[str], name: str, line: int | None = None, kind: str = "run") -> FieldMap:
    """The map that a table's column names imply; else a RankgateError says what they lack, or have twice."""
    written = {plain(column): column for column in columns}
    if any(each in written for each in RAGAS_NAMES):
        raise bad_input(RAGAS_CSV, file=name, line=line)
    by_rank: dict[str, Sets] = {} if "rank" in written else {"score": ({"score"},)}
    known = usual_names(columns, {"query_id": QUERY, "chunk_id": DOC, **by_rank}, kind, Problem("", name, line))
    optional: dict[str, Any] = {each: written[each] for each in _OPTIONAL if each in written}
    optional |= {"doc_id": None} if written.get("doc_id") == known["chunk_id"] else {}
    return FieldMap(**{**optional, **known})


def _recognise(start: Beginning) -> Recognised:
    header = start.header
    if start.json or len(header) == 1 or not named(QUERY, header):
        return Likeness.NO
    if set(BEIR_COLUMNS) <= set(header) and start.has_whole_numbers(BEIR_COLUMNS[-1]):
        return "that looks like BEIR qrels, which is a gold set; if these are scores, name the format: csv"
    return Likeness.YES if ORDERS & {*header} else Likeness.MAYBE


def _recognise_rows(start: Beginning) -> Recognised:
    if start.has_rows and set(BEIR_COLUMNS) <= start.keys and re.search(rb'"score"\s*:\s*-?[0-9]+\s*[,}]', start.line):
        return "that looks like BEIR qrels, which is a gold set; if these are scores, name the format: rows"
    return Likeness.sure(start.has_rows)


CSV = RunFormat(
    recognise=_recognise,
    read=_read_csv,
    shape="a header such as `qid,docid,score`, then one result per row; commas, tabs or semicolons",
    order="the score, or else the rank",
    looks_like="that looks like a run as a table",
)
ROWS = RunFormat(
    recognise=_recognise_rows,
    read=_read_rows,
    shape='`{"query_id": "q-1", "doc_id": "doc-3", "score": 18.4}`, one result a line or in a JSON list, as data '
    "frames are written",
    order="the score, or else the rank",
)


def _read_msmarco(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings in the order of their ranks, 1 to n, each once, in any order of rows.

    A gap, as filtering leaves it, is an error: the leaderboard's script counts the ranks as written, most other tools
    close the gap, and which is meant is not ours to guess.
    """
    names = _MSMARCO.split()
    rows = columns_of(source.lines(), _MSMARCO, source.name, log, _by_tabs_or_blanks)
    records = ((Problem("", source.name, number), dict(zip(names, cells, strict=True))) for number, cells in rows)
    fields = FieldMap(query_id="query", chunk_id="document", rank="rank")
    return read_records(fields, records, source.name, needs, log, cells=True)


def _by_tabs_or_blanks(line: bytes) -> list[bytes]:
    """By tabs where there is one, so that ids may hold blanks, else by blanks."""
    return line.rstrip(b"\r\n").split(b"\t") if b"\t" in line else line.split()


def _recognise_msmarco(start: Beginning) -> Recognised:
    last = start.columns[-1].decode("utf-8", "replace") if len(start.columns) == len(_MSMARCO.split()) else ""
    if not start.json and not start.is_msmarco and finite_number(last) is not None:
        return "three columns that end in a score need a header: query_id, doc_id, score, separated as they are"
    return Likeness.sure(start.is_msmarco)


MSMARCO = RunFormat(
    recognise=_recognise_msmarco,
    read=_read_msmarco,
    shape="`q-1 doc-3 1`, separated by tabs or blanks, no header",
    order="the rank",
    looks_like="three columns are BEIR qrels where the first row is query-id corpus-id score, and a run of MS MARCO "
    "else",
)
