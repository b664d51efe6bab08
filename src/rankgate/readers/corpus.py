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
    """The documents of a JSONL file in its order; other keys than those of ids, title and text are not read.

    Args:
        path: the file, also gzipped, or `-` for standard input.

    Raises:
        RankgateError: unreadable, or lines that are no documents, with the line of each.
    """
    log = ProblemLog()
    found: dict[str, tuple[int, Document]] = {}
    with open_source(path) as source:
        for number, line in source.lines():
            try:
                document = _document(strict_json(line))
                if document.id in found:
                    raise ValueError(f"the id {shown(document.id)} stands on line {found[document.id][0]} already")
            except (JsonError, ValueError) as error:
                log.add(Problem(_hinted(error, source, number), source.name, number))
                continue
            found[document.id] = number, document
        log.raise_if_any()
    return [document for _, document in found.values()]


def _document(value: Any) -> Document:
    if not isinstance(value, dict):
        raise ValueError(f'expected one document a line, as {{"id": …, "text": …}}, found {shown(value)}')
    key = next((key for key in _IDS if key in value), None)
    if key is None:
        raise ValueError(
            f"no id; a document has one of {', '.join(_IDS)} (found: {', '.join(map(shown, value)) or 'nothing'})"
        )
    text_key = next((key for key in _TEXTS if key in value), None)
    if text_key is None:
        raise ValueError(f"document {shown(value[key])} has no text; it stands under {' or '.join(_TEXTS)}")
    parts = [_text("title", value["title"])] if value.get("title") is not None else []
    doc_id = value.get("doc_id")
    return Document(
        id=id_of(value[key], key),
        text=" ".join(filter(None, [*parts, _text(text_key, value[text_key])])),
        doc_id=None if doc_id is None else id_of(doc_id, "doc_id"),
    )


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key}: expected text, found {shown(value)}")
    return value


def _hinted(error: ValueError, source: Source, number: int) -> str:
    """What is wrong; of a JSON file that is no JSONL also what is wanted."""
    whole = number == 1 and isinstance(error, JsonError) and source.head.lstrip().startswith((b"{", b"["))
    return f"{error}; a corpus is JSONL, one document a line" if whole else str(error)
