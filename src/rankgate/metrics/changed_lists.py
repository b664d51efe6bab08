"""Whether two runs return the same: the ids that a metric looks at, in their order, each once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Literal, NamedTuple

from rankgate.metrics.base import Cutoff, Metric
from rankgate.metrics.plan import Plan
from rankgate.model.scores import RankSummary, Scores
from rankgate.model.values import Ranking, RunField, Sample

_OTHER_LISTS = frozenset({RunField.RAW, RunField.REWRITES})


_Last = int | Literal[Cutoff.SAMPLE] | None


class _Part(NamedTuple):
    """What metrics look at of a line: the list to a rank, None for all of it, and whether the other lists too."""

    last: _Last
    other_lists: bool


class ListDigests:
    """Of each query of a run a number for each part of its line that metrics look at: equal parts have equal ones.

    A number holds for this process alone. What a whole list takes is then eight bytes, and no run is read again.
    """

    def __init__(self, plan: Plan, queries: int) -> None:
        self.depth = plan.depth
        self.default_k = plan.default_k
        parts = {metric.name: _part(metric) for metric in plan.metrics}
        self.columns = {part: array("q", bytes(8 * queries)) for part in dict.fromkeys(parts.values())}
        self.by_metric = {name: self.columns[part] for name, part in parts.items()}

    def add(self, row: int, sample: Sample, ranking: Ranking) -> None:
        """Note the lists of a query."""
        ids = ranking.ids if self.depth is None else ranking.ids[: self.depth]
        for (last, other_lists), column in self.columns.items():
            limit = (sample.k or self.default_k) if last is Cutoff.SAMPLE else last
            lists = ids if limit is None else ids[:limit]
            column[row] = hash((*lists, _other_lists(ranking, self.depth))) if other_lists else hash(tuple(lists))


def same_lists(metric: Metric, candidate: Scores, baseline: Scores) -> bool:
    """Whether all queries have the same scored list in both runs: ids within the metric's cut-off, each once.

    Where texts or passages are matched, the same ids may have other hits. Not known is not the same.
    """
    now = candidate.lists.get(metric.name)
    baseline_lists = baseline.lists.get(metric.name)
    if now is None or baseline_lists is None:
        return False
    values = candidate.values[metric.name]
    uncompared = baseline.new_queries | (candidate.missing & baseline.missing)  # those that neither has are the same
    missing = candidate.missing | baseline.missing
    for row, query_id in enumerate(candidate.query_ids):
        if values[row] is None or query_id in uncompared:
            continue
        if now[row] != baseline_lists[row] or query_id in missing:
            return False
        new, old = candidate.rank_summaries.get(query_id), baseline.rank_summaries.get(query_id)
        if new and old and new.ranks != old.ranks and _hits(metric, new) != _hits(metric, old):
            return False
    return True


def _part(metric: Metric) -> _Part:
    return _Part(_last(metric), bool(metric.needs & _OTHER_LISTS))


def _last(metric: Metric) -> _Last:
    """The last rank that the metric looks at, or that the sample says it; None where it is the last of the list."""
    if getattr(metric, "judged_only", False):  # what is below moves up
        return None
    if metric.cutoff is Cutoff.WHOLE or metric.cutoff is Cutoff.NONE:
        return None
    return metric.cutoff


def _other_lists(ranking: Ranking, depth: int | None) -> tuple[tuple[str, ...], ...]:
    details = ranking.details
    others = (details.raw, *(details.rewrites or ())) if details else ()
    return tuple([tuple(each.ids[:depth]) for each in others if each])


def _hits(metric: Metric, summary: RankSummary) -> Sequence[int | None]:
    last = _last(metric)
    limit = (summary.k if last is Cutoff.SAMPLE else last) or summary.retrieved or 0
    return [rank if rank and rank <= limit else None for rank in summary.ranks]
