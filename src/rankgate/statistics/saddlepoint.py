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

The same curve read the other way gives levels: how small the error of one side may be until its bound touches a value.
Levels are what several segments of a gate share out among them (``rankgate.gates.segments``).

Samples are distinct values and how many of each: most metrics have few, so everything costs by them.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import mul
from typing import NamedTuple, TypeVar

from rankgate.statistics.binomial import Side
from rankgate.statistics.quantiles import normal_quantile

End = float | Sequence[float] | None  # of the range, the most of each query, or none

Counts = list[tuple[float, int]]  # in ascending order, whatever order the values came in
Appended = list[tuple[float, float]]  # one observation more, ascending: what it may be, and the share of each

Size = TypeVar("Size", int, float)

_MAX_DISTINCT = 10_000
_BINS_PER_UNIT = 512
_NEAR_ZERO = 0.01  # below this w, log(u / w) / w is rounding noise over a small number: take its limit
_CLOSE = 1e-8  # in r*, that is, in standard errors
_SUMMIT = 1e-3  # of t: r* is flat at its summit, so this decides to about 1e-6 whether it reaches z
_SAME = 1e-6  # in z: within it, one search finds again what the other found
_FARTHEST = 40.0  # in z: beyond it the normal tail is zero as a float
_STEPS = 200
_HALVINGS = 40


