"""The randomisation test of a paired mean: how often chance signs would move it as far as it moved.

If candidate and baseline were exchangeable on every query, each difference could as well have had the other sign. The
p-value is the share of all 2^m sign patterns of the m differences that are not zero whose sum is at least as far from
zero as the observed one. Fisher 1935; for retrieval Smucker, Allan & Carterette 2007. For experts: gates decide by
intervals, which ask something else, namely how far the mean may lie from what was seen.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

_FEW = 20
_MOST_WORK = 4_000_000  # machine words to add; about two milliseconds
_MOST_PARTS = 60  # of the smallest |d|: tried as the common unit
_MOST_UNITS = 1e6  # in the largest |d|: beyond it a multiple is no longer told from its neighbours by 1e-8
_ROUNDING = 1e-9  # of the largest |d|
_WHOLE = 1e-8
_STEPS = 200
_NEAR_ZERO = 1e-3


def sign_flip_p(differences: Iterable[float]) -> float:
    """The two-sided p-value of the mean of paired differences.

    Exact if at most 20 differences are not zero, or if all are multiples of one unit and not too many: by counting.
    All of one sign: 2^(1 - m). Otherwise by the saddlepoint of the sum of d_i with random signs::

        K(t) = sum_i log cosh(t d_i)    w = sqrt(2 (t S - K))    u = t sqrt(K'')    p ~ 2 (1 - Phi(w + log(u / w) / w))

    at the t where K'(t) = S = |sum d_i|, or half a lattice step before it where there is a lattice. What is only
    rounding, 1e-9 of the largest |d|, is no difference, between sums neither.

    Returns:
        Between 2^(1 - m), or the smallest float, and 1. 1.0 if all differences are zero, or none was given.

    Raises:
        ValueError: a difference is not finite.
    """
    given = list(differences)
    if not all(map(math.isfinite, given)):
        raise ValueError("a p-value needs finite differences")
    farthest = max(map(abs, given), default=0.0)
    moved = [x / farthest for x in given if abs(x) > _ROUNDING * farthest]
    sizes, observed = sorted(map(abs, moved)), abs(math.fsum(moved))
    if observed <= _ROUNDING:
        return 1.0
    if math.fsum(sizes) - observed <= _ROUNDING:
        return math.ldexp(1.0, 1 - len(moved))
    if len(sizes) <= _FEW:
        return _by_halves(sizes, observed)
    unit = _unit(sizes)
    if unit is None:
        return _by_saddlepoint(sizes, observed)
    multiples = [round(x / unit) for x in sizes]
    if len(sizes) ** 2 * sum(multiples) <= 64 * _MOST_WORK:
        return _by_counting(multiples, round(observed / unit))
    return _by_saddlepoint(sizes, max(observed - unit, 0.0))


def _by_halves(sizes: Sequence[float], observed: float) -> float:
    """Every pattern, as pairs of a sum of one half and a sum of the other."""
    middle = len(sizes) // 2
    one, other = _sums(sizes[:middle]), sorted(_sums(sizes[middle:]))
    least = observed - _ROUNDING
    far = sum(len(other) - bisect_left(other, least - x) for x in one)
    return 2 * far / (1 << len(sizes))


def _sums(sizes: Sequence[float]) -> list[float]:
    sums = [0.0]
    for size in sizes:
        sums = [*(x - size for x in sums), *(x + size for x in sums)]
    return sums


def _unit(sizes: Sequence[float]) -> float | None:
    """The largest unit, the smallest of the ascending ``sizes`` or a part of it, of which all are multiples."""
    distinct = sorted(set(sizes))
    for parts in range(1, _MOST_PARTS + 1):
        unit = sizes[0] / parts
        if sizes[-1] > _MOST_UNITS * unit:
            break
        if all(abs(x / unit - round(x / unit)) <= _WHOLE for x in distinct):
            return unit
    return None


def _by_counting(multiples: Sequence[int], observed: int) -> float:
    """Exact: how many patterns have which sum, one whole number with a field of m + 1 bits for each sum.

    With j units of the differences flipped to minus the sum is total - 2 j, so the product of (1 + x^multiple) has at
    x^j the number of patterns with that sum. Multiplying by it is one shift and one addition.
    """
    width, total, ways = len(multiples) + 1, sum(multiples), 1
    for multiple in multiples:
        ways += ways << multiple * width
    farthest = (total - observed) // 2
    ways &= (1 << (farthest + 1) * width) - 1
    far = ways % ((1 << width) - 1) if ways else 0  # the sum of the fields
    return min(2 * far / (1 << len(multiples)), 1.0)


def _by_saddlepoint(sizes: Sequence[float], observed: float) -> float:
    counts = sorted(Counter(sizes).items())
    low, high, variance = 0.0, math.inf, 0.0
    t = observed / math.fsum(size * x * x for x, size in counts)
    for _ in range(_STEPS):
        bends = [(size * x, math.tanh(t * x), x) for x, size in counts]
        mean = math.fsum(weight * bend for weight, bend, _ in bends)
        variance = math.fsum(weight * x * (1 - bend * bend) for weight, bend, x in bends)
        low, high = (t, high) if mean < observed else (low, t)
        step = (observed - mean) / variance if variance > 0 else 0.0
        if abs(step) <= _ROUNDING * t:
            break
        farthest = 2 * t if high == math.inf else high
        t = t + step if low < t + step < farthest else farthest if high == math.inf else (low + high) / 2
    if variance <= 0:  # all signs but a few agree, and t has no end
        return math.ldexp(1.0, 1 - len(sizes))
    cumulant = math.fsum(size * (t * x + math.log1p(math.exp(-2 * t * x)) - math.log(2)) for x, size in counts)
    w = math.sqrt(max(2 * (t * observed - cumulant), 0.0))
    r = w + math.log(t * math.sqrt(variance) / w) / w if w > _NEAR_ZERO else w
    return min(math.erfc(r / math.sqrt(2)), 1.0)
