"""The table goes on: families that read more than ids and gains, in display order."""

from __future__ import annotations

from rankgate.metrics.base import BaseMetric
from rankgate.metrics.contents import Containment, DistinctDocs, Freshness, Novelty, Redundancy
from rankgate.metrics.drift import Overlap, RankBiasedOverlap
from rankgate.metrics.judgments import Holes, Judged, NegativesAbove
from rankgate.metrics.lines import EntityF1, FalseEvidenceRate, MisrouteRate, Score, SourceCoverage, SourceShare

BEYOND: tuple[type[BaseMetric], ...] = (
    NegativesAbove,
    FalseEvidenceRate,
    Judged,
    Holes,
    Containment,
    DistinctDocs,
    Redundancy,
    Novelty,
    Freshness,
    SourceCoverage,
    MisrouteRate,
    SourceShare,
    EntityF1,
    Score,
    Overlap,
    RankBiasedOverlap,
)
