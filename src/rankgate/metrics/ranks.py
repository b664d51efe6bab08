"""Metrics of the ranks at which relevant documents stand, and of several cut-offs. Undefined without any.

Those with a discounted gain are by Järvelin & Kekäläinen (2002), with the discount 1 / log2(rank + 1) that trec_eval
uses unless theirs is asked.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import ClassVar, Literal

from rankgate.errors import bad_input, shown
from rankgate.metrics.base import BaseMetric, Cutoff, Kind, RelevanceMetric
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Direction, RunField, Unit
from rankgate.readers.base import LARGEST_GAIN

GRID = "1/3/5/10/20"

Gain = Literal["linear", "exponential", "binary"]
Discount = Literal["log2", "jarvelin"]
Ideal = Literal["gold", "retrieved"]


class ReciprocalRank(RelevanceMetric, frozen=True, kw_only=True):
    """One over the rank of the first relevant document; its mean over queries is the MRR.

    Undefined without relevant documents. Source: Voorhees (1999).
    """

    key: ClassVar[str] = "mrr"
    aliases: ClassVar[tuple[str, ...]] = ("rr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank")
    formula: ClassVar[str] = "1 / rank of the first relevant document; 0 when none"
    default_cutoff: ClassVar[Cutoff] = Cutoff.WHOLE
    unit: ClassVar[Unit] = Unit.SCORE
    judge_bounds: ClassVar[bool] = True
    spread: ClassVar[float | None] = 0.37
    plain: ClassVar[str] = "how high the first relevant document stands in {first}, 1 = always first"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1 / first relevant rank; None where nothing is relevant."""
        ranks = self.ranks(query)
        if ranks:
            return 1 / ranks[0]
        return 0.0 if self.relevant(query) else None


class AveragePrecision(RelevanceMetric, frozen=True, kw_only=True):
    """Mean of the precision at each relevant document's rank; its mean over queries is MAP.

    Relevant documents that are not retrieved count as precision 0, also those beyond k. Written `map` over the whole
    list, `ap@k` with a cut-off. Undefined without relevant documents. Source: Harman (1992); trec_eval, map and
    map_cut.

    Attributes:
        of: what it divides by: gold (all relevant documents), or retrieved (every item of a relevant document within
            k), where what was not found costs nothing.
    """

    of: Ideal = "gold"

    key: ClassVar[str] = "ap"
    aliases: ClassVar[tuple[str, ...]] = ("map", "mean_average_precision", "average_precision")
    formula: ClassVar[str] = "(1/n) Σ_{i≤k} P@i · rel_i"
    default_cutoff: ClassVar[Cutoff] = Cutoff.WHOLE
    unit: ClassVar[Unit] = Unit.SCORE
    spread: ClassVar[float | None] = 0.23
    plain: ClassVar[str] = "how high all relevant documents stand in {first}, 1 = all at the top"

    @property
    def stem(self) -> str:
        """`map` over the whole list, as the field writes it; `ap` with a cut-off."""
        return "map" if self.cutoff is Cutoff.WHOLE else "ap"

    def per_query(self, query: MatchedQuery) -> float | None:
        """(1/n) Σ P@i · rel_i; None where nothing is relevant."""
        relevant, by_found = self.relevant(query), self.of == "retrieved"
        ranks = self.ranks(query, repeats=by_found)
        places = sorted({*ranks})  # one item may hold several passages
        total = sum(bisect(places, rank) / rank for rank in ranks)
        return total / ((by_found and len(ranks)) or relevant) if relevant else None


class RPrecision(RelevanceMetric, frozen=True, kw_only=True):
    """Share of the relevant documents among the first n, as many places as there are relevant documents.

    Undefined without relevant documents. Source: trec_eval, Rprec.
    """

    cutoff: int | Cutoff = Cutoff.NONE

    key: ClassVar[str] = "rprec"
    aliases: ClassVar[tuple[str, ...]] = ("r_prec", "r_precision", "rprecision")
    formula: ClassVar[str] = "|R_n ∩ G| / n"
    default_cutoff: ClassVar[Cutoff] = Cutoff.NONE
    plain: ClassVar[str] = "share of the relevant documents found in as many results as there are of them"

    def limit(self, query: MatchedQuery) -> int:
        """As many as are relevant."""
        return self.relevant(query)

    def per_query(self, query: MatchedQuery) -> float | None:
        """|R_n ∩ G| / n; None where nothing is relevant."""
        relevant = self.relevant(query)
        return len(self.ranks(query)) / relevant if relevant else None


class BinaryPreference(RPrecision, frozen=True, kw_only=True):
    """How seldom documents judged not relevant stand above relevant ones; what nobody judged is passed over.

    J are the documents that the gold judges not relevant, hard negatives too; without any it is recall@all. Undefined
    without relevant documents. Source: Buckley & Voorhees (2004); trec_eval, bpref.
    """

    key: ClassVar[str] = "bpref"
    aliases: ClassVar[tuple[str, ...]] = ()
    limit = RelevanceMetric.limit
    formula: ClassVar[str] = "(1/n) Σ_{r ∈ R ∩ G} (1 − min(|J above r|, m) / m), m = min(|J|, n)"
    unit: ClassVar[Unit] = Unit.SCORE
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.JUDGED})
    plain: ClassVar[str] = "how seldom documents judged not relevant stand above relevant ones, 1 = never"

    def per_query(self, query: MatchedQuery) -> float | None:
        """The mean over the relevant documents; None where nothing is relevant."""
        relevant, sample = self.relevant(query), query.sample
        if not relevant or sample is None:
            return None
        most = min(relevant, len({*sample.gains, *sample.negatives}) - relevant) or 1
        wrong = sorted({*query.judged}.difference(self.ranks(query, repeats=True)))
        return sum(1 - min(bisect(wrong, rank), most) / most for rank in self.ranks(query)) / relevant


