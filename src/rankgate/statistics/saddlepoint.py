"""The bootstrap interval of a mean without resampling: deterministic, no seed, about a millisecond.

The bootstrap draws N values with replacement from the N observed and looks at their mean. The distribution of that
mean follows from its cumulant generating function. With p_j the share of the distinct value x_j, m the mean, and primes
for derivatives in t::

    K(t)  = log sum_j p_j exp(t (x_j - m))
    w     = sign(t) sqrt(2 N (t K' - K))
    u     = t sqrt(N K'')
    r*(t) = w + log(u / w) / w            P(mean <= m + K'(t)) ~ Phi(r*(t))

the bound at the normal quantile z is m + K'(t) where r*(t) = z (Daniels 1954; Lugannani & Rice 1980, in
Barndorff-Nielsen's form; Davison & Hinkley 1997, section 9.5). Against exact distributions it is within half a lattice
step + 0.02 SD of the mean once ten values differ from the rest, and with fewer within about a third of that SD.

Sparse data break the plain form: four losses among a thousand ties would look like proof. So before *each bound* one
observation is appended, at the far end of what is possible on that side; where r* never reaches z, that end is the
bound. Five losses without a win then prove nothing and six do, as the sign test has it.
"""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from operator import mul
from typing import NamedTuple

from rankgate.statistics.quantiles import normal_quantile

_MOST_DISTINCT = 10_000
_BINS_PER_UNIT = 512
_NEAR_ZERO = 0.01  # below this w, log(u / w) / w is rounding noise over a small number: take its limit
_CLOSE = 1e-8  # in r*, that is, in standard errors
_SUMMIT = 1e-3  # of t: r* is flat at its summit, so this decides to about 1e-6 whether it reaches z

_Counts = list[tuple[float, int]]  # distinct values in ascending order, whatever order they came in, and how many each


def mean_interval(
    values: Iterable[float], *, low: float | None, high: float | None, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval for the mean of a metric whose values lie between ``low`` and ``high``.

    What is appended is ``low`` for the lower bound and ``high`` for the upper; on a side without an end (None), or with
    values beyond it, the observed extreme. More than 10,000 distinct values are binned first: see ``_binned``.

    Returns:
        Lower and upper bound, around the mean and within the range of the data and what was appended. None for fewer
        than two values: one value does not tell how much others would differ. Equal values at an end, or on a side
        without one, have that value for a bound: what never varied is taken not to vary.

    Raises:
        ValueError: a value or the range is not finite; ``confidence`` is not strictly between 0 and 1.
    """
    return _interval(sorted(Counter(values).items()), low, high, confidence)


def difference_interval(differences: Iterable[float], *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Interval for the mean of paired differences, candidate minus baseline, one per query.

    What is appended is -max|d| for the lower bound and +max|d| for the upper: one more query that moved as far as any
    did, against the conclusion. Queries that did not change are differences of zero and must be given too.

    Returns:
        Lower and upper bound, around the mean and within -max|d| and max|d|. (0.0, 0.0) if all differences are zero,
        however few: no query changed. Otherwise None for fewer than two.

    Raises:
        ValueError: a difference is not finite; ``confidence`` is not strictly between 0 and 1.
    """
    counts = sorted(Counter(differences).items())
    farthest = max((abs(x) for x, _ in counts), default=0.0)
    interval = _interval(counts, -farthest, farthest, confidence)
    return (0.0, 0.0) if counts and farthest == 0 else interval


class _Point(NamedTuple):
    t: float
    mean: float  # of the tilted distribution: m + K'(t)
    r: float
    slope: float  # of r*


class _Tilting:
    """r* for t > 0 and for values given by their gaps to the largest: from -1 to 0, which is among them.

    t K' - K and K'' do not depend on the origin; from this one exp cannot overflow, and K'' keeps its digits as it
    vanishes on the way to the largest value.
    """

    def __init__(self, gaps: list[float], sizes: list[int]) -> None:
        squares = list(map(mul, gaps, gaps))
        self._powers = (gaps, squares, list(map(mul, squares, gaps)))
        self._sizes = sizes
        self._n = sum(sizes)
        _, self.mean, variance, third = self._cumulants(0.0)
        self.rate = math.sqrt(self._n * variance)  # the slope of r* at 0, to the first order
        self.limit = third / variance / self.rate / 6  # r* at 0: a sixth of the skewness of the mean

    def at(self, t: float) -> _Point:
        cumulant, mean, variance, third = self._cumulants(t)
        if variance <= 0:  # every value but the largest has vanished, and the density with it
            return _Point(t, mean, -math.inf, -math.inf)
        w = math.sqrt(max(2 * self._n * (t * mean - cumulant), 0.0))
        if w < _NEAR_ZERO:
            return _Point(t, mean, w + self.limit, self.rate)
        slope = self._n * t * variance / w
        log_ratio = math.log(t * math.sqrt(self._n * variance) / w)
        bend = 1 / t + third / variance / 2 - slope / w - log_ratio * slope / w
        return _Point(t, mean, w + log_ratio / w, slope + bend / w)

    def _cumulants(self, t: float) -> tuple[float, float, float, float]:
        masses = [size * math.exp(t * gap) for size, gap in zip(self._sizes, self._powers[0], strict=True)]
        total = math.fsum(masses)
        mean, square, cube = (math.fsum(map(mul, masses, power)) / total for power in self._powers)
        return math.log(total / self._n), mean, square - mean**2, cube - 3 * mean * square + 2 * mean**3


def _interval(counts: _Counts, low: float | None, high: float | None, confidence: float) -> tuple[float, float] | None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence!r}")
    if not all(math.isfinite(x) for x, _ in counts):
        raise ValueError("an interval needs finite values")
    if sum(size for _, size in counts) <= 1:
        return None
    least, greatest = counts[0][0], counts[-1][0]
    low, high = least if low is None else min(low, least), greatest if high is None else max(high, greatest)
    if not math.isfinite(high - low):
        raise ValueError(f"a range from {low!r} to {high!r} is not finite")
    mean, _ = _pooled(counts)
    if len(counts) > _MOST_DISTINCT:
        counts = _binned(counts, mean)
    z = -normal_quantile((1 - confidence) / 2)
    lower = -_upper_bound([(-x, size) for x, size in reversed(counts)], -low, z)
    upper = _upper_bound(counts, high, z)
    return max(min(lower, mean), low) + 0.0, min(max(upper, mean), high) + 0.0  # + 0.0 turns -0.0 into 0.0


