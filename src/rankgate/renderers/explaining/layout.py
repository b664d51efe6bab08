"""Lines that fit a terminal: paragraphs, and lists side by side as long as they fit, else one below the other."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from rankgate.renderers.escape import log_line

NARROWEST = 20  # columns; a terminal that says less is not believed
GAP = 3  # blanks between lists


def paragraph(text: str, width: int, indent: int = 0, hanging: int = 2) -> list[str]:
    """Text in lines of at most `width` columns, all indented, all but the first by `hanging` more.

    A longer word keeps its line; blanks are kept unless a line ends there.
    """
    return textwrap.wrap(
        text,
        max(width, NARROWEST),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese, Japanese and Korean characters and emoji take two."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.combining(char) or char in "\u200b\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def padded(text: str, width: int) -> str:
    """Text with blanks behind it, up to `width` columns."""
    return text + " " * (width - columns_of(text))


def padded_all(texts: Sequence[str]) -> list[str]:
    """Texts with blanks behind them, as wide as the widest."""
    return [padded(text, _widest(texts)) for text in texts]


def beside(lists: Sequence[Sequence[str]], width: int, indent: int = 2) -> list[str]:
    """Lists whose first entries are headings: as many side by side as fit, the others below."""
    groups: list[list[Sequence[str]]] = []
    for entries in lists:
        together = [*(groups[-1] if groups else []), entries]
        if groups and indent + sum(_widest(each) + GAP for each in together) - GAP <= width:
            groups[-1] = together
        else:
            groups.append([entries])
    lines: list[str] = []
    for group in groups:
        widths = list(map(_widest, group))
        rows = zip_longest(*group, fillvalue="")
        lines += ["", *((" " * indent + (" " * GAP).join(map(padded, row, widths))).rstrip() for row in rows)]
    return lines[1:]


def _widest(texts: Sequence[str]) -> int:
    return max(map(columns_of, texts), default=0)


def finished(lines: Iterable[str]) -> str:
    """The lines as one text that neither a terminal nor a runner of CI obeys, also where a report brought it along."""
    return "\n".join(log_line(line).rstrip() for line in lines) + "\n"
