"""Markdown that is too long, cut before a line, with everything closed that stands open there."""

from __future__ import annotations

import re

import msgspec


class Cut(msgspec.Struct, frozen=True):
    """What is written, and whether that is all there was."""

    written: str
    whole: bool


class _Open(msgspec.Struct, frozen=True):
    """What stands open after a line: a fence as it must be closed, and how many `<details>`."""

    fence: str = ""
    details: int = 0

    def after(self, line: str) -> _Open:
        """What stands open after one line more."""
        found = _FENCE.match(line)
        if self.fence:
            closes = found and not found["info"].strip() and found["fence"].startswith(self.fence.strip())
            return _Open("", self.details) if closes else self
        if found and ("`" not in found["info"] or found["fence"].startswith("~")):
            return _Open(found["indent"] + found["fence"], self.details)
        opened = self.details + len(_DETAILS.findall(line)) - len(_DETAILS_END.findall(line))
        return _Open("", max(0, opened))

    def closing(self) -> str:
        """The lines that close it."""
        fence = f"{self.fence}\n" if self.fence else ""
        return f"{fence}\n" + "</details>\n\n" * self.details


# Only tags at the ends of a line are counted, as we write them: within one they stand in text that we did not write.
_DETAILS = re.compile(r"^[ \t]*<details[ >]")
_DETAILS_END = re.compile(r"</details>[ \t]*$")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # a break at anything else could lie within a code span
_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})(?P<info>.*)")


def cut(markdown: str, limit: int, sentence: str) -> Cut:
    """Markdown of at most `limit` bytes in UTF-8.

    Args:
        markdown: whose lines end with LF.
        limit: how many bytes may be written.
        sentence: stands last where something was left out.

    Returns:
        All of it if that fits; else whole lines from the start, what closes them, and the sentence; nothing if not
        even the sentence fits.
    """
    if _bytes(markdown) <= limit:
        return Cut(markdown, whole=True)
    room = limit - _bytes(sentence) - 1
    open_now = _Open()
    size = end = kept = 0
    ending = open_now.closing()
    if _bytes(ending) > room:
        return Cut("", whole=False)
    for line in _LINE.findall(markdown):
        size += _bytes(line)
        if size > room:
            break
        end += len(line)
        open_now = open_now.after(line.rstrip("\n"))
        if size + _bytes(open_now.closing()) <= room:
            kept, ending = end, open_now.closing()
    return Cut(f"{markdown[:kept]}{ending}{sentence}\n", whole=False)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
