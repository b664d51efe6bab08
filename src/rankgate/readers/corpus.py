"""The documents that were indexed, from JSONL: `{"id": …, "text": …}` a line, or BEIR's `_id`, `title` and `text`.

Whole documents are read from Markdown, HTML and plain text as well, in a file or a directory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from rankgate.errors import Problem, RankgateError, bad_input, shown
from rankgate.readers.base import ProblemLog, id_of
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.source import Source, open_source

_IDS = ("chunk_id", "id", "_id", "doc_id")
_TEXTS = ("text", "contents")
_LINES = ".jsonl"
_MARKDOWN, _HTML = (".md", ".markdown"), (".html", ".htm")
SUFFIXES = (*_MARKDOWN, ".txt", ".rst", *_HTML, _LINES)
_SKIPPED = frozenset({"script", "style", "template", "noscript", "svg", "title"})  # no text of the page
_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|cite|code|data|del|dfn|em|font|i|img|ins|kbd|mark|q|s|samp|small|span|strong|su[bp]|time|tt|u|var|wbr"
).fullmatch
_HEADINGS = {f"h{level}": level for level in range(1, 7)} | {"summary": 6}


class Document(msgspec.Struct, frozen=True, gc=False):
    """A document or a chunk of one as it was indexed; `doc_id` is the document that a chunk belongs to, if it says so.

    `text` is its title, where there is one, and its text.
    """

    id: str
    text: str
    doc_id: str | None = None


class SourceText(msgspec.Struct, frozen=True, gc=False):
    """A whole document, with its title where it has one; offsets of spans count code points of `text`."""

    id: str
    title: str | None
    text: str


def source_texts(path: str) -> Iterator[SourceText]:
    r"""The documents of a file or, by sorted path, of all files below a directory that have one of `SUFFIXES`.

    The id is the file's path relative to the directory, with `/`, or the name of a single file; in JSONL it is the
    line's own. Of Markdown, reStructuredText and plain text the text is that of the file with line ends as `\n` and
    without a byte order mark; of HTML what a reader sees, with headings and `<summary>` as Markdown headings; of JSONL
    the text alone, without the title. Hidden files and folders, files with other suffixes and empty files are skipped.

    Raises:
        RankgateError: nothing to read, not UTF-8, a line that is no document or is a chunk of one, or an id that stands
            twice, with all files and lines at once.
    """
    root = Path(path)
    of_folder = root.is_dir()
    files = _files(root) if of_folder else [root]
    if not files or (root.is_file() and root.suffix.lower() not in SUFFIXES):
        raise bad_input(f"has no document; they end in {', '.join(SUFFIXES)}", file=path)
    log, seen = ProblemLog(), dict[str, str]()
    for file in files:
        name = file.relative_to(root).as_posix() if of_folder else file.name
        if of_folder and not file.read_bytes().strip():
            continue
        try:
            with open_source(str(file)) as source:
                yield from _texts_of(source, name, seen, log)
        except RankgateError as error:
            log.problems = [*dict.fromkeys([*log.problems, *error.problems])]
    log.raise_if_any()


def _texts_of(source: Source, name: str, seen: dict[str, str], log: ProblemLog) -> Iterator[SourceText]:
    lines = source.lines() if name.lower().endswith(_LINES) else [(0, b"")]
    for number, line in lines:
        place = Problem("", source.name, number or None)
        try:
            each = _of_line(strict_json(line)) if number else _of_file(source.text(), name)
            first = seen.setdefault(each.id, where := str(place))
            if first != where:
                raise ValueError(f"the id {shown(each.id)} stands in {first} already")
        except ValueError as error:
            log.note(place, _hinted(error, source, number) if number else error)
        else:
            yield each


def _files(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".")]
    wanted = (each for each in found if each.suffix.lower() in SUFFIXES and each.is_file())
    return sorted(wanted, key=lambda each: each.as_posix())


def _of_file(text: str, name: str) -> SourceText:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if name.lower().endswith(_HTML):
        page = _Page()
        page.feed(text)
        page.close()
        return SourceText(name, " ".join("".join(page.title).split()) or None, page.text())
    heading = re.search(r"^# +(.*?)[ #]*$", text, re.MULTILINE) if name.lower().endswith(_MARKDOWN) else None
    return SourceText(name, (heading and heading[1]) or None, text)


def _of_line(value: Any) -> SourceText:
    document = _document(value)
    if "chunk_id" in value or document.doc_id not in (None, document.id):
        raise ValueError(f"{shown(document.id)} is a chunk; a corpus holds whole documents")
    title, text = value.get("title"), next(value[key] for key in _TEXTS if key in value)
    return SourceText(document.id, title or None, text)


class _Page(HTMLParser):
    """The text of a page: blocks with an empty line between them, white space folded but in `<pre>`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self._blocks: list[str] = []
        self._words: list[str] = []
        self._open: list[str] = []  # elements whose content is no text, or is kept as it is
        self._mark = ""

    def text(self) -> str:
        """All blocks."""
        self._end_block()
        return "".join(f"{block}\n\n" for block in self._blocks)[:-1]

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 -- the parser's signature
        if tag in _SKIPPED or tag == "pre":
            self._end_block()
            self._open.append(tag)
        elif tag == "br":
            self._words.append("\n")
        elif not _INLINE(tag):
            self._end_block()
            if tag == "li" or tag in _HEADINGS:
                self._mark = "- " if tag == "li" else "#" * _HEADINGS[tag] + " "

    def handle_endtag(self, tag: str) -> None:
        if not _INLINE(tag):
            self._end_block()
            self._mark = ""
        if tag in self._open:
            del self._open[self._open.index(tag) :]

    def handle_data(self, data: str) -> None:
        if not _SKIPPED & {*self._open}:
            self._words.append(data if self._open else re.sub(r"\s+", " ", data))
        elif self._open[-1] == "title":
            self.title.append(data)

    def _end_block(self) -> None:
        text = "".join(self._words)
        text = (
            text.strip("\n") if self._open else re.sub(r" *\n *| +", lambda run: "\n" * ("\n" in run[0]) or " ", text)
        )
        if text.strip():
            self._blocks.append(self._mark + (text if self._open else text.strip()))
            self._mark = ""
        self._words.clear()


