"""Metrics around a ranking metric: of another list of the run line, of some of the queries, of what a step adds.

`recall(stage=raw)@50` judges the list before reranking, `recall(rewrite=1)@5` the list that the first rewritten
question gave, `recall(source=kb-br)@5` the queries of one source; `rerank_gain(recall@5)` compares two lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, ClassVar, Literal

import msgspec

from rankgate.metrics.base import RERANK_GAIN, REWRITE_GAIN, BaseMetric, Kind, spelled, widest_change
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Direction, Item, RunField, Unit

Stage = Literal["final", "raw"]  # list of the line: the one that is returned, or the one before reranking (`raw_topk`)


def _inner(attribute: str) -> Any:
    """The inner metric's, under the same name."""
    return property(attrgetter(f"metric.{attribute}"))


class _Around(BaseMetric, frozen=True, kw_only=True):
    """Reads as deep as the metric inside, and has all that it does not say otherwise from it."""

    metric: BaseMetric
    rewrite: int | None = None

    direction: ClassVar[Direction] = _inner("direction")
    unit: ClassVar[Unit] = _inner("unit")
    spread: ClassVar[float | None] = _inner("spread")
    at_quantile = _inner("at_quantile")

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "cutoff", self.metric.cutoff)
        if self.rewrite is not None and self.rewrite < 1:
            raise ValueError(f"rewrite counts from 1, not {self.rewrite}")

    def aggregate(self, values: Sequence[float]) -> float:
        return self.metric.aggregate(values)


