"""How the questions are asked: one after the other, in threads, or as tasks on an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import msgspec

from rankgate.errors import Problem
from rankgate.readers.results import drained
from rankgate.recording.questions import Question
from rankgate.recording.retriever import Retrieve, failure, is_async

# How long a stopped recording waits for calls under way; a thread cannot be ended from outside.
_GRACE_SECONDS = 0.5


class Returned(msgspec.Struct, frozen=True):
    """What a call returned, its generators run to their end, and how long that took."""

    query_id: str
    result: Any
    ms: float


Outcome = Returned | Problem
Take = Callable[[Outcome], None]


def ask(retrieve: Retrieve, questions: Sequence[Question], workers: int, take: Take) -> None:
    """Ask every question once and hand each outcome to `take`, in this thread, in the order in which they come.

    A sync function is called in this thread when there is one worker, else in that many threads; an async one is
    awaited in that many tasks on one event loop, which has a thread of its own, so that this one can be interrupted
    and may run a loop already. Whatever the function raises becomes a problem whose key is the query id, but for a
    KeyboardInterrupt in this thread. That and what `take` raises end everything: no further question is asked, and
    calls under way are cancelled or left behind.
    """
    count = min(workers, len(questions))
    if is_async(retrieve):
        _in_tasks(retrieve, questions, count, take)
    elif count > 1:
        _in_threads(retrieve, questions, count, take)
    else:
        for question in questions:
            take(_called(retrieve, question))


def _in_threads(retrieve: Retrieve, questions: Sequence[Question], count: int, take: Take) -> None:
    waiting = _queue_of(questions)
    outcomes: SimpleQueue[Outcome | BaseException] = SimpleQueue()

    def work() -> None:
        with suppress(Empty):
            while True:
                question = waiting.get_nowait()
                try:
                    outcomes.put(_called(retrieve, question))
                except KeyboardInterrupt as error:  # the function's own: Python's goes to the main thread
                    outcomes.put(failure(question.query_id, error))

    with _running([work] * count, waiting):
        _take_all(outcomes, len(questions), take)


def _in_tasks(retrieve: Retrieve, questions: Sequence[Question], count: int, take: Take) -> None:
    waiting = _queue_of(questions)
    outcomes: SimpleQueue[Outcome | BaseException] = SimpleQueue()
    loops: list[asyncio.AbstractEventLoop] = []

    async def work() -> None:
        with suppress(Empty):
            while True:
                outcomes.put(await _awaited(retrieve, waiting.get_nowait()))

    async def everything() -> None:
        loops.append(asyncio.get_running_loop())
        await asyncio.gather(*(work() for _ in range(count)))

    def run() -> None:
        try:
            asyncio.run(everything())
        except BaseException as error:  # noqa: BLE001 -- goes on in the thread that waits for outcomes
            outcomes.put(error)

    def cancel() -> None:
        for loop in loops:
            with suppress(RuntimeError):  # closed by now
                loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks()])

    with _running([run], waiting, cancel):
        _take_all(outcomes, len(questions), take)


@contextmanager
def _running(
    jobs: Sequence[Callable[[], None]], waiting: SimpleQueue[Question], cancel: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Threads for the jobs until they end; after an error, no longer than what is under way gets to be cancelled.

    They are daemons, so that a call that hangs cannot keep the process from ending.
    """
    threads = [Thread(target=job, name=f"rankgate-record-{number}", daemon=True) for number, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    try:
        yield
    except BaseException:
        with suppress(Empty):
            while True:
                waiting.get_nowait()
        cancel()
        deadline = time.monotonic() + _GRACE_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        raise
    for thread in threads:
        thread.join()


def _queue_of(questions: Sequence[Question]) -> SimpleQueue[Question]:
    waiting: SimpleQueue[Question] = SimpleQueue()
    for question in questions:
        waiting.put(question)
    return waiting


def _take_all(outcomes: SimpleQueue[Outcome | BaseException], count: int, take: Take) -> None:
    for _ in range(count):
        outcome = outcomes.get()
        if isinstance(outcome, BaseException):
            raise outcome
        take(outcome)


def _called(retrieve: Retrieve, question: Question) -> Outcome:
    start = time.perf_counter()
    try:
        result = drained(retrieve(question.text))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- the user's code may raise anything, also SystemExit
        return failure(question.query_id, error)
    return Returned(question.query_id, result, _since(start))


async def _awaited(retrieve: Retrieve, question: Question) -> Outcome:
    start = time.perf_counter()
    try:
        result = retrieve(question.text)
        if hasattr(result, "__await__"):
            result = await result
        result = [item async for item in result] if hasattr(result, "__aiter__") else drained(result)
    except GeneratorExit:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # from outside, not by the function itself
            raise
        return failure(question.query_id, error)
    return Returned(question.query_id, result, _since(start))


def _since(start: float) -> float:
    return 1000 * (time.perf_counter() - start)
