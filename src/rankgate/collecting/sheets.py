"""Tables for spreadsheets, and what comes back from one: CSV in which no cell acts."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rankgate.errors import Problem, bad_input, shown
from rankgate.readers.base import ProblemLog
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.source import Source

BYTE_ORDER_MARK = "\ufeff"
_LONGEST_CELL = (1 << 31) - 1
# How a cell begins that a spreadsheet would run as a formula, also a Japanese one, and how it begins once defused.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_DEFUSED = re.compile(r"'+[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def as_sheet(names: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """CSV with these columns; a text that begins like a formula gets an apostrophe in front, which `exact` removes.

    It begins with a byte order mark, without which spreadsheets guess an old code page.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([defused(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return BYTE_ORDER_MARK + text.getvalue()


def defused(cell: str) -> str:
    """A cell that no spreadsheet runs as a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def exact(cell: str) -> str:
    """The text that `defused` was given."""
    return cell[1:] if _DEFUSED.match(cell) else cell


class SheetRow(NamedTuple):
    """A row with its line in the file, its number in a spreadsheet, from 1, and its cells by column."""

    line: int
    number: int
    cells: dict[str, str]


def sheet_rows(source: Source, log: ProblemLog, needed: Sequence[str], wanted: str) -> Iterator[SheetRow]:
    """The rows that are not empty.

    Columns may stand in any order, and be more than the header must name once each. The delimiter may be a comma, a
    semicolon or a tab, whichever the spreadsheet saved. `wanted` says what the file should be where it is not.
    """
    text = source.text()
    delimiter, names = _header(text, source.name, needed, wanted)
    headed = False
    begins = 1
    before = csv.field_size_limit(_LONGEST_CELL)  # the usual limit is shorter than some documents
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        for number, cells in enumerate(reader, start=1):
            if any(cells[len(names) :]):
                message = f"the header has {len(names)} columns and this row more; quote cells that hold {delimiter!r}"
                log.add(Problem(message, source.name, begins))
            elif any(cells) and headed:
                yield SheetRow(begins, number, dict(zip(names, cells, strict=False)))
            headed = headed or any(cells)
            begins = reader.line_num + 1
    except csv.Error as error:
        log.add(Problem(f"broken CSV: {error}", source.name, begins))
    finally:
        csv.field_size_limit(before)


def is_jsonl(source: Source) -> bool:
    """Whether a table is JSONL, as its content says; else it is CSV."""
    return source.head.lstrip().startswith((b"{", b"["))


def rows_of(
    source: Source, log: ProblemLog, needed: Sequence[str], wanted: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table, JSONL or CSV, each with its line; cells of CSV are the texts that `defused` was given."""
    if is_jsonl(source):
        yield from _json_rows(source, log)
        return
    for line, _, cells in sheet_rows(source, log, needed, wanted):
        yield line, {name: exact(cell) for name, cell in cells.items()}


def as_json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """One JSON object a line."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _json_rows(source: Source, log: ProblemLog) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of JSONL, each with its line; anything else is noted."""
    for number, line in source.lines():
        try:
            value = strict_json(line)
            if not isinstance(value, dict):
                raise JsonError(f"expected one JSON object a line, found {shown(value)}")
        except JsonError as error:
            log.add(Problem(str(error), source.name, number))
        else:
            yield number, value


def _header(text: str, name: str, needed: Sequence[str], wanted: str) -> tuple[str, list[str]]:
    """The delimiter, and the columns that it gives the first line; `verdict (yes, no)` is that of `verdict`."""
    first = next(line for line in text.splitlines() if line.strip())
    for delimiter in ",;\t":
        cells = [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter))]
        names = [plain if (plain := cell.partition(" (")[0]) in needed else cell for cell in cells]
        if all(names.count(key) == 1 for key in needed):
            return delimiter, names
    raise bad_input(f"it starts with {shown(first[:80])}; {wanted}", file=name)
