"""Questions that users ask and nobody has labelled: what they get from two runs, and what people say of documents."""

from __future__ import annotations

from typing import Annotated

import msgspec


class TrafficQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question of the traffic; `count` is how often it is asked."""

    query_id: str
    question: str
    tags: tuple[str, ...] = ()
    count: float = 1.0


class TrafficLabel(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says of a document for a question; a fact for every run that returns it."""

    query_id: str
    document: str
    relevant: bool
    labeller: str | None = None


class TrafficSheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For which pair of runs a sheet was drawn, by digests of their lists, and how many questions it was to have."""

    run: str
    baseline: str
    n: Annotated[int, msgspec.Meta(ge=1)]


class TrafficFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What the criteria name of the traffic, as it was read."""

    questions: tuple[TrafficQuestion, ...]
    labels: tuple[TrafficLabel, ...] = ()
    sheets: tuple[TrafficSheet, ...] = ()


class TrafficPair(msgspec.Struct, frozen=True, kw_only=True):
    """The first k documents of both runs for a question, and whether they differ as far as the metric sees them.

    `absent` says that the run has no line for it; its list counts as empty.
    """

    question: TrafficQuestion
    before: tuple[str, ...]
    now: tuple[str, ...]
    changed: bool
    absent: bool = False

    @property
    def needed(self) -> frozenset[str]:
        """The documents that only one of the two lists has: what has to be labelled."""
        return frozenset(self.before) ^ frozenset(self.now)


class TrafficLists(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs of all questions of the traffic that the accepted run has, in the order of their file.

    `k` is how many results are compared; `named` is how many questions the file has.
    """

    k: int
    named: int
    pairs: tuple[TrafficPair, ...]

    @property
    def total(self) -> float:
        """The counts of all questions together."""
        return sum(pair.question.count for pair in self.pairs)

    @property
    def changed(self) -> tuple[TrafficPair, ...]:
        """The pairs that differ."""
        return tuple(pair for pair in self.pairs if pair.changed)

    @property
    def share(self) -> float:
        """The share of the traffic that gets other results, by counts; no metric from 0 to 1 can lose more."""
        return sum(pair.question.count for pair in self.changed) / self.total if self.pairs else 0.0
