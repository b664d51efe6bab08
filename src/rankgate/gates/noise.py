"""How much of a metric moves by itself, from repeated runs of one system on the same questions. Pure.

Approximate search, sampled rewrites and tied scores give another ranking each time. Between two runs of a system that
nobody touched, the mean change varies by q = s^2 / N, s being the standard deviation of the N paired differences, if
they come and go query by query. What they have in common, such as a rebuilt index, is seen only in the means of
the K runs, and of that few runs say little; so it is taken at its upper bound of 80 %::

    common  = max(0, 2 Var (K - 1) / chi2 - q)       chi2: the lower fifth of its distribution with K - 1 degrees
    margin  = 1.96 sqrt(q + common)                  for regression_max
    noise   = sqrt(max(0, 2 Var - q) / 2)            for the `noise:` of a gate, the standard deviation of one run

The bound comes before the subtraction: the variance of the means is what the runs are a sample of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import msgspec

from rankgate.metrics.base import Metric, widest_change
from rankgate.metrics.comparison import paired

MIN_RUNS = 3
_BEYOND = 1.9600  # standard errors, of which noise stays within 97.5 % of the time in one direction
_FIFTH = 0.8416  # standard deviations: below the mean of a normal distribution lies a fifth by so much
_LOWER_FIFTH = {2: 0.4463, 3: 1.0052, 4: 1.6488, 5: 2.3425, 6: 3.0701}  # of chi-squared; above, Wilson & Hilferty's


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """What a metric did between repeated runs of one system; every two runs are compared on the queries of both.

    `values` are those of each run; None where it is defined for no query. `largest` and `mean` are of the absolute
    differences between two runs, `moving` the share of the queries that move, on average, `n_pairs` the fewest that two
    runs have in common. `spread` is the standard deviation of the paired differences, as the root of the mean variance;
    None for one query. `margin` is a `regression_max` that a change without any effect does not violate; None for one
    query, for two runs, and for quantiles, which are no means. `noise` is what whole runs move by, as a standard
    deviation; None where there is no margin.
    """

    values: tuple[float | None, ...]
    largest: float
    mean: float
    moving: float
    spread: float | None
    n_pairs: int
    margin: float | None
    noise: float | None


def noise_of(metric: Metric, columns: Sequence[Sequence[float | None]]) -> Noise | None:
    """What moved between the runs, one column of values each; None where no two of them have a query in common."""
    found = [pairs for first, second in combinations(columns, 2) if (pairs := paired(metric, second, first))]
    if not found:
        return None
    compared = [pairs.compared(None) for pairs in found]
    shifts, fewest = [abs(each.delta) for each in compared], min(each.n_pairs for each in compared)
    spread = None
    if fewest > 1:  # the root of the mean variance
        samples = [(pairs.changes, math.fsum(pairs.changes) / len(pairs.changes)) for pairs in found]
        squares = [math.fsum((x - mean) ** 2 for x in changes) / (len(changes) - 1) for changes, mean in samples]
        spread = math.sqrt(math.fsum(squares) / len(squares))
    margin = noise = None
    if spread is not None and len(columns) >= MIN_RUNS and metric.at_quantile is None:
        # The mean squared shift between two of K runs is twice the variance of their means.
        twice, q, freedom = math.fsum(x * x for x in shifts) / len(shifts), spread**2 / fewest, len(columns) - 1
        common = max(0.0, twice * freedom / lower_fifth(freedom) - q)
        margin = min(_BEYOND * math.sqrt(q + common), widest_change(metric) or math.inf)
        noise = math.sqrt(max(0.0, twice - q) / 2)
    defined_columns = [[value for value in column if value is not None] for column in columns]
    return Noise(
        values=tuple(metric.aggregate(defined) if defined else None for defined in defined_columns),
        largest=max(shifts),
        mean=math.fsum(shifts) / len(shifts),
        moving=math.fsum((each.better + each.worse) / each.n_pairs for each in compared) / len(compared),
        spread=spread,
        n_pairs=fewest,
        margin=margin,
        noise=noise,
    )


def lower_fifth(freedom: int) -> float:
    """What chi-squared with so many degrees of freedom, at least 2, falls below in a fifth of all samples."""
    part = 2 / (9 * freedom)  # Wilson & Hilferty 1931: 0.3 % too high at 7, less above
    return _LOWER_FIFTH.get(freedom, freedom * (1 - part - _FIFTH * math.sqrt(part)) ** 3)


def judges_share(values: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """The part of a metric's variance over answers that is its judge's noise: with the repeats, and with one alone.

    `values` has the m >= 2 repeats of each answer. W, the mean variance within an answer, makes W / m of V, the
    variance of their means; so these are W / m / V and W / (V - W / m + W), 1 at most. None for fewer than two answers,
    and where all values are the same.
    """
    if len(values) <= 1:
        return None
    within = sum(map(_variance, values)) / len(values)
    noise = within / len(values[0])
    rest = max(_variance([sum(each) / len(each) for each in values]) - noise, 0.0)
    return (noise / (rest + noise), within / (rest + within)) if rest + noise > 0 else None


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
