"""What a baseline is: an accepted run, opened for scoring, with the depth to which it was stored."""

from __future__ import annotations

from typing import Protocol

from rankgate.model import Need
from rankgate.readers.base import Run


class BaselineStore(Protocol):
    """A place that holds the accepted run."""

    @property
    def spec(self) -> str:
        """How users name this place after `--baseline`."""

    def open(self, needs: frozenset[Need], *, deepest: int = 0) -> Run | None:
        """The accepted run, or None where nothing has been accepted yet.

        Args:
            needs: what the metrics read beyond ids.
            deepest: the lowest rank that a metric reads by its cut-off.

        Raises:
            RankgateError: what is stored is damaged, was written by a newer rankgate, or does not reach `deepest`.
        """
