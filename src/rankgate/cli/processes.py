"""Our processes: a signal ends one as Ctrl-C does, and `check --record` records in one of its own."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from rankgate.cli.inputs import as_written
from rankgate.criteria import InputFile
from rankgate.errors import bad_input
from rankgate.readers.source import STDIN

_OF_RECORD = {
    "base": "--base",
    "criteria": "--criteria",
    "gold": "--gold",
    "run": "--output",
    "traffic_limit": "--traffic-limit",
}


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


def recording(arguments: argparse.Namespace) -> list[str]:
    """The command that records the run; an error where an option does not go with that."""
    for name in ("untrusted_run", "baseline_copy", "labels", "awaits"):
        if getattr(arguments, name):
            flag = f"--{name.replace('_', '-')}"
            raise bad_input(f"--record runs the retriever, and {flag} is for a run that others made")
    run = arguments.run
    if run and run.format not in {None, "jsonl"}:
        raise bad_input(f"--record writes JSONL, which {run.format}:{run.path} is not")
    command = [sys.executable, "-P", "-m", "rankgate", "record"]
    for name, option in _OF_RECORD.items():
        value = getattr(arguments, name)
        path = value.path if isinstance(value, InputFile) else value
        if path == STDIN:
            raise bad_input(f"--record and the check read the same inputs; name a file with {option}")
        if value is not None:
            command.append(f"{option}={as_written(value) if name == 'gold' else path}")
    return command


def succeeds(command: Sequence[str]) -> bool:
    """Record as a process of its own, in which the retriever can change nothing here; whether that was done.

    What it prints goes to standard error.
    """
    sys.stdout.flush()
    with terminated_as_interrupted(), subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2) as process:  # noqa: S603
        try:
            return process.wait() == 0
        except BaseException:
            process.terminate()  # it says how far it got
            raise
