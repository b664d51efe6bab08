"""What differs between a run and its baseline beside the rankings: what each says of itself, and the gold set."""

from __future__ import annotations

import msgspec

# Components in the order in which people look at them, each with the keys that state it; docs/formats.md has the table.
COMPONENTS: dict[str, tuple[str, ...]] = {
    "system": ("system",),
    "index": ("index_version", "index"),
    "corpus": ("corpus_version", "corpus"),
    "dataset": ("dataset_version", "dataset"),
    "chunker": ("chunker", "chunker_version", "chunking", "chunk_size", "chunk_overlap"),
    "embedder": ("embedder", "embedding_model", "embedder_version"),
    "reranker": ("reranker", "reranker_model", "reranker_version"),
    "results before reranking": ("k_raw",),
    "code": ("code_version", "commit"),
}
GOLD, OTHER = "gold", "other"
LABELS, QUESTIONS, AS_OF = "labels", "questions", "as_of"
KNOWN_KEYS = frozenset(key for keys in COMPONENTS.values() for key in keys)

RECORDING = "recording"  # how the run was made, which is another thing each time
_EXACT = 1e15  # below it, a whole number as a fraction is exact


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not what it was when the baseline was made; values are texts, None where one is not stated.

    `what` is a component, `gold`, or `other` for keys that name none. `key` is there where that is not all of it: the
    key within the component, dotted where it is nested; of the gold set `labels`, `questions` or `as_of`; of `other`
    the key of the run line.
    """

    what: str
    key: str | None = None
    before: str | None
    after: str | None


def text_of(value: object) -> str:
    """A value of JSON as text: a text as it is, 600 and 600.0 alike, a list by commas, an object with sorted keys."""
    if isinstance(value, str):
        return " ".join(value.split())
    plain = _with_whole_numbers(value)
    if isinstance(plain, list) and plain and not any(isinstance(each, list | dict) for each in plain):
        return ", ".join(map(text_of, plain))
    return msgspec.json.encode(plain, order="sorted").decode()


def _with_whole_numbers(value: object) -> object:
    """The value with whole numbers as such, however they were written."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, dict):
        return {key: _with_whole_numbers(each) for key, each in value.items()}
    return [_with_whole_numbers(each) for each in value] if isinstance(value, list) else value
