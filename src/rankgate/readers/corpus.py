"""What was indexed, and whole documents, from which chunks are cut.

JSONL and Parquet have `{"id": …, "text": …}` a line, or BEIR's `_id`, `title` and `text`; Markdown, HTML and plain text
are a document a file, in a folder or alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from rankgate.errors import Problem, RankgateError, bad_input, shown
from rankgate.readers.base import ProblemLog, id_of
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.source import MAGIC, Source, open_source, open_table

_IDS = ("chunk_id", "id", "_id", "doc_id")
_TEXTS = ("text", "contents")
_HTML = (".html", ".htm")
SUFFIXES = (".md", ".markdown", ".txt", ".rst", *_HTML, ".jsonl")
_SKIPPED = frozenset({"script", "style", "template", "noscript", "svg", "title"})  # no text of the page
_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|cite|code|data|del|dfn|em|font|i|img|ins|kbd|mark|q|s|samp|small|span|strong|su[bp]|time|tt|u|var|wbr"
).fullmatch
_MARKS = {f"h{level}": "#" * level + " " for level in range(1, 7)} | {"summary": "###### ", "li": "- "}


class Document(msgspec.Struct, frozen=True, gc=False):
    """A document or a chunk of one as it was indexed; `doc_id` is the document that a chunk belongs to, if it says so.

    Of `read_corpus` the text begins with the title, where there is one; of `source_texts` offsets count from its start.
    """

    id: str
    text: str
    doc_id: str | None = None
    title: str | None = None


def read_corpus(path: str, wanted: Collection[str] | None = None) -> list[Document]:
    """The documents of a JSONL file, also gzipped or `-`, or of Parquet; all but ids, title and text is not read.

    With `wanted` ids, the documents that have one of them alone are kept.

    Raises:
        RankgateError: unreadable, or lines that are no documents, with the line of each.
    """
    log = ProblemLog()
    with open_table(path) as source:
        records = _table_rows(source) if source.head.startswith(MAGIC) else json_lines(source, log)
        documents = [each for each in documents_in(records, {}, log) if wanted is None or each.id in wanted]
        log.raise_if_any()
    return [Document(each.id, " ".join(filter(None, (each.title, each.text))), each.doc_id) for each in documents]


def documents_in(
    records: Iterable[tuple[Problem, Any]], seen: dict[str, Problem], log: ProblemLog, *, whole: bool = False
) -> Iterator[Document]:
    """The documents; what is none is noted, what was `seen` already, and, where they are `whole`, a chunk of one."""
    for location, value in records:
        try:
            document = _document(value)
            if document.id in seen:
                raise ValueError(f"the id {shown(document.id)} stands in {seen[document.id]} already")
            seen[document.id] = location
            if whole and document.doc_id not in (None, document.id):
                raise ValueError(f"{shown(document.id)} is a chunk; a corpus holds whole documents")
        except ValueError as error:
            log.note(location, error)
        else:
            yield document


def json_lines(source: Source, log: ProblemLog) -> Iterator[tuple[Problem, Any]]:
    """The values of JSONL with their lines; what is no JSON is noted."""
    for number, line in source.lines():
        location = Problem("", source.name, number)
        try:
            yield location, strict_json(line)
        except JsonError as error:
            several = number == 1 and source.head.lstrip().startswith((b"{", b"["))
            log.note(location, f"{error}{'; a corpus is JSONL, one document a line' if several else ''}")


def _table_rows(source: Source) -> Iterator[tuple[Problem, Any]]:
    """The rows of Parquet, with the columns that a line of JSONL has as keys."""
    from rankgate.readers.parquet import opened, quoted  # noqa: PLC0415 -- an extra

    with opened(source) as file:
        names = [name for name in file.columns if name in (*_IDS, *_TEXTS, "title")]
        for row in file.rows(f"SELECT {', '.join(map(quoted, names)) or '1'} FROM {file.table}"):  # noqa: S608 -- quoted
            yield Problem("", source.name), dict(zip(names, row, strict=False))


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
    title = None if value.get("title") is None else _text("title", value["title"])
    doc_id = None if value.get("doc_id") is None else id_of(value["doc_id"], "doc_id")
    return Document(id_of(value[key], key), _text(text_key, value[text_key]), doc_id, title or None)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key}: expected text, found {shown(value)}")
    return value


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def source_texts(path: str) -> Iterator[Document]:
    r"""The documents of a file or, by sorted path, of all files below a directory that have one of `SUFFIXES`.

    The id is the file's path relative to the directory, with `/`, or a single file's name; in JSONL the line's own. The
    text is the file's, line ends as `\n` and without a byte order mark; of HTML what a reader sees, with headings and
    `<summary>` as Markdown headings; of JSONL the text without the title. Hidden and empty files are skipped, and
    links that lead out of the directory.

    Raises:
        RankgateError: nothing to read, not UTF-8, lines that are no documents or chunks of one; all at once.
    """
    root = Path(path)
    candidates = [root]
    if root.is_dir():
        candidates = [each for each in root.rglob("*") if not _is_hidden(each.relative_to(root))]
    wanted = [each for each in candidates if each.suffix.lower() in SUFFIXES]
    top = root.resolve()
    wanted = [each for each in wanted if each == root or (each.is_file() and each.resolve().is_relative_to(top))]
    files = [each for each in wanted if each == root or each.read_bytes().strip()]
    if not files and root.exists():
        what = "has only empty documents" if wanted else "has no document"
        raise bad_input(f"{what}; they end in {', '.join(SUFFIXES)}", file=path)
    log = ProblemLog()
    seen: dict[str, Problem] = {}
    for file in sorted(files, key=Path.as_posix) or [root]:
        name = file.name if file == root else file.relative_to(root).as_posix()
        try:
            with open_source(str(file)) as source:
                if name.lower().endswith(".jsonl"):
                    yield from documents_in(json_lines(source, log), seen, log, whole=True)
                else:
                    yield _of_file(source.text(), name)
        except RankgateError as error:
            log.problems = [*dict.fromkeys([*log.problems, *error.problems])]
    log.raise_if_any()


def _of_file(text: str, name: str) -> Document:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if name.lower().endswith(_HTML):
        page = _Page()
        page.feed(f"{text}<p>")
        page.close()
        return Document(name, "\n\n".join(page.blocks) + "\n")
    return Document(name, text)


class _Page(HTMLParser):
    """The blocks of a page, white space folded but in `<pre>`, headings and list items marked as in Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._words: list[str] = []
        self._within = ""  # the element whose content is no text, or is kept as it is
        self._mark = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 -- the parser's signature
        if tag == "br":
            self._words.append("\n")
        elif not _INLINE(tag):
            self._end_block()
            self._mark = _MARKS.get(tag, self._mark)
            self._within = self._within or (tag if tag in _SKIPPED or tag == "pre" else "")

    def handle_endtag(self, tag: str) -> None:
        if not _INLINE(tag):
            self._end_block()
            self._mark = ""
            self._within = "" if tag == self._within else self._within

    def handle_data(self, data: str) -> None:
        if self._within not in _SKIPPED:
            self._words.append(data if self._within else re.sub(r"\s+", " ", data))

    def _end_block(self) -> None:
        text = "".join(self._words)
        text = text.strip("\n") if self._within else re.sub(r" *\n *", "\n", re.sub(" +", " ", text)).strip()
        if text.strip():
            self.blocks.append(self._mark + text)
            self._mark = ""
        self._words.clear()
