"""How likely a count is by chance alone: tails of the binomial and the hypergeometric distribution."""

import math

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


def _log_ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
