"""The interval of a run's value, and the level at which it touches a limit: of a mean, a share or a quantile."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankgate.metrics.base import Metric
from rankgate.model.values import CONFIDENCE, Direction, Interval
from rankgate.statistics.binomial import Side, level_at, share_interval, share_level
from rankgate.statistics.quantiles import quantile_interval
from rankgate.statistics.saddlepoint import mean_interval, mean_level

MIN_ALIKE = 10  # equal values without a range
Floats = Sequence[float]


def range_of(metric: Metric, *columns: Sequence[float | None]) -> tuple[float | None, float | None]:
    """The ends of the metric's values; 0 and 1 where it names none and all that any run has are 0 or 1."""
    binary = metric.low is metric.high is None and all(value in (0, 1, None) for each in columns for value in each)
    return (0.0, 1.0) if binary else (metric.low, metric.high)


def interval(
    defined: Sequence[float],
    metric: Metric,
    *,
    confidence: float = CONFIDENCE,
    clusters: Sequence[str] = (),
    ends: Sequence[float] = (),
    baseline: Sequence[float | None] = (),
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
    low, high = range_of(metric, defined, baseline)
    if clusters:
        from rankgate.statistics.clusters import clustered_mean_interval  # noqa: PLC0415 -- paid only where there are clusters

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
    baseline: Sequence[float | None] = (),
) -> float | None:
    """The one-sided level at which the bound of `interval` touches a value; None where there is no bound."""
    if metric.at_quantile is not None:
        return level_at(lambda each: beyond(interval(values, metric, confidence=1 - 2 * each), value, side))
    low, high = range_of(metric, values, baseline)
    if clusters:
        from rankgate.statistics.clusters import clustered_mean_level  # noqa: PLC0415 -- as above

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
