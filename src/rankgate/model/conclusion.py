"""What a verdict says beside its gates."""

from __future__ import annotations

import msgspec

from rankgate.model.values import Direction, Unit


class OtherCode(msgspec.Struct, frozen=True, kw_only=True):
    """Why the run is not of this code: recorded at `commit`, before `path` changed; or it is the accepted run."""

    commit: str
    path: str | None = None
    more: int = 0
    same_as_accepted: bool = False


class PartLoss(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the questions, by a tag, that lost what the rest did not, whether or not a gate asks.

    `before` and `now` are over its `n` questions that both runs have a value for, of which `worse` got worse; `p` is
    that of the signs of its changes.
    """

    segment: str
    metric: str
    unit: Unit
    direction: Direction
    before: float
    now: float
    n: int
    worse: int
    p: float
