"""The one-sided level at which the bound of a quantile, or of a difference of two, touches a value."""

import math
from collections.abc import Sequence

from rankgate.statistics.quantiles import difference_of_quantiles_interval
from rankgate.statistics.saddlepoint import Side

_NEGLIGIBLE = 1e-18  # of the sum: a binomial probability below it cannot move the level
_SMALLEST = 1e-12  # a level below it is 0
_HALVINGS = 30  # of the level's logarithm: seven digits


def quantile_level(values: Sequence[float], q: float, value: float, *, side: Side) -> float | None:
    """The exact level at which the bound of ``quantile_interval`` touches ``value``.

    With B binomial (n, q): for side "below" and k values less than ``value``, P(B >= k); for "above" and j values not
    greater than it, P(B <= j). With "below", the upper bound at a confidence c lies below ``value`` where the level is
    at most (1 - c) / 2; with "above", the lower bound lies above it.

    Returns:
        The level; None without values.

    Raises:
        ValueError: a NaN among the values, or ``q`` not strictly between 0 and 1.
    """
    if not 0 < q < 1:
        raise ValueError(f"q must lie strictly between 0 and 1, not {q!r}")
    if any(map(math.isnan, values)):
        raise ValueError("NaN has no rank")
    if not values:
        return None
    if side == "below":  # P(B >= k) is P(n - B <= n - k), and n - B is binomial (n, 1 - q)
        return _at_most(len(values) - sum(x < value for x in values), len(values), 1 - q)
    return _at_most(sum(x <= value for x in values), len(values), q)


def difference_of_quantiles_level(
    candidate: Sequence[float], baseline: Sequence[float], q: float, value: float = 0.0, *, side: Side
) -> float | None:
    """The level at which the bound of ``difference_of_quantiles_interval`` touches ``value``, by bisection.

    The bounds move in steps, from one pair of observed values to the next; the level is that of the first step beyond
    ``value``, 0.0 if it is below 1e-12, and 1.0 if there is none.

    Returns:
        The level; None where one of the two sides has no values.

    Raises:
        ValueError: a NaN among the values, or ``q`` not strictly between 0 and 1.
    """
    if not candidate or not baseline:
        return None
    candidate, baseline = sorted(candidate), sorted(baseline)

    def proven(level: float) -> bool:
        lower, upper = difference_of_quantiles_interval(candidate, baseline, q, confidence=1 - 2 * level)
        return upper is not None and upper < value if side == "below" else lower is not None and lower > value

    low, high = math.log(_SMALLEST), math.log(0.5)
    if proven(_SMALLEST):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if proven(math.exp(middle)) else (middle, high)
    return math.exp(high) if high < math.log(0.5) else 1.0


def _at_most(count: int, n: int, q: float) -> float:
    """P(B <= count) for B binomial (n, q), from the largest term of the smaller side until the rest cannot matter."""
    if count >= n:
        return 1.0
    if count > n * q:
        return 1 - _at_most(n - count - 1, n, 1 - q)
    ways = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
    mass = math.exp(ways + count * math.log(q) + (n - count) * math.log1p(-q))
    total = 0.0
    while mass > total * _NEGLIGIBLE:
        total += mass
        mass *= count * (1 - q) / ((n - count + 1) * q)
        count -= 1
    return total
