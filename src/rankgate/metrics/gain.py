"""What a step of the retriever adds: the same metric of two lists of a line, one minus the other."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.metrics.around import AroundMetric
from rankgate.metrics.base import RERANK_GAIN, REWRITE_GAIN, widest_change
from rankgate.metrics.views import Stage, listed
from rankgate.model.values import MatchedQuery, Need


class ListGain(AroundMetric, frozen=True, kw_only=True):
    """A ranking metric of the list after a step, minus the same metric of the list before it.

    Reranking: of the final list, minus of the raw one (`raw_topk`). Rewriting: of the rewritten question's list
    (`rewrites`), minus of the original question's. Above 0 the step helps, below 0 it harms, so that a gate with
    `threshold: 0` asks that it does no harm. The direction is the metric's; the range is −1 to 1 for one from 0 to 1.
    Undefined where the line lacks one of the lists, where the metric is undefined, and for a query that the run lacks.

    Attributes:
        metric: what is computed of both lists.
        rewrite: for rewriting: which rewritten question, from 1 (default).
    """

    rewrite: int | None = None

    def __post_init__(self) -> None:
        if self.rewrite is not None and self.rewrite < 1:
            raise ValueError(f"rewrite counts from 1, not {self.rewrite}")

    @property
    def name(self) -> str:
        """`rerank_gain(recall@5)`, `rewrite_gain(recall@5)`, `rewrite_gain(recall@5,rewrite=2)`."""
        if self.rewrite is None:
            return f"{RERANK_GAIN}({self.metric.name})"
        return f"{REWRITE_GAIN}({self.metric.name}{f',rewrite={self.rewrite}' if self.rewrite > 1 else ''})"

    @property
    def low(self) -> float | None:
        """As far below 0 as the metric's range is wide."""
        return None if self.high is None else -self.high

    @property
    def high(self) -> float | None:
        """As far above 0 as the metric's range is wide; None for an open range."""
        return widest_change(self.metric)

    @property
    def worst(self) -> float | None:
        """None: without lists there is nothing to compare."""
        return None

    @property
    def judge_bounds(self) -> bool:
        """Further relevant documents may raise either list's value."""
        return False

    @property
    def needs(self) -> frozenset[Need]:
        """The metric's, and the other list."""
        return self.metric.needs | {Need.RAW if self.rewrite is None else Need.REWRITES}

    @property
    def at_quantile(self) -> float | None:
        """None: a mean."""
        return None

    @property
    def meaning(self) -> str:
        """What the step adds to the metric."""
        step = "reranking" if self.rewrite is None else "rewriting the question"
        return f"what {step} adds to: {self.metric.meaning}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """The difference, or None where a list is lacking or the metric undefined."""
        other = listed(query, Stage.RAW if self.rewrite is None else Stage.FINAL, self.rewrite)
        before, after = (other, query) if self.rewrite is None else (query, other)
        if before is None or after is None:
            return None
        values = self.metric.per_query(before), self.metric.per_query(after)
        return None if values[0] is None or values[1] is None else values[1] - values[0]

    def absent(self, query: MatchedQuery) -> float | None:
        """None: without lists there is nothing to compare."""
        del query
        return self.worst

    def aggregate(self, values: Sequence[float]) -> float:
        """The mean."""
        return self.metric.aggregate(values)