def read_corpus(path: str) -> list[Document]:
    """The documents of a JSONL file, also gzipped or `-`, in its order; keys beside ids, title and text are not read.

    Raises:
        RankgateError: unreadable, or lines that are no documents, with the line of each.
    """
    log = ProblemLog()
    documents: dict[str, Document] = {}
    lines: dict[str, int] = {}
    with open_source(path) as source:
        for number, line in source.lines():
            try:
                document = _document(strict_json(line))
                if lines.setdefault(document.id, number) != number:
                    raise ValueError(f"the id {shown(document.id)} stands on line {lines[document.id]} already")
            except ValueError as error:
                log.add(Problem(_hinted(error, source, number), source.name, number))
                continue
            documents[document.id] = document
        log.raise_if_any()
    return list(documents.values())


def _document(value: Any) -> Document:
    if not isinstance(value, dict):
        raise ValueError(f'expected one document a line, as {{"id": …, "text": …}}, found {shown(value)}')
    key = next((key for key in _IDS if key in value), None)
    if key is None:
        keys = ", ".join(map(shown, value)) or "nothing"
        raise ValueError(f"no id; a document has one of {', '.join(_IDS)} (found: {keys})")
    text_key = next((key for key in _TEXTS if key in value), None)
    if text_key is None:
        raise ValueError(f"document {shown(value[key])} has no text; it stands under {' or '.join(_TEXTS)}")
    title = [] if value.get("title") is None else [_text("title", value["title"])]
    return Document(
        id=id_of(value[key], key),
        text=" ".join(filter(None, [*title, _text(text_key, value[text_key])])),
        doc_id=None if value.get("doc_id") is None else id_of(value["doc_id"], "doc_id"),
    )


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key}: expected text, found {shown(value)}")
    return value


def _hinted(error: ValueError, source: Source, number: int) -> str:
    """What is wrong; of a JSON file that is no JSONL also what is wanted."""
    one_value = number == 1 and isinstance(error, JsonError) and source.head.lstrip().startswith((b"{", b"["))
    return f"{error}; a corpus is JSONL, one document a line" if one_value else str(error)
