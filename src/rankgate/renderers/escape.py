"""Text that we did not write, made safe to show on one line; in Markdown by `markdown_text`.

Queries, ids, tags, document text and system names come from files that anyone may have written.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Sequence

import msgspec

from rankgate.model.wording import without_marks

_JOINERS = "\u200c\u200d"  # needed by scripts and emoji, harmless alone
# Printable to Python and yet invisible: fillers, and the selectors in which a message can hide.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    map(chr, range(0xE0100, 0xE01F0))
)
_MOST_MARKS = 5  # on one letter
# More marks than that, or as many other signs that are no letters.
_PERHAPS_PILED = re.compile(rf"[^\w\x00-\x7f]{{{_MOST_MARKS + 1}}}")
_MARK = re.compile("\ue000([0-9]{1,6})\ue001")
# A name that nobody takes for words of ours: up to three words, of which none ends a clause.
_WORD = r"[.\w/@+×-]+(:+[.\w/@+×-]+)*(?<!\.)"
_PLAIN = re.compile(rf"{_WORD}( {_WORD}){{0,2}}…?")
_LONGEST_QUOTED = 120  # characters; a longer text is no name, and stands without quotation marks
LONGEST_COMMAND = 2_000  # characters
LONGEST_SENTENCE = 600  # characters of ours; none is nearly as long, unless somebody wrote the report by hand


class Text(msgspec.Struct, frozen=True):
    """Text of the inputs as it is, of which a medium shows at most `limit` characters."""

    raw: str
    limit: int = 200


Sentence = tuple[str | Text, ...]  # ours, and what it holds of the inputs
Shown = str | Text | Sentence
Spell = Callable[[str], str]  # makes text of the inputs safe to show: a code span in Markdown, one line elsewhere


class Pieces:
    """Takes a sentence apart: whoever writes it spells text of the inputs by `spell`, which leaves a mark there."""

    def __init__(self, limit: int = 80) -> None:
        self._limit = limit
        self._texts: list[Text] = []

    def spell(self, text: str, limit: int | None = None) -> str:
        """A mark that stands for the text."""
        self._texts.append(Text(text, limit or self._limit))
        return f"\ue000{len(self._texts) - 1}\ue001"

    def sentence(self, text: str) -> Sentence:
        """The sentence with the texts that its marks stand for."""
        pieces: list[str | Text] = []
        for index, part in enumerate(_MARK.split(text)):
            if index % 2 == 0:
                pieces.append(shorten(part, LONGEST_SENTENCE))
            elif int(part) < len(self._texts):  # any other mark stood in a report that somebody wrote by hand
                pieces.append(self._texts[int(part)])
        return tuple(filter(None, pieces))


def plain(shown: Shown) -> str:
    """One line outside of Markdown: a name of the inputs that is not plain words stands in quotation marks."""
    if isinstance(shown, Text):
        line = safe(shown.raw, shown.limit)
        return line if shown.limit > _LONGEST_QUOTED or _PLAIN.fullmatch(without_marks(line)) else repr(line)
    if isinstance(shown, str):
        return without_runner_commands(one_line_with_ends(shown))
    return "".join(map(plain, shown))


def one_line_with_ends(text: str) -> str:
    """`one_line`, with the blanks at its ends, which part it from what stands beside it."""
    return one_line(text.replace("\ue000", "").replace("\ue001", ""))


def one_line(text: object, limit: int | None = None) -> str:
    """One line, maybe cut, in which nothing is hidden: blanks folded, control and bidi characters as code points."""
    line = unhidden(re.sub(r"\s+", " ", str(text)))
    return line if limit is None else shorten(line, limit)


def unhidden(line: str) -> str:
    """A line as `one_line` shows it, its spaces as they are; of marks on one letter no more than languages need."""
    if line.isprintable() and (line.isascii() or (_INVISIBLE.isdisjoint(line) and not _PERHAPS_PILED.search(line))):
        return line
    signs: list[str] = []
    marks = 0
    for char in line:
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        visible = char in _JOINERS or (char.isprintable() and char not in _INVISIBLE)
        signs.append(char if visible and marks <= _MOST_MARKS else f"\\u{ord(char):04x}")
    return "".join(signs)


def command_line(words: Sequence[str]) -> str:
    """A command for a shell; an address without its secret is a variable called as its option, which asks to be set."""
    parts = [shlex.quote(word) for word in words]
    for at, option in enumerate(words[:-1]):
        if "…" in words[at + 1] and re.fullmatch("--[a-z]+", option):
            parts[at + 1] = f'"${{{option[2:].upper()}:?set it to the address with its credentials}}"'
    return " ".join(parts)


def log_line(line: str) -> str:
    """A line that neither a terminal nor the runner of GitHub Actions obeys, its spaces as they are."""
    return without_runner_commands(unhidden(line))


def without_runner_commands(line: str) -> str:
    """A line of a log in which GitHub's runner finds no workflow command, neither `::` at its start nor `##[`."""
    line = line.replace("##[", "## [")
    return line.replace("::", ": :", 1) if line.lstrip().startswith("::") else line


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, the last an ellipsis where some were cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def without_middle(text: str, limit: int) -> str:
    """At most `limit` characters: what is cut is in the middle, as names and ids differ at their ends."""
    tail = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[: limit - 1 - tail]}…{text[-tail:]}"


def safe(text: str, limit: int = 80) -> str:
    """Text of the inputs for a terminal: on one line, with nothing hidden or live in it, and no longer than `limit`."""
    return shorten(without_runner_commands(one_line(text)), limit)


def listed(texts: Sequence[str], most: int, spell: Callable[[str], str] = str, total: int | None = None) -> str:
    """`a, b and 3 more`: the first texts as they are spelled, and how many more there are, of all or of a total."""
    more = (len(texts) if total is None else total) - len(texts[:most])
    return ", ".join(map(spell, texts[:most])) + (f" and {more:,} more" if more > 0 else "")
