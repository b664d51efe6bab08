"""Metrics with their values for the run and for the baseline, also of those that no gate has. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rankgate.metrics.base import Metric, Together
from rankgate.metrics.gaps import baseline_column, without_new
from rankgate.metrics.matching import match
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Ranking, RunField

Column = Sequence[float | None]
Row = Sequence[float | None]


class Columns(msgspec.Struct, frozen=True):
    """Metrics with their values for the run and, where there is one, for the baseline: a row a gold query."""

    metrics: Sequence[Metric]
    now: Mapping[str, Column]
    before: Mapping[str, Column] | None


def columns_of(metrics: Sequence[Metric], gold: Gold, candidate: Scores, baseline: Scores | None) -> Columns:
    """The metrics' values, as the check scored them or from what it matched; without what the run states nothing of.

    A query that a run lacks has the metric's worst value, as in a check. The baseline has no value for a query that is
    new to it, nor for a metric that reads what it nowhere states, or the baseline itself.
    """
    stated = [metric for metric in metrics if not metric.needs & candidate.unstated.keys()]
    now = _columns(stated, gold, candidate)
    if baseline is None:
        return Columns(stated, now, None)
    unknown = baseline.unstated.keys() | {RunField.BASELINE}
    before: dict[str, Column] = {each.name: [None] * len(gold.samples) for each in stated if each.needs & unknown}
    known = [metric for metric in stated if metric.name not in before]
    before |= _columns(known, gold, baseline)
    return Columns(stated, now, before)


def _columns(metrics: Sequence[Metric], gold: Gold, scores: Scores) -> dict[str, Column]:
    """The values as they were scored, or from what was matched."""
    columns: dict[str, Column] = {}
    others: list[Metric] = []
    for metric in metrics:
        if metric.name in scores.values:
            columns[metric.name] = baseline_column(metric, scores)
        elif metric.name in scores.beside:
            columns[metric.name] = without_new(scores, scores.beside[metric.name])
        else:
            others.append(metric)
    if others:
        rows = matched_rows(others, gold, scores)
        columns |= {metric.name: [row[place] for row in rows] for place, metric in enumerate(others)}
    return columns


def matched_rows(metrics: Sequence[Metric], gold: Gold, scores: Scores) -> list[Row]:
    """By query the values of these metrics, from what was matched; queries alike share theirs.

    One that the run lacks takes the worst, one that is new to a baseline none.
    """
    values = Together(metrics).values
    nothing = [None] * len(metrics)
    absent = scores.missing - scores.new_queries
    rows: list[Row] = []
    for query_id, sample in gold.samples.items():
        query = scores.matched.get(query_id)
        if query is not None:
            rows.append(values(query))
        elif query_id in absent:
            empty = match(sample, Ranking(query_id, []))
            rows.append([metric.absent(empty) for metric in metrics])
        else:
            rows.append(nothing)
    return rows
