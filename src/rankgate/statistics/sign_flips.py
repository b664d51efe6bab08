"""The randomisation test of clusters: how often chance signs would move the mean as far as it moved.

If nothing changed, candidate and baseline are exchangeable in every cluster, and the sum of its differences could as
well have had the other sign. The p-value is the share of all 2^m sign patterns of the m sums that are not zero whose
total is as low as the observed one. Fisher 1935; for retrieval Smucker, Allan & Carterette 2007. It takes no normal
approximation and no spread, so that it can decide where clusters are too few for an interval; but it takes changes for
symmetric if nothing changed: where few clusters gain much and the rest lose a little, it errs.
"""

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence

from rankgate.statistics.clusters import summed
from rankgate.statistics.saddlepoint import Side

MIN_CLUSTERS = 6  # clusters: of five that all moved alike, p is 1 in 32
MOST = 29  # clusters: either half has at most 32,768 patterns, about twenty milliseconds
_ROUNDING = 1e-9  # of the largest sum


def cluster_flip_p(
    differences: Sequence[float], clusters: Sequence[Hashable], *, side: Side
) -> tuple[float, float] | None:
    """The exact one-sided p-value of paired differences, each in the cluster at its place.

    What is only rounding, 1e-9 of the largest sum, is no difference, between totals neither.

    Returns:
        p, and 2^-m, the least that it could have been. Below six clusters both are 1, for nothing can be proven; None
        from 30 clusters on, where the interval decides.

    Raises:
        ValueError: not as many clusters as differences.
    """
    sums = [total if side == "above" else -total for total in summed(differences, clusters).values()]
    if len(sums) > MOST:
        return None
    farthest = max(map(abs, sums), default=0.0)
    moved = [x / farthest for x in sums if abs(x) > _ROUNDING * farthest]
    if len(sums) < MIN_CLUSTERS or not moved:
        return 1.0, 1.0
    return _tail(sorted(map(abs, moved)), math.fsum(moved)), math.ldexp(1.0, -len(moved))


def _tail(sizes: Sequence[float], observed: float) -> float:
    """The share of patterns of at least ``observed``, as pairs of a sum of one half and a sum of the other."""
    middle = len(sizes) // 2
    one, other = _sums(sizes[:middle]), sorted(_sums(sizes[middle:]))
    least = observed - _ROUNDING
    return sum(len(other) - bisect_left(other, least - x) for x in one) / (1 << len(sizes))


def _sums(sizes: Sequence[float]) -> list[float]:
    sums = [0.0]
    for size in sizes:
        sums = [*(x - size for x in sums), *(x + size for x in sums)]
    return sums
