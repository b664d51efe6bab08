"""Whole documents, from which chunks are cut: Markdown, HTML, plain text and JSONL, in a folder or alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.readers.base import ProblemLog
from rankgate.readers.corpus import Document, documents_in, json_lines
from rankgate.readers.source import open_source

_HTML = (".html", ".htm")
SUFFIXES = (".md", ".markdown", ".txt", ".rst", *_HTML, ".jsonl")
_SKIPPED = frozenset({"script", "style", "template", "noscript", "svg", "title"})  # no text of the page
_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|cite|code|data|del|dfn|em|font|i|img|ins|kbd|mark|q|s|samp|small|span|strong|su[bp]|time|tt|u|var|wbr"
).fullmatch
_MARKS = {f"h{level}": "#" * level + " " for level in range(1, 7)} | {"summary": "###### ", "li": "- "}


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
    below = [each for each in root.rglob("*") if not any(part.startswith(".") for part in each.relative_to(root).parts)]
    wanted = [each for each in (below if root.is_dir() else [root]) if each.suffix.lower() in SUFFIXES]
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
