"""Markdown that we did not lay out, cut at a line boundary: what is open is closed, and a line says what is missing."""

from __future__ import annotations

import re

# HTML that CommonMark takes as it is until its end, blank lines included.
_RAW = {"<!--": "-->", "<?": "?>", "<![cdata[": "]]>"} | {
    f"<{name}": f"</{name}>" for name in ("pre", "script", "style", "textarea")
}
_BLOCKS = "details|summary|table|thead|tbody|tr|td|th|ul|ol|li|div|center|section|blockquote"
_TAG = re.compile(rf"<(?P<end>/?)(?P<name>{_BLOCKS})\b[^<>]*>", re.IGNORECASE)
_NO_TAGS = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|<!--.*?-->")
_FENCE = re.compile(r"(?P<marks>`{3,})[^`]*$|(?P<tildes>~{3,})")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?: +|$)")
_CODE_INDENT = 4


def cut_before(text: str, limit: int, said: str) -> str:
    """The text, or as many of its first lines as fit into so many bytes with a last line that says what is missing.

    Open code fences, comments and `<details>` and the like are closed; within a list item or a quotation none is cut.

    Raises:
        ValueError: not even the last line fits.
    """
    if _bytes(text) <= limit:
        return text
    lines = text.rstrip("\n").split("\n")
    state, size, kept, ending = _Structure(), 0, 0, ""
    for count, line in enumerate(lines):
        end = state.ending()
        if end is not None:
            last = f"{end}\n\n{said}\n"
            if size + _bytes(last) <= limit:
                kept, ending = count, last
        if size > limit:
            break
        state.read(line)
        size += _bytes(line) + 1
    if not ending:
        raise ValueError(f"no comment fits into {limit}")
    return ("\n".join(lines[:kept]) + ending).lstrip("\n")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


class _Structure:
    """What is open after the lines read so far."""

    def __init__(self) -> None:
        self._fence = ""  # the line that closes the open fence
        self._raw = ""  # the end of the open HTML
        self._inner = ""  # the marks of a fence within a list item or a quotation
        self._inner_tags: list[str] = []
        self._inside = 0  # columns by which a line belongs to the open list item
        self._quoted = False
        self._tags: list[str] = []

    def ending(self) -> str | None:
        """The lines that close what is open, each after a line break; None where no cut is possible."""
        if self._inner or self._inner_tags:
            return None
        tags = "".join(f"\n</{name}>" for name in reversed(self._tags))
        return "".join(f"\n{line}" for line in (self._fence, self._raw) if line) + (f"\n{tags}" if tags else "")

    def read(self, line: str) -> None:
        """Take in the next line."""
        if self._raw:
            if self._raw in line.lower():
                self._raw = ""
        elif self._fence:
            if _closes(line, self._fence.strip()) and _indent(line) < _CODE_INDENT:
                self._fence = ""
        else:
            self._leave(line)
            self._enter(line)

    def _leave(self, line: str) -> None:
        """End the list item or the quotation that the line no longer belongs to, and the fence in it."""
        quote_ends = self._quoted and not line.lstrip().startswith(">")
        item_ends = self._inside and line.strip() and _indent(line) < self._inside
        if quote_ends or item_ends:
            self._quoted, self._inside, self._inner, self._inner_tags = False, 0, "", []

    def _enter(self, line: str) -> None:
        column = _indent(line)
        body = line.strip()
        if not self._inner and column < self._inside + _CODE_INDENT:
            if body.startswith(">"):
                self._quoted = True
            elif not self._inside and (item := _ITEM.match(body)):
                self._inside = column + max(item.end(), 2)
        if self._inside or self._quoted:
            self._read_inner(body)
        elif column < _CODE_INDENT and (fence := _FENCE.match(body)):
            self._fence = " " * column + (fence["marks"] or fence["tildes"])
        elif column < _CODE_INDENT:
            self._raw = _raw_end(body)
            _read_tags(body, self._tags)

    def _read_inner(self, body: str) -> None:
        """A line within a list item or a quotation: only a fence matters, and HTML outside of it."""
        while prefix := re.match(r"> ?|" + _ITEM.pattern, body):
            body = body[prefix.end() :].lstrip()
            if not prefix[0]:
                break
        if self._inner:
            if _closes(body, self._inner):
                self._inner = ""
        elif fence := _FENCE.match(body):
            self._inner = fence["marks"] or fence["tildes"]
        else:
            _read_tags(body, self._inner_tags)


def _read_tags(body: str, opened: list[str]) -> None:
    """Add the tags that a line opens, and take away those that it closes with all that was opened since."""
    for tag in _TAG.finditer(_NO_TAGS.sub("", body)):
        name = tag["name"].lower()
        if not tag["end"]:
            opened.append(name)
        elif name in opened:
            while opened.pop() != name:
                pass


def _closes(line: str, marks: str) -> bool:
    body = line.strip()
    return len(body) >= len(marks) and set(body) == {marks[0]}


def _indent(line: str) -> int:
    spread = line.expandtabs(4)
    return len(spread) - len(spread.lstrip(" "))


def _raw_end(body: str) -> str:
    """What ends the HTML that the line begins; nothing where it begins none, or ends it at once."""
    lowered = body.lower()
    begin = next((each for each in _RAW if lowered.startswith(each)), "")
    return "" if not begin or _RAW[begin] in lowered[len(begin) :] else _RAW[begin]
