"""Metrics that no gate asked for, from the matched queries of a check: one value a gold query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from rankgate.metrics.base import Metric, Together
from rankgate.metrics.comparison import baseline_column, on_rows, same_lists
from rankgate.metrics.matching import match
from rankgate.model.values import Gold, Need, Ranking, Sample, Scores

Column = Sequence[float | None]


class Columns(msgspec.Struct, frozen=True):
    """Metrics with their values for the run and, where there is one, for the baseline: a row a gold query."""

    metrics: Sequence[Metric]
    now: Mapping[str, Column]
    before: Mapping[str, Column] | None
    same: Callable[[Metric, Sequence[int]], bool] = lambda *_: False  # are the scored lists of these rows equal?


def columns_of(metrics: Sequence[Metric], gold: Gold, candidate: Scores, baseline: Scores | None) -> Columns:
    """The metrics' values, as the check scored them or from what it matched; without what the run states nothing of.

    A query that the run lacks has the metric's worst value, as in a check. The baseline has no value for a query that
    it lacks, nor for a metric that reads what it nowhere states, or the baseline itself.
    """
    shown = [metric for metric in metrics if not metric.needs & candidate.unstated.keys()]
    now = _columns(shown, gold, candidate, absent=True)
    if baseline is None:
        return Columns(shown, now, None)
    unknown = baseline.unstated.keys() | {Need.BASELINE}
    before: dict[str, Column] = {each.name: [None] * len(gold.samples) for each in shown if each.needs & unknown}
    known = [metric for metric in shown if metric.name not in before]
    before |= _columns(known, gold, baseline, absent=False)

    def same(metric: Metric, rows: Sequence[int]) -> bool:
        return same_lists(metric, on_rows(candidate, rows), on_rows(baseline, rows))

    return Columns(shown, now, before, same)


def _columns(metrics: Sequence[Metric], gold: Gold, scores: Scores, *, absent: bool) -> dict[str, Column]:
    """The values as they were scored, or from what was matched; a query that was not takes the worst, or none."""
    scored = {
        metric.name: scores.values[metric.name] if absent else baseline_column(metric, scores)
        for metric in metrics
        if metric.name in scores.values
    }
    others = [metric for metric in metrics if metric.name not in scored]
    values = Together(others).values

    def row_of(query_id: str, sample: Sample) -> list[float | None]:
        if (query := scores.matched.get(query_id)) is not None:
            return values(query)
        nothing = match(sample, Ranking(query_id, [])) if absent else None
        return [metric.absent(nothing) if nothing else None for metric in others]

    rows = [row_of(query_id, sample) for query_id, sample in gold.samples.items()]
    return {**scored, **{metric.name: [row[place] for row in rows] for place, metric in enumerate(others)}}
