"""What a verdict says beside its gates."""

from __future__ import annotations

import msgspec


class OtherCode(msgspec.Struct, frozen=True, kw_only=True):
    """Why the run is not of this code: recorded at `commit`, before `path` changed; or it is the accepted run."""

    commit: str
    path: str | None = None
    more: int = 0
    same_as_accepted: bool = False
