"""Metrics of the set within the cut-off: order inside it does not matter.

Notation: G = relevant ids of the gold, R_k = the first k retrieved ids, n = |G|. All are undefined where G is empty.
"""

from __future__ import annotations

from typing import ClassVar

from rankgate.metrics.base import Cutoff, RelevanceMetric
from rankgate.model import MatchedQuery


class Hit(RelevanceMetric, frozen=True, kw_only=True):
    """Whether at least one relevant document is among the first k.

    Also called success@k and hit rate. Range 0 or 1; undefined where the gold names no relevant document.
    """

    key: ClassVar[str] = "hit"
    aliases: ClassVar[tuple[str, ...]] = ("success", "hit_rate")
    formula: ClassVar[str] = "1 if R_k ∩ G ≠ ∅, else 0"
    plain: ClassVar[str] = "share of questions with at least one right document in {first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None where nothing is relevant."""
        return float(bool(self.ranks(query))) if self.relevant(query) else None


class Recall(RelevanceMetric, frozen=True, kw_only=True):
    """Share of the relevant documents that are among the first k.

    With more than k relevant documents it cannot reach 1: eight relevant ones and k = 5 top out at 0.625.
    Range 0 to 1; undefined where the gold names no relevant document.
    """

    key: ClassVar[str] = "recall"
    aliases: ClassVar[tuple[str, ...]] = ("r",)
    formula: ClassVar[str] = "|R_k ∩ G| / n"
    plain: ClassVar[str] = "share of the right documents found in {first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """|R_k ∩ G| / n; None where nothing is relevant."""
        relevant = self.relevant(query)
        return len(self.ranks(query)) / relevant if relevant else None


class RecallAll(RelevanceMetric, frozen=True, kw_only=True):
    """Whether every relevant document is among the first k: what an answer from several sources needs.

    Range 0 or 1; undefined where the gold names no relevant document.
    """

    key: ClassVar[str] = "recall_all"
    formula: ClassVar[str] = "1 if G ⊆ R_k, else 0"
    plain: ClassVar[str] = "share of questions with every right document in {first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None where nothing is relevant."""
        relevant = self.relevant(query)
        return float(len(self.ranks(query)) == relevant) if relevant else None


class Precision(RelevanceMetric, frozen=True, kw_only=True):
    """Share of the first k places that hold a relevant document.

    A list shorter than k still divides by k; `precision@all` divides by the length of the list and is 0 for an empty
    one. Range 0 to 1; undefined where the gold names no relevant document.
    """

    key: ClassVar[str] = "precision"
    aliases: ClassVar[tuple[str, ...]] = ("p",)
    formula: ClassVar[str] = "|R_k ∩ G| / k"
    plain: ClassVar[str] = "share of {first} that are right documents"

    def per_query(self, query: MatchedQuery) -> float | None:
        """|R_k ∩ G| / k; None where nothing is relevant."""
        if not self.relevant(query):
            return None
        places = query.retrieved if self.cutoff is Cutoff.WHOLE else self.limit(query)
        return len(self.ranks(query)) / places if places else 0.0
