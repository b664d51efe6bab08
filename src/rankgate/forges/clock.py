"""The time, as a part that a test replaces, so that nothing that waits has to be waited for."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What tells the time and lets it pass, in seconds."""

    def now(self) -> float:
        """Seconds since 1970, as servers count them."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        time.sleep(seconds)
