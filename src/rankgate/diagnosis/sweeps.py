"""Recall and nDCG at growing cut-offs, and where more results stop to bring much. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Literal

import msgspec

from rankgate.diagnosis.columns import Row, matched_rows
from rankgate.metrics.base import Metric
from rankgate.metrics.gains import NDCG
from rankgate.metrics.sets import Recall
from rankgate.model.details import Sweep
from rankgate.model.scores import Scores
from rankgate.model.values import Gold

GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100)
LEAST_RISE = 0.01  # from the first cut-off to the last: a curve that rises by less has no knee
LEAST_BEND = 0.05  # of the rise, above the straight line between the ends


def cutoffs_for(depth: int) -> tuple[int, ...]:
    """The cut-offs of a sweep over lists of at most so many results: no further than the first that holds them all."""
    within = [k for k in GRID if k < depth]
    return (*within, *[k for k in GRID if k >= depth][:1])


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
    for place, metric in enumerate(metrics):
        repeated = (repeat(by_id[each][place], times) for each, times in counts.items())
        means.append(metric.aggregate([value for value in chain.from_iterable(repeated) if value is not None]))
    return tuple(means)


def knee(cutoffs: Sequence[int], values: Sequence[float]) -> int | None:
    """The cut-off after which more results bring little: where the curve lies highest above the line between its ends.

    Both axes are scaled to 0 to 1, as in Kneedle (Satopää et al. 2011), with ln k as abscissa. None where the curve
    rises by less than `LEAST_RISE` or nowhere lies above the line by `LEAST_BEND`. The smallest of several.
    """
    if len(cutoffs) < 3:  # noqa: PLR2004 -- two points are a line
        return None
    rise, width = values[-1] - values[0], math.log(cutoffs[-1] / cutoffs[0])
    if rise < LEAST_RISE:
        return None
    above = [
        (value - values[0]) / rise - math.log(k / cutoffs[0]) / width for k, value in zip(cutoffs, values, strict=True)
    ]
    highest = max(above)
    return cutoffs[above.index(highest)] if highest >= LEAST_BEND else None
