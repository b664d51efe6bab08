"""The two sides of a check."""

from __future__ import annotations

import msgspec

from rankgate.model import Scores
from rankgate.readers.base import Run


class Side(msgspec.Struct, frozen=True):
    """A run and its scores: the candidate or the baseline."""

    run: Run
    scores: Scores