class RankBiasedPrecision(RelevanceMetric, frozen=True, kw_only=True):
    """Share of relevant documents among those read by someone who goes on to the next rank with probability p.

    No list reaches 1. Undefined without relevant documents. Source: Moffat & Zobel (2008).

    Attributes:
        p: the chance of going on to the next rank, between 0 and 1.
    """

    p: float = 0.8

    key: ClassVar[str] = "rbp"
    formula: ClassVar[str] = "(1 − p) Σ_{i≤k} p^{i−1} rel_i"
    default_cutoff: ClassVar[Cutoff] = Cutoff.WHOLE
    unit: ClassVar[Unit] = Unit.SCORE
    judge_bounds: ClassVar[bool] = True
    plain: ClassVar[str] = "share of relevant documents in what an impatient reader of {first} sees"

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise ValueError(f"p must lie between 0 and 1, not {self.p:g}")

    def per_query(self, query: MatchedQuery) -> float | None:
        """(1 − p) Σ p^(i−1); None where nothing is relevant."""
        ranks = dict.fromkeys(self.ranks(query))  # one item may hold several passages
        return (1 - self.p) * sum(self.p ** (rank - 1) for rank in ranks) if self.relevant(query) else None


class RankBiasedResidual(RankBiasedPrecision, frozen=True, kw_only=True):
    """How much higher `rbp` would be if all that nobody judged were relevant, also below the list.

    Undefined without relevant documents. Source: Moffat & Zobel (2008).
    """

    key: ClassVar[str] = "rbp_residual"
    formula: ClassVar[str] = "(1 − p) Σ_{i≤d} p^{i−1} unjudged_i + p^d, d = min(k, |R|)"
    direction: ClassVar[Direction] = Direction.LOWER
    kind: ClassVar[Kind] = Kind.CONTENT
    worst: ClassVar[float | None] = 1.0
    judge_bounds: ClassVar[bool] = False
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.JUDGED})
    plain: ClassVar[str] = "how much higher rbp may be for what nobody judged, {in_first} and below"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1 − (1 − p) Σ p^(i−1) over the judged ranks, which is the same; None where nothing is relevant."""
        known = sum(self.p ** (rank - 1) for rank in query.judged if rank <= self.limit(query))
        return max(0.0, 1 - (1 - self.p) * known) if self.relevant(query) else None


class RecallAUC(RelevanceMetric, frozen=True, kw_only=True):
    """Area under recall over the logarithm of the cut-off: how early the relevant documents come.

    The trapezoid rule at the cut-offs of the grid. Below 1 with several relevant documents, as `recall@1` is. Undefined
    without relevant documents.

    Attributes:
        grid: the cut-offs, ascending, with slashes between them.
    """

    grid: str = GRID
    cutoff: int | Cutoff = Cutoff.NONE

    key: ClassVar[str] = "recall_auc"
    aliases: ClassVar[tuple[str, ...]] = ("auc",)
    formula: ClassVar[str] = "Σ_j (recall@k_j + recall@k_{j+1}) / 2 · ln(k_{j+1} / k_j), over ln(k_m / k_1)"
    default_cutoff: ClassVar[Cutoff] = Cutoff.NONE
    unit: ClassVar[Unit] = Unit.SCORE
    spread: ClassVar[float | None] = None
    plain: ClassVar[str] = "how early the relevant documents come, 1 = all at the top"

    def __post_init__(self) -> None:
        cutoffs(self.grid)

    def per_query(self, query: MatchedQuery) -> float | None:
        """The area; None where nothing is relevant."""
        relevant = self.relevant(query)
        if not relevant:
            return None
        points, ranks = cutoffs(self.grid), self.ranks(query)
        recalls = [sum(rank <= k for rank in ranks) / relevant for k in points]
        area = sum(
            (before + after) / 2 * math.log(right / left)
            for (left, before), (right, after) in pairwise(zip(points, recalls, strict=True))
        )
        return min(1.0, area / math.log(points[-1] / points[0]))  # rounding may end just above 1


@cache
def cutoffs(grid: str) -> tuple[int, ...]:
    """The cut-offs that a grid names.

    Raises:
        ValueError: they are not two or more whole numbers, ascending, from 1 up.
    """
    points = tuple(map(int, grid.split("/"))) if re.fullmatch(r"\d{1,7}(/\d{1,7})+", grid, re.ASCII) else ()
    if not points or points[0] < 1 or any(right <= left for left, right in pairwise(points)):
        raise ValueError(f"grid must be two or more ascending cut-offs such as {GRID}, not {grid!r}")
    return points


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
