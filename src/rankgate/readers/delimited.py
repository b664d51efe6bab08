"""Rows as text: below a header, separated by commas, tabs or semicolons and quoted as CSV does; or without a header."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

from rankgate.errors import Problem, bad_input, on_one_line, shown
from rankgate.readers.base import ProblemLog
from rankgate.readers.field_map import FieldMap
from rankgate.readers.mapping import MissingNameError, named_in
from rankgate.readers.recognition import SEP, plain, separator_of
from rankgate.readers.source import Source, utf8_message

BEIR_COLUMNS = ("query-id", "corpus-id", "score")
RAGAS_NAMES = ("retrieved_contexts", "reference_contexts", "retrieved_context_ids", "reference_context_ids")
RAGAS_CSV = (
    "lists as Python shows them, as Ragas' to_csv writes them, cannot be read back; write JSONL instead, with "
    'to_jsonl(path) or to_pandas().to_json(path, orient="records", lines=True)'
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


def _decoded(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.stream, start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise bad_input(utf8_message(error), file=source.name, line=number) from error