class View(_Around, frozen=True, kw_only=True):
    """A ranking metric over another list, over the queries of one source, or over the judged results alone.

    Any ranking metric takes these parameters; everything else is the metric's. Undefined where the line has no such
    list, and for queries of other sources. `stage` and `rewrite` exclude each other.

    Attributes:
        metric: what is computed.
        stage: final, or raw: the list before reranking.
        rewrite: the list of the n-th rewritten question, from 1; the original question's if not given.
        source: only the queries whose gold names this source, spelled exactly so; all queries if not given.
        item_source: relevant documents count, at their ranks, only where the item states this `source`; where no item
            does, the line's, if it is one. Others are not found. So recall of all sources adds up to recall.
        judged_only: true removes results that the gold does not judge, so that later ones move up, as trec_eval's `-J`.
    """

    stage: Stage = "final"
    source: str | None = None
    item_source: str | None = None
    judged_only: bool = False

    low: ClassVar[float | None] = _inner("low")
    high: ClassVar[float | None] = _inner("high")
    worst: ClassVar[float | None] = _inner("worst")

    @property
    def judge_bounds(self) -> bool:  # type: ignore[override]
        """The metric's; not of condensed lists, in which a label of 0 moves what is relevant down."""
        return self.metric.judge_bounds and not self.judged_only

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rewrite is not None and self.stage != "final":
            raise ValueError("a rewritten question has one list; leave out stage or rewrite")

    @property
    def name(self) -> str:
        """The metric's own spelling with the view's parameters after its own."""
        return spelled(self.metric.stem, {**self.metric.parameters(), **self.parameters()}, self.metric.suffix)

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """The metric's, unless another list is asked for."""
        return self.metric.kind if self.stage == "final" and self.rewrite is None else Kind.OTHER_LIST

    @property
    def needs(self) -> frozenset[RunField]:
        """The metric's, and the list that is asked of."""
        more: set[RunField] = set()
        if self.stage == "raw":
            more.add(RunField.RAW)
        elif self.rewrite:
            more.add(RunField.REWRITES)
        if self.item_source is not None:
            more.add(RunField.SOURCE)
        if self.judged_only:
            more.add(RunField.JUDGED)
        return self.metric.needs | more

    @property
    def meaning(self) -> str:
        """The metric's, and of which list or queries; the source is the name's to tell, since anyone may choose it."""
        of_list = " before reranking" if self.stage == "raw" else ""
        of_list += f" for the rewritten question {self.rewrite}" if self.rewrite else ""
        of_list += ", by documents of one source" if self.item_source is not None else ""
        of_list += ", judged results only" if self.judged_only else ""
        of_queries = ", questions of one source" if self.source is not None else ""
        return f"{self.metric.meaning}{of_list}{of_queries}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """The metric of the list, or None where there is none or the query is of another source."""
        seen = listed(query, self.stage, self.rewrite) if self._concerns(query) else None
        if seen is None:
            return None
        seen = self._of_source(seen, query)
        return self.metric.per_query(condensed(seen) if self.judged_only else seen)

    def absent(self, query: MatchedQuery) -> float | None:
        """The worst, or None where the gold leaves the metric undefined or names another source."""
        return self.metric.absent(query) if self._concerns(query) else None

    def stated(self, details: Details) -> bool:
        """Whether the source of the items is known, where it is asked for."""
        item_states_it = any(item.source is not None for item in details.items or ())
        return self.item_source is None or item_states_it or len(details.source or ()) == 1

    def _of_source(self, seen: MatchedQuery, query: MatchedQuery) -> MatchedQuery:
        """The list with only those relevant documents in it that come from the source."""
        if self.item_source is None:
            return seen
        items = (seen.details.items if seen.details else None) or [Item()] * seen.retrieved
        sources = [item.source for item in items]
        of_line = query.details.source if query.details else None
        if of_line and len(of_line) == 1 and set(sources) <= {None}:  # one source for all items
            sources = [of_line[0]] * len(sources)
        ranks = {rank for rank, source in enumerate(sources, start=1) if source == self.item_source}
        of_source = [(hit, doc) for hit, doc in zip(seen.hits, seen.found, strict=True) if hit[0] in ranks]
        return msgspec.structs.replace(
            seen,
            hits=tuple(hit for hit, _ in of_source),
            found=tuple(doc for _, doc in of_source),
            repeats=tuple(each for each in seen.repeats if each[0] in ranks),
        )

    def _concerns(self, query: MatchedQuery) -> bool:
        return self.source is None or (query.sample is not None and self.source in query.sample.source)


def listed(query: MatchedQuery, stage: Stage, rewrite: int | None) -> MatchedQuery | None:
    """The query with another of its lists; None where the line does not state it."""
    if rewrite is not None:
        return query.rewrites[rewrite - 1] if rewrite <= len(query.rewrites) else None
    return query.raw if stage == "raw" else query


def condensed(query: MatchedQuery) -> MatchedQuery:
    """The query with a list of its judged results alone; matched with `RunField.JUDGED`."""
    new_rank = {rank: position for position, rank in enumerate(query.judged, start=1)}
    hits = tuple([(new_rank[rank], gain) for rank, gain in query.hits])
    repeats = tuple([(new_rank[rank], gain) for rank, gain in query.repeats])
    judged = tuple(new_rank.values())
    return msgspec.structs.replace(query, hits=hits, repeats=repeats, judged=judged, retrieved=len(judged))


class ListGain(_Around, frozen=True, kw_only=True):
    """A ranking metric of the list after a step, minus the same metric of the list before it.

    Reranking: the final list minus the raw one (`raw_topk`). Rewriting: the rewritten question's list (`rewrites`)
    minus the original question's. Above 0 the step helps; a gate with `threshold: 0` asks that it does no harm.
    Undefined where the line lacks one of the lists, where the metric is undefined, and for an absent query.

    Attributes:
        metric: what is computed of both lists.
        rewrite: for rewriting: which rewritten question, from 1.
    """

    kind: ClassVar[Kind] = Kind.OTHER_LIST
    worst: ClassVar[float | None] = None  # without lists there is nothing to compare

    @property
    def name(self) -> str:
        """`rerank_gain(recall@5)`, `rewrite_gain(recall@5)`, `rewrite_gain(recall@5,rewrite=2)`."""
        if self.rewrite is None:
            return f"{RERANK_GAIN}({self.metric.name})"
        return f"{REWRITE_GAIN}({self.metric.name}{f',rewrite={self.rewrite}' if self.rewrite > 1 else ''})"

    @property
    def low(self) -> float | None:  # type: ignore[override]
        """As far below 0 as the metric's range is wide."""
        return None if self.high is None else -self.high

    @property
    def high(self) -> float | None:  # type: ignore[override]
        """As far above 0 as the metric's range is wide; None for an open range."""
        return widest_change(self.metric)

    @property
    def needs(self) -> frozenset[RunField]:
        """The metric's, and the other list."""
        return self.metric.needs | {RunField.RAW if self.rewrite is None else RunField.REWRITES}

    @property
    def meaning(self) -> str:
        """What the step adds to the metric."""
        step = "reranking" if self.rewrite is None else "rewriting the question"
        return f"what {step} adds to: {self.metric.meaning}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """The difference, or None where a list is lacking or the metric undefined."""
        other = listed(query, "raw" if self.rewrite is None else "final", self.rewrite)
        before, after = (other, query) if self.rewrite is None else (query, other)
        if before is None or after is None:
            return None
        values = self.metric.per_query(before), self.metric.per_query(after)
        return None if values[0] is None or values[1] is None else values[1] - values[0]
