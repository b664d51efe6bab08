"""Metrics of the ranks at which relevant documents stand. Undefined where the gold names none."""

from __future__ import annotations

from typing import ClassVar

from rankgate.metrics.base import Cutoff, RelevanceMetric
from rankgate.model.values import MatchedQuery, Unit


class ReciprocalRank(RelevanceMetric, frozen=True, kw_only=True):
    """One over the rank of the first relevant document; its mean over queries is the MRR.

    0 when no relevant document is within the cut-off. Without a number the whole list counts. Range 0 to 1; undefined
    where the gold names no relevant document. Source: Voorhees (1999), The TREC-8 question answering track report.
    """

    key: ClassVar[str] = "mrr"
    aliases: ClassVar[tuple[str, ...]] = ("rr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank")
    formula: ClassVar[str] = "1 / rank of the first relevant document; 0 when none"
    default_cutoff: ClassVar[Cutoff] = Cutoff.WHOLE
    unit: ClassVar[Unit] = Unit.SCORE
    judge_bounds: ClassVar[bool] = True
    plain: ClassVar[str] = "how high the first right document stands in {first}, 1 = always first"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1 / first relevant rank; None where nothing is relevant."""
        if not self.relevant(query):
            return None
        ranks = self.ranks(query)
        return 1 / ranks[0] if ranks else 0.0


class AveragePrecision(RelevanceMetric, frozen=True, kw_only=True):
    """Mean of the precision at each relevant document's rank; its mean over queries is MAP.

    Relevant documents that are not retrieved count as precision 0. Written `map` over the whole list, `ap@k` with a
    cut-off; divided by all relevant documents, also where they are more than k. Range 0 to 1; undefined where the gold
    names no relevant document. Source: Harman (1992); trec_eval, map and map_cut.
    """

    key: ClassVar[str] = "ap"
    aliases: ClassVar[tuple[str, ...]] = ("map",)
    formula: ClassVar[str] = "(1/n) Σ_{i≤k} P@i · rel_i"
    default_cutoff: ClassVar[Cutoff] = Cutoff.WHOLE
    unit: ClassVar[Unit] = Unit.SCORE
    plain: ClassVar[str] = "how high all right documents stand in {first}, 1 = all at the top"

    @property
    def stem(self) -> str:
        """`map` over the whole list, as the field writes it; `ap` with a cut-off."""
        return "map" if self.cutoff is Cutoff.WHOLE else "ap"

    def per_query(self, query: MatchedQuery) -> float | None:
        """(1/n) Σ P@i · rel_i; None where nothing is relevant."""
        relevant = self.relevant(query)
        if not relevant:
            return None
        return sum(found / rank for found, rank in enumerate(self.ranks(query), start=1)) / relevant
