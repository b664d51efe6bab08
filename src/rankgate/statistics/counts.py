"""Samples as distinct values and how many of each: most metrics have few, so everything costs by them."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeVar

from rankgate.statistics.tilting import Tilting

Counts = list[tuple[float, int]]  # in ascending order, whatever order the values came in
Appended = list[tuple[float, float]]  # one observation more, ascending: what it may be, and the share of each

Size = TypeVar("Size", int, float)

_MOST_DISTINCT = 10_000
_BINS_PER_UNIT = 512


def counts_of(values: Iterable[float]) -> Counts:
    """The distinct values, ascending, and how many of each.

    Raises:
        ValueError: a value is not finite.
    """
    counts = sorted(Counter(values).items())
    if not all(math.isfinite(x) for x, _ in counts):
        raise ValueError("an interval needs finite values")
    return counts


def size_of(counts: Counts) -> int:
    """How many values they are."""
    return sum(size for _, size in counts)


def mean_of(counts: Counts) -> float:
    """The mean, measured from the smallest value so that equal values have exactly that mean."""
    least, total = counts[0][0], size_of(counts)
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
    if len(counts) <= _MOST_DISTINCT:
        return counts
    mean, unit = mean_of(counts), counts[-1][0] - counts[0][0]
    scale = unit * math.sqrt(mean_of([(((x - mean) / unit) ** 2, size) for x, size in counts]))
    bins = groupby(counts, lambda count: math.floor(math.asinh((count[0] - mean) / scale) * _BINS_PER_UNIT))
    return [(mean_of(members), size_of(members)) for members in (list(members) for _, members in bins)]


def upper_bound(counts: Counts, appended: Appended, z: float) -> float:
    """The quantile at z of the mean of the values with one ``appended``."""
    least, greatest = counts[0][0], max(appended[-1][0], counts[-1][0])
    width = greatest - least
    return greatest + width * _tilting(counts, appended, greatest).mean_at(z) if width else greatest


def upper_level(counts: Counts, appended: Appended, value: float) -> float:
    """The one-sided level at which ``upper_bound`` touches ``value``: it lies below ``value`` at every level above."""
    least, greatest = counts[0][0], max(appended[-1][0], counts[-1][0])
    width = greatest - least
    if not width:
        return 0.0 if greatest < value else 1.0
    z = _tilting(counts, appended, greatest).z_at((value - greatest) / width)
    return math.erfc(z / math.sqrt(2)) / 2


def one_of(ends: Iterable[float]) -> Appended:
    """One observation that is each of these with the same chance."""
    counts = counts_of(ends)
    return [(x, size / size_of(counts)) for x, size in counts]


def _tilting(counts: Counts, appended: Appended, greatest: float) -> Tilting:
    width = greatest - counts[0][0]
    together = [*counts, *appended]
    return Tilting([(x - greatest) / width for x, _ in together], [size for _, size in together])
