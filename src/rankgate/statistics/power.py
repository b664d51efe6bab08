"""What a gold set can see: the drop that a gate catches in four of five runs, and how many queries another would take.

The mean of N paired differences with standard deviation s has the standard error s / sqrt(N); z of them prove, where z
is the quantile of the normal distribution at 1 - (1 - confidence) / 2, and 0.84 more make the proof succeed in 80 % of
the runs::

    detectable drop   L + 0.84 s / sqrt(N)
    estimate          L = regression_max
    proven_harm       L = max(regression_max, z s / sqrt(N))
    proven_safe       L = max(regression_max - z s / sqrt(N), 0)
    provable margin   (z + 0.84) s / sqrt(N)

At a confidence of 95 %, z is 1.96 and the margin 2.80 s / sqrt(N). Holm's correction judges several segments at higher
confidences, each at one of its own; given that one, these are the segment's figures.

``proven_safe`` catches drops below its limit as well, and for want of proof many that are none: there the question is
the margin, the smallest regression_max under which a change without any effect passes in 80 % of the runs. The normal
approximation leaves out the observation that intervals append, which costs about widest / N more.
"""

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

from rankgate.statistics.counts import counts_of, mean_of, size_of
from rankgate.statistics.quantiles import normal_quantile

Evidence = Literal["estimate", "proven_safe", "proven_harm"]

MOST_QUERIES = 10**9  # nobody has more, and the arithmetic stays exact
_POWER = 0.8416  # of 80 % in one direction
_DIGITS = 4  # of both, as tables have them
_ENOUGH_CHANGED = 10
_RATE_SPREAD = 0.3


class Spread(NamedTuple):
    """A standard deviation of paired differences, and whether it was assumed for want of data."""

    value: float
    assumed: bool


def planning_spread(differences: Iterable[float], *, rate: bool) -> Spread | None:
    """The standard deviation to plan with: of the differences if at least 10 of them are not zero.

    Unchanged queries count, with N - 1 as divisor. With fewer changed, 0.3 for metrics from 0 to 1 (``rate``), which
    is what one query in eleven lost or won amounts to; None for others.

    Raises:
        ValueError: a difference is not finite.
    """
    counts = counts_of(differences)
    if sum(size for x, size in counts if x) < _ENOUGH_CHANGED:
        return Spread(_RATE_SPREAD, assumed=True) if rate else None
    mean, n = mean_of(counts), size_of(counts)
    return Spread(math.sqrt(math.fsum(size * (x - mean) ** 2 for x, size in counts) / (n - 1)), assumed=False)


def detectable_drop(
    evidence: Evidence, *, spread: float, queries: int, regression_max: float, confidence: float = 0.95
) -> float:
    """The true drop for which the gate is violated in 80 % of the runs.

    Raises:
        ValueError: no queries, a negative ``regression_max``, a ``spread`` that is not finite and at least 0, or a
            ``confidence`` that is not strictly between 0 and 1.
    """
    error = _error(spread, queries)
    proof = _proof(confidence) * error
    if not regression_max >= 0:
        raise ValueError(f"regression_max must be at least 0, not {regression_max!r}")
    limit = {
        "estimate": regression_max,
        "proven_harm": max(regression_max, proof),
        "proven_safe": max(regression_max - proof, 0.0),
    }[evidence]
    return limit + _POWER * error


def provable_margin(*, spread: float, queries: int, confidence: float = 0.95) -> float:
    """The smallest ``regression_max`` under which ``proven_safe`` passes a change without effect in 80 % of the runs.

    Raises:
        ValueError: no queries, a ``spread`` that is not finite and at least 0, or a ``confidence`` that is not strictly
            between 0 and 1.
    """
    return (_proof(confidence) + _POWER) * _error(spread, queries)


def queries_needed(
    evidence: Evidence, *, spread: float, drop: float, regression_max: float, confidence: float = 0.95
) -> int | None:
    """The fewest queries with which the gate keeps its promise.

    Under ``estimate`` and ``proven_harm``: a detectable drop of at most ``drop``. Under ``proven_safe``: a provable
    margin of at most ``regression_max``, whatever ``drop`` is.

    Returns:
        At least 1; None where no number of queries is enough, or more than a billion would be: a drop that is not
        beyond ``regression_max``, and a margin of 0.

    Raises:
        ValueError: a negative ``regression_max``, a ``spread`` that is not finite and at least 0, or a ``confidence``
            that is not strictly between 0 and 1.
    """

    def seen(queries: int) -> bool:
        if evidence == "proven_safe":
            return provable_margin(spread=spread, queries=queries, confidence=confidence) <= regression_max
        found = detectable_drop(
            evidence, spread=spread, queries=queries, regression_max=regression_max, confidence=confidence
        )
        return found <= drop

    if not seen(MOST_QUERIES) or (evidence != "proven_safe" and drop <= regression_max):
        return None
    low, high = 0, MOST_QUERIES  # what both measure falls as queries are added
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def _proof(confidence: float) -> float:
    """Standard errors of which the interval at this confidence reaches to either side."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence!r}")
    return round(-normal_quantile((1 - confidence) / 2), _DIGITS)


def _error(spread: float, queries: int) -> float:
    if queries < 1:
        raise ValueError(f"a mean needs queries, not {queries!r}")
    if not 0 <= spread < math.inf:
        raise ValueError(f"spread must be finite and at least 0, not {spread!r}")
    return spread / math.sqrt(queries)
