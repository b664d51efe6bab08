"""What differs between a run and its baseline beside the rankings: what each says of itself, and the gold set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rankgate.model.gold_changes import GoldMark

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

_OF_STORE = "accepted"  # the one fact that a store adds to what the run said of itself
RECORDING = "recording"  # how the run was made, which is another thing each time
_DEEPEST = 8  # levels of mappings that are compared key by key
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


def run_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Where what two runs say of themselves differs, by component, then other keys in the order of the alphabet."""
    differences: list[Difference] = []
    for what, keys in COMPONENTS.items():
        old, new = ({key: about[key] for key in keys if about.get(key) is not None} for about in (before, after))
        if len(old) <= 1 and len(new) <= 1:  # the same thing, whatever each calls it
            differences += _differences(what, None, next(iter(old.values()), None), next(iter(new.values()), None))
        else:
            differences += [each for key in keys for each in _differences(what, key, old.get(key), new.get(key))]
    for key in sorted((before.keys() | after.keys()) - KNOWN_KEYS - {_OF_STORE, RECORDING}):
        differences += _differences(OTHER, key, before.get(key), after.get(key))
    return differences


def gold_differences(then: GoldMark | None, now: GoldMark) -> list[Difference]:
    """Where the gold set differs from the one that was current when the baseline was accepted.

    Labels and questions are fingerprints, `as_of` is the first and last day. Nothing is said of what the baseline does
    not remember.
    """
    if then is None:
        return []
    values: dict[str, tuple[str | None, str | None]] = {LABELS: (then.fingerprint, now.fingerprint)}
    if then.queries_fingerprint is not None:
        values[QUESTIONS] = (then.queries_fingerprint, now.queries_fingerprint)
        values[AS_OF] = (_range(then.as_of), _range(now.as_of))
    return [Difference(what=GOLD, key=key, before=old, after=new) for key, (old, new) in values.items() if old != new]


def text_of(value: object) -> str:
    """A value of JSON as text: a text as it is, 600 and 600.0 alike, a list by commas, an object with sorted keys."""
    if isinstance(value, str):
        return " ".join(value.split())
    settled = _settled(value)
    if isinstance(settled, list) and settled and not any(isinstance(each, list | dict) for each in settled):
        return ", ".join(map(text_of, settled))
    return msgspec.json.encode(settled, order="sorted").decode()


def _settled(value: object) -> object:
    """The value with whole numbers as such, however they were written."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, dict):
        return {key: _settled(each) for key, each in value.items()}
    return [_settled(each) for each in value] if isinstance(value, list) else value


def _differences(what: str, key: str | None, before: object, after: object, depth: int = 0) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict) and depth < _DEEPEST:
        for inner in sorted(before.keys() | after.keys()):
            path = inner if key is None else f"{key}.{inner}"
            yield from _differences(what, path, before.get(inner), after.get(inner), depth + 1)
        return
    old, new = (None if value is None else text_of(value) for value in (before, after))
    if old != new:
        yield Difference(what=what, key=key, before=old, after=new)


def _range(days: tuple[str, str] | None) -> str | None:
    return days and (days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}")
