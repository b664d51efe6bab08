"""What was indexed, as JSONL or Parquet: `{"id": …, "text": …}` a line, or BEIR's `_id`, `title` and `text`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from rankgate.errors import Problem, shown
from rankgate.readers.base import ProblemLog, id_of
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.source import MAGIC, Source, open_table

_IDS = ("chunk_id", "id", "_id", "doc_id")
_TEXTS = ("text", "contents")


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
