"""What a command prints, before it is laid out: lines and tables, for a terminal of any width or as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from rankgate.renderers.escape import log_line, unhidden


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of as many cells each, of which the first are the headings; the columns in `right` stand to the right."""

    rows: Sequence[Sequence[str]]
    right: Sequence[int] = ()
    instead: Sequence[Table] = ()  # narrower ones, where this one has no room


class Pairs(msgspec.Struct, frozen=True):
    """Names and what stands beside each."""

    rows: Sequence[tuple[str, str]]


# A text is one line: spaces before it are its indentation, "" is an empty line.
Block = str | Table | Pairs


def plain_text(blocks: Sequence[Block]) -> str:
    """Everything on lines as long as they are, tables aligned by spaces and indented by two."""
    lines: list[str] = []
    for block in blocks:
        match block:
            case str():
                lines.append(log_line(block).rstrip())
            case Table():
                lines += aligned(block.rows, block.right)
            case Pairs():
                lines += aligned(block.rows)
            case _:
                assert_never(block)
    return "".join(f"{line}\n" for line in lines)


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Rows in columns, a line each, indented by two; the columns in `right` stand to the right."""
    shown = [[unhidden(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines: list[str] = []
    for row in shown:
        cells = [
            text.rjust(width) if index in right else text.ljust(width)
            for index, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(log_line(f"  {'  '.join(cells)}".rstrip()))
    return lines
