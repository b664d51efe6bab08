"""What to compute of a run, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rankgate.metrics.base import Metric, needs_of
from rankgate.metrics.matching import BY_CHUNK, DEFAULT_K, Matching
from rankgate.model.values import RunField


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to compute of a run, and how.

    Attributes:
        metrics: what to compute.
        depth: the lists are cut here (see `match`).
        default_k: see `match`.
        how: what makes an item a document of the gold.
        keep_matched: keep the matched queries, for reports that name documents.
        also: what is read for pages, whether or not a metric asks for it; a run may leave it out.
        beside: the metrics that pages show, scored as well as the run allows; `also` has what they read.
        keep: of lists that are read for pages alone so many items are kept; None for all.
        compared: the run is one of two that are compared; only then its scores tell which lists are the same.
        baseline_ids: the baseline's lists by query, for metrics that compare with them.
    """

    metrics: Sequence[Metric]
    depth: int | None = None
    default_k: int = DEFAULT_K
    how: Matching = BY_CHUNK
    keep_matched: bool = False
    baseline_ids: Mapping[str, Sequence[str]] = {}
    also: frozenset[RunField] = frozenset()
    beside: Sequence[Metric] = ()
    keep: int | None = None
    compared: bool = False

    @property
    def needs(self) -> frozenset[RunField]:
        """What is read beyond ids and gains."""
        return needs_of(self.metrics) | self.how.needs | self.also
