"""Two runs' scores of one metric, paired query by query."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from rankgate.estimates import CONFIDENCE, defined_only
from rankgate.metrics.base import Direction, Metric, widest_change
from rankgate.model import Interval, Scores
from rankgate.statistics.quantiles import difference_of_quantiles_interval
from rankgate.statistics.saddlepoint import difference_interval
from rankgate.statistics.sign_flips import sign_flip_p

FEW = 0.01  # the share of queries that may lack a value without making what is left another sample


class Gaps(NamedTuple):
    """Rows without the key that a metric reads, now or in a baseline that has the query, and those that do not compare.

    `one_sided` are undefined in one run only, `other_judge` are pairs that do not name the same judge.
    """

    missing: list[int]
    missing_before: list[int]
    one_sided: list[int]
    other_judge: list[int]


def too_many(rows: Sequence[int], among: int) -> bool:
    """Whether so many of the queries are more than 1 %, and more than one."""
    return len(rows) > max(FEW * among, 1)


def gaps(metric: Metric, candidate: Scores, baseline: Scores | None) -> Gaps:
    """What is missing of a metric's values."""
    found = Gaps([], [], [], [])
    now, before = (side.givers.get(metric.name, {}) if side else {} for side in (candidate, baseline))
    old_values = baseline_column(metric, baseline) if baseline else [None] * len(candidate.query_ids)
    for row, (query_id, new) in enumerate(zip(candidate.query_ids, candidate.values[metric.name], strict=True)):
        if now.get(query_id, "") is None or (metric.worst is None and metric.needs and query_id in candidate.missing):
            found.missing.append(row)
        elif baseline and query_id not in baseline.missing:
            if before.get(query_id, "") is None:
                found.missing_before.append(row)
            elif (new is None) != (old_values[row] is None):
                found.one_sided.append(row)
            elif new is not None and now.get(query_id) != before.get(query_id):
                found.other_judge.append(row)
    return found


def at_worst(metric: Metric, columns: Sequence[Sequence[float | None]], rows: set[int]) -> list[list[float | None]]:
    """The columns with the metric's worst value (else 0, or the worst observed) where they lack one in these rows."""
    seen = [value for column in columns for value in column if value is not None]
    end = min(0.0, *seen) if metric.direction is Direction.HIGHER else max(seen)
    worst = end if metric.worst is None else metric.worst
    return [[worst if row in rows and x is None else x for row, x in enumerate(column)] for column in columns]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of two runs over the queries for which both have a value.

    `better` and `worse` count the queries that moved in the metric's own direction and against it. `p` is the two-sided
    sign-flip p-value of the mean change, for experts: the decision is the interval's. `changes` are by query.
    """

    value: float
    baseline: float
    n_pairs: int
    better: int
    worse: int
    ci: Interval | None
    p: float | None = None
    changes: Sequence[float] = ()
    clusters: Sequence[str] = ()

    @property
    def delta(self) -> float:
        """The change, positive where the value rose."""
        return self.value - self.baseline


def compare(
    metric: Metric,
    candidate: Sequence[float | None],
    baseline: Sequence[float | None],
    *,
    with_interval: bool = True,
    with_p: bool = True,
    confidence: float = CONFIDENCE,
    clusters: Sequence[str] = (),
) -> Comparison | None:
    """Compare two columns query by query; None where no query has a value on both sides.

    With `clusters`, the label of each query's, the interval of a mean change is over clusters.
    """
    pairs = [(new, old) for new, old in zip(candidate, baseline, strict=True) if new is not None and old is not None]
    if not pairs:
        return None
    new_values, old_values = [new for new, _ in pairs], [old for _, old in pairs]
    risen, fallen = sum(new > old for new, old in pairs), sum(new < old for new, old in pairs)
    better, worse = (risen, fallen) if metric.direction is Direction.HIGHER else (fallen, risen)
    both = [None if new is None or old is None else new for new, old in zip(candidate, baseline, strict=True)]
    labels = defined_only(clusters, both)
    return Comparison(
        value=metric.aggregate(new_values),
        baseline=metric.aggregate(old_values),
        n_pairs=len(pairs),
        better=better,
        worse=worse,
        ci=_interval(metric, new_values, old_values, confidence, labels) if with_interval else None,
        p=_p_value(metric, new_values, old_values) if with_interval and with_p and not labels else None,
        changes=list(map(operator.sub, new_values, old_values)),
        clusters=labels,
    )


def _p_value(metric: Metric, new: Sequence[float], old: Sequence[float]) -> float | None:
    """Of the mean change; None for quantiles, which flip no signs, and where a value is not finite."""
    if metric.at_quantile is not None or not all(map(math.isfinite, [*new, *old])):
        return None
    return sign_flip_p(map(operator.sub, new, old))


def _interval(
    metric: Metric, new: Sequence[float], old: Sequence[float], confidence: float, clusters: Sequence[str]
) -> Interval | None:
    if not all(map(math.isfinite, [*new, *old])):
        return None
    if metric.at_quantile is not None:
        return difference_of_quantiles_interval(new, old, metric.at_quantile, confidence=confidence)
    widest = widest_change(metric)
    if clusters:
        from rankgate.statistics.clusters import clustered_difference_interval  # noqa: PLC0415 -- few gold sets have any

        changes = list(map(operator.sub, new, old))
        return clustered_difference_interval(changes, clusters, widest=widest, confidence=confidence)
    return difference_interval(map(operator.sub, new, old), widest=widest, confidence=confidence)


def baseline_column(metric: Metric, baseline: Scores) -> list[float | None]:
    """The baseline's values, without the queries that it lacks: they joined the gold later and compare with nothing.

    Where the baseline states nowhere what the metric reads, it has no value at all: texts that were not stored are not
    texts without the answer.
    """
    if metric.needs & baseline.silent.keys():
        return [None] * len(baseline.query_ids)
    column = baseline.values[metric.name]
    return [
        None if query_id in baseline.missing else value
        for query_id, value in zip(baseline.query_ids, column, strict=True)
    ]
