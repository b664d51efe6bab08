"""Which values a run lacks, what stands for them, and which of the baseline's compare."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import NamedTuple

from rankgate.metrics.base import Metric
from rankgate.model.scores import Scores
from rankgate.model.values import BEYOND, Direction

FEW = 0.01  # the share of queries that may lack a value without making what is left another sample


class Gaps(NamedTuple):
    """Rows without the key that a metric reads, now or in a baseline that has the query, and those that do not compare.

    `one_sided` are undefined in one run only, `other_judge` are pairs that do not name the same judge.
    """

    missing: list[int]
    missing_in_baseline: list[int]
    one_sided: list[int]
    other_judge: list[int]


def too_many(rows: Sized, among: int, share: float = FEW) -> bool:
    """Whether so many of the queries are more than this share, and more than one, unless the share is 0."""
    return len(rows) > (max(share * among, 1) if share else 0)


def gaps(metric: Metric, candidate: Scores, baseline: Scores | None) -> Gaps:
    """What is missing of a metric's values."""
    rows = Gaps([], [], [], [])
    now = candidate.givers.get(metric.name, {})
    baseline_givers = baseline.givers.get(metric.name, {}) if baseline else {}
    noted = {*now, *baseline_givers, *candidate.missing, *(baseline.missing if baseline else ())}
    values = candidate.values[metric.name]
    old_values = baseline_column(metric, baseline) if baseline else values
    fingerprints = True
    if now or baseline_givers:
        from rankgate.model.verdicts import fingerprints_count  # noqa: PLC0415 -- paid only where somebody gave values

        fingerprints = fingerprints_count(now, baseline_givers)
    for row, (query_id, new, old) in enumerate(zip(candidate.query_ids, values, old_values, strict=True)):
        if (new is None) == (old is None) and query_id not in noted:
            continue  # as good as every query
        if _lacks_value(metric, query_id, candidate):
            rows.missing.append(row)
        elif baseline and query_id not in baseline.new_queries:
            if _lacks_value(metric, query_id, baseline) and query_id not in baseline.unfit:
                rows.missing_in_baseline.append(row)
            elif (new is None) != (old is None):
                rows.one_sided.append(row)
            elif new is not None:
                same_judge = _same_giver(
                    metric, now.get(query_id), baseline_givers.get(query_id), fingerprints=fingerprints
                )
                if not same_judge:
                    rows.other_judge.append(row)
    return rows


def _lacks_value(metric: Metric, query_id: str, scores: Scores) -> bool:
    """Whether a run lacks what the metric reads of the query, although the gold defines it."""
    if scores.givers.get(metric.name, {}).get(query_id, "") is None:
        return True
    return metric.worst is None and bool(metric.needs) and query_id in scores.missing


def _same_giver(metric: Metric, one: str | None, other: str | None, *, fingerprints: bool) -> bool:
    """Whether two values are by one judge; a judge of ours is the model that was served."""
    if not hasattr(metric, "served"):
        return one == other
    from rankgate.model.verdicts import same_served  # noqa: PLC0415 -- paid only where answers are judged

    return same_served(one, other, fingerprints=fingerprints)


def at_worst(metric: Metric, columns: Sequence[Sequence[float | None]], rows: set[int]) -> list[float | None]:
    """The first of the columns with the metric's worst value, else the worst observed in any, in these rows.

    Of a quantile they lie beyond every observed value: the slowest times could be the ones that nobody stated.
    """
    seen = [value for column in columns for value in column if value is not None]
    end = min(seen) if metric.direction is Direction.HIGHER else max(seen)
    if metric.at_quantile is not None:
        end -= metric.direction.sign * (BEYOND + abs(end))
    worst = end if metric.worst is None else metric.worst
    return [worst if row in rows else value for row, value in enumerate(columns[0])]


def filled(metric: Metric, column: Sequence[float | None], rows: set[int], fraction: float) -> list[float | None]:
    """The column with a value where it lacks one in these rows: at this fraction between the worst and the best."""
    low = 0.0 if metric.low is None else metric.low
    high = 1.0 if metric.high is None else metric.high
    width = high - low
    value = low + fraction * width if metric.direction is Direction.HIGHER else high - fraction * width
    return [value if row in rows and known is None else known for row, known in enumerate(column)]


def baseline_column(metric: Metric, baseline: Scores) -> Sequence[float | None]:
    """The baseline's values, without the queries that are new to it: they compare with nothing.

    One that it was to answer and lacks has its worst value, as one of the run.

    Where the baseline states nowhere what the metric reads, or speaks of other ids, it has no value at all: texts that
    were not stored are not texts without the answer.
    """
    if metric.needs & baseline.unstated.keys() or metric.name in baseline.foreign:
        return [None] * len(baseline.query_ids)
    return without_new(baseline, baseline.values[metric.name])


def without_new(baseline: Scores, column: Sequence[float | None]) -> Sequence[float | None]:
    """A column without the values of the queries that are new to the baseline."""
    new = baseline.new_queries
    if not new:
        return column
    return [None if query in new else value for query, value in zip(baseline.query_ids, column, strict=True)]
