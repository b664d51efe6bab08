"""How far the gold can judge a list at all, and whether what it warns of stands too high."""

from __future__ import annotations

from typing import ClassVar

from rankgate.metrics.base import BaseMetric, Kind
from rankgate.model.values import Direction, MatchedQuery, Need


class Judged(BaseMetric, frozen=True, kw_only=True):
    """Share of the first k results that the gold judges at all, a gain of 0 included.

    A low value says that the metrics beside it rest on few judgments. Range 0 to 1; undefined for an empty list.
    A list shorter than k divides by what it holds. Source: ir_measures, Judged@k, which does the same.
    """

    key: ClassVar[str] = "judged"
    formula: ClassVar[str] = "|R_k ∩ judged| / |R_k|"
    kind: ClassVar[Kind] = Kind.CONTENT
    reads: ClassVar[frozenset[Need]] = frozenset({Need.JUDGED})
    plain: ClassVar[str] = "share of {first} that the gold set judges at all"

    def per_query(self, query: MatchedQuery) -> float | None:
        """Judged by shown; None for an empty list."""
        limit = self.limit(query)
        shown = min(limit, query.retrieved)
        return sum(rank <= limit for rank in query.judged) / shown if shown else None

    def absent(self, query: MatchedQuery) -> float | None:
        """The worst: nothing that the gold judges was shown."""
        del query
        return self.worst


class Holes(Judged, frozen=True, kw_only=True):
    """Share of the first k results that the gold does not judge: 1 − judged@k. Lower is better.

    Range 0 to 1; undefined for an empty list. Source: BEIR (Thakur et al. 2021), Hole@k, which divides by k and takes a
    document for judged that is judged for any query.
    """

    key: ClassVar[str] = "holes"
    aliases: ClassVar[tuple[str, ...]] = ("hole",)
    formula: ClassVar[str] = "1 − judged@k"
    direction: ClassVar[Direction] = Direction.LOWER
    worst: ClassVar[float | None] = 1.0
    plain: ClassVar[str] = "share of {first} that the gold set does not judge"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1 − judged; None for an empty list."""
        judged = super().per_query(query)
        return None if judged is None else 1 - judged


class NegativesAbove(BaseMetric, frozen=True, kw_only=True):
    """Whether one of the sample's hard negatives (`negatives`) outranks the first relevant document. Lower is better.

    Looks at the first k results: 1 if a negative stands there above every relevant document, also where no relevant
    one stands there. Range 0 or 1; undefined where the gold names no negative or no relevant document.
    """

    key: ClassVar[str] = "negatives_above"
    formula: ClassVar[str] = "1 if a negative in R_k stands above the first relevant document, else 0"
    direction: ClassVar[Direction] = Direction.LOWER
    kind: ClassVar[Kind] = Kind.CONTENT
    worst: ClassVar[float | None] = 1.0
    reads: ClassVar[frozenset[Need]] = frozenset({Need.NEGATIVES})
    plain: ClassVar[str] = "share of questions with a known wrong document above the right ones in {first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None without negatives or without relevant documents."""
        if query.sample is None or not query.sample.negatives or not query.ideal:
            return None
        first = query.hits[0][0] if query.hits else query.retrieved + 1
        return float(any(rank <= self.limit(query) and rank < first for rank in query.negatives))
