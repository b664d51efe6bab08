"""How far the candidate's list moved from the baseline's, and whether it moved at all. Drift, not quality.

Both lists may be right. The metrics are undefined where there is no baseline, or where it lacks the query.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from rankgate.metrics.base import BaseMetric, Cutoff, Kind, Metric
from rankgate.metrics.plan import Plan
from rankgate.model.scores import MatchedQuery, RankSummary, Scores
from rankgate.model.values import Ranking, RunField, Sample, Unit

_OTHER_LISTS = frozenset({RunField.RAW, RunField.REWRITES})
_ANSWERS = frozenset({RunField.ANSWER, RunField.VERDICTS})
_Last = int | Literal[Cutoff.SAMPLE] | None


class Overlap(BaseMetric, frozen=True, kw_only=True):
    """Share of the first k results that the baseline has among its first k too.

    Drift, not quality. Two empty lists have 1. Undefined without the baseline's list.
    """

    key: ClassVar[str] = "overlap"
    formula: ClassVar[str] = "|A_k ∩ B_k| / max(|A_k|, |B_k|)"
    kind: ClassVar[Kind] = Kind.DRIFT
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.IDS, RunField.BASELINE})
    plain: ClassVar[str] = "share of {first} that the baseline showed too"

    def per_query(self, query: MatchedQuery) -> float | None:
        """Common by k; None without the baseline's list."""
        if query.baseline_ids is None:
            return None
        limit = self.limit(query)
        new, old = set(query.ids[:limit]), set(query.baseline_ids[:limit])
        return len(new & old) / max(len(new), len(old)) if new or old else 1.0


class RankBiasedOverlap(BaseMetric, frozen=True, kw_only=True):
    """Rank-biased overlap with the baseline's list, extrapolated (RBO_EXT): agreement in which the top weighs most.

    Drift, not quality. Past the end of the shorter list its overlap is carried on. Undefined without the baseline's
    list. Source: Webber, Moffat & Zobel (2010), equation 32.

    Attributes:
        p: the chance that a reader goes on to the next rank; 0.9 puts 86 % of the weight on the first ten.
    """

    p: float = 0.9
    cutoff: int | Cutoff = Cutoff.WHOLE

    key: ClassVar[str] = "rbo"
    formula: ClassVar[str] = "(1 − p)/p · Σ_{d≤l} o_d p^d + o_l p^l, o_d = overlap@d"
    default_cutoff: ClassVar[Cutoff] = Cutoff.WHOLE
    unit: ClassVar[Unit] = Unit.SCORE
    kind: ClassVar[Kind] = Kind.DRIFT
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.IDS, RunField.BASELINE})
    plain: ClassVar[str] = "how alike {first} and the baseline's are, 1 = the same"

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise ValueError(f"p must lie between 0 and 1, not {self.p:g}")

    def per_query(self, query: MatchedQuery) -> float | None:
        """RBO_EXT; None without the baseline's list."""
        if query.baseline_ids is None:
            return None
        limit = self.limit(query)
        return extrapolated(query.ids[:limit], query.baseline_ids[:limit], self.p)


def extrapolated(one: Sequence[str], other: Sequence[str], p: float) -> float:
    """RBO_EXT of two lists of distinct ids, of which X_d are in common at depth d and s <= l are the lengths.

    That is, and 1 for two empty lists::

    (1 - p)/p (Σ_{d≤l} X_d/d p^d + Σ_{s<d≤l} X_s (d - s)/(s d) p^d) + ((X_l - X_s)/l + X_s/s) p^l
    """
    shorter, longer = sorted((one, other), key=len)
    if not shorter:
        return 0.0 if longer else 1.0
    s, ranks = len(shorter), {item: rank for rank, item in enumerate(longer, start=1)}
    common_from = Counter(max(rank, ranks[item]) for rank, item in enumerate(shorter, start=1) if item in ranks)
    total = 0.0
    weight = 1.0
    common = common_at_s = 0
    for depth in range(1, len(longer) + 1):
        weight *= p
        common += common_from[depth]
        if depth <= s:
            common_at_s = common
        total += (common / depth + common_at_s * max(depth - s, 0) / (s * depth)) * weight
    rest = (common - common_at_s) / len(longer) + common_at_s / s
    return min(1.0, (1 - p) / p * total + rest * weight)  # rounding may end just above 1


class _Part(NamedTuple):
    """What metrics look at of a line: its list to a rank, or all of it, and whether other lists and the answer."""

    last: _Last
    other_lists: bool
    answer: bool


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
        for part, column in self.columns.items():
            limit = (sample.k or self.default_k) if part.last is Cutoff.SAMPLE else part.last
            lists = ids if limit is None else ids[:limit]
            beside: tuple[object, ...] = ()
            if part.other_lists:
                beside = (_other_lists(ranking, self.depth),)
            if part.answer:
                beside = (*beside, _answer(ranking))
            column[row] = hash((*lists, *beside))


def same_lists(metric: Metric, candidate: Scores, baseline: Scores) -> bool:
    """Whether all queries have the same scored list in both runs: ids within the metric's cut-off, each once.

    Where the metric is of answers, these are the same too.
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
    return _Part(_last(metric), bool(metric.needs & _OTHER_LISTS), bool(metric.needs & _ANSWERS))


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


def _answer(ranking: Ranking) -> tuple[object, ...]:
    """What was generated, and from what."""
    generated = ranking.details.generated if ranking.details else None
    if generated is None:
        return ()
    return generated.answer, generated.citations, generated.context, generated.abstained


def _hits(metric: Metric, summary: RankSummary) -> Sequence[int | None]:
    last = _last(metric)
    limit = (summary.k if last is Cutoff.SAMPLE else last) or summary.retrieved or 0
    return [rank if rank and rank <= limit else None for rank in summary.ranks]
