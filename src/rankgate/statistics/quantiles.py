"""Quantiles, their exact intervals, and the interval and the exact test of their change: what latency gates compare."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, reduce

from rankgate.statistics.binomial import Side, at_most

Bounds = tuple[float | None, float | None]
_ROUNDING = 1e-12  # of the tail: 1 - 0.9 and (1 - 0.8) / 2 are the same number, as written
_HASTINGS_ABOVE = (0.010328, 0.802853, 2.515517)
_HASTINGS_BELOW = (0.001308, 0.189269, 1.432788, 1.0)
_HALVINGS = 55  # of a right angle, down to rounding


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution, as exact as floating point allows.

    Hastings' rational approximation (Abramowitz & Stegun 1964, 26.2.23; error below 4.5e-4), then two Halley steps on
    ``math.erfc``, each of which cubes the error. The standard library has the same function in ``statistics``, whose
    import costs more than a whole interval.

    Raises:
        ValueError: ``probability`` is not strictly between 0 and 1.
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability must lie strictly between 0 and 1, not {probability!r}")
    tail = min(probability, 1 - probability)
    if tail == 0.5:  # noqa: PLR2004 - the median
        return 0.0
    root = math.sqrt(-2 * math.log(tail))
    z = _polynomial(_HASTINGS_ABOVE, root) / _polynomial(_HASTINGS_BELOW, root) - root
    for _ in range(2):
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        step = (math.erfc(-z / math.sqrt(2)) / 2 - tail) / density
        z -= step / (1 + z * step / 2)
    return z if probability == tail else -z


@cache
def t_quantile(probability: float, df: int) -> float:
    """Quantile of Student's t for a ``probability`` from 0.5 to below 1 and whole degrees of freedom, to about 1e-12.

    P(|T| < t) is a finite sum of powers of cos(a), tan(a) = t / sqrt(df) (Abramowitz & Stegun 1964, 26.7.3 and
    26.7.4), and the angle a is found by bisection. It raises ValueError for anything else.
    """
    if not 0.5 <= probability < 1 or df < 1:  # noqa: PLR2004 - the median
        raise ValueError(f"no quantile of t at {probability!r} with {df!r} degrees of freedom")
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        angle = (low + high) / 2
        cosine = math.cos(angle)
        total = 0.0
        term = cosine if df % 2 else 1.0
        for i in range(1 + df % 2, df, 2):
            total += term
            term *= cosine * cosine * i / (i + 1)
        within = 2 / math.pi * (angle + total * math.sin(angle)) if df % 2 else total * math.sin(angle)
        low, high = (angle, high) if within < 2 * probability - 1 else (low, angle)
    return math.tan(low) * math.sqrt(df)


def quantile(values: Sequence[float], q: float) -> float:
    """Inverted CDF: the smallest value with at least ``q`` of the data at or below it.

    The ``ceil(n * q)``-th smallest (at least the first), so always a value that was observed. "At least" compares
    ``k / n`` with ``q`` as floats, so that 0.55 of 100 values is the 55th although ``100 * 0.55`` exceeds 55.
    Type 1 of Hyndman & Fan, 1996.

    Raises:
        ValueError: no values, a NaN among them, or ``q`` outside 0 to 1.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"q must lie between 0 and 1, not {q!r}")
    if not values:
        raise ValueError("no values have no quantile")
    return _ranked(values)[rank_of(len(values), q) - 1]


def quantile_interval(values: Sequence[float], q: float, *, confidence: float = 0.95) -> Bounds:
    """Exact order-statistic interval for the ``q``-quantile, free of any assumption about the distribution.

    The number B of n values at or below the true quantile is binomial (n, q). The lower bound is the l-th smallest
    value with the largest l for which P(B <= l - 1) <= (1 - confidence) / 2; the upper bound is the u-th with the
    smallest u for which P(B >= u) is. Each side misses with at most that probability, also where values are tied; the
    interval contains ``quantile(values, q)``. Conover 1999, section 3.2.

    Returns:
        Lower and upper bound. A bound that so few values cannot support is None: p90 at 95 % has an upper bound from
        36 values on, p99 from 368 on. No values: both None.

    Raises:
        ValueError: a NaN among the values; ``q`` or ``confidence`` not strictly between 0 and 1.
    """
    if not 0 < q < 1:
        raise ValueError(f"q must lie strictly between 0 and 1, not {q!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence!r}")
    if not values:
        return None, None
    ranked = _ranked(values)
    tail = (1 - confidence) / 2
    from_below = _outer_rank(len(ranked), q, tail)
    from_above = _outer_rank(len(ranked), 1 - q, tail)
    low = ranked[from_below - 1] if from_below else None
    high = ranked[-from_above] if from_above else None
    return low, high


def difference_of_quantiles_interval(
    candidate: Sequence[float], baseline: Sequence[float], q: float, *, confidence: float = 0.95
) -> Bounds:
    """Interval for the candidate's ``q``-quantile minus the baseline's, by square-and-add (MOVER).

    With estimates c and b and their intervals [lc, uc] and [lb, ub] from ``quantile_interval``:
    c - b - sqrt((c - lc)^2 + (ub - b)^2) and c - b + sqrt((uc - c)^2 + (b - lb)^2).
    Newcombe 1998, method 10; Zou & Donner 2008. The two sides count as independent; over the same queries they rise
    and fall together, which makes the interval too wide rather than too narrow. A bound is None where one of the two
    that it is made of is None. It raises as ``quantile_interval`` does.
    """
    if not candidate or not baseline:
        return None, None
    candidate_interval = quantile_interval(candidate, q, confidence=confidence)
    baseline_interval = quantile_interval(baseline, q, confidence=confidence)
    return square_and_add(quantile(candidate, q), candidate_interval, quantile(baseline, q), baseline_interval)


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


def square_and_add(here: float, around: Bounds, there: float, beside: Bounds) -> Bounds:
    """Interval for ``here`` - ``there`` from those of two independent estimates (MOVER); None where a bound lacks."""
    low = None if around[0] is None or beside[1] is None else math.hypot(here - around[0], beside[1] - there)
    high = None if around[1] is None or beside[0] is None else math.hypot(around[1] - here, there - beside[0])
    return None if low is None else here - there - low, None if high is None else here - there + high


def _ranked(values: Sequence[float]) -> list[float]:
    if any(map(math.isnan, values)):
        raise ValueError("NaN has no rank")
    return sorted(values)


def rank_of(n: int, q: float) -> int:
    """The smallest k from 1 to n with k / n >= q."""
    rank = min(max(math.ceil(n * q), 1), n)
    return rank - 1 if rank > 1 and (rank - 1) / n >= q else rank


def _outer_rank(n: int, q: float, tail: float) -> int:
    """The largest l with P(B <= l - 1) <= tail for B binomial (n, q); 0 if there is none."""
    to_the_middle = range(math.ceil(n * q) + 1)  # beyond it P(B <= l - 1) is at least one half
    return bisect_right(to_the_middle, tail * (1 + _ROUNDING), key=lambda rank: at_most(rank - 1, n, q)) - 1


def _polynomial(coefficients: Sequence[float], x: float) -> float:
    return reduce(lambda total, coefficient: total * x + coefficient, coefficients, 0.0)
