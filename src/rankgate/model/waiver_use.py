"""What a report says of waivers: which there are, what became of each, and whose violation they let pass."""

from __future__ import annotations

from typing import Literal

import msgspec

# Labels of pull requests.
ACCEPT_CHANGE = "rankgate: accept change"
ACCEPT_RANKINGS = "rankgate: accept rankings"

Standing = Literal["counts", "outsider", "own", "unreported", "changed", "unknown"]
WaiverState = Literal["in_force", "expiring", "too_small", "expired", "unused", "unknown", "hard_check", "not_judged"]


class Waived(msgspec.Struct, frozen=True, kw_only=True):
    """Who lets a violation pass, why, until which day and up to how far beyond the limit."""

    by: str
    reason: str | None = None
    issue: str | None = None
    expires: str | None = None
    up_to: float | None = None

    @property
    def texts(self) -> list[str]:
        """Who, why and where that is discussed, as far as it is known: somebody's text."""
        return [text for text in (self.by, self.reason, self.issue) if text is not None]


class WaiverUse(msgspec.Struct, frozen=True, kw_only=True):
    """A waiver and what became of it; `line` is where it stands in its file.

    `violation` is how far its gate lies beyond the limit, None where it does not. `in_force` and `expiring` (within two
    weeks) let the violation pass. The others do nothing: `too_small` for the violation; `expired`; `unused`, since
    nothing is violated; `unknown`, since there is no such gate or segment; `hard_check`, since single questions fail,
    which no waiver covers; `not_judged`, since nobody can tell.
    """

    gate: str
    segment: str | None
    up_to: float
    expires: str
    issue: str
    reason: str
    by: str
    line: int | None
    state: WaiverState
    violation: float | None = None


class SetLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label of ours that stands on the pull request, who set it, and what it is worth."""

    name: str
    by: str
    standing: Standing
