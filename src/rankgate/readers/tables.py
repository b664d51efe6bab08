"""Runs with one result a row: CSV or TSV with a header, JSON, and MS MARCO's three columns `query document rank`.

The columns of a table have usual names, or those of a map. Rows as text are read here, for gold sets too: below a
header, separated by commas, tabs or semicolons and quoted as CSV does; or without a header.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, BinaryIO

import msgspec

from rankgate.errors import Problem, bad_input, on_one_line, shown
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, finite_number
from rankgate.readers.field_map import DOC, QUERY, FieldMap, Sets, named
from rankgate.readers.gold_columns import GAIN
from rankgate.readers.json_text import RAGAS_CSV
from rankgate.readers.mapped import json_records, read_records
from rankgate.readers.mapping import MissingNameError, named_in, usual_names
from rankgate.readers.recognition import (
    LISTS,
    ORDERS,
    RAGAS_QUESTION,
    RAGAS_REFERENCE,
    RAGAS_RETRIEVED,
    SEP,
    Beginning,
    Likeness,
    Recognised,
    RunFormat,
    plain,
    separator_of,
)
from rankgate.readers.source import Source, utf8_message

_OPTIONAL = ("score", "rank", "text", "doc_id", "doc_version", "start", "end", "latency_ms")
_MSMARCO = "query document rank"
BEIR_COLUMNS = ("query-id", "corpus-id", "score")
_BLOCK = 1 << 14  # bytes: the words of more would not stay near the processor
_ROW_END = "\0"
# What a text's split() takes for white space and the bytes' does not; and our own mark.
_ODD = (b"\x1c", b"\x1d", b"\x1e", b"\x1f", _ROW_END.encode())
_numbers = msgspec.json.Decoder(list[float]).decode
RAGAS_NAMES = (*RAGAS_RETRIEVED, *RAGAS_REFERENCE)


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
        raise bad_input(
            f"a CSV file holds no lists; write JSONL, or, of a result a row, map score or rank and no {what}",
            file=table.name,
        )
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
    return Likeness.sure(start.has_rows or (start.json and _may_order(start)))


def _may_order(start: Beginning) -> bool:
    """Whether the first object has a query, a document and a fraction that is called no gain: a map may read it."""
    if not (start.keys.isdisjoint({*LISTS, RAGAS_QUESTION}) and named(QUERY, start.keys) and named(DOC, start.keys)):
        return False
    gains = named(GAIN, start.keys)
    return any(isinstance(value, float) and name not in gains for name, value in start.first_cells.items())


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


class Table:
    """A table with its header read: `columns` as written, `line` where the header stands."""

    def __init__(self, source: Source, log: ProblemLog) -> None:
        import csv  # noqa: PLC0415 -- paid only for tables

        self.name = source.name
        self.log = log
        self._broken = csv.Error
        stated = SEP.match(source.head)
        separator = stated[1].decode("latin-1") if stated else separator_of(source.head)
        self._reader = csv.reader(_decoded(source), delimiter=separator, strict=True)
        if stated:
            next(self._records())
        self.line, self.columns = next(self._records(), (1, []))
        self._places = {plain(column) for column in self.columns}
        if len(self._places) != len(self.columns):
            names = [plain(column) for column in self.columns]
            twice = next(name for name in names if names.count(name) > 1)
            raise bad_input(f"two columns are called {shown(twice)}; keep one", file=self.name, line=self.line)

    def records(self, fields: FieldMap | None = None) -> Iterator[tuple[Problem, dict[str, Any]]]:
        """Rows with their places, by the columns' names as a map spells them; case and blanks around do not matter.

        A row has as many cells as the header, or one, as Quepid writes a query without ratings; others are noted.
        """
        names = named_in(fields)
        tags = fields.tags if fields else ()
        for key, name in (*names.items(), *(("tags", name) for name in tags)):
            if plain(name) not in self._places:
                error = MissingNameError(key, name, "the table", self.columns)
                self.log.add(error.at(Problem("", self.name, self.line)))
        self.log.raise_if_any()
        spelled = {plain(name): name for name in (*names.values(), *tags)}
        columns = [spelled.get(plain(column), column) for column in self.columns]
        count = len(columns)
        listed = on_one_line(", ".join(self.columns))
        for number, cells in self._records():
            if len(cells) == count or (len(cells) == 1 and "score" not in names and "rank" not in names):
                yield Problem("", self.name, number), dict(zip_longest(columns, cells))
            else:
                message = f"expected {count} cells ({listed}), found {len(cells)}: {shown(cells)}"
                self.log.add(Problem(message, self.name, number))

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Records that are not blank, each with the line on which it begins."""
        while True:
            begins = self._reader.line_num + 1
            try:
                cells = next(self._reader, None)
            except self._broken as error:
                what = str(error).replace("\t", "\\t")  # one line, as all errors are
                message = f"broken CSV: {what}; a cell with quotes is quoted, and its quotes doubled"
                if "new-line character" in what:
                    message = "lines end in CR alone, as of an old Mac; save the file with LF or CRLF"
                elif "field limit" in what:
                    message = "a cell of more than 131,072 characters; close its quote, or write longer texts as JSONL"
                raise bad_input(message, file=self.name, line=begins) from error
            if cells is None:
                return
            if cells and (cells[0].strip() or any(cell.strip() for cell in cells)):
                yield begins, cells


def columns_of(
    lines: Iterable[tuple[int, bytes]],
    layout: str,
    name: str,
    log: ProblemLog,
    split: Callable[[bytes], list[bytes]] = bytes.split,
) -> Iterator[tuple[int, list[str]]]:
    """Numbered rows without a header whose columns are as many as the layout names; the others are noted.

    Bytes are split at ASCII white space alone: a no-break space is part of an id.
    """
    count = len(layout.split())
    for number, line in lines:
        try:
            columns = [column.decode("utf-8") for column in split(line)]
        except UnicodeDecodeError as error:
            log.add(Problem(utf8_message(error), name, number))
            continue
        if len(columns) == count:
            yield number, columns
        else:
            text = shown(" ".join(columns))
            log.add(Problem(f"expected {count} columns ({layout}), found {len(columns)}: {text}", name, number))


def blocks(stream: BinaryIO) -> Iterator[bytes]:
    """The lines, many at a time; the last has its end of line added where it lacks one."""
    while block := stream.read(_BLOCK):
        if not block.endswith(b"\n"):
            block += stream.readline()
        yield block if block.endswith(b"\n") else block + b"\n"


def plain_columns(block: bytes, count: int) -> list[list[str]] | None:
    """The so many columns of the rows of a block in plain ASCII, or None where any of them needs a closer look.

    With a mark in place of every line end, each row has six columns exactly where every seventh word is a mark and
    there are as many marks as lines; and so of any other count.
    """
    if not block.isascii() or any(odd in block for odd in _ODD):
        return None
    words = block.decode("ascii").replace("\n", f" {_ROW_END} ").split()
    width = count + 1
    rows = block.count(b"\n")
    if len(words) != width * rows or words[count::width].count(_ROW_END) != rows:
        return None
    return [words[at::width] for at in range(count)]


def plain_numbers(column: list[str]) -> list[float] | None:
    """The finite numbers of a column, as JSON reads them: five times as fast as `float`, with the same result.

    None where any needs a closer look.
    """
    try:
        numbers = _numbers(f"[{','.join(column)}]")
    except msgspec.MsgspecError:
        return None
    return numbers if len(numbers) == len(column) else None


def _decoded(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.stream, start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise bad_input(utf8_message(error), file=source.name, line=number) from error
