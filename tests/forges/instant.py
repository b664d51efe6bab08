"""A clock on which waiting takes no time, and a client that waits by it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rankgate.forges.client import Client
from rankgate.forges.http import Clock


@dataclass
class InstantClock(Clock):
    """Time passes only by being waited for; `slept` keeps each wait."""

    passed: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + self.passed

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic() + self.passed

    def sleep(self, seconds: float) -> None:
        """Remember the wait, and be behind it at once."""
        self.slept.append(seconds)
        self.passed += seconds


def patient(
    url: str,
    token: str,
    clock: InstantClock | None = None,
    *,
    dry_run: bool = False,
    tell: Callable[[str], object] = str,
) -> Client:
    """A client that has all the time of the usual limits and takes none of it."""

    def told(line: str) -> None:
        tell(line)

    return Client(url, token, dry_run=dry_run, tell=told, clock=clock or InstantClock())
