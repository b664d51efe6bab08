"""Metrics of the set within the cut-off: order inside it does not matter.

Notation: G = relevant ids of the gold, R_k = the first k retrieved ids, n = |G|. All are undefined where G is empty.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from rankgate.metrics.base import BaseMetric, Cutoff, RelevanceMetric
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Unit

Of = Literal["places", "retrieved"]
LARGEST_BETA = 1000  # beyond it F is recall to six decimals, and its square need not stay a number


class Hit(RelevanceMetric, frozen=True, kw_only=True):
    """Whether at least one relevant document is among the first k.

    Undefined without relevant documents. Source: trec_eval, success.
    """

    key: ClassVar[str] = "hit"
    aliases: ClassVar[tuple[str, ...]] = ("success", "hit_rate", "hit_ratio")
    formula: ClassVar[str] = "1 if R_k ∩ G ≠ ∅, else 0"
    judge_bounds: ClassVar[bool] = True
    spread: ClassVar[float | None] = 0.43
    plain: ClassVar[str] = "share of questions with at least one relevant document {in_first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None where nothing is relevant."""
        return float(bool(self.ranks(query))) if self.relevant(query) else None


class Recall(RelevanceMetric, frozen=True, kw_only=True):
    """Share of the relevant documents that are among the first k.

    With more than k relevant documents it cannot reach 1; capped_recall can. Undefined without relevant documents.
    Source: trec_eval, recall.
    """

    key: ClassVar[str] = "recall"
    aliases: ClassVar[tuple[str, ...]] = ("r",)
    formula: ClassVar[str] = "|R_k ∩ G| / n"
    spread: ClassVar[float | None] = None
    plain: ClassVar[str] = "share of the relevant documents found {in_first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """|R_k ∩ G| / n; None where nothing is relevant."""
        relevant = self.relevant(query)
        return len(self.ranks(query)) / relevant if relevant else None


class RecallAll(RelevanceMetric, frozen=True, kw_only=True):
    """Whether every relevant document is among the first k: what an answer from several sources needs.

    0 with more than k relevant documents; undefined without any. Source: LongMemEval (Wu et al. 2024), recall_all.
    """

    key: ClassVar[str] = "recall_all"
    formula: ClassVar[str] = "1 if G ⊆ R_k, else 0"
    spread: ClassVar[float | None] = 0.43
    plain: ClassVar[str] = "share of questions with every relevant document {in_first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None where nothing is relevant."""
        relevant = self.relevant(query)
        return float(len(self.ranks(query)) == relevant) if relevant else None


class CappedRecall(RelevanceMetric, frozen=True, kw_only=True):
    """Relevant documents among the first k, by how many could be there: all of them, or k.

    Equals recall where the gold names at most k documents. Undefined without relevant documents. Source: BEIR (Thakur
    et al. 2021), R_cap@k.
    """

    key: ClassVar[str] = "capped_recall"
    aliases: ClassVar[tuple[str, ...]] = ("recall_cap", "r_cap")
    formula: ClassVar[str] = "|R_k ∩ G| / min(n, k)"
    spread: ClassVar[float | None] = None
    plain: ClassVar[str] = "share of the relevant documents found {in_first}, as far as they have room"

    def per_query(self, query: MatchedQuery) -> float | None:
        """|R_k ∩ G| / min(n, k); None where nothing is relevant."""
        relevant = self.relevant(query)
        return min(1.0, len(self.ranks(query)) / min(relevant, self.limit(query))) if relevant else None


class WeightedRecall(BaseMetric, frozen=True, kw_only=True):
    """Share of the gold's gains that is among the first k: a document graded 3 counts three times one graded 1.

    Undefined without relevant documents. Source: the generalized recall of Kekäläinen & Järvelin (2002).
    """

    key: ClassVar[str] = "weighted_recall"
    aliases: ClassVar[tuple[str, ...]] = ("wrecall",)
    formula: ClassVar[str] = "Σ gains in R_k / Σ gains in G"
    ranking: ClassVar[bool] = True
    spread: ClassVar[float | None] = None
    plain: ClassVar[str] = "share of the relevant documents' worth found {in_first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """Found gains by all gains; None where nothing is relevant."""
        limit = self.limit(query)
        gained = sum(gain for rank, gain in query.hits if rank <= limit)
        return min(1.0, gained / sum(query.ideal)) if query.ideal else None


class Precision(RelevanceMetric, frozen=True, kw_only=True):
    """Share of the first k places that hold a relevant document.

    A list shorter than k still divides by k. `precision@all` and `of=retrieved` divide by the results that it has, and
    are 0 without any. Unless matching is by id, every item of a relevant document counts. Undefined without relevant
    documents. Source: trec_eval, P and set_P.

    Attributes:
        of: what precision divides by: places (k), or retrieved (the results within k).
    """

    of: Of = "places"

    key: ClassVar[str] = "precision"
    aliases: ClassVar[tuple[str, ...]] = ("p",)
    formula: ClassVar[str] = "|R_k ∩ G| / k"
    judge_bounds: ClassVar[bool] = True
    spread: ClassVar[float | None] = 0.2
    plain: ClassVar[str] = "share of {first} that {are} relevant"

    def per_query(self, query: MatchedQuery) -> float | None:
        """|R_k ∩ G| / k; None where nothing is relevant."""
        if not self.relevant(query):
            return None
        limit = self.limit(query)
        places = min(limit, query.retrieved) if self.of == "retrieved" or self.cutoff is Cutoff.WHOLE else limit
        return len(self.ranks(query, repeats=True)) / places if places else 0.0


class F(Precision, frozen=True, kw_only=True):
    """Weighted harmonic mean of precision (P) and recall (R) at k; 0 where both are 0.

    Undefined without relevant documents. Source: van Rijsbergen (1979); trec_eval, set_F.

    Attributes:
        beta: how many times as much recall counts as precision.
    """

    beta: float = 1.0

    key: ClassVar[str] = "f"
    aliases: ClassVar[tuple[str, ...]] = ()
    formula: ClassVar[str] = "(1 + β²) P R / (β² P + R)"
    judge_bounds: ClassVar[bool] = False
    unit: ClassVar[Unit] = Unit.SCORE
    plain: ClassVar[str] = "balance of finding the relevant documents {in_first} and showing few wrong ones"

    def __post_init__(self) -> None:
        if not 0 < self.beta <= LARGEST_BETA:
            raise ValueError(f"beta must lie above 0 and at most at {LARGEST_BETA}, not {self.beta:g}")

    def per_query(self, query: MatchedQuery) -> float | None:
        """F of precision and recall; None where nothing is relevant."""
        precision = Precision.per_query(self, query)
        if precision is None:
            return None
        recall = len(self.ranks(query)) / self.relevant(query)
        weight = self.beta * self.beta
        return (1 + weight) * precision * recall / (weight * precision + recall) if recall else 0.0
