"""Running programs: to prepare a session of scripts/bench, and to measure what each takes."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# Linux counts the memory of the process that starts a program as the program's own, up to the start. So every program
# is started by an interpreter that has loaded next to nothing. wait4 accounts for the program and all processes that it
# has started and waited for: their CPU time is added up, and the peak is that of the largest among them.
LAUNCHER = """\
import os, sys, time
began = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - began
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss, file=sys.stderr)
"""


class FailedError(Exception):
    """Something that has to run did not."""


class Usage(NamedTuple):
    """What one program took: seconds of CPU (user and system) and of wall time, and the peak resident MiB.

    Of a program that starts processes of its own: the CPU time of all of them, and the peak of the largest.
    """

    cpu: float
    wall: float
    peak: float


class Command(NamedTuple):
    """A program with its arguments, and where it runs."""

    words: tuple[str, ...]
    directory: Path


Measured = dict[str, list[Usage]]


def call(*words: str, directory: Path | None = None) -> str:
    """Run a command and return what it printed.

    Raises:
        FailedError: it cannot be started or exits with anything but 0.
    """
    try:
        done = subprocess.run(words, cwd=directory, env=environment(), capture_output=True, text=True, check=False)
    except OSError as error:
        raise FailedError(f"{words[0]}: {error.strerror}") from error
    if done.returncode:
        raise FailedError(f"{' '.join(words)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def environment() -> dict[str, str]:
    """The caller's environment without what changes how Python starts, and with a single thread for linear algebra.

    The peers import NumPy, whose idle threads would otherwise burn CPU time that nobody waits for.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return {**kept, "OPENBLAS_NUM_THREADS": "1"}


def measure(command: Command) -> Usage:
    """Run one program to its end.

    Raises:
        FailedError: it exits with anything but 0.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LAUNCHER, *command.words],
        cwd=command.directory,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    shown = " ".join(command.words)
    if done.returncode:
        raise FailedError(f"{shown}\n{done.stderr}".rstrip())
    *said, last = done.stderr.splitlines()
    code, cpu, wall, kibibytes = last.split()
    if code != "0":
        raise FailedError("\n".join([shown, f"exit code {code}", *said]))
    return Usage(float(cpu), float(wall), int(kibibytes) / 1024)


def run_rounds(commands: Mapping[str, Command], rounds: int) -> Measured:
    """Every program once a round; a round begins with another program than the one before."""
    names = list(commands)
    measured: Measured = {name: [] for name in names}
    for number in range(rounds):
        start = number % len(names)
        for name in rotated(names, start):
            usage = measure(commands[name])
            measured[name].append(usage)
            say(f"Round {number + 1} of {rounds}: {name}, {usage.cpu:.3f} s CPU.")
    return measured


def rotated(names: Sequence[str], start: int) -> list[str]:
    """The names, beginning with another one."""
    return [*names[start:], *names[:start]]


def say(text: str) -> None:
    """To standard error, so that the tables stand alone on standard output."""
    print(text, file=sys.stderr, flush=True)
