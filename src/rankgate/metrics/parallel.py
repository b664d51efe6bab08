"""A run is scored: in one process, or in several over ranges of its file, with the same result to the last bit.

The gold is loaded once; the other processes are forked from this one and have it. Each range is read quickly. Where any
of them meets something unusual (a line that is wrong, a query for the second time), the whole run is read again in this
process by the reader that checks everything and says what is wrong and where.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import Tally, score, total
from rankgate.metrics.serialization import add_packed, packed
from rankgate.model.values import Gold, Scores
from rankgate.readers.base import Run
from rankgate.readers.ranges import LARGE, Part

MOST_WORKERS = 8
_PULSE = 0.5  # seconds

# What is around the reading: it is given a function that says how much of the run has been read, from 0 to 1.
Watch = Callable[[Callable[[], float]], AbstractContextManager[object]]


class WorkerError(RuntimeError):
    """A process that scored a part of the run ended before it was done."""


def unwatched(share_read: Callable[[], float]) -> AbstractContextManager[object]:
    """Nobody looks on."""
    return nullcontext(share_read)


def score_run(gold: Gold, run: Run, plan: Plan, *, workers: int | None = None, watch: Watch = unwatched) -> Scores:
    """Score a run, reading it once; twice where something is wrong with it.

    Args:
        gold: the judgments.
        run: an opened run of which nothing has been read.
        plan: what to compute.
        workers: how many processes; None leaves it to the size of the file and the machine. A run that is no plain
            file of one query after the other, or a machine that cannot fork, has one.
        watch: see `Watch`.

    Raises:
        RankgateError: the run is malformed, or changed while it was read; carries every problem.
        WorkerError: one of the processes was killed.
    """
    if run.file is not None:
        with run.file.parts(_allowed(run.file.size, workers)) as parts:
            tally = _tally_of(gold, plan, parts, watch)
        if tally is not None:
            return total(gold, plan, tally)
    with watch(run.share_read) if run.share_read else nullcontext():
        return score(gold, run.rankings, plan)


def _allowed(size: int, workers: int | None) -> int:
    """How many processes to use, this one included."""
    if not hasattr(os, "fork") or _has_threads():
        return 1
    if workers is not None:
        return workers
    if size < LARGE:
        return 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, MOST_WORKERS)


def _has_threads() -> bool:
    """A thread that holds a lock during a fork leaves it locked for ever in the child."""
    import threading  # noqa: PLC0415 -- paid only where a run lies in a file

    return threading.active_count() > 1


def _tally_of(gold: Gold, plan: Plan, parts: Sequence[Part], watch: Watch) -> Tally | None:
    """What all parts add up to; None where the run must be read carefully."""
    if not parts:
        return None
    tally = Tally(gold, plan)
    children: list[_Child] = []
    try:
        for part in parts[1:]:
            try:
                children.append(_Child(partial(_scored, gold, plan, part)))
            except OSError:
                return None  # no room for another process
        with watch(lambda: _share(parts)):
            try:
                tally.add(parts[0].rankings())
            except Exception:  # noqa: BLE001 -- the careful reading raises it again, or says it better
                return None
            for child in children:
                data = child.result()
                if not data:
                    return None
                add_packed(tally, data)
    finally:
        for child in children:
            child.end()
    sure = not tally.again and len(set(tally.strangers)) == len(tally.strangers)
    return tally if sure else None


def _scored(gold: Gold, plan: Plan, part: Part) -> bytes:
    """The packed tally of a part, or nothing where the run must be read carefully."""
    tally = Tally(gold, plan)
    try:
        tally.add(part.rankings())
    except Exception:  # noqa: BLE001 -- as above
        return b""
    return packed(tally)


def _share(parts: Sequence[Part]) -> float:
    return sum(part.position() for part in parts) / max(1, sum(part.end - part.start for part in parts))


class _Child:
    """A forked process that computes some bytes."""

    def __init__(self, work: Callable[[], bytes]) -> None:
        parent = os.getpid()
        self._pid, code = 0, 1
        self._reading, writing = os.pipe()
        try:
            self._pid = os.fork()
            if self._pid == 0:
                _end_without(parent)
                gc.disable()  # a look at all objects would copy every page of the gold
                os.close(self._reading)
                with os.fdopen(writing, "wb") as pipe:
                    pipe.write(work())
                code = 0
        finally:
            if os.getpid() != parent:
                os._exit(code)  # neither the parent's cleaning up nor its buffers are this process's business
            os.close(writing)
            if not self._pid:
                os.close(self._reading)

    def result(self) -> bytes:
        """The bytes, when they are there.

        Raises:
            WorkerError: the process ended without them.
        """
        with os.fdopen(self._reading, "rb", closefd=False) as pipe:
            data = pipe.read()
        code = self._wait()
        if code:
            how = f"was killed by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"ended with {code}"
            raise WorkerError(f"a process that scored a part of the run {how}; use --workers 1 if memory is short")
        return data

    def end(self) -> None:
        """Stop it if it runs, and give back what it held."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            self._wait()
        os.close(self._reading)

    def _wait(self) -> int:
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)


def _end_without(parent: int) -> None:
    """End this process soon after its parent has."""

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _PULSE, _PULSE)
