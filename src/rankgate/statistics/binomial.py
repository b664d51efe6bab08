"""What counting alone proves: tails of the binomial and the hypergeometric distribution, intervals of shares, Holm."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

Side = Literal["below", "above"]  # of a value: where the truth would be proven to lie, by the bound on the other side

_NEGLIGIBLE = 1e-18  # of the sum: a binomial probability below it cannot move the level
_SMALLEST = 1e-12  # a level below it is 0
_HALVINGS = 40  # of a share, and of a level's logarithm


def at_most(count: int, n: int, q: float) -> float:
    """P(B <= count) for B binomial (n, q), from the largest term of the smaller side until the rest cannot matter."""
    if not 0 <= count < n:
        return float(count >= n)
    if q in (0.0, 1.0):  # as 1 - q is of a smaller q than a float can add to 1
        return 1.0 - q
    if count > n * q:
        return 1 - at_most(n - count - 1, n, 1 - q)
    mass = math.exp(_log_ways(n, count) + count * math.log(q) + (n - count) * math.log1p(-q))
    total = 0.0
    while mass > total * _NEGLIGIBLE:
        total += mass
        mass *= count * (1 - q) / ((n - count + 1) * q)
        count -= 1
    return total


def at_least(count: int, n: int, q: float) -> float:
    """P(B >= count) for B binomial (n, q)."""
    return at_most(n - count, n, 1 - q)


def hypergeometric_tail(hits: int, drawn: int, marked: int, total: int) -> float:
    """P(X >= hits) where X of ``drawn`` without replacement are among the ``marked`` of ``total`` (Fisher's test)."""
    least, most = max(hits, drawn + marked - total, 0), min(drawn, marked)
    if hits <= max(0, drawn + marked - total):
        return 1.0
    ways = _log_ways(total, drawn)
    terms = (_log_ways(marked, x) + _log_ways(total - marked, drawn - x) - ways for x in range(least, most + 1))
    return min(1.0, math.fsum(map(math.exp, terms)))


def holm(levels: Mapping[str | None, float], share: float) -> dict[str | None, float]:
    """The confidence of each of several two-sided tests by their one-sided levels: Holm's step-down.

    Of n levels the k-th (from 0) is judged at 1 − share / (n − k) and proven below half of that error; from the first
    that is not, all have the same confidence.
    """
    order = sorted(levels, key=levels.__getitem__)
    confidences: dict[str | None, float] = {}
    for rank, name in enumerate(order):
        confidences[name] = 1 - share / (len(order) - rank)
        if not levels[name] < (1 - confidences[name]) / 2:
            return confidences | dict.fromkeys(order[rank:], confidences[name])
    return confidences


@lru_cache(maxsize=4096)  # thousands of segments have few questions each, and so the same counts
def share_interval(successes: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval for a share: neither bound misses with more than (1 - confidence) / 2, whatever the share is.

    The lower bound is the share p at which P(X >= successes) is that much for X binomial (n, p), the upper bound the
    one at which P(X <= successes) is; 0 and 1 where nothing succeeded or failed. Clopper & Pearson 1934.
    """
    tail = (1 - confidence) / 2
    return 1 - _most_likely(n - successes, n, tail), _most_likely(successes, n, tail)


def share_level(successes: int, n: int, value: float, *, side: Side) -> float:
    """The level at which the bound of ``share_interval`` touches ``value``: exact, by the binomial of that share."""
    if side == "above":
        return share_level(n - successes, n, 1 - value, side="below")
    if value * n <= successes:
        return 1.0
    return at_most(successes, n, value) if value < 1 else 0.0


def level_at(proven: Callable[[float], bool]) -> float:
    """The smallest level that is ``proven``, by bisection, where every larger one is: 0.0 below 1e-12, 1.0 for none."""
    low, high = math.log(_SMALLEST), math.log(0.5)
    if proven(_SMALLEST):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if proven(math.exp(middle)) else (middle, high)
    return math.exp(high) if high < math.log(0.5) else 1.0


def _log_ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _most_likely(count: int, n: int, tail: float) -> float:
    """The share of successes at which ``count`` of n, or fewer, are as unlikely as ``tail``; 1 where all succeeded."""
    if count == n:
        return 1.0
    low, high = count / n, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(count, n, middle) > tail else (low, middle)
    return high
