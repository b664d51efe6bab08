"""Processes that tests start: each takes Ctrl-C as at a terminal, and none outlives its test."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

_STARTED: list[subprocess.Popen[Any]] = []


def start(command: Sequence[str | os.PathLike[str]], **how: Any) -> subprocess.Popen[Any]:
    """A process in a group of its own, with the default handler of SIGINT.

    What a shell starts in the background ignores SIGINT, and so does all that it starts; a handler is not inherited.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process: subprocess.Popen[Any] = subprocess.Popen(command, start_new_session=True, **how)
    finally:
        signal.signal(signal.SIGINT, before)
    _STARTED.append(process)
    return process


def end_all() -> None:
    """Ends what still runs of the processes started so far, and of those that they started."""
    while _STARTED:
        process = _STARTED.pop()
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS refuses where only a zombie is left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
