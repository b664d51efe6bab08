"""From per-query values to a run's value: the aggregate, its interval, and how the values are spread."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from rankgate.metrics.base import Metric
from rankgate.metrics.matching import DEFAULT_K, match
from rankgate.model.scores import Distribution, Scores
from rankgate.model.values import CONFIDENCE, TOLERANCE, Direction, Interval, Ranking, Sample

MAX_WITH_ENDS = 150  # scored queries; with more, rare wins that a sample misses make ends err too often
_SHORT = 0.2  # of the queries: where no more cannot reach the end of the range, the range is taken
T = TypeVar("T")


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A run's value of one metric: over `n` defined queries, with `undefined` others left out.

    `ci` is the 95 % interval; None where the data support none, and a None bound where they do not support that one.
    `distribution` goes with metrics from 0 to 1.
    """

    value: float
    ci: Interval | None = None
    n: int
    undefined: int
    distribution: Distribution | None = None


def estimate(
    values: Sequence[float | None],
    metric: Metric,
    clusters: Sequence[str] = (),
    *,
    confidence: float = CONFIDENCE,
    ends: Sequence[float] = (),
    baseline: Sequence[float | None] = (),
) -> Estimate | None:
    """The run's value over the queries where the metric is defined; None where it is defined nowhere.

    With `clusters`, each query's label, the interval of a mean is over clusters. `ends` are those of `attainable`,
    `baseline` has the baseline's values, for `range_of`.
    """
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    ci: Interval | None = None
    if len(defined) > 1 or metric.at_quantile is not None:  # one value does not tell how much others would differ
        from rankgate.metrics.intervals import interval  # noqa: PLC0415 -- paid only where several questions have a value

        labels = defined_only(clusters, values)
        ci = interval(defined, metric, confidence=confidence, clusters=labels, ends=ends, baseline=baseline)
    return Estimate(
        value=metric.aggregate(defined),
        n=len(defined),
        undefined=len(values) - len(defined),
        ci=ci,
        distribution=distribution(defined) if is_rate(metric) else None,
    )


def defined_only(each: Sequence[T], values: Sequence[float | None]) -> list[T]:
    """The clusters of the queries that have a value."""
    return [one for one, value in zip(each, values, strict=True) if value is not None] if each else []


def is_rate(metric: Metric) -> bool:
    """Whether a metric's values lie between 0 and 1, so that shares of queries at the ends say something."""
    return (metric.low, metric.high) == (0.0, 1.0)


def distribution(defined: Sequence[float]) -> Distribution:
    """How values from 0 to 1, of which there is at least one, are spread."""
    defined, count = sorted(defined), len(defined)
    zero, below_one = bisect_right(defined, 0), bisect_left(defined, 1)
    lower = defined[-(-count // 4) - 1]  # as `quantile` has it
    median = defined[-(-2 * count // 4) - 1]
    upper = defined[-(-3 * count // 4) - 1]
    return Distribution(
        zero=zero / count,
        between=(below_one - zero) / count,
        one=(count - below_one) / count,
        quartiles=(lower, median, upper),
    )


def attainable(metric: Metric, scores: Scores, values: Sequence[float | None]) -> list[float]:
    """What intervals take for the upper end: the most that each query can have, such as 5/6 for six by recall@5.

    Only for metrics of one list and the gold, up to 150 queries with a value, over a fifth of them below 1; else empty.
    """
    rate = is_rate(metric) and metric.direction is Direction.HIGHER and not metric.needs
    if not rate or not scores.rank_summaries or len(values) - values.count(None) > MAX_WITH_ENDS:
        return []
    scored = [query_id for query_id, value in zip(scores.query_ids, values, strict=True) if value is not None]
    seen = [(scores.samples[query_id], scores.rank_summaries.get(query_id)) for query_id in scored]
    default_k = next((summary.k for sample, summary in seen if summary and not sample.k), DEFAULT_K)
    ends = [best_possible(metric, sample, summary.k if summary else default_k) or 1.0 for sample, summary in seen]
    return ends if sum(end < 1 - TOLERANCE for end in ends) > _SHORT * len(ends) else []


def best_possible(metric: Metric, sample: Sample, default_k: int) -> float | None:
    """The metric's value on a query's own ideal list; None where it is undefined for the query."""
    ideal = sorted(sample.relevant(), key=lambda doc: -sample.gains[doc])
    return metric.per_query(match(sample, Ranking(sample.query_id, ideal), default_k=default_k, needs=metric.needs))
