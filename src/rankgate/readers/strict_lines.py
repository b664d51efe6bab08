"""A run line exactly as the contract writes it, which is the hot path, and its ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from rankgate.model.values import FROM_MATCH, Details, Ranking, RunField
from rankgate.model.values import Item as RankedItem

Id = str | int
CAMEL = {"camel": "actualOutput"}
LONGEST = 1e12  # milliseconds: thirty years
MIN_SCORES = 5  # of a list, before they are said to rise
ANSWER_KINDS: dict[str, Any] = {
    RunField.ANSWER.value: str,
    "citations": list[Id],
    "context": list[Id],
    "context_texts": dict[str, str],
    "abstained": bool,
}
ANSWER_KEYS = tuple(ANSWER_KINDS)  # as they are written
SEQUENCE: list[int | None] = list(range(1, 1_001))
_BARE = RankedItem()  # of which nothing is stated


class StrictItem(msgspec.Struct, gc=False):
    """An item exactly as the contract writes it."""

    rank: int
    chunk_id: str
    score: float | None = None


class StrictLine(msgspec.Struct, gc=False, rename=CAMEL):
    """A line as the contract writes it, or with bare ids under `retrieved`, as a baseline is stored: the hot path."""

    query_id: str
    topk: list[StrictItem] | None = None
    retrieved: list[str] | None = None
    actual_output: Any = None
    camel: Any = None
    question_sha256: str | None = None
    traffic: Any = None
    latency_ms: dict[str, float | None] | float | None = None


class StrictDocItem(StrictItem, gc=False):
    """The same with the document that it is a part of."""

    doc_id: str | None = None


class DocLine(StrictLine, gc=False, rename=CAMEL):
    """A line with its items' documents."""

    topk: list[StrictDocItem] | None = None  # type: ignore[assignment]


def strict_shape(needs: frozenset[RunField]) -> type[StrictLine] | None:
    """The strict shape that holds all that is needed; None where more of items, or answers, are looked at."""
    if needs - FROM_MATCH - {RunField.LATENCY, RunField.DOCS}:
        return None
    return DocLine if RunField.DOCS in needs else StrictLine


def strict_ranking(line: StrictLine, *, timed: bool) -> Ranking | None:
    """The ranking of a strict line, with its times where they are needed; None where it needs a closer look."""
    if line.actual_output is not None or line.camel is not None or (line.topk is None) == (line.retrieved is None):
        return None
    items = line.topk or ()
    ids = [item.chunk_id for item in items] if line.retrieved is None else line.retrieved
    if len(set(ids)) != len(ids) or [item.rank for item in items] != SEQUENCE[: len(items)]:
        return None
    times = stages_of(line.latency_ms) if timed else None
    if times and not plausible(times):
        return None
    documents = None
    if isinstance(line, DocLine):
        documents = [_BARE if item.doc_id is None else RankedItem(item.doc_id) for item in line.topk or ()]
        if line.retrieved is not None:
            documents = [_BARE] * len(ids)
    details = None if documents is None and not times else Details(items=documents, latency_ms=times or None)
    traffic = line.traffic is True
    return Ranking(line.query_id, ids, 0, details, rising(items), question_digest=line.question_sha256, traffic=traffic)


class Scored(Protocol):
    """An item with a score, if it states one."""

    @property
    def score(self) -> float | None:
        """The score."""


def rising(items: Sequence[Scored]) -> bool:
    """Whether the scores of a list rise from rank to rank; see `Ranking`."""
    if not items:
        return False
    first = items[0].score
    last = items[-1].score
    if first is None or last is None or first >= last:  # as good as every list
        return False
    scores = [item.score for item in items if item.score is not None]
    return len(scores) >= MIN_SCORES and scores == sorted(scores)


def stages_of(written: Mapping[str, float | None] | float | None) -> Mapping[str, float | None] | None:
    """Milliseconds by stage; a bare number is their total."""
    return {"total": written} if isinstance(written, int | float) else written


def plausible(times: Mapping[str, float | None] | None) -> bool:
    """Whether all times lie between nothing and thirty years."""
    return False not in [time is None or 0.0 <= time <= LONGEST for time in (times or {}).values()]
