"""Signals that end a job, as the exception that a person's Ctrl-C is."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Lets SIGTERM do what SIGINT would do at that moment."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(number, frame)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def interrupted_once() -> Iterator[None]:
    """The first SIGINT or SIGTERM raises KeyboardInterrupt; those after it do nothing.

    A cancelled job gets both within seconds, and what it cleans up after the first must not be stopped by the second.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
