"""Intervals where queries come in clusters: turns of one conversation rise and fall together.

The mean over all queries is a ratio, the sum of the clusters' sums S_c over the sum of their sizes n_c, and the
bootstrap draws whole clusters. The ratio is at most r exactly if the drawn values y_c = S_c - r n_c sum to at most
zero, and that is a mean again: the bound is the r at which the saddlepoint bound of the y_c is zero (Davison & Hinkley
1997, sections 2.4 and 9.5). With clusters of one query each it is the interval of ``rankgate.statistics.saddlepoint``.

What is appended before each bound is one more cluster, all at the far end of what is possible and as large as the one
in which the average query finds itself: sum n_c^2 / sum n_c. With one of average size, very unequal clusters miss up
to 6 % on one side.
"""

import math
from collections.abc import Hashable, Sequence
from operator import mul
from typing import NamedTuple

from rankgate.statistics.binomial import Side
from rankgate.statistics.quantiles import normal_quantile
from rankgate.statistics.saddlepoint import (
    Appended,
    Counts,
    counts_of,
    thinned,
    unchanged_bound,
    unchanged_level,
    upper_bound,
    upper_level,
)

MIN_CLUSTERS = 10  # clusters: under it their spread is not known, and there is no interval
_CLOSE = 1e-9  # of the way from the mean to the end
_STEPS = 100


def clustered_mean_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    low: float | None,
    high: float | None,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Interval for the mean of values between ``low`` and ``high``, each in the cluster at its place.

    A query that belongs to none is a cluster of its own: give it a label of its own. None stands for the observed
    extreme, as in ``mean_interval``. Paired differences lie between minus and plus what the metric allows; if all are
    zero, the bounds are what so many unchanged clusters exclude, as in ``difference_interval``.

    Returns:
        Lower and upper bound, around the mean; None for fewer than 10 clusters.

    Raises:
        ValueError: a value or the range is not finite; ``confidence`` is not strictly between 0 and 1; not as many
            clusters as values.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence!r}")
    sums = _sums(values, clusters)
    if len(sums) < MIN_CLUSTERS:
        return None
    if low is not None and high is not None and low < 0 < high and not any(values):
        return -unchanged_bound(len(sums), -low, confidence), unchanged_bound(len(sums), high, confidence)
    z = -normal_quantile((1 - confidence) / 2)
    lower = -_bound(_mirrored(sums), -(min(values) if low is None else min(low, *values)), z)
    upper = _bound(sums, max(values) if high is None else max(high, *values), z)
    return lower + 0.0, upper + 0.0


def clustered_mean_level(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    value: float,
    *,
    side: Side,
    low: float | None,
    high: float | None,
) -> float | None:
    """The level at which the bound of ``clustered_mean_interval`` touches ``value``; else as ``mean_level``."""
    sums = _sums(values, clusters)
    if len(sums) < MIN_CLUSTERS:
        return None
    if side == "above":
        sums, value = _mirrored(sums), -value
        end = -(min(values) if low is None else min(low, *values))
    else:
        end = max(values) if high is None else max(high, *values)
    if value <= _mean(sums):
        return 1.0
    if value > end:
        return 0.0
    if low is not None and high is not None and low < 0 < high and not any(values):
        return unchanged_level(len(sums), end, value)
    return upper_level(*_residuals(sums, end, value), 0.0)


def summed(values: Sequence[float], clusters: Sequence[Hashable]) -> Sequence[float]:
    """The sum of the values of each cluster, in the order of their first members; without clusters, the values."""
    if not clusters:
        return values
    members: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    return [math.fsum(group) for group in members.values()]


class _Cluster(NamedTuple):
    total: float
    size: float


def _sums(values: Sequence[float], clusters: Sequence[Hashable]) -> list[_Cluster]:
    return list(map(_Cluster, summed(values, clusters), summed([1.0] * len(values), clusters)))


def _mirrored(sums: Sequence[_Cluster]) -> list[_Cluster]:
    return [_Cluster(-total, size) for total, size in sums]


def _mean(sums: Sequence[_Cluster]) -> float:
    return math.fsum(total for total, _ in sums) / math.fsum(size for _, size in sums)


def _residuals(sums: Sequence[_Cluster], end: float, ratio: float) -> tuple[Counts, Appended]:
    """What is drawn where the mean is ``ratio``, and the cluster that is appended."""
    sizes = [size for _, size in sums]
    appended = (end - ratio) * math.fsum(map(mul, sizes, sizes)) / math.fsum(sizes)
    return thinned(counts_of(total - ratio * size for total, size in sums)), [(appended, 1.0)]


def _bound(sums: Sequence[_Cluster], end: float, z: float) -> float:
    """The ratio at which the upper bound of the residuals is zero: it falls from the mean, or above, to the end."""

    def excess(ratio: float) -> float:
        return upper_bound(*_residuals(sums, end, ratio), z)

    low = _mean(sums)
    high = end
    if not math.isfinite(end - low):
        raise ValueError(f"a range to {end!r} is not finite")
    at_low, at_high = excess(low), excess(high)
    if high <= low or at_low <= 0:
        return low
    if at_high >= 0:
        return high
    ratio = low
    for _ in range(_STEPS):  # regula falsi, halving the weight of an end that stays (Illinois)
        previous = ratio
        ratio = high - at_high * (high - low) / (at_high - at_low)
        at_ratio = excess(ratio)
        if at_ratio > 0:
            if previous == low:
                at_high /= 2
            low = ratio
            at_low = at_ratio
        else:
            if previous == high:
                at_low /= 2
            high = ratio
            at_high = at_ratio
        if abs(ratio - previous) <= _CLOSE * (end - low):
            break
    return ratio
