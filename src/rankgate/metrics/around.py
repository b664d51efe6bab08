"""What a metric made around another one takes from it."""

from __future__ import annotations

import msgspec

from rankgate.metrics.base import BaseMetric, Cutoff
from rankgate.model.values import Direction, Unit


class AroundMetric(msgspec.Struct, frozen=True, kw_only=True):
    """Reads as deep, points the same way and is shown in the same unit as the metric inside.

    Attributes:
        metric: what is computed.
    """

    metric: BaseMetric

    @property
    def cutoff(self) -> int | Cutoff:
        """The metric's."""
        return self.metric.cutoff

    @property
    def direction(self) -> Direction:
        """The metric's."""
        return self.metric.direction

    @property
    def unit(self) -> Unit:
        """The metric's."""
        return self.metric.unit
