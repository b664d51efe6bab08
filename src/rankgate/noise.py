"""How much of a metric moves by itself, from repeated runs of one system on the same questions. Pure.

Approximate search, sampled rewrites and tied scores give another ranking each time. Between two runs of a system that
nobody touched, the mean change has the standard error s / sqrt(N), s being the standard deviation of the N paired
differences if they come and go query by query; what they have in common, such as an index built anew, is seen only in
the shifts of the means. The margin allows for both::

    margin = largest observed shift + 1.96 s / sqrt(N)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from rankgate.comparison import compare
from rankgate.metrics.base import Metric, widest_change

_BEYOND = 1.9600  # standard errors, of which noise stays within 97.5 % of the time in one direction


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """What a metric did between repeated runs of one system; every two runs are compared on the queries of both.

    Attributes:
        values: the metric of each run; None where it is defined for no query.
        largest: the largest absolute difference between two runs.
        mean: the mean of the absolute differences.
        moving: the share of the queries that move between two runs, on average.
        spread: the standard deviation of the paired differences, as the root of the mean variance; None for one query.
        n_pairs: the fewest queries that two runs have in common.
        margin: a `regression_max` that a change without any effect does not violate; None for one query, and for
            quantiles, which are no means.
    """

    values: tuple[float | None, ...]
    largest: float
    mean: float
    moving: float
    spread: float | None
    n_pairs: int
    margin: float | None


def noise_of(metric: Metric, columns: Sequence[Sequence[float | None]]) -> Noise | None:
    """What moved between the runs, one column of values each; None where no two of them have a query in common."""
    compared = [
        (found, differences)
        for first, second in combinations(columns, 2)
        if (found := compare(metric, second, first, with_interval=False))
        if (differences := list(_differences(first, second)))
    ]
    if not compared:
        return None
    shifts = [abs(found.delta) for found, _ in compared]
    fewest, largest = min(found.n_pairs for found, _ in compared), max(shifts)
    spread = _root_mean_variance([differences for _, differences in compared]) if fewest > 1 else None
    return Noise(
        values=tuple(_value(metric, column) for column in columns),
        largest=largest,
        mean=math.fsum(shifts) / len(shifts),
        moving=math.fsum((found.better + found.worse) / found.n_pairs for found, _ in compared) / len(compared),
        spread=spread,
        n_pairs=fewest,
        margin=None if spread is None else _margin(metric, largest, spread / math.sqrt(fewest)),
    )


def _margin(metric: Metric, largest: float, error: float) -> float | None:
    if metric.at_quantile is not None:
        return None
    margin, widest = largest + _BEYOND * error, widest_change(metric)
    return margin if widest is None else min(margin, widest)


def _value(metric: Metric, column: Sequence[float | None]) -> float | None:
    defined = [value for value in column if value is not None]
    return metric.aggregate(defined) if defined else None


def _differences(first: Sequence[float | None], second: Sequence[float | None]) -> Iterator[float]:
    pairs = ((old, new) for old, new in zip(first, second, strict=True) if old is not None and new is not None)
    return (operator.sub(new, old) for old, new in pairs)


def _root_mean_variance(samples: Sequence[Sequence[float]]) -> float:
    variances = []
    for differences in samples:
        mean = math.fsum(differences) / len(differences)
        variances.append(math.fsum((x - mean) ** 2 for x in differences) / (len(differences) - 1))
    return math.sqrt(math.fsum(variances) / len(variances))
