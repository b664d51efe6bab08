"""A run is scored: in one process, or in several over ranges of its file, with the same result to the last bit.

The gold is loaded once; the other processes are forked from this one and have it. Each range is read quickly. Where any
of them meets something unusual (a line that is wrong, a query for the second time), the whole run is read again in this
process by the reader that checks everything and says what is wrong and where.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from rankgate.errors import option
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import Tally, score, total
from rankgate.model.values import Gold, Ranking, Scores
from rankgate.readers.base import Run
from rankgate.readers.ranges import LARGE, Part

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

MAX_WORKERS = 8
_PULSE = 0.5  # seconds
_work: Callable[[int], bytes | None]  # of a forked process

# What is around the reading: it is given a function that says how much of the run has been read, from 0 to 1.
Watch = Callable[[Callable[[], float]], AbstractContextManager[object]]


class WorkerError(RuntimeError):
    """A process that scored a part of the run ended before it was done."""


def unwatched(share_read: Callable[[], float]) -> AbstractContextManager[object]:
    """Nobody looks on."""
    return nullcontext(share_read)


def score_run(
    gold: Gold,
    run: Run,
    plan: Plan,
    *,
    workers: int | None = None,
    watch: Watch = unwatched,
    through: Callable[[Iterable[Ranking]], Iterable[Ranking]] = iter,
) -> Scores:
    """Score a run, reading it once; twice where something is wrong with it.

    Args:
        gold: the judgments.
        run: an opened run of which nothing has been read.
        plan: what to compute.
        workers: how many processes; None leaves it to the size of the file and the machine. A run that is no plain
            file of one query after the other, or a machine that cannot fork, has one.
        watch: see `Watch`.
        through: is passed the rankings where one process reads all of them.

    Raises:
        RankgateError: the run is malformed, or changed while it was read; carries every problem.
        WorkerError: one of the processes was killed.
    """
    if run.file is not None:
        with run.file.parts(_allowed(run.file.size, workers)) as parts:
            tally = _tally_of(gold, plan, parts, watch, through if len(parts) == 1 else iter)
        if tally is not None:
            return total(gold, plan, tally)
    with watch(run.share_read) if run.share_read else nullcontext():
        return score(gold, through(run.rankings), plan)


def _allowed(size: int, workers: int | None) -> int:
    """How many processes to use, this one included."""
    if not hasattr(os, "fork") or _has_threads():
        return 1
    if workers is not None or size < LARGE:
        return workers or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, MAX_WORKERS)


def _has_threads() -> bool:
    """A thread that holds a lock during a fork leaves it locked for ever in the child."""
    import threading  # noqa: PLC0415 -- paid only where a run lies in a file

    return threading.active_count() > 1


def _tally_of(
    gold: Gold,
    plan: Plan,
    parts: Sequence[Part],
    watch: Watch,
    through: Callable[[Iterable[Ranking]], Iterable[Ranking]],
) -> Tally | None:
    """What all parts add up to; None where the run must be read carefully."""
    if not parts:
        return None
    tally = Tally(gold, plan)
    others = range(1, len(parts))
    with _pool(len(others), partial(_scored, gold, plan, parts)) if others else nullcontext() as pool:
        try:
            futures = [pool.submit(_score_part, index) for index in others] if pool else []
        except OSError:
            return None  # no room for another process
        size = sum(part.end - part.start for part in parts)
        with watch(lambda: sum(part.position() for part in parts) / max(1, size)):
            try:
                tally.add(through(parts[0].rankings()))
            except Exception:  # noqa: BLE001 -- the careful reading raises it again, or says it better
                return None
            for part in map(_result, futures):
                if part is None:
                    return None
                from rankgate.metrics.serialization import add_packed  # noqa: PLC0415 -- as above

                add_packed(tally, part)
    sure = not tally.again and len(set(tally.unknown_queries)) == len(tally.unknown_queries)
    return tally if sure else None


def _scored(gold: Gold, plan: Plan, parts: Sequence[Part], index: int) -> bytes | None:
    """The packed tally of a part; None where the run must be read carefully."""
    tally = Tally(gold, plan)
    try:
        tally.add(parts[index].rankings())
    except Exception:  # noqa: BLE001 -- as above
        return None
    from rankgate.metrics.serialization import packed  # noqa: PLC0415 -- paid only by several processes

    return packed(tally)


@contextmanager
def _pool(count: int, scored: Callable[[int], bytes | None]) -> Iterator[Executor]:
    """Forked processes, which have all that `scored` holds; on leaving they are ended, whatever they are doing."""
    import multiprocessing  # noqa: PLC0415 -- paid only where several processes read a run
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 -- as above

    others = set(multiprocessing.active_children())  # of whoever calls this from a program
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, context, _begin, (os.getpid(), scored)) as pool:
        try:
            yield pool
        finally:
            for process in set(multiprocessing.active_children()) - others:
                process.kill()


def _begin(parent: int, scored: Callable[[int], bytes | None]) -> None:
    global _work  # noqa: PLW0603 -- what is forked need not be pickled
    _work = scored
    gc.disable()  # a look at all objects would copy every page of the gold
    _end_without(parent)


def _score_part(index: int) -> bytes | None:
    return _work(index)


def _result(future: Future[bytes | None]) -> bytes | None:
    from concurrent.futures import BrokenExecutor  # noqa: PLC0415 -- as above

    try:
        return future.result()
    except BrokenExecutor:
        text = f"a process that scored a part of the run was killed; use {option('workers', '1')} if memory is short"
        raise WorkerError(text) from None


def _end_without(parent: int) -> None:
    """End this process soon after its parent has."""

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _PULSE, _PULSE)
