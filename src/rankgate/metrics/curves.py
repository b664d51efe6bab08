"""Recall over several cut-offs in one number."""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import pairwise
from typing import ClassVar

from rankgate.metrics.base import Cutoff, RelevanceMetric
from rankgate.model.values import MatchedQuery, Unit

GRID = "1/3/5/10/20"


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


class RecallAUC(RelevanceMetric, frozen=True, kw_only=True):
    """Area under recall over the logarithm of the cut-off: how early the relevant documents come, at every depth.

    The trapezoid rule over recall@k at the cut-offs of the grid, with ln k as abscissa, by the width of the grid, so
    that perfect recall from the first cut-off on is 1; with several relevant documents recall@1 cannot be perfect.
    Range 0 to 1; undefined where the gold names no relevant document.

    Attributes:
        grid: the cut-offs, ascending, with slashes between them: 1/3/5/10/20 by default.
    """

    grid: str = GRID
    cutoff: int | Cutoff = Cutoff.NONE

    key: ClassVar[str] = "recall_auc"
    formula: ClassVar[str] = "Σ_j (recall@k_j + recall@k_{j+1}) / 2 · ln(k_{j+1} / k_j), over ln(k_m / k_1)"
    default_cutoff: ClassVar[Cutoff] = Cutoff.NONE
    unit: ClassVar[Unit] = Unit.SCORE
    plain: ClassVar[str] = "how early the right documents come, 1 = all at the top"

    def __post_init__(self) -> None:
        cutoffs(self.grid)

    def per_query(self, query: MatchedQuery) -> float | None:
        """The area; None where nothing is relevant."""
        relevant = self.relevant(query)
        if not relevant:
            return None
        points = cutoffs(self.grid)
        ranks = [rank for rank, gain in query.hits if gain >= self.rel]
        recalls = [sum(rank <= k for rank in ranks) / relevant for k in points]
        area = sum(
            (before + after) / 2 * math.log(right / left)
            for (left, before), (right, after) in pairwise(zip(points, recalls, strict=True))
        )
        return min(1.0, area / math.log(points[-1] / points[0]))  # rounding may end just above 1
