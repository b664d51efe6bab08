"""Several metrics of one query together: what queries that look alike share is computed once."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.metrics.base import BaseMetric, Metric
from rankgate.model.values import MatchedQuery

_MOST_KNOWN = 4096  # queries unlike each other whose values are kept: about 2 MB


class Together:
    """The values of several metrics for one query after the other.

    Most queries of a large run have their hits where an earlier one had them, so a dozen cut-offs cost about what one
    does.
    """

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = [(metric, sees_hits_alone(metric)) for metric in metrics]
        self._all = all(alone for _, alone in self._metrics)
        self._known: dict[object, list[float | None]] = {}

    def values(self, query: MatchedQuery) -> list[float | None]:
        """One value a metric, in their order; not to be changed."""
        alike = (query.hits, query.ideal, query.retrieved, query.k, query.repeats)
        known = self._known.get(alike)
        if known is None:
            known = [metric.per_query(query) if alone else None for metric, alone in self._metrics]
            if len(self._known) < _MOST_KNOWN:
                self._known[alike] = known
        if self._all:
            return known
        return [
            value if alone else metric.per_query(query)
            for value, (metric, alone) in zip(known, self._metrics, strict=True)
        ]


def sees_hits_alone(metric: Metric) -> bool:
    """Whether a metric is ours and reads of a query only hits, gains and lengths; a package's may read anything."""
    ours = type(metric).__module__.startswith("rankgate.metrics.")
    return ours and isinstance(metric, BaseMetric) and metric.ranking and not metric.needs
