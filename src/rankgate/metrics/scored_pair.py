"""Two runs, scored and compared query by query."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rankgate.metrics.base import Metric
from rankgate.metrics.changed_lists import same_lists
from rankgate.metrics.comparison import Comparison, compare
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.plan import Plan
from rankgate.metrics.requirements import require_fields, require_gold_queries
from rankgate.metrics.scored_baseline import scored_as_baseline
from rankgate.metrics.scored_run import ReadProgress, ScoredRun
from rankgate.metrics.scoring import ids_of
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, RunField
from rankgate.readers.base import RunSource

Compared = Comparison | Estimate | None  # an estimate where the metric compares with the run before by itself


def scored_pair(
    gold: Gold, sources: Sequence[RunSource], plan: Plan, progress: ReadProgress | None = None
) -> tuple[list[ScoredRun], dict[Metric, Compared]]:
    """Two runs, the one before first, each scored, and each metric compared query by query; raises what these do.

    What the plan reads `also` is for a page, which names documents.
    """
    runs = [run for run in (source.open(plan.needs) for source in sources) if run]
    # Both lists end where the shorter store cut them, so that no run is compared on ranks that the other lost.
    depth = min((run.depth for run in runs if run.depth), default=None)
    keep_matched = bool({RunField.BASELINE} & plan.needs or plan.also)
    plan = msgspec.structs.replace(plan, depth=depth, keep_matched=keep_matched, compared=True)
    both = list[ScoredRun]()
    for source, run in zip(sources, runs, strict=True):
        both.append(scored_as_baseline(gold, run, plan, source, progress))
        scores = both[-1].scores
        require_gold_queries(scores, run.name, gold)
        if run.depth is None:  # a stored baseline keeps what its gates read, and cannot be asked for more
            require_fields(scores, plan, run.name)
        plan = msgspec.structs.replace(plan, baseline_ids=ids_of(scores, plan))
    before, after = (each.scores for each in both)
    return both, {metric: _compared(metric, before, after) for metric in plan.metrics}


def _compared(metric: Metric, before: Scores, after: Scores) -> Compared:
    column = baseline_column(metric, after)
    if RunField.BASELINE in metric.needs:
        return estimate(column, metric, clusters=after.clusters)
    same = same_lists(metric, after, before)
    return compare(metric, column, baseline_column(metric, before), clusters=after.clusters, same=same)
