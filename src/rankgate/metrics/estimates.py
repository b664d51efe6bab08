"""From per-query values to a run's value: the aggregate, its interval, and how the values are spread."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from rankgate.metrics.base import Metric
from rankgate.metrics.matching import match
from rankgate.model.values import CONFIDENCE, TOLERANCE, Direction, Distribution, Interval, Ranking, Sample, Scores
from rankgate.statistics.binomial import level_at, share_interval, share_level
from rankgate.statistics.clusters import clustered_mean_interval, clustered_mean_level, weighted_mean
from rankgate.statistics.quantiles import quantile_interval
from rankgate.statistics.saddlepoint import Side, mean_interval, mean_level

MAX_WITH_ENDS = 150  # scored queries; with more, rare wins that a sample misses make ends err too often
_SHORT = 0.2  # of the queries: where no more cannot reach the end of the range, the range is taken
MIN_ALIKE = 10  # equal values without a range
T = TypeVar("T")
Floats = Sequence[float]


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
    weights: Sequence[float] = (),
    *,
    confidence: float = CONFIDENCE,
    ends: Sequence[float] = (),
) -> Estimate | None:
    """The run's value over the queries where the metric is defined; None where it is defined nowhere.

    With `clusters`, each query's label, the interval of a mean is over clusters. With `weights`, one a query, the mean
    is a weighted one. `ends` are those of `attainable`.
    """
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    labels, weights = defined_only(clusters, values), unequal_only(weights, values)
    return Estimate(
        value=weighted_mean(defined, weights) if weights else metric.aggregate(defined),
        n=len(defined),
        undefined=len(values) - len(defined),
        ci=interval(defined, metric, confidence=confidence, clusters=labels, weights=weights, ends=ends),
        distribution=distribution(defined) if is_rate(metric) else None,
    )


def defined_only(each: Sequence[T], values: Sequence[float | None]) -> list[T]:
    """The clusters, or the weights, of the queries that have a value."""
    return [one for one, value in zip(each, values, strict=True) if value is not None] if each else []


def unequal_only(weights: Sequence[float], values: Sequence[float | None]) -> list[float]:
    """The weights of the queries that have a value; empty where they are all the same, and change nothing."""
    known = defined_only(weights, values)
    return known if len(set(known)) > 1 else []


def is_rate(metric: Metric) -> bool:
    """Whether a metric's values lie between 0 and 1, so that shares of queries at the ends say something."""
    return (metric.low, metric.high) == (0.0, 1.0)


def distribution(defined: Sequence[float]) -> Distribution:
    """How values from 0 to 1, of which there is at least one, are spread."""
    defined, count = sorted(defined), len(defined)
    zero, below_one = bisect_right(defined, 0), bisect_left(defined, 1)
    lower, median, upper = (defined[-(-quarters * count // 4) - 1] for quarters in (1, 2, 3))  # as `quantile` has it
    return Distribution(
        zero=zero / count,
        between=(below_one - zero) / count,
        one=(count - below_one) / count,
        quartiles=(lower, median, upper),
    )


def attainable(metric: Metric, scores: Scores, values: Sequence[float | None]) -> list[float]:
    """What intervals take for the upper end: the most that each query with a value can have, on its own ideal list.

    Of six relevant documents recall@5 finds five at most. Taken for metrics of one ranked list and the gold alone, with
    at most 150 such queries of which more than a fifth cannot reach 1; else empty. A query that the run lacks has 1.
    """
    rate = is_rate(metric) and metric.direction is Direction.HIGHER and not metric.needs
    if not rate or not scores.outlines or len(values) - values.count(None) > MAX_WITH_ENDS:
        return []
    scored = [query_id for query_id, value in zip(scores.query_ids, values, strict=True) if value is not None]
    seen = [(scores.samples[query_id], scores.outlines.get(query_id)) for query_id in scored]
    ends = [(best_possible(metric, sample, outline.k) if outline else None) or 1.0 for sample, outline in seen]
    return ends if sum(end < 1 - TOLERANCE for end in ends) > _SHORT * len(ends) else []


def best_possible(metric: Metric, sample: Sample, default_k: int) -> float | None:
    """The metric's value on a query's own ideal list; None where it is undefined for the query."""
    ideal = sorted(sample.relevant(), key=lambda doc: -sample.gains[doc])
    return metric.per_query(match(sample, Ranking(sample.query_id, ideal), default_k=default_k, needs=metric.needs))


def interval(
    defined: Sequence[float],
    metric: Metric,
    *,
    confidence: float = CONFIDENCE,
    clusters: Sequence[str] = (),
    weights: Sequence[float] = (),
    ends: Sequence[float] = (),
) -> Interval | None:
    """The interval of a metric's value: of the mean, of a share where all are 0 or 1, or of the quantile that it takes.

    With `weights`, not all the same, and with clusters the metric's range counts and not `ends`. None where a value is
    not finite, as a faulty metric of a package could make it, and where a few values without a range are all the same,
    which says nothing of any other.
    """
    if not all(map(math.isfinite, defined)):
        return None
    if None in (metric.low, metric.high) and len(defined) < MIN_ALIKE and min(defined) == max(defined):
        return None
    if metric.at_quantile is not None:
        return quantile_interval(defined, metric.at_quantile, confidence=confidence)
    if clusters or weights:
        low, high = metric.low, metric.high
        return clustered_mean_interval(defined, clusters, low=low, high=high, confidence=confidence, weights=weights)
    if _counts(defined, metric, ends):
        return share_interval(int(sum(defined)), len(defined), confidence=confidence)
    return mean_interval(defined, low=metric.low, high=ends or metric.high, confidence=confidence)


def level(
    values: Floats,
    metric: Metric,
    value: float,
    side: Side,
    clusters: Sequence[str],
    ends: Floats,
    weights: Floats = (),
) -> float | None:
    """The one-sided level at which the bound of `interval` touches a value; None where there is no bound."""
    if metric.at_quantile is not None:
        return level_at(lambda each: beyond(interval(values, metric, confidence=1 - 2 * each), value, side))
    if clusters or weights:
        low, high = metric.low, metric.high
        return clustered_mean_level(values, clusters, value, side=side, low=low, high=high, weights=weights)
    if _counts(values, metric, ends):
        return share_level(int(sum(values)), len(values), value, side=side)
    return mean_level(values, value, side=side, low=metric.low, high=ends or metric.high)


def beyond(ci: Interval | None, value: float, side: Side) -> bool:
    """Whether an interval has its bound on this side of a value, and so proves that the truth lies there."""
    low, high = ci or (None, None)
    return high is not None and high < value if side == "below" else low is not None and low > value


def _counts(defined: Sequence[float], metric: Metric, ends: Sequence[float]) -> bool:
    """Whether the values are hits and misses, so that their mean is a share to be counted."""
    return is_rate(metric) and not ends and len(defined) > 1 and all(value in (0.0, 1.0) for value in defined)
