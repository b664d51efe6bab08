"""Signals that end a job, as the exception that a person's Ctrl-C is."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType


def terminated_as_interrupted() -> AbstractContextManager[None]:
    """Lets SIGTERM do what SIGINT would do at that moment."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(number, frame)

    return _handled_by(interrupt, signal.SIGTERM)


def interrupted_once() -> AbstractContextManager[None]:
    """The first SIGINT or SIGTERM raises KeyboardInterrupt; those after it do nothing.

    A cancelled job gets both within seconds, and what it cleans up after the first must not be stopped by the second.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    return _handled_by(interrupt, signal.SIGINT, signal.SIGTERM)


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None], *numbers: signal.Signals) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
