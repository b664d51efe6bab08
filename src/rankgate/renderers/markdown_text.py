"""Text that we did not write in Markdown: only ever as a code span or a code block.

Entity and backslash escaping both fail on GitHub's parser, which still links `a@b.co` and notifies `@name`; inside a
code span it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rankgate.renderers.escape import LONGEST_SENTENCE, Shown, Text, one_line, one_line_with_ends, shorten

_BACKTICKS = re.compile(r"`+")
_LONGEST_SPAN_FENCE = 80  # GitHub's parser takes longer runs of backticks for text
_ENDLESS = re.compile(r"`{200,}")  # it counts the fence of a block to 255 only
# To GitHub the end of `recall(rel=2)@5` names a user.
_WITH_PARAMETERS = re.compile(r"(?<![\w`-])[a-zA-Z][\w-]*\((?:[^()]|\([^()]*\))*\)(?:@\w+)?")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
# What GitHub makes a link, a mention, HTML or a heading of: no sentence of ours has any of it outside of code.
_GITHUB_MARKUP = re.compile(
    r"[`*\\$]|~~|(?<!\w)_|<[a-z/!?]|\]\s*[(\[:]|://|www\.|&#?\w+;|(?<!\w)@\w|@[\w-]+\.\w|#\d|\bgh-\d|:[a-z_]+:"
    r"|^\s*([#>=+-]+|\d+[.)])(\s|$)",
    re.IGNORECASE,
)
# The blanks within `−5.8 pp`, `−8.1 to −3.4`, `≥ 85.0%` and `96.0% → 56.0%`.
_UNBROKEN_BLANKS = re.compile(
    r"(?<=[\d±?]) (?=pp\b|ms\b|to [−+±\d?])|(?<=[\d?%] to) |(?<=[≥≤]) |(?<=[\d%]) (?=→ [\d−])|(?<=[\d%] →) (?=[\d−])"
)


class Markdown(str):
    """Markdown that is safe to show as it is."""

    __slots__ = ()


def markdown(shown: Shown, limit: int | None = None) -> str:
    """Markdown outside of tables: text of the inputs as code, and our sentences as they are, metrics in them as code.

    Whoever writes a report by hand writes the sentences in it: one with markup, which ours never have, is code as well.
    """
    if isinstance(shown, Text):
        return code(shown.raw, limit or shown.limit)
    if isinstance(shown, Markdown):
        return shown
    if isinstance(shown, str):
        line = _WITH_PARAMETERS.sub(lambda name: code(name[0]), one_line_with_ends(shown))
        outside_of_code = _CODE_SPAN.sub("", line)
        return code(shown, LONGEST_SENTENCE) if _GITHUB_MARKUP.search(outside_of_code) else line
    text = ""
    for piece in map(markdown, shown):
        text += f" {piece}" if text.endswith("`") and piece.startswith("`") else piece  # else their fences were one
    return text


def cell(shown: Shown, limit: int | None = None) -> str:
    """The same in a cell of a table, where a pipe ends it even within code; numbers keep units, ends and arrows."""
    return _UNBROKEN_BLANKS.sub("&nbsp;", markdown(shown, limit).replace("|", "\\|"))


def link(shown: Shown, address: str | None) -> Markdown:
    """A link in Markdown where there is an address, else the text alone."""
    text = markdown(shown)
    return Markdown(f"[{text}](<{address}>)" if address and text else text)


def command_block(command: Text) -> str:
    """A command line to copy, as Markdown."""
    return block([shorten(command.raw, command.limit)], "sh")


def code(text: object, limit: int = 200) -> str:
    """A Markdown code span that shows exactly `one_line(text)`, for use outside tables."""
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


def block(lines: Iterable[str], language: str = "") -> str:
    """A fenced code block, with a fence that no line can close; a run of 200 backticks or more is cut."""
    shown = [_ENDLESS.sub("`" * 199 + "…", one_line(line)) for line in lines]
    longest = max((len(run) for line in shown for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *shown, fence])
