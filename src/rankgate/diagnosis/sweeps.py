"""Metrics also of no gate, for the run and for the baseline; recall and nDCG at growing cut-offs. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Literal

import msgspec

from rankgate.metrics.base import Metric, Together
from rankgate.metrics.gaps import baseline_column, without_new
from rankgate.metrics.matching import match
from rankgate.metrics.ranks import NDCG
from rankgate.metrics.sets import Recall
from rankgate.model.details import Sweep
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Ranking, RunField

GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100)
LEAST_RISE = 0.01  # from the first cut-off to the last: a curve that rises by less has no knee
LEAST_BEND = 0.05  # of the rise, above the straight line between the ends

Column = Sequence[float | None]
Row = Sequence[float | None]


def cutoffs_for(depth: int) -> tuple[int, ...]:
    """The cut-offs of a sweep over lists of at most so many results: no further than the first that holds them all."""
    return GRID[: bisect_left(GRID, depth) + 1]


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """A measure at growing cut-offs: by query of the gold its values in the run and, if there is one, the baseline.

    `defined` are the queries that have all of them.
    """

    measure: Literal["recall", "ndcg"]
    metrics: Sequence[Recall | NDCG]
    now: Sequence[Row]
    before: Sequence[Row] | None
    defined: Sequence[bool]


def swept_at(cutoffs: Sequence[int], gold: Gold, candidate: Scores, baseline: Scores | None) -> list[Swept]:
    """Both measures; one that does not compare with the baseline is defined nowhere."""
    measures: dict[Literal["recall", "ndcg"], type[Recall | NDCG]] = {"recall": Recall, "ndcg": NDCG}
    swept: list[Swept] = []
    for measure, family in measures.items():
        metrics = [family(cutoff=k) for k in cutoffs]
        now = matched_rows(metrics, gold, candidate)
        before = matched_rows(metrics, gold, baseline) if baseline else None
        defined = [None not in row for row in now]
        if baseline and before:
            comparable = baseline.foreign.isdisjoint(metric.name for metric in metrics)
            defined = [both and comparable and None not in row for both, row in zip(defined, before, strict=True)]
        swept.append(Swept(measure=measure, metrics=metrics, now=now, before=before, defined=defined))
    return swept


def sweeps_of(tag: str | None, rows: Sequence[int], swept: Sequence[Swept]) -> list[Sweep]:
    """The curves over some rows of the gold for which all runs have a value; none where nothing is defined on them."""
    sweeps: list[Sweep] = []
    for each in swept:
        kept = [row for row in rows if each.defined[row]]
        if not kept:
            continue
        cutoffs = tuple(metric.cutoff for metric in each.metrics if isinstance(metric.cutoff, int))
        candidate = _means(each.metrics, [each.now[row] for row in kept])
        baseline = _means(each.metrics, [each.before[row] for row in kept]) if each.before else None
        sweeps.append(
            Sweep(
                tag=tag,
                queries=len(kept),
                measure=each.measure,
                cutoffs=cutoffs,
                candidate=candidate,
                baseline=baseline,
                knee=knee(cutoffs, candidate),
                baseline_knee=knee(cutoffs, baseline) if baseline else None,
            )
        )
    return sweeps


def _means(metrics: Sequence[Metric], rows: Sequence[Row]) -> tuple[float, ...]:
    """Most rows are one and the same object: each counts as often as it is there."""
    counts = Counter(map(id, rows))
    by_id = {id(row): row for row in rows}
    means: list[float] = []
    for index, metric in enumerate(metrics):
        repeated = (repeat(by_id[each][index], times) for each, times in counts.items())
        means.append(metric.aggregate([value for value in chain.from_iterable(repeated) if value is not None]))
    return tuple(means)


def knee(cutoffs: Sequence[int], values: Sequence[float]) -> int | None:
    """The cut-off after which more results bring little: where the curve lies highest above the line between its ends.

    Both axes are scaled to 0 to 1, as in Kneedle (Satopää et al. 2011), with ln k as abscissa. None where the curve
    rises by less than `LEAST_RISE` or nowhere lies above the line by `LEAST_BEND`. The smallest of several.
    """
    if len(cutoffs) < 3:  # noqa: PLR2004 -- two points are a line
        return None
    rise = values[-1] - values[0]
    width = math.log(cutoffs[-1] / cutoffs[0])
    if rise < LEAST_RISE:
        return None
    above = [
        (value - values[0]) / rise - math.log(k / cutoffs[0]) / width for k, value in zip(cutoffs, values, strict=True)
    ]
    highest = max(above)
    return cutoffs[above.index(highest)] if highest >= LEAST_BEND else None


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
        columns |= {metric.name: [row[index] for row in rows] for index, metric in enumerate(others)}
    return columns


def matched_rows(metrics: Sequence[Metric], gold: Gold, scores: Scores) -> list[Row]:
    """A row for each query of the gold, in its order: the values of these metrics, None where one is undefined.

    A query that the run lacks takes the worst values, one that is new to a baseline none. Queries with the same lists
    and judgments may share one row object.
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
