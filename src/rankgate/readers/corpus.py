"""The documents that were indexed, from JSONL: `{"id": …, "text": …}` a line, or BEIR's `_id`, `title` and `text`."""

from __future__ import annotations

from typing import Any

import msgspec

from rankgate.errors import Problem, shown
from rankgate.readers.base import ProblemLog, id_of
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.source import Source, open_source

_IDS = ("chunk_id", "id", "_id", "doc_id")
_TEXTS = ("text", "contents")


class Document(msgspec.Struct, frozen=True, gc=False):
    """A document or a chunk of one as it was indexed; `doc_id` is the document that a chunk belongs to, if it says so.

    `text` is its title, where there is one, and its text.
    """

    id: str
    text: str
    doc_id: str | None = None


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
