"""The randomisation test of clusters: how often chance signs would move the mean as far as it moved.

If nothing changed, candidate and baseline are exchangeable in every cluster, and the sum of its differences could as
well have had the other sign. The p-value is the share of all 2^m sign patterns of the m sums that are not zero whose
total is as low as the observed one. Fisher 1935; for retrieval Smucker, Allan & Carterette 2007. It takes no normal
approximation and no spread, so that it can decide where clusters are too few for an interval; but it takes changes for
symmetric if nothing changed: where few clusters gain much and the rest lose a little, it errs.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

from rankgate.statistics.binomial import Side
from rankgate.statistics.clusters import summed

MIN_CLUSTERS = 6  # clusters: of five that all moved alike, p is 1 in 32
MOST = 29  # clusters: either half has at most 32,768 patterns, about twenty milliseconds
MOST_STEPS = 2_000_000  # of the convolution, a quarter of a second; beyond it the saddlepoint decides
_FINEST = 2520  # the lattice: steps of 1/2520 hold all shares of up to ten documents
_ROUNDING = 1e-9  # of the largest sum
_CLOSE = 1e-10  # in t, of the saddlepoint
_NEAR_ZERO = 1e-3  # below this w, log(u / w) / w is rounding noise over a small number


def cluster_flip_p(
    differences: Sequence[float], clusters: Sequence[Hashable], *, side: Side, fewest: int = MIN_CLUSTERS
) -> tuple[float, float] | None:
    """The exact one-sided p-value of paired differences, each in the cluster at its place.

    What is only rounding, 1e-9 of the largest sum, is no difference, between totals neither.

    Returns:
        p, and 2^-m, the least that it could have been. Below ``fewest`` clusters, six for a proof, both are 1; None
        from 30 clusters on, where the interval decides.

    Raises:
        ValueError: not as many clusters as differences.
    """
    sums = [total if side == "above" else -total for total in summed(differences, clusters)]
    if len(sums) > MOST:
        return None
    farthest = max(map(abs, sums), default=0.0)
    moved = [x / farthest for x in sums if abs(x) > _ROUNDING * farthest]
    if len(sums) < fewest or not moved:
        return 1.0, 1.0
    return _tail(sorted(map(abs, moved)), math.fsum(moved)), math.ldexp(1.0, -len(moved))


def _tail(sizes: Sequence[float], observed: float) -> float:
    """The share of patterns of at least ``observed``, as pairs of a sum of one half and a sum of the other."""
    middle = len(sizes) // 2
    one = _sums(sizes[:middle])
    other = sorted(_sums(sizes[middle:]))
    least = observed - _ROUNDING
    return sum(len(other) - bisect_left(other, least - x) for x in one) / (1 << len(sizes))


def _sums(sizes: Sequence[float]) -> list[float]:
    sums = [0.0]
    for size in sizes:
        sums = [*(x - size for x in sums), *(x + size for x in sums)]
    return sums


def flip_p(changes: Sequence[float]) -> float:
    """The one-sided p-value that these changes, any number of them, are for the worse: that they sum to so little.

    All of one sign: 2^-m, as of m changes only one pattern is as low. Up to 29 that are not zero: exact. More, on a
    lattice: exact, by convolution of the sums. Else by the saddlepoint of K(t) = sum log cosh(t d), in Barndorff-
    Nielsen's form, which agrees with the exact values to about a twentieth of them.

    Args:
        changes: of questions, or the sums of clusters; below zero is worse.

    Returns:
        From 2^-m to 1; 1 where nothing moved.

    Raises:
        ValueError: a change is not finite.
    """
    if not all(map(math.isfinite, changes)):
        raise ValueError("a sign-flip test needs finite changes")
    farthest = max(map(abs, changes), default=0.0)
    moved = [x for x in changes if abs(x) > _ROUNDING * farthest]
    if not moved or max(moved) < 0:
        return math.ldexp(1.0, -len(moved))
    if min(moved) > 0:
        return 1.0
    if len(moved) <= MOST:
        return _tail([abs(x) / farthest for x in moved], -math.fsum(moved) / farthest)
    steps = _lattice(moved)
    return _convolved(steps) if steps else _by_saddlepoint(moved, farthest)


def _lattice(moved: Sequence[float]) -> list[int] | None:
    """The changes as whole steps of one size; None where they have none, or so many steps that it would be slow."""
    if len(moved) ** 2 > MOST_STEPS:  # at a step each
        return None
    fractions = {x: Fraction(x).limit_denominator(_FINEST) for x in set(moved)}
    if any(abs(x - float(each)) > _ROUNDING for x, each in fractions.items()):
        return None
    unit = math.lcm(*(each.denominator for each in fractions.values()))
    whole_steps = {x: int(each * unit) for x, each in fractions.items()}
    common = math.gcd(*whole_steps.values())
    steps = [whole_steps[x] // common for x in moved]
    return steps if sum(map(abs, steps)) * len(steps) <= MOST_STEPS else None


def _convolved(steps: Sequence[int]) -> float:
    """The share of sign patterns whose sum is at most the observed: of subsets of the sizes that sum to no more.

    The sum of a pattern is twice the sum of those with a plus, less the total.
    """
    sizes = sorted(map(abs, steps))
    observed = sum(steps)
    total = sum(sizes)
    most = (observed + total) // 2
    chances = [1.0]
    for size in sizes:
        without, with_it = [*chances, *([0.0] * size)], [*([0.0] * size), *chances]
        chances = [(one + other) / 2 for one, other in zip(without, with_it, strict=True)][: most + 1]
    return min(1.0, math.fsum(chances))


def _by_saddlepoint(moved: Sequence[float], farthest: float) -> float:
    """P(sum <= observed) of the sums with random signs, by the saddlepoint at the observed sum."""
    sizes = Counter(abs(x) / farthest for x in moved)
    observed = math.fsum(moved) / farthest
    low, high = -1.0, 1.0
    while _slope(low, sizes) > observed:
        low *= 2
    while _slope(high, sizes) < observed:
        high *= 2
    while high - low > _CLOSE * max(1.0, abs(low)):
        middle = (low + high) / 2
        if _slope(middle, sizes) < observed:
            low = middle
        else:
            high = middle
    t = (low + high) / 2
    cumulant = math.fsum(
        count * (abs(t * x) + math.log1p(math.exp(-2 * abs(t * x))) - math.log(2)) for x, count in sizes.items()
    )
    variance = math.fsum(count * (x / math.cosh(min(abs(t * x), 350.0))) ** 2 for x, count in sizes.items())
    w = math.copysign(math.sqrt(max(2 * (t * observed - cumulant), 0.0)), t)
    if abs(w) < _NEAR_ZERO:
        return math.erfc(-w / math.sqrt(2)) / 2
    r = w + math.log(t * math.sqrt(variance) / w) / w
    return math.erfc(-r / math.sqrt(2)) / 2


def _slope(t: float, sizes: Mapping[float, int]) -> float:
    """K'(t); `sizes` are the distinct |changes|, each with how many there are."""
    return math.fsum(count * x * math.tanh(t * x) for x, count in sizes.items())