def mean_interval(
    values: Iterable[float], *, low: float | None, high: End, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval for the mean of a metric whose values lie between ``low`` and ``high``.

    What is appended is ``low`` for the lower bound and ``high`` for the upper; on a side without an end (None), or with
    values beyond it, the observed extreme. A list for ``high`` is the most that each query can have; of these one is
    taken by chance. More than 10,000 distinct values are binned first: see ``thinned``.

    Returns:
        Lower and upper bound, around the mean and within the range of the data and what was appended. None for fewer
        than two values: one value does not tell how much others would differ. Equal values at an end, or on a side
        without one, have that value for a bound: what never varied is taken not to vary.

    Raises:
        ValueError: a value or the range is not finite; ``confidence`` is not strictly between 0 and 1.
    """
    counts = counts_of(values)
    return _interval(counts, *_ends(counts, low, high), confidence)


def difference_interval(
    differences: Iterable[float], *, widest: End = None, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval for the mean of paired differences, candidate minus baseline, one per query.

    What is appended is -widest for the lower bound and +widest for the upper: one more query that moved as far as the
    metric allows, against the conclusion. ``widest`` is the width of the metric's range; None, for a metric without
    one, or less than was observed, stands for max|d|; of a list, how far each query can move, one is taken by chance.
    Queries that did not change are differences of zero and must be given too.

    Returns:
        Lower and upper bound, around the mean and within what was appended; None for fewer than two differences. If
        all are zero, see ``unchanged_bound``: where lists are equal too, there is nothing to ask.

    Raises:
        ValueError: a difference or ``widest`` is not finite; ``confidence`` is not strictly between 0 and 1.
    """
    counts = counts_of(differences)
    appended = _reach(counts, widest)
    interval = _interval(counts, mirrored(appended), appended, confidence)
    if interval is None or farthest_of(counts) > 0:
        return interval
    bound = unchanged_bound(size_of(counts), appended[-1][0], confidence)
    return 0.0 - bound, bound


def unchanged_bound(n: float, widest: float, confidence: float) -> float:
    """How far the mean change may lie from zero where none of ``n`` moved although they could: widest (1 - a^(1/n)).

    A share of 1 - a^(1/n) that moves by ``widest`` is missed by all of them with the chance a = (1 - confidence) / 2.
    """
    return widest * -math.expm1(math.log((1 - confidence) / 2) / n)


def unchanged_level(n: float, widest: float, value: float) -> float:
    """The one-sided level at which ``unchanged_bound`` touches ``value``, which lies above zero."""
    return (1 - value / widest) ** n if value < widest else 0.0


def mean_level(values: Iterable[float], value: float, *, side: Side, low: float | None, high: End) -> float | None:
    """The one-sided level at which the bound of ``mean_interval`` touches ``value``.

    With side "below", the upper bound at a confidence c lies below ``value`` where the level is less than
    (1 - c) / 2; with "above", the lower bound lies above it. 0.0 where it does at every confidence, 1.0 where it does
    at none because the mean itself does not; None where ``mean_interval`` is. ValueError: as there.
    """
    counts = counts_of(values)
    return _level(counts, value, side, *_ends(counts, low, high))


def difference_level(
    differences: Iterable[float], value: float = 0.0, *, side: Side, widest: End = None
) -> float | None:
    """The one-sided level at which the bound of ``difference_interval`` touches ``value``; else as ``mean_level``."""
    counts = counts_of(differences)
    appended = _reach(counts, widest)
    gap = value if side == "below" else -value
    if size_of(counts) > 1 and farthest_of(counts) == 0 and gap > 0:
        return unchanged_level(size_of(counts), appended[-1][0], gap)
    return _level(counts, value, side, mirrored(appended), appended)


def _interval(counts: Counts, below: Appended, above: Appended, confidence: float) -> tuple[float, float] | None:
    """The bounds for the mean, with `below` appended before the lower and `above` before the upper one.

    They lie around the mean and within the range of the data and what was appended; None for fewer than two values.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence!r}")
    if size_of(counts) <= 1:
        return None
    low = min(below[0][0], counts[0][0])
    high = max(above[-1][0], counts[-1][0])
    mean = mean_of(counts)
    counts = thinned(counts)
    z = -normal_quantile((1 - confidence) / 2)
    lower = -upper_bound(mirrored(counts), mirrored(below), z)
    upper = upper_bound(counts, above, z)
    return max(min(lower, mean), low) + 0.0, min(max(upper, mean), high) + 0.0  # + 0.0 turns -0.0 into 0.0


def _level(counts: Counts, value: float, side: Side, below: Appended, above: Appended) -> float | None:
    if size_of(counts) <= 1:
        return None
    mean = mean_of(counts)
    if side == "below":
        return upper_level(thinned(counts), above, value) if mean < value else 1.0
    return upper_level(mirrored(thinned(counts)), mirrored(below), -value) if mean > value else 1.0


def _ends(counts: Counts, low: float | None, high: End) -> tuple[Appended, Appended]:
    """What is appended before the lower bound, and before the upper."""
    least = counts[0][0] if counts else 0.0
    greatest = counts[-1][0] if counts else 0.0
    low = least if low is None else min(low, least)
    high = greatest if high is None else high
    above = list(high) if isinstance(high, Sequence) else [max(high, greatest)]
    if not math.isfinite(above[0] - low):
        raise ValueError(f"a range from {low!r} to {above[0]!r} is not finite")
    return [(low, 1.0)], one_of(above)


def _reach(counts: Counts, widest: End) -> Appended:
    """What is appended before the upper bound; its mirror image before the lower."""
    farthest = farthest_of(counts)
    reach = [max(end, farthest) for end in (widest if isinstance(widest, Sequence) else [widest or 0.0])]
    if not math.isfinite(2 * reach[0]):
        raise ValueError(f"a change of {reach[0]!r} is not finite")
    return one_of(reach)


def counts_of(values: Iterable[float]) -> Counts:
    """The distinct values, ascending, and how many of each.

    Raises:
        ValueError: a value is not finite.
    """
    counts = Counter(values)
    if not all(map(math.isfinite, counts)):
        raise ValueError("an interval needs finite values")
    return sorted(counts.items())


def size_of(counts: Counts) -> int:
    """How many values they are."""
    return sum(size for _, size in counts)


def mean_of(counts: Counts) -> float:
    """The mean, measured from the smallest value so that equal values have exactly that mean."""
    least = counts[0][0]
    total = size_of(counts)
    return least + math.fsum((x - least) * (size / total) for x, size in counts)


def farthest_of(counts: Counts) -> float:
    """The largest absolute value; 0 for none."""
    return max((abs(x) for x, _ in counts), default=0.0)


def mirrored(counts: Sequence[tuple[float, Size]]) -> list[tuple[float, Size]]:
    """The counts of the negated values."""
    return [(-x, size) for x, size in reversed(counts)]


def thinned(counts: Counts) -> Counts:
    """Fewer than 10,000 distinct values for any 70 million; a bound moves by less than 0.001 SD of the mean.

    Values whose asinh((x - mean) / SD) falls into the same bin of width 1/512 become their mean: a bin is about
    hypot(SD, x - mean) / 512 wide, however far out an outlier lies. So the mean stays, and the SD shrinks by less than
    1e-6 of itself.
    """
    if len(counts) <= _MAX_DISTINCT:
        return counts
    mean = mean_of(counts)
    spread = counts[-1][0] - counts[0][0]
    deviation = spread * math.sqrt(mean_of([(((x - mean) / spread) ** 2, size) for x, size in counts]))
    bins = groupby(counts, lambda count: math.floor(math.asinh((count[0] - mean) / deviation) * _BINS_PER_UNIT))
    return [(mean_of(members), size_of(members)) for members in (list(members) for _, members in bins)]


def upper_bound(counts: Counts, appended: Appended, z: float) -> float:
    """The quantile at z of the mean of the values with one ``appended``."""
    least, greatest = counts[0][0], max(appended[-1][0], counts[-1][0])
    width = greatest - least
    return greatest + width * _Tilting(counts, appended, greatest).mean_at(z) if width else greatest


def upper_level(counts: Counts, appended: Appended, value: float) -> float:
    """The one-sided level at which ``upper_bound`` touches ``value``: it lies below ``value`` at every level above."""
    least, greatest = counts[0][0], max(appended[-1][0], counts[-1][0])
    width = greatest - least
    if not width:
        return 0.0 if greatest < value else 1.0
    z = _Tilting(counts, appended, greatest).z_at((value - greatest) / width)
    return math.erfc(z / math.sqrt(2)) / 2


def one_of(ends: Iterable[float]) -> Appended:
    """One observation that is each of these with the same chance."""
    counts = counts_of(ends)
    return [(x, size / size_of(counts)) for x, size in counts]


class _Point(NamedTuple):
    """One point of the way from the sample to its largest value."""

    t: float
    mean: float  # of the tilted distribution: m + K'(t)
    r: float
    slope: float  # of r*


class _Tilting:
    """r* for t > 0 and for values given by their gaps to the largest: from -1 to 0, which is among them.

    t K' - K and K'' do not depend on the origin; from this one exp cannot overflow, and K'' keeps its digits as it
    vanishes on the way to the largest value. The formulas are those of the module.
    """

    def __init__(self, counts: Counts, appended: Appended, greatest: float) -> None:
        width = greatest - counts[0][0]
        together = [*counts, *appended]
        self._sizes = [size for _, size in together]
        gaps = [(x - greatest) / width for x, _ in together]
        squares = list(map(mul, gaps, gaps))
        self._powers = (gaps, squares, list(map(mul, squares, gaps)))
        self._n = sum(self._sizes)
        _, self.mean, self._variance, third = self._cumulants(0.0)
        self._rate = math.sqrt(self._n * self._variance)  # the slope of r* at 0, to the first order
        self._limit = third / self._variance / self._rate / 6  # r* at 0: a sixth of the skewness of the mean

    def mean_at(self, z: float) -> float:
        """The mean where r* first rises through z; 0, the largest value, if it never does.

        r* climbs from its limit at 0 and falls for good once t leaves nothing but the largest value. In between it can
        fall and climb again, where a few far values split the mean's distribution into lumps. So t grows by Newton's
        steps, at most doubling, and where a fall follows a rise, bisection searches the summit between them.
        """
        if z <= self._limit:
            return self.mean
        low = _Point(0.0, self.mean, self._limit, self._rate)
        high: _Point | None = None
        t = (z - self._limit) / self._rate
        for _ in range(_STEPS):
            point = self._at(t)
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
            farthest = rest if high is None else high.t
            t = newton if low.t < newton < farthest else rest
        return high.mean if high else 0.0

    def z_at(self, mean: float) -> float:
        """The z up to which ``mean_at(z)`` stays below ``mean``: its inverse, to about 1e-6.

        That is r* where the tilted mean is ``mean``, unless r* was higher before. Then, and at the largest value,
        which no tilting reaches, z is found by bisection.
        """
        if mean <= self.mean:
            return -math.inf
        if mean > 0:
            return math.inf
        z = self._r_at(mean)
        if z is not None and self.mean_at(z - _SAME) < mean <= self.mean_at(z + _SAME):
            return z
        below, above = self._limit, max(self._limit, _FARTHEST)
        for _ in range(_HALVINGS):
            middle = (below + above) / 2
            if self.mean_at(middle) < mean:
                below = middle
            else:
                above = middle
        return above

    def _r_at(self, mean: float) -> float | None:
        """r* at the t whose tilted mean is ``mean``, by Newton's steps between the ends that they leave."""
        low, high = 0.0, math.inf
        t = (mean - self.mean) / self._variance
        for _ in range(_STEPS):
            _, tilted, variance, _ = self._cumulants(t)
            if variance <= 0:
                return None
            if tilted < mean:
                low = t
            else:
                high = t
            step = (mean - tilted) / variance
            if abs(step) <= _CLOSE * t:
                return self._at(t).r
            farthest = 2 * t if high == math.inf else high
            if low < t + step < farthest:
                t += step
            else:
                t = farthest if high == math.inf else (low + high) / 2
        return None

    def _at(self, t: float) -> _Point:
        cumulant, mean, variance, third = self._cumulants(t)
        if variance <= 0:  # every value but the largest has vanished, and the density with it
            return _Point(t, mean, -math.inf, -math.inf)
        w = math.sqrt(max(2 * self._n * (t * mean - cumulant), 0.0))
        if w < _NEAR_ZERO:
            return _Point(t, mean, w + self._limit, self._rate)
        slope = self._n * t * variance / w
        log_ratio = math.log(t * math.sqrt(self._n * variance) / w)
        bend = 1 / t + third / variance / 2 - slope / w - log_ratio * slope / w
        return _Point(t, mean, w + log_ratio / w, slope + bend / w)

    def _cumulants(self, t: float) -> tuple[float, float, float, float]:
        """K and its first three derivatives at t: for the tilted distribution the mean, variance and third cumulant."""
        gaps, squares, cubes = self._powers
        masses = [size * math.exp(t * gap) for size, gap in zip(self._sizes, gaps, strict=True)]
        total = math.fsum(masses)
        mean = math.fsum(map(mul, masses, gaps)) / total
        square = math.fsum(map(mul, masses, squares)) / total
        cube = math.fsum(map(mul, masses, cubes)) / total
        return math.log(total / self._n), mean, square - mean**2, cube - 3 * mean * square + 2 * mean**3
