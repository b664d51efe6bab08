"""A run that another is compared with: which questions are new to it; and two runs, compared query by query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, compare
from rankgate.metrics.drift import same_lists
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.plan import Plan, require_fields, require_gold_queries
from rankgate.metrics.scored_run import ReadProgress, ScoredRun, scored
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, RunField
from rankgate.readers.base import Run, RunSource
from rankgate.readers.formats import fingerprint_of

Compared = Comparison | Estimate | None  # an estimate where the metric compares with the run before by itself


def as_baseline(gold: Gold, run: Run, scores: Scores) -> Scores:
    """The scores of a run that another is compared with: they know which questions are new to it.

    What else it lacks is a list without a result, as of the other run: not every format can write an empty one. What
    was accepted knows the gold set of its day, and a table has a row for every question of its own. A file says nothing
    of the kind. What it lacks may have joined the gold set since, and would pass for a gain that hides a loss.
    """
    new = scores.unasked.union(_unknown_queries(gold, run, scores))
    return msgspec.structs.replace(scores, new_queries=new) if new else scores


def _unknown_queries(gold: Gold, run: Run, scores: Scores) -> Collection[str]:
    """The missing questions that the gold set of a run did not have, as far as that is known."""
    mark = run.gold
    missing = scores.missing
    if not missing or not scores.listed:
        return ()
    if mark is not None and mark.judged is not None:
        return missing - mark.judged.keys()
    if mark is not None:  # the questions of a large gold set are not remembered one by one
        return () if mark.fingerprint == fingerprint_of(gold) else missing
    return missing


def scored_as_baseline(
    gold: Gold, run: Run, plan: Plan, source: RunSource, progress: ReadProgress | None = None
) -> ScoredRun:
    """A run that another is compared with; see `scored` and `as_baseline`."""
    baseline = scored(gold, run, plan, source, progress)
    return msgspec.structs.replace(baseline, scores=as_baseline(gold, run, baseline.scores))


def ids_of(scores: Scores, plan: Plan) -> Mapping[str, Sequence[str]]:
    """The lists of the matched queries, empty ones too, where a metric compares with them."""
    if RunField.BASELINE not in plan.needs:
        return {}
    return {query_id: query.ids for query_id, query in scores.matched.items()}


def scored_pair(
    gold: Gold, sources: Sequence[RunSource], plan: Plan, progress: ReadProgress | None = None
) -> tuple[list[ScoredRun], dict[Metric, Compared]]:
    """Two runs, the one before first, each scored, and each metric compared query by query.

    What the plan reads `also` is for a page, which names documents.
    """
    runs = [run for run in (source.open(plan.needs) for source in sources) if run]
    # Both lists end where the shorter store cut them, so that no run is compared on ranks that the other lost.
    depth = min((run.depth for run in runs if run.depth), default=None)
    keep_matched = RunField.BASELINE in plan.needs or bool(plan.also)
    plan = msgspec.structs.replace(plan, depth=depth, keep_matched=keep_matched, compared=True)
    both: list[ScoredRun] = []
    for source, run in zip(sources, runs, strict=True):
        both.append(scored_as_baseline(gold, run, plan, source, progress))
        scores = both[-1].scores
        require_gold_queries(scores, run.name, gold)
        if run.depth is None:  # a stored baseline keeps what its gates read, and cannot be asked for more
            require_fields(scores, plan, run.name)
        plan = msgspec.structs.replace(plan, baseline_ids=ids_of(scores, plan))
    first, second = (each.scores for each in both)
    return both, {metric: _compared(metric, first, second) for metric in plan.metrics}


def _compared(metric: Metric, first: Scores, second: Scores) -> Compared:
    column = baseline_column(metric, second)
    if RunField.BASELINE in metric.needs:
        return estimate(column, metric, clusters=second.clusters)
    same = same_lists(metric, second, first)
    return compare(metric, column, baseline_column(metric, first), clusters=second.clusters, same=same)


def in_numbers(pairs: Compared) -> dict[str, Any] | None:
    """As plain values; None where no query has a value in both."""
    if pairs is None:
        return None
    if isinstance(pairs, Estimate):
        return {"a": None, "b": pairs.value, "delta": None, "ci": pairs.ci, "n_pairs": pairs.n}
    change = {"a": pairs.baseline, "b": pairs.value, "delta": pairs.delta, "ci": pairs.ci, "n_pairs": pairs.n_pairs}
    return {**change, "better": pairs.better, "worse": pairs.worse}
