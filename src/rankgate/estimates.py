"""From per-query values to a run's value: the aggregate, its interval, and how the values are spread."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import msgspec

from rankgate.metrics.base import Metric
from rankgate.model import Distribution, Interval
from rankgate.statistics.quantiles import quantile_interval
from rankgate.statistics.saddlepoint import mean_interval

CONFIDENCE = 0.95


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
    values: Sequence[float | None], metric: Metric, *, confidence: float = CONFIDENCE, clusters: Sequence[str] = ()
) -> Estimate | None:
    """The run's value over the queries where the metric is defined; None where it is defined nowhere.

    With `clusters`, the label of each query's, the interval of a mean is over clusters: what belongs together is one
    observation.
    """
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    return Estimate(
        value=metric.aggregate(defined),
        n=len(defined),
        undefined=len(values) - len(defined),
        ci=interval(defined, metric, confidence=confidence, clusters=defined_only(clusters, values)),
        distribution=distribution(defined) if is_rate(metric) else None,
    )


def defined_only(clusters: Sequence[str], values: Sequence[float | None]) -> list[str]:
    """The clusters of the queries that have a value."""
    return [cluster for cluster, value in zip(clusters, values, strict=True) if value is not None] if clusters else []


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


def interval(
    defined: Sequence[float], metric: Metric, *, confidence: float = CONFIDENCE, clusters: Sequence[str] = ()
) -> Interval | None:
    """The interval of a metric's value: of the mean, or of the quantile that it takes.

    None where a value is not finite, as a faulty metric of a package could make it.
    """
    if not all(map(math.isfinite, defined)):
        return None
    if metric.at_quantile is not None:
        return quantile_interval(defined, metric.at_quantile, confidence=confidence)
    if clusters:
        from rankgate.statistics.clusters import clustered_mean_interval  # noqa: PLC0415 -- few gold sets have any

        return clustered_mean_interval(defined, clusters, low=metric.low, high=metric.high, confidence=confidence)
    return mean_interval(defined, low=metric.low, high=metric.high, confidence=confidence)
