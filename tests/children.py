"""Processes that tests start: each takes Ctrl-C as at a terminal, and none outlives its test."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

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


FORKING = """
import json, os, sys

for line in sys.stdin:
    child = os.fork()
    if not child:
        code = 1
        try:
            code = act(*json.loads(line))
        finally:
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Forking:
    """An interpreter that runs a script, which defines `act`, and then a process of its own for every call of that.

    What the script imports is imported once. The exit code is what `act` returns, 1 where it raises.
    """

    def __init__(self, script: str, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-B", "-c", script + FORKING]
        self.process = start(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def act(self, *values: str | int) -> int:
        """The exit code of a process that does this, negative where a signal ended it."""
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps(values), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


def is_readable(file: int | IO[bytes], seconds: float = 300) -> bool:
    """Whether there is something to read, or its end, within so long; of any number of open files."""
    with selectors.DefaultSelector() as readable:
        readable.register(file, selectors.EVENT_READ)
        return bool(readable.select(seconds))


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
