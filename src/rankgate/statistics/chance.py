"""How likely a count is by chance alone: exact one-sided tails of the binomial and the hypergeometric distribution."""

from __future__ import annotations

import math


def binomial_tail(hits: int, trials: int, probability: float) -> float:
    """P(X ≥ hits) of X ~ Bin(trials, probability); 1 where `hits` is 0 or less, 0 where it exceeds `trials`."""
    if hits <= 0:
        return 1.0
    if probability in (0.0, 1.0):
        return probability if hits <= trials else 0.0
    yes, no = math.log(probability), math.log1p(-probability)
    terms = (_log_ways(trials, x) + x * yes + (trials - x) * no for x in range(hits, trials + 1))
    return min(1.0, math.fsum(map(math.exp, terms)))


def hypergeometric_tail(hits: int, drawn: int, marked: int, total: int) -> float:
    """P(X ≥ hits) where X of `drawn` without replacement are among the `marked` of `total` (Fisher's exact test)."""
    least, most = max(hits, drawn + marked - total, 0), min(drawn, marked)
    if hits <= max(0, drawn + marked - total):
        return 1.0
    ways = _log_ways(total, drawn)
    terms = (_log_ways(marked, x) + _log_ways(total - marked, drawn - x) - ways for x in range(least, most + 1))
    return min(1.0, math.fsum(map(math.exp, terms)))


def _log_ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
