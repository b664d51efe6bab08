"""What counting alone proves: of shares, of quantiles, and of the change of a quantile."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from rankgate.statistics.chance import at_most
from rankgate.statistics.quantiles import quantile, rank_of
from rankgate.statistics.saddlepoint import Side

_SMALLEST = 1e-12  # a level below it is 0
_HALVINGS = 40  # of a share, and of a level's logarithm


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


def swap_p(candidate: Sequence[float], baseline: Sequence[float], q: float, *, side: Side) -> tuple[float, float]:
    """One-sided p-value of the exact within-pair swap test: did the ``q``-quantile move to this side of the baseline's.

    If nothing changed, each pair could as well have come the other way round. With u the baseline's observed quantile,
    D the pairs of which exactly one side lies beyond u, B those of which both do, and k the most values that can lie
    beyond a quantile (n - ceil(n q) above it, ceil(n q) - 1 below), p = P(Bin(D, 1/2) <= k - B): how often tossing the
    sides would leave the baseline with as few values beyond u. For pairs whatever n is, also where there is no bound.

    Returns:
        p, and 2^-D, the least that it could have been.

    Raises:
        ValueError: no pairs, a NaN among the baseline's values, or ``q`` outside 0 to 1.
    """
    u = quantile(baseline, q)
    n = len(baseline)
    beyond = [
        (new > u, old > u) if side == "above" else (new < u, old < u)
        for new, old in zip(candidate, baseline, strict=True)
    ]
    most = n - rank_of(n, q) if side == "above" else rank_of(n, q) - 1
    one_sided, both = sum(new != old for new, old in beyond), sum(new and old for new, old in beyond)
    return at_most(most - both, one_sided, 0.5), math.ldexp(1.0, -one_sided)


def level_at(proven: Callable[[float], bool]) -> float:
    """The smallest level that is ``proven``, by bisection, where every larger one is: 0.0 below 1e-12, 1.0 for none."""
    low, high = math.log(_SMALLEST), math.log(0.5)
    if proven(_SMALLEST):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if proven(math.exp(middle)) else (middle, high)
    return math.exp(high) if high < math.log(0.5) else 1.0


def _most_likely(count: int, n: int, tail: float) -> float:
    """The share of successes at which ``count`` of n, or fewer, are as unlikely as ``tail``; 1 where all succeeded."""
    if count == n:
        return 1.0
    low, high = count / n, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(count, n, middle) > tail else (low, middle)
    return high
