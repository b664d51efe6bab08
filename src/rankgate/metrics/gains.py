"""Discounted cumulative gain. Undefined where the gold names no relevant document.

Source: Järvelin & Kekäläinen (2002), with the discount 1 / log2(rank + 1) that trec_eval uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from typing import ClassVar

from rankgate.metrics.base import BaseMetric, Cutoff, Unit
from rankgate.model import MatchedQuery


class Gain(Enum):
    """How a judged grade becomes a gain: as it is, 2^grade − 1, or 1 for every relevant document."""

    LINEAR = "linear"
    EXPONENTIAL = "exponential"
    BINARY = "binary"

    def __str__(self) -> str:
        return self.value


def discounted(hits: Iterable[tuple[int, float]], gain: Gain, limit: int) -> float:
    """Σ gain / log2(rank + 1) over (rank, grade) pairs up to the limit."""
    total = 0.0
    for rank, grade in hits:
        if rank > limit:
            break
        if gain is Gain.LINEAR:
            value = grade
        elif gain is Gain.EXPONENTIAL:
            value = math.expm1(grade * math.log(2))  # 2^grade − 1, also where the grade is tiny
        else:
            value = 1.0
        total += value / math.log2(rank + 1)
    return total


class DCG(BaseMetric, frozen=True, kw_only=True):
    """Discounted cumulative gain: each relevant document's gain, worth less the lower it stands.

    Unbounded above, so that values of different queries do not compare; gates usually want ndcg.
    Undefined where the gold names no relevant document.

    Attributes:
        gain: linear (the grade, default), exponential (2^grade − 1) or binary (1 for every relevant document).
    """

    gain: Gain = Gain.LINEAR

    key: ClassVar[str] = "dcg"
    formula: ClassVar[str] = "Σ_{i≤k} g_i / log2(i + 1)"
    default_cutoff: ClassVar[Cutoff] = Cutoff.WHOLE
    unit: ClassVar[Unit] = Unit.NUMBER
    high: ClassVar[float | None] = None
    plain: ClassVar[str] = "sum of the right documents' worth in {first}, less the lower they stand"

    def per_query(self, query: MatchedQuery) -> float | None:
        """Σ g_i / log2(i + 1); None where nothing is relevant."""
        return discounted(query.hits, self.gain, self.limit(query)) if query.ideal else None


class NDCG(DCG, frozen=True, kw_only=True):
    """DCG divided by the DCG of the best possible order of *all* relevant documents of the gold.

    The ideal list is cut at the same k, never at what was retrieved, so a run that found one of five documents does
    not score 1. Range 0 to 1; undefined where the gold names no relevant document.

    Attributes:
        gain: linear (the grade, default), exponential (2^grade − 1) or binary (1 for every relevant document).
    """

    key: ClassVar[str] = "ndcg"
    formula: ClassVar[str] = "dcg@k / dcg@k of all gold gains in their best order"
    unit: ClassVar[Unit] = Unit.SCORE
    high: ClassVar[float | None] = 1.0
    plain: ClassVar[str] = "how close {first} come to the best possible order, 1 = perfect"

    def per_query(self, query: MatchedQuery) -> float | None:
        """DCG over the ideal DCG; None where nothing is relevant."""
        if not query.ideal:
            return None
        limit = self.limit(query)
        ideal = discounted(enumerate(query.ideal, start=1), self.gain, limit)
        return min(1.0, discounted(query.hits, self.gain, limit) / ideal)  # rounding may end just above 1
