"""Discounted cumulative gain. Undefined where the gold names no relevant document.

Source: Järvelin & Kekäläinen (2002), with the discount 1 / log2(rank + 1) that trec_eval uses unless theirs is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar, Literal

from rankgate.errors import bad_input, shown
from rankgate.metrics.base import BaseMetric, Cutoff
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Unit
from rankgate.readers.plain_samples import LARGEST_GAIN

Gain = Literal["linear", "exponential", "binary"]
Discount = Literal["log2", "jarvelin"]
Ideal = Literal["gold", "retrieved"]


def discounted(hits: Iterable[tuple[int, float]], gain: Gain, limit: int, discount: Discount = "log2") -> float:
    """Σ gain / discount over (rank, grade) pairs up to the limit."""
    total, taken = 0.0, 0
    for at, grade in hits:
        taken = rank = max(at, taken + 1)  # further passages of one item count at the next ranks that are free
        if rank > limit:
            break
        if gain == "linear":
            value = grade
        elif gain == "exponential":
            value = math.expm1(grade * math.log(2))  # 2^grade − 1, also where the grade is tiny
        else:
            value = 1.0
        total += value / (math.log2(rank + 1) if discount == "log2" else max(1.0, math.log2(rank)))
    return total


class DCG(BaseMetric, frozen=True, kw_only=True):
    """Discounted cumulative gain: each relevant document's gain, worth less the lower it stands.

    Values of different queries do not compare; ndcg does. Undefined without relevant documents. Source: Järvelin &
    Kekäläinen (2002), with trec_eval's discount unless theirs is given.

    Attributes:
        gain: linear (the grade), exponential (2^grade − 1) or binary (1 for every relevant document).
        discount: log2 (of rank + 1) or jarvelin (ranks 1 and 2 undiscounted, then log2 of the rank).
    """

    gain: Gain = "linear"
    discount: Discount = "log2"

    key: ClassVar[str] = "dcg"
    formula: ClassVar[str] = "Σ_{i≤k} g_i / log2(i + 1)"
    default_cutoff: ClassVar[Cutoff] = Cutoff.WHOLE
    unit: ClassVar[Unit] = Unit.NUMBER
    high: ClassVar[float | None] = None
    ranking: ClassVar[bool] = True
    plain: ClassVar[str] = "sum of the relevant documents' worth {in_first}, less the lower they stand"

    def per_query(self, query: MatchedQuery) -> float | None:
        """Σ g_i / discount; None where nothing is relevant."""
        return discounted(query.hits, self.gain, self.limit(query), self.discount) if query.ideal else None


class NDCG(DCG, frozen=True, kw_only=True):
    """DCG divided by the DCG of the best possible order of *all* relevant documents of the gold.

    The ideal list is cut at the same k, never at what was retrieved. Undefined without relevant documents. Source:
    Järvelin & Kekäläinen (2002); trec_eval, ndcg and ndcg_cut.

    Attributes:
        ideal: gold, or retrieved (the gains found within k, in their best order), to reproduce tools that do so; 0
            where nothing was found.
    """

    ideal: Ideal = "gold"

    key: ClassVar[str] = "ndcg"
    formula: ClassVar[str] = "dcg@k / dcg@k of all gold gains in their best order"
    unit: ClassVar[Unit] = Unit.SCORE
    high: ClassVar[float | None] = 1.0
    spread: ClassVar[float | None] = 0.23
    plain: ClassVar[str] = "how close {first} come{s} to the best possible order, 1 = perfect"

    def per_query(self, query: MatchedQuery) -> float | None:
        """DCG over the ideal DCG; None where nothing is relevant."""
        if not query.ideal:
            return None
        limit = self.limit(query)
        best = query.ideal
        if self.ideal == "retrieved":
            best = tuple(sorted((gain for rank, gain in query.hits if rank <= limit), reverse=True))
        ideal = discounted(enumerate(best, start=1), self.gain, limit, self.discount)
        gained = discounted(query.hits, self.gain, limit, self.discount)
        return min(1.0, gained / ideal) if ideal else 0.0  # rounding may end just above 1


class ERR(BaseMetric, frozen=True, kw_only=True):
    """Expected value of 1 / rank at which a reader from the top is satisfied, by a chance that the grade gives.

    Even the best list stays below 1. Undefined without relevant documents. Source: Chapelle et al. (2009); gdeval,
    whose highest grade is always 4.

    Attributes:
        max: the highest grade of the scale; a gain above it is an error.
    """

    max: float = 4.0

    key: ClassVar[str] = "err"
    formula: ClassVar[str] = "Σ_{i≤k} (1/i) s_i Π_{j<i} (1 − s_j), s_i = (2^g_i − 1) / 2^max"
    default_cutoff: ClassVar[Cutoff] = Cutoff.WHOLE
    unit: ClassVar[Unit] = Unit.SCORE
    judge_bounds: ClassVar[bool] = True
    ranking: ClassVar[bool] = True
    plain: ClassVar[str] = "how soon a reader of {first} is satisfied, 1 = at once"

    def __post_init__(self) -> None:
        if not 0 < self.max <= LARGEST_GAIN:
            raise ValueError(f"max must lie above 0 and at most at {LARGEST_GAIN}, not {self.max:g}")

    def per_query(self, query: MatchedQuery) -> float | None:
        """The expected 1 / rank; None where nothing is relevant, a RankgateError where a gain is above the highest."""
        if not query.ideal:
            return None
        if (top := query.ideal[0]) > self.max:
            what = f"{self.name}: query {shown(query.query_id)} of the gold set has the gain {top:g}"
            raise bad_input(f"{what}, above the highest grade, {self.max:g}; write err(max={top:g})")
        limit = self.limit(query)
        total = 0.0
        reads_on = 1.0
        for rank, grade in query.hits:
            if rank <= limit:
                satisfied = math.expm1(grade * math.log(2)) / 2**self.max
                total += reads_on * satisfied / rank
                reads_on *= 1 - satisfied
        return total
