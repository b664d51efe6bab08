"""From per-query values to a run's value: the aggregate, its interval, and how the values are spread."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from rankgate.metrics.base import Metric
from rankgate.metrics.matching import match
from rankgate.model.scores import Distribution, Scores
from rankgate.model.values import CONFIDENCE, TOLERANCE, Direction, Interval, Ranking, Sample
from rankgate.statistics.binomial import level_at, share_interval, share_level
from rankgate.statistics.clusters import clustered_mean_interval, clustered_mean_level
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
    *,
    confidence: float = CONFIDENCE,
    ends: Sequence[float] = (),
    before: Sequence[float | None] = (),
) -> Estimate | None:
    """The run's value over the queries where the metric is defined; None where it is defined nowhere.

    With `clusters`, each query's label, the interval of a mean is over clusters. `ends` are those of `attainable`,
    `before` the baseline's values, for `range_of`.
    """
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    labels = defined_only(clusters, values)
    return Estimate(
        value=metric.aggregate(defined),
        n=len(defined),
        undefined=len(values) - len(defined),
        ci=interval(defined, metric, confidence=confidence, clusters=labels, ends=ends, before=before),
        distribution=distribution(defined) if is_rate(metric) else None,
    )


def defined_only(each: Sequence[T], values: Sequence[float | None]) -> list[T]:
    """The clusters of the queries that have a value."""
    return [one for one, value in zip(each, values, strict=True) if value is not None] if each else []


def is_rate(metric: Metric) -> bool:
    """Whether a metric's values lie between 0 and 1, so that shares of queries at the ends say something."""
    return (metric.low, metric.high) == (0.0, 1.0)


def range_of(metric: Metric, *columns: Sequence[float | None]) -> tuple[float | None, float | None]:
    """The ends of the metric's values; 0 and 1 where it names none and all that any run has are 0 or 1."""
    binary = metric.low is metric.high is None and all(value in (0, 1, None) for each in columns for value in each)
    return (0.0, 1.0) if binary else (metric.low, metric.high)


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
    """What intervals take for the upper end: the most that each query with a value can have, on its own ideal list.

    Of six relevant documents recall@5 finds five at most. Taken for metrics of one ranked list and the gold alone, with
    at most 150 such queries of which more than a fifth cannot reach 1; else empty. A query that the run lacks has 1.
    """
    rate = is_rate(metric) and metric.direction is Direction.HIGHER and not metric.needs
    if not rate or not scores.rank_summaries or len(values) - values.count(None) > MAX_WITH_ENDS:
        return []
    scored = [query_id for query_id, value in zip(scores.query_ids, values, strict=True) if value is not None]
    seen = [(scores.samples[query_id], scores.rank_summaries.get(query_id)) for query_id in scored]
    ends = [(best_possible(metric, sample, summary.k) if summary else None) or 1.0 for sample, summary in seen]
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
    ends: Sequence[float] = (),
    before: Sequence[float | None] = (),
) -> Interval | None:
    """The interval of a metric's value: of the mean, of a share where all are 0 or 1, or of the quantile that it takes.

    With clusters the range counts and not `ends`. None where a value is not finite, as a faulty metric of a package
    could make it. Where the values of a mean without a range are all the same, nothing tells how bad another could be:
    no bound on that side, and of a few of them none.
    """
    if not all(map(math.isfinite, defined)):
        return None
    if metric.at_quantile is not None:
        return quantile_interval(defined, metric.at_quantile, confidence=confidence)
    low, high = range_of(metric, defined, before)
    if clusters:
        bounds = clustered_mean_interval(defined, clusters, low=low, high=high, confidence=confidence)
    elif _counts(defined, low, high, ends):
        bounds = share_interval(int(sum(defined)), len(defined), confidence=confidence)
    else:
        bounds = mean_interval(defined, low=low, high=ends or high, confidence=confidence)
    if bounds is None or None not in (low, high) or min(defined) < max(defined):
        return bounds
    if len(defined) < MIN_ALIKE:
        return None
    return (None, bounds[1]) if metric.direction is Direction.HIGHER else (bounds[0], None)


def level(
    values: Floats,
    metric: Metric,
    value: float,
    side: Side,
    clusters: Sequence[str],
    ends: Floats,
    before: Sequence[float | None] = (),
) -> float | None:
    """The one-sided level at which the bound of `interval` touches a value; None where there is no bound."""
    if metric.at_quantile is not None:
        return level_at(lambda each: beyond(interval(values, metric, confidence=1 - 2 * each), value, side))
    low, high = range_of(metric, values, before)
    if clusters:
        return clustered_mean_level(values, clusters, value, side=side, low=low, high=high)
    if _counts(values, low, high, ends):
        return share_level(int(sum(values)), len(values), value, side=side)
    return mean_level(values, value, side=side, low=low, high=ends or high)


def beyond(ci: Interval | None, value: float, side: Side) -> bool:
    """Whether an interval has its bound on this side of a value, and so proves that the truth lies there."""
    low, high = ci or (None, None)
    return high is not None and high < value if side == "below" else low is not None and low > value


def _counts(defined: Sequence[float], low: float | None, high: float | None, ends: Sequence[float]) -> bool:
    """Whether the values are hits and misses, so that their mean is a share to be counted."""
    return (low, high) == (0, 1) and not ends and len(defined) > 1 and all(value in (0.0, 1.0) for value in defined)