def _pooled(counts: _Counts) -> tuple[float, int]:
    """The mean, measured from the smallest value so that equal values have exactly that mean, and the size."""
    least, total = counts[0][0], sum(size for _, size in counts)
    return least + math.fsum((x - least) * (size / total) for x, size in counts), total


def _binned(counts: _Counts, mean: float) -> _Counts:
    """Fewer than 10,000 values for any 70 million; a bound moves by less than 0.001 SD of the mean.

    Values whose asinh((x - mean) / SD) falls into the same bin of width 1/512 become their mean: a bin is about
    hypot(SD, x - mean) / 512 wide, however far out an outlier lies. So the mean stays, and the SD shrinks by less than
    1e-6 of itself.
    """
    unit = counts[-1][0] - counts[0][0]
    mean_square, _ = _pooled([(((x - mean) / unit) ** 2, size) for x, size in counts])
    scale = unit * math.sqrt(mean_square)
    bins = groupby(counts, lambda count: math.floor(math.asinh((count[0] - mean) / scale) * _BINS_PER_UNIT))
    return [_pooled(list(members)) for _, members in bins]


def _upper_bound(counts: _Counts, extreme: float, z: float) -> float:
    """The quantile at z of the mean of the values with one ``extreme`` appended, which none of them exceeds."""
    width = extreme - counts[0][0]
    if width == 0:
        return extreme
    gaps = [(x - extreme) / width for x, _ in counts]
    return extreme + width * _tilted_mean(_Tilting([*gaps, 0.0], [*(size for _, size in counts), 1]), z)


def _tilted_mean(tilting: _Tilting, z: float) -> float:
    """The mean where r* first rises through z; 0, the largest value, if it never does.

    r* climbs from its limit at 0 and falls for good once t leaves nothing but the largest value. In between it can fall
    and climb again, where a few far values split the mean's distribution into lumps. So t grows by Newton's steps, at
    most doubling, and where a fall follows a rise, bisection searches the summit between them.
    """
    if z <= tilting.limit:
        return tilting.mean
    low = _Point(0.0, tilting.mean, tilting.limit, tilting.rate)
    high: _Point | None = None
    t = (z - tilting.limit) / tilting.rate
    for _ in range(200):
        point = tilting.at(t)
        if point.slope > 0 and abs(point.r - z) <= _CLOSE:
            return point.mean
        newton = t + (z - point.r) / point.slope if point.slope > 0 else math.inf
        if point.r >= z or low.slope > 0 >= point.slope:
            high = point
        elif point.slope > -math.inf:
            low = point
        else:
            break
        if high and high.r < z and high.t - low.t <= _SUMMIT * high.t:
            low, high = high, None  # this summit stays below z: look behind it
        rest = 2 * low.t if high is None else (low.t + high.t) / 2
        t = newton if low.t < newton < (high.t if high else rest) else rest
    return high.mean if high else 0.0
