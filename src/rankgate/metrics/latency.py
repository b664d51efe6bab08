"""How long the retriever took, from the times that the run itself states."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar

from rankgate.metrics.base import BaseMetric, Cutoff, Kind
from rankgate.model.values import Details, Direction, MatchedQuery, Need, Unit
from rankgate.statistics.quantiles import quantile as empirical_quantile


class Stage(Enum):
    """Which of the run's `latency_ms` counts; the total is the sum of all stages given."""

    RETRIEVE = "retrieve"
    RERANK = "rerank"
    TOTAL = "total"

    def __str__(self) -> str:
        return self.value


class Latency(BaseMetric, frozen=True, kw_only=True):
    """Milliseconds per query, from `latency_ms` of the run: the mean, or a quantile over the queries.

    Lower is better. From 0 up; undefined for a query whose stages have no time or null, and for one that the run lacks.

    Attributes:
        stage: retrieve, rerank, or total (default): as the query states it, else the sum of the stages that it states.
        quantile: between 0 and 1, as in `latency(quantile=0.9)`; `p90` is the same. The mean if not given. It is the
            smallest value with at least that share of the queries at or below it (inverted distribution function).
    """

    stage: Stage = Stage.TOTAL
    quantile: float | None = None
    cutoff: int | Cutoff = Cutoff.NONE

    key: ClassVar[str] = "latency"
    formula: ClassVar[str] = "mean or quantile of latency_ms over the queries"
    default_cutoff: ClassVar[Cutoff] = Cutoff.NONE
    direction: ClassVar[Direction] = Direction.LOWER
    unit: ClassVar[Unit] = Unit.MILLISECONDS
    kind: ClassVar[Kind] = Kind.LATENCY
    high: ClassVar[float | None] = None
    worst: ClassVar[float | None] = None
    reads: ClassVar[frozenset[Need]] = frozenset({Need.LATENCY})
    plain: ClassVar[str] = "milliseconds that a question takes"

    def __post_init__(self) -> None:
        if self.quantile is not None and not 0 < self.quantile < 1:
            raise ValueError(f"quantile must lie between 0 and 1, not {self.quantile:g}")

    @property
    def at_quantile(self) -> float | None:
        """The quantile asked for; None for the mean."""
        return self.quantile

    @property
    def meaning(self) -> str:
        """One clause for a reader who does not know the metric."""
        if self.quantile is None:
            return "milliseconds that a question takes on average"
        return f"milliseconds within which {100 * self.quantile:g}% of the questions are answered"

    def per_query(self, query: MatchedQuery) -> float | None:
        """The stage's time, or None where the run does not state it."""
        times = query.details.latency_ms if query.details else None
        if not times:
            return None
        if self.stage is Stage.TOTAL and self.stage.value not in times:
            return None if None in times.values() else sum(filter(None, times.values()))
        return times.get(self.stage.value)

    def stated(self, details: Details) -> bool:
        """Whether the stage's time is there."""
        return self.stage is Stage.TOTAL or self.stage.value in (details.latency_ms or {})

    def aggregate(self, values: Sequence[float]) -> float:
        """The mean, or the quantile asked for."""
        return super().aggregate(values) if self.quantile is None else empirical_quantile(values, self.quantile)
