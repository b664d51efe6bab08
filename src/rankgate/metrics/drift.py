"""How far the candidate's list moved from the baseline's for the same query. Drift, not quality: both may be right.

Undefined where there is no baseline, or where the baseline lacks the query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from rankgate.metrics.base import BaseMetric, Cutoff, Kind
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import RunField, Unit


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
