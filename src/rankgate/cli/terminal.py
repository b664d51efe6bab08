"""Lines and tables at a terminal: wrapped between words, a table that is too wide shown row by row.

Nothing is cut off, whatever the width. Texts are never read as Rich's markup, and what a colour says a word says too.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from typing import Literal, assert_never

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from rankgate.renderers.blocks import Block, Pairs, Table
from rankgate.renderers.escape import log_line

STYLES = {
    "PASS": "bold green",
    "WARN": "bold yellow",
    "WAIVED": "bold yellow",
    "FAIL": "bold red",
    "NOT JUDGED": "bold magenta",
}
MAX_PROSE = 100  # columns; longer lines are hard to read
NARROWEST = 20  # columns, below which nothing is indented
INDENT = 2
GAP = 2  # between columns
TALLEST = 2  # rows of a cell
STACKED = 72  # columns, below which a table that is too wide becomes paragraphs rather than several tables

# Between a number and its unit, and before an interval: a space at which no line breaks. No text of an input has this
# character, which is private and hence not shown.
_TIE = "\ue000"
_TIED = re.compile(r"(?<=\d) (?=pp\b|ms\b)|(?<=%:) ")


def show(blocks: Sequence[Block], *, in_colour: bool) -> None:
    """Print to the terminal of standard output, at its width; `in_colour` whatever NO_COLOR and TERM say."""
    lay_out(blocks, _console(in_colour=in_colour))


def show_pages(blocks: Sequence[Block], *, in_colour: bool) -> None:
    """Print to the terminal, and where that is lower than the text, wait for Enter after each screen of it."""
    console = _console(in_colour=in_colour)
    with console.capture() as captured:
        lay_out(blocks, console)
    rows = captured.get().removesuffix("\n").split("\n")
    page = max(1, console.height - 2)
    for start in range(0, len(rows), page):
        if start:
            input("Enter for more > ")
        print("\n".join(rows[start : start + page]))


def show_lines(text: str) -> None:
    """Print a text that is laid out already, with the words of verdicts in colour."""
    console = _console(in_colour=True)
    for line in text.splitlines():
        console.print(_styled(log_line(line)), soft_wrap=True, highlight=False)


def _console(*, in_colour: bool) -> Console:
    colourless = not in_colour and (bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb")
    size = shutil.get_terminal_size()
    colours: Literal["auto", "standard"] | None = "standard" if in_colour else "auto"
    if colourless:
        colours = None
    # Said outright, for older versions of Rich take an empty NO_COLOR for a full one.
    return Console(file=sys.stdout, width=size.columns, height=size.lines, color_system=colours, no_color=colourless)


def lay_out(blocks: Sequence[Block], console: Console) -> None:
    """Print within the console's width."""
    for block in blocks:
        match block:
            case str():
                _print_line(log_line(block), console)
            case Table():
                _print_table(block, console)
            case Pairs():
                _print_pairs([(log_line(name), log_line(text)) for name, text in block.rows], INDENT, console)
            case _:
                assert_never(block)


def _print_line(text: str, console: Console) -> None:
    """A line, its further rows beneath the sentence of a verdict, or two columns in."""
    verdict = next((f"{word}  " for word in STYLES if text.startswith(f"{word}  ")), "")
    lead = verdict or text[: len(text) - len(text.lstrip(" "))]
    _print_hanging(lead, text[len(lead) :], len(verdict) or len(lead) + INDENT, console)


def _print_hanging(lead: str, text: str, indent: int, console: Console) -> None:
    """The text after its lead, its further rows `indent` columns in."""
    width = min(console.width, MAX_PROSE)
    if width < max(NARROWEST, 2 * indent):
        text = f"{lead}{text}".lstrip(" ")
        lead = ""
        indent = 0
    for number, row in enumerate(_wrapped(text, width - indent, console) or [Text()]):
        console.print(_styled(" " * indent if number else lead) + row, soft_wrap=True, highlight=False)


def _wrapped(text: str, width: int, console: Console) -> list[Text]:
    """The text in rows of at most that width; only a word that is longer by itself is broken."""
    rows = _styled(_TIED.sub(_TIE, text)).wrap(console, width, overflow="fold")
    for row in rows:
        row.rstrip()
        row.plain = row.plain.replace(_TIE, " ")
    return list(rows)


def _print_table(table: Table, console: Console) -> None:
    """As a table if it fits with one column wrapped, without broken words and tall cells; else a paragraph a row."""
    rows = [[log_line(text) for text in row] for row in table.rows]
    filled = [index for index, column in enumerate(zip(*rows, strict=True)) if any(column[1:])]
    kept = filled or range(len(rows[0]))
    rows = [[row[index] for index in kept] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    wrapped = max(range(len(kept)), key=lambda index: (kept[index] not in table.right, widths[index]))
    available = console.width - INDENT - GAP * (len(kept) - 1) - sum(widths) + widths[wrapped]
    cells = [_wrapped(row[wrapped], max(1, available), console) for row in rows]
    words = [word for row in rows for word in _TIED.sub(_TIE, row[wrapped]).split(" ")]
    if available < max(map(cell_len, words)) or any(len(cell) > TALLEST for cell in cells):
        if table.instead and console.width >= STACKED:
            lay_out([block for each in table.instead for block in ("", each)][1:], console)
        else:
            _print_paragraphs(rows, console)
        return
    grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for column, heading in enumerate(rows[0]):
        grid.add_column(heading, justify="right" if kept[column] in table.right else "left", no_wrap=column != wrapped)
    for row, wrapped_cell in zip(rows[1:], cells[1:], strict=True):
        texts = list(map(_styled, row))
        texts[wrapped] = Text("\n").join(wrapped_cell)
        grid.add_row(*texts)
    console.print(Padding(grid, (0, 0, 0, INDENT), expand=False))


def _print_paragraphs(rows: Sequence[Sequence[str]], console: Console) -> None:
    """What names a row on a line, and below it a line for each of its other cells."""
    head = rows[0]
    begin = next((index for index, heading in enumerate(head) if heading), 0) + 1
    for number, row in enumerate(rows[1:]):
        if number:
            console.print()
        _print_hanging(" " * INDENT, " ".join(filter(None, row[:begin])), 2 * INDENT, console)
        cells = zip(head[begin:], row[begin:], strict=True)
        _print_pairs([(heading, text) for heading, text in cells if text], 2 * INDENT, console)


def _print_pairs(pairs: Sequence[tuple[str, str]], indent: int, console: Console) -> None:
    longest = max((cell_len(name) for name, _ in pairs), default=0)
    for name, text in pairs:
        lead = f"{' ' * indent}{name}{' ' * (longest - cell_len(name) + GAP)}"
        _print_hanging(lead, text, cell_len(lead), console)


def _styled(text: str) -> Text:
    """The text with the words of verdicts in their colours."""
    styled = Text(text)
    for word, style in STYLES.items():
        styled.highlight_regex(rf"\b{word}\b", style)
    return styled
