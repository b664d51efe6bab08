"""Whether two runs return the same: the ids that a metric looks at, in their order, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from rankgate.metrics.base import Cutoff, Metric
from rankgate.metrics.plan import Plan
from rankgate.model.scores import RankSummary, Scores
from rankgate.model.values import Gold, Ranking, RunField

Lists = Callable[[], Iterable[Ranking]]
_OTHER_LISTS = frozenset({RunField.RAW, RunField.REWRITES})


class _Line(NamedTuple):
    """The list of a query, cut at the depth, and the other lists of its line."""

    ids: Sequence[str]
    others: list[Sequence[str]]


def same_lists(metric: Metric, candidate: Scores, baseline: Scores) -> bool:
    """Whether all queries have the same scored list in both runs: ids within the metric's cut-off, each once.

    Hits that moved tell without a look at the lists; they are read only where no hit did. Not known is not the same.
    """
    rows = zip(candidate.query_ids, candidate.values.get(metric.name, candidate.query_ids), strict=True)
    uncompared = baseline.new_queries | (candidate.missing & baseline.missing)  # those that neither has are the same
    compared = [query_id for query_id, value in rows if value is not None and query_id not in uncompared]
    for query_id in compared:
        new, old = candidate.rank_summaries.get(query_id), baseline.rank_summaries.get(query_id)
        if new and old and new.ranks != old.ranks and _hits(metric, new) != _hits(metric, old):
            return False
    changed = baseline.relisted() if baseline.relisted else {}
    return bool(changed) and changed.get(metric.name, changed[""]).isdisjoint(compared)


def relisted(gold: Gold, plan: Plan, now: Lists, before: Lists) -> Callable[[], Mapping[str, frozenset[str]]]:
    """By metric the queries whose scored lists differ between two runs, and under "" those of which anything does.

    Both are read once more when it is first asked, so that only a run that seems unchanged pays for it. `now` and
    `before` give their lists from the beginning, or none where they cannot be read again: then all of them differ.
    """

    @cache
    def read() -> Mapping[str, frozenset[str]]:
        names = ["", *(metric.name for metric in plan.metrics)]
        changed: dict[str, set[str]] = {name: set() for name in names}
        unpaired = set(gold.samples)
        for query_id, new, old in _pairs(_of_gold(gold, plan, now()), _of_gold(gold, plan, before())):
            unpaired.discard(query_id)
            if new != old:
                for name in _changed_for(plan.metrics, gold.samples[query_id].k or plan.default_k, new, old):
                    changed[name].add(query_id)
        return {name: frozenset(unpaired | queries) for name, queries in changed.items()}

    return read


def _of_gold(gold: Gold, plan: Plan, rankings: Iterable[Ranking]) -> Iterator[tuple[str, _Line]]:
    for ranking in rankings:
        if ranking.query_id in gold.samples:
            details = ranking.details
            others = [details.raw, *(details.rewrites or ())] if details else []
            yield ranking.query_id, _Line(list(ranking.ids[: plan.depth]), [list(each.ids) for each in others if each])


def _pairs(now: Iterator[tuple[str, _Line]], before: Iterator[tuple[str, _Line]]) -> Iterator[tuple[str, _Line, _Line]]:
    """The lines of each query that both runs have. Only those wait in memory that stand elsewhere in the other run."""
    waiting_now: dict[str, _Line] = {}
    waiting_before: dict[str, _Line] = {}
    for new, old in zip_longest(now, before):
        if new and old and new[0] == old[0]:
            yield *new, old[1]
            continue
        if new:
            waiting_now[new[0]] = new[1]
        if old:
            waiting_before[old[0]] = old[1]
        for query_id in [each[0] for each in (new, old) if each]:
            if query_id in waiting_now and query_id in waiting_before:
                yield query_id, waiting_now.pop(query_id), waiting_before.pop(query_id)


def _changed_for(metrics: Sequence[Metric], default_k: int, new: _Line, old: _Line) -> Iterator[str]:
    """The metrics that look at what differs, and "" for that anything does."""
    yield ""
    for metric in metrics:
        limit = _limit(metric, default_k)
        reads_others = bool(metric.needs & _OTHER_LISTS)
        if new.ids[:limit] != old.ids[:limit] or (reads_others and new.others != old.others):
            yield metric.name


def _limit(metric: Metric, k: int) -> int | None:
    """The last rank that the metric looks at; None where it is the last of the list."""
    if getattr(metric, "judged_only", False):  # what is below moves up
        return None
    if isinstance(metric.cutoff, int):
        return metric.cutoff
    return k if metric.cutoff is Cutoff.SAMPLE else None


def _hits(metric: Metric, summary: RankSummary) -> list[int | None]:
    limit = _limit(metric, summary.k) or summary.retrieved or 0
    return [rank if rank and rank <= limit else None for rank in summary.ranks]
