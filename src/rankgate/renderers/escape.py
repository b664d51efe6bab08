"""Text that we did not write, made safe to show: in Markdown only ever as a code span, elsewhere on one line.

Queries, ids, tags, document text and system names come from files that anyone may have written. Entity and backslash
escaping both fail on GitHub's parser, which still links `a@b.co` and notifies `@name`; inside a code span it does not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence

_JOINERS = "\u200c\u200d"  # needed by scripts and emoji, harmless alone
# Printable to Python and yet invisible: fillers, and the selectors in which a message can hide.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u3164\uffa0") | frozenset(map(chr, range(0xE0100, 0xE01F0)))
_BACKTICKS = re.compile(r"`+")
_LONGEST_SPAN_FENCE = 80  # GitHub's parser takes longer runs of backticks for text
_ENDLESS = re.compile(r"`{200,}")  # it counts the fence of a block to 255 only


def visible(text: str) -> str:
    """One line in which nothing is hidden: white space folded, control and bidi characters as their code points."""
    return unhidden(re.sub(r"\s+", " ", text))


def unhidden(line: str) -> str:
    """The same with its spaces as they are."""
    if line.isascii() and line.isprintable():
        return line
    return "".join(char if _shows(char) else f"\\u{ord(char):04x}" for char in line)


def _shows(char: str) -> bool:
    return char in _JOINERS or (char.isprintable() and char not in _INVISIBLE)


def command_line(words: Sequence[str]) -> str:
    """A command for a shell; an address without its secret is a variable called as its option, which asks to be set."""
    parts = [shlex.quote(word) for word in words]
    for at, option in enumerate(words[:-1]):
        if "…" in words[at + 1] and re.fullmatch("--[a-z]+", option):
            parts[at + 1] = f'"${{{option[2:].upper()}:?set it to the address with its credentials}}"'
    return " ".join(parts)


def inert(line: str) -> str:
    """A line of a log in which GitHub's runner finds no workflow command, neither `::` at its start nor `##[`."""
    harmless = line.replace("##[", "## [")
    return harmless.replace("::", ": :", 1) if harmless.lstrip().startswith("::") else harmless


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, the last an ellipsis where some were cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def middle(text: object, limit: int) -> str:
    """`visible`, and no longer than the limit: what is cut is in the middle, as names and ids differ at their ends."""
    shown = visible(str(text))
    tail = (limit - 1) // 2
    return shown if len(shown) <= limit else f"{shown[: limit - 1 - tail]}…{shown[-tail:]}"


def one_line(text: object, limit: int = 200) -> str:
    """`visible`, and no longer than the limit."""
    return shorten(visible(str(text)), limit)


def safe(text: str, limit: int = 80) -> str:
    """Text of the inputs for a terminal: on one line, with nothing hidden or live in it, and no longer than `limit`."""
    return shorten(inert(visible(text)), limit)


def listed(texts: Sequence[str], most: int, spell: Callable[[str], str] = str, total: int | None = None) -> str:
    """`a, b and 3 more`: the first texts as they are spelled, and how many more there are, of all or of a total."""
    more = (len(texts) if total is None else total) - len(texts[:most])
    return ", ".join(map(spell, texts[:most])) + (f" and {more:,} more" if more > 0 else "")


def code(text: object, limit: int = 200) -> str:
    """A Markdown code span that shows exactly `visible(text)`, for use outside tables."""
    shown = one_line(text, limit)
    if not shown.strip():
        return '`""`'
    fence = _span_fence({len(run) for run in _BACKTICKS.findall(shown)})
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _span_fence(runs: set[int]) -> str:
    """Backticks longer than any run inside, or where that is too long to be a fence, as many as no run has."""
    longer = max(runs, default=0) + 1
    if longer <= _LONGEST_SPAN_FENCE:
        return "`" * longer
    return "`" * next(length for length in range(1, longer) if length not in runs)


def cell(text: object, limit: int = 200) -> str:
    """The same inside a table cell, where a pipe ends the cell even within a code span."""
    return code(text, limit).replace("|", "\\|")


def block(lines: Iterable[str], language: str = "") -> str:
    """A fenced code block, with a fence that no line can close; a run of 200 backticks or more is cut."""
    shown = [_ENDLESS.sub("`" * 199 + "…", visible(line)) for line in lines]
    longest = max((len(run) for line in shown for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *shown, fence])


def quoted(text: str) -> str:
    """Text of the inputs outside of Markdown: on one line, nothing hidden, in quotation marks."""
    return repr(one_line(text, 60))
