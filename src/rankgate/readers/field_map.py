"""Which key or column of the user's own file holds what: by the map of the criteria, or by what people call them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from rankgate.readers.strict_lines import ANSWER_KEYS


class FieldMap(msgspec.Struct, frozen=True, kw_only=True):
    """Names of keys or columns, as the file writes them; dots, as in _source.id, reach into nested objects."""

    query_id: str
    records: str | None = None
    items: str | None = None
    chunk_id: str | None = None
    score: str | None = None
    order: Literal["ascending", "descending"] | None = None
    rank: str | None = None
    text: str | None = None
    doc_id: str | None = None
    doc_version: str | None = None
    start: str | None = None
    end: str | None = None
    latency_ms: str | None = None
    answer: str | None = None
    citations: str | None = None
    context: str | None = None
    context_texts: str | None = None
    abstained: str | None = None
    gain: str | None = None  # this and what follows, of gold sets alone
    question: str | None = None
    tags: tuple[str, ...] = ()

    def problem(self) -> tuple[str, str] | None:
        """What the map lacks, as (key, message); None where it can be read by."""
        if self.items is None and self.chunk_id is None:
            return "chunk_id", "is missing: without `items` each row is one result, and this is its id"
        if self.items is None and self.score is None and self.rank is None:
            return "score", "is missing: without `items` each row is one result, and score or rank must order them"
        if self.order is not None and self.score is None:
            return "order", "says which score is best, and the map names no `score`"
        if self.items is None and self.rank is None and self.order is None and "dist" in (self.score or "").lower():
            return "score", "is a distance by its name; add `order: ascending`, or `descending` if the highest is best"
        of_query = next((key for key in ANSWER_KEYS if getattr(self, key) is not None), None)
        if self.items is None and of_query is not None:
            return of_query, "is of a query, and without `items` each row is one result; map `items`, or leave it out"
        return None

    @property
    def sign(self) -> int:
        """By which a score is multiplied, so that the highest is best."""
        return -1 if self.order == "ascending" else 1


# What people call columns and keys, without case and signs, the likelier first; two of one set are ambiguous.
TEXT = {"query", "querytext", "question", "searchterm", "searchquery", "userinput"}
QUERY = ({"queryid", "questionid", "qid", "topicid", "topic"}, TEXT)  # a query goes by its text where it has no id
DOC = ({"chunkid"}, {"docno"}, {"docid", "documentid", "corpusid", "passageid", "productid", "pid", "id"})
CUT = {"k", "topk", "atk", "cutoff", "topn"}  # for which one list of several is
SYSTEM = (
    {f"{what}{part}" for what in ("system", "model", "run", "retriever", "experiment") for part in ("", "id", "name")}
    | {"runtag", "tag", "variant", "pipeline", "method"},
    CUT,
)
RATERS = (
    {"rater", "raterid", "judge", "judgeid", "annotator", "annotatorid", "assessor", "labeler", "labeller", "user"},
)
Sets = Sequence[Collection[str]]


def named(sets: Sets, names: Iterable[str]) -> list[str]:
    """The names of the first set that has any."""
    bare = [(re.sub(r"[\W_]+", "", name).casefold(), name) for name in names]
    return next(filter(None, ([name for key, name in bare if key in known] for known in sets)), [])
