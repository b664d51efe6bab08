"""Recall and nDCG at growing cut-offs, and where the curve bends. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from rankgate.diagnosis.columns import Column, Columns
from rankgate.metrics.base import Metric
from rankgate.metrics.gains import NDCG
from rankgate.metrics.sets import Recall
from rankgate.model.details import Sweep

GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100)
LEAST_RISE = 0.01  # from the first cut-off to the last: a curve that rises by less has no knee
LEAST_BEND = 0.05  # of the rise, above the straight line between the ends


def cutoffs_for(depth: int) -> tuple[int, ...]:
    """The cut-offs of a sweep over lists of at most so many results: no further than the first that holds them all."""
    within = [k for k in GRID if k < depth]
    return (*within, *[k for k in GRID if k >= depth][:1])


def sweep_metrics(cutoffs: Sequence[int]) -> list[Metric]:
    """What has to be scored for a sweep."""
    return [family(cutoff=k) for family in (Recall, NDCG) for k in cutoffs]


def sweeps_of(tag: str | None, rows: Sequence[int], cutoffs: Sequence[int], columns: Columns) -> list[Sweep]:
    """Both curves over some rows of the gold; none where nothing is defined on them.

    With a baseline both are over the queries for which both runs have a value, so that the curves can be compared.
    """
    sweeps: list[Sweep] = []
    measures: dict[Literal["recall", "ndcg"], type[Recall | NDCG]] = {"recall": Recall, "ndcg": NDCG}
    for measure, family in measures.items():
        metrics = [family(cutoff=k) for k in cutoffs]
        both = [side for side in (columns.now, columns.before) if side is not None]
        kept = [row for row in rows if all(side[metrics[0].name][row] is not None for side in both)]
        if not kept:
            continue
        candidate, *others = [[_mean(each, side[each.name], kept) for each in metrics] for side in both]
        baseline = others[0] if others else None
        sweeps.append(
            Sweep(
                tag=tag,
                queries=len(kept),
                measure=measure,
                cutoffs=tuple(cutoffs),
                candidate=tuple(candidate),
                baseline=tuple(baseline) if baseline else None,
                knee=knee(cutoffs, candidate),
                baseline_knee=knee(cutoffs, baseline) if baseline else None,
            )
        )
    return sweeps


def knee(cutoffs: Sequence[int], values: Sequence[float]) -> int | None:
    """The cut-off after which more results bring little: where the curve lies highest above the line between its ends.

    Both axes are scaled to 0 to 1, as in Kneedle (Satopää et al. 2011), with ln k as abscissa. None where the curve
    rises by less than `LEAST_RISE` or nowhere lies above the line by `LEAST_BEND`. The smallest of several.
    """
    rise, width = values[-1] - values[0], math.log(cutoffs[-1] / cutoffs[0])
    if len(cutoffs) < 3 or rise < LEAST_RISE:  # noqa: PLR2004 -- two points are a line
        return None
    above = [
        (value - values[0]) / rise - math.log(k / cutoffs[0]) / width for k, value in zip(cutoffs, values, strict=True)
    ]
    highest = max(above)
    return cutoffs[above.index(highest)] if highest >= LEAST_BEND else None


def _mean(metric: Metric, column: Column, rows: Sequence[int]) -> float:
    return metric.aggregate([value for row in rows if (value := column[row]) is not None])
