"""How likely a count is by chance alone: tails of the binomial and the hypergeometric distribution, and Holm."""

import math
from collections.abc import Mapping

_NEGLIGIBLE = 1e-18  # of the sum: a binomial probability below it cannot move the level


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


def holm(levels: Mapping[str | None, float], share: float, among: int) -> dict[str | None, float]:
    """The confidence of each of several two-sided tests by their one-sided levels: Holm's step-down.

    The k-th level (from 0) is judged at 1 − share / (among − k) and proven below half of that error; from the first
    that is not, all have the same confidence. Tests beyond those given, up to `among`, count as never proven.
    """
    order = sorted(levels, key=levels.__getitem__)
    confidences: dict[str | None, float] = {}
    for rank, name in enumerate(order):
        confidences[name] = 1 - share / (among - rank)
        if not levels[name] < (1 - confidences[name]) / 2:
            return confidences | dict.fromkeys(order[rank:], confidences[name])
    return confidences


def _log_ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
