"""Metrics of the ranks at which relevant documents stand, and of several cut-offs. Undefined without any."""

from __future__ import annotations

import math
import re
from bisect import bisect
from functools import cache
from itertools import pairwise
from typing import ClassVar

from rankgate.metrics.base import Cutoff, Kind, RelevanceMetric
from rankgate.metrics.gains import Ideal
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Direction, RunField, Unit

GRID = "1/3/5/10/20"


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
