"""A ranking metric asked of another list of the run line, or of some of the queries.

`recall(stage=raw)@50` judges the list before reranking, `recall(rewrite=1)@5` the list that the first rewritten
question gave, `recall(source=kb-br)@5` the queries of one source.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from rankgate.metrics.around import AroundMetric
from rankgate.metrics.base import spelled
from rankgate.model.values import MatchedQuery, Need


class Stage(Enum):
    """Which list of the line: the final one, or the one before reranking (`raw_topk`)."""

    FINAL = "final"
    RAW = "raw"


class View(AroundMetric, frozen=True, kw_only=True):
    """A ranking metric over another list, or over the queries of one source.

    Any ranking metric takes these parameters beside its own. Everything else is the metric's: range, direction, what an
    absent query scores. The other list is matched and cut as the final one is. Undefined where the line has no such
    list, and for queries of other sources. `stage` and `rewrite` exclude each other.

    Attributes:
        metric: what is computed.
        stage: final (default), or raw: the list before reranking.
        rewrite: the list of the n-th rewritten question, from 1; the original question's if not given.
        source: only the queries whose gold names this source, spelled exactly so; all queries if not given.
    """

    stage: Stage = Stage.FINAL
    rewrite: int | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if self.rewrite is not None and self.rewrite < 1:
            raise ValueError(f"rewrite counts from 1, not {self.rewrite}")
        if self.rewrite is not None and self.stage is not Stage.FINAL:
            raise ValueError("a rewritten question has one list; leave out stage or rewrite")

    @property
    def name(self) -> str:
        """The metric's own spelling with the view's parameters after its own."""
        own = {
            "stage": None if self.stage is Stage.FINAL else self.stage.value,
            "rewrite": None if self.rewrite is None else str(self.rewrite),
            "source": self.source,
        }
        asked = {key: value for key, value in own.items() if value is not None}
        return spelled(self.metric.stem, {**self.metric.parameters(), **asked}, self.metric.suffix)

    @property
    def low(self) -> float | None:
        """The metric's."""
        return self.metric.low

    @property
    def high(self) -> float | None:
        """The metric's."""
        return self.metric.high

    @property
    def worst(self) -> float | None:
        """The metric's."""
        return self.metric.worst

    @property
    def judge_bounds(self) -> bool:
        """The metric's."""
        return self.metric.judge_bounds

    @property
    def needs(self) -> frozenset[Need]:
        """The metric's, and the list that is asked of."""
        more = {Need.RAW} if self.stage is Stage.RAW else {Need.REWRITES} if self.rewrite else set()
        return self.metric.needs | more

    @property
    def at_quantile(self) -> float | None:
        """None: a mean."""
        return self.metric.at_quantile

    @property
    def meaning(self) -> str:
        """The metric's, and of which list or queries; the source is the name's to tell, since anyone may choose it."""
        of_list = " before reranking" if self.stage is Stage.RAW else ""
        of_list += f" for the rewritten question {self.rewrite}" if self.rewrite else ""
        of_queries = ", questions of one source" if self.source is not None else ""
        return f"{self.metric.meaning}{of_list}{of_queries}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """The metric of the list, or None where there is none or the query is of another source."""
        if self.source is not None and (query.sample is None or query.sample.source != self.source):
            return None
        seen = listed(query, self.stage, self.rewrite)
        return None if seen is None else self.metric.per_query(seen)

    def absent(self, query: MatchedQuery) -> float | None:
        """The worst, or None where the gold leaves the metric undefined or names another source."""
        if self.source is not None and (query.sample is None or query.sample.source != self.source):
            return None
        return self.metric.absent(query)

    def aggregate(self, values: Sequence[float]) -> float:
        """The metric's."""
        return self.metric.aggregate(values)


def listed(query: MatchedQuery, stage: Stage, rewrite: int | None) -> MatchedQuery | None:
    """The query with another of its lists; None where the line does not state it."""
    if rewrite is not None:
        return query.rewrites[rewrite - 1] if rewrite <= len(query.rewrites) else None
    return query.raw if stage is Stage.RAW else query
