"""How the questions are asked: one after the other, in threads, or as tasks on an event loop."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX, Thread, current_thread, get_ident, main_thread
from typing import Any

import msgspec

from rankgate.collecting.lines import Key
from rankgate.collecting.retriever import CallError, Retrieve, Service, StopError, failure, is_async
from rankgate.errors import Problem, bad_input, option
from rankgate.readers.results import to_items

# How long a stopped recording waits for calls under way; a thread cannot be ended from outside.
_GRACE_SECONDS = 0.5
_PAUSE_SECONDS = 0.5  # before the second attempt, twice as long before each further one
_MAX_WAITS = 5  # for one question, where a service asks to wait
busy: set[int] = set()  # threads that call the retriever, or wait for what it started: no process can end them


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """How questions are asked: how many at once, for how many seconds each, and how often again after a failure."""

    workers: int = 1
    timeout: float | None = None
    retries: int = 0


def refuse_limits(calls: Calls, allow_errors: int) -> None:
    """A RankgateError where a number is out of its range."""
    limits = (("workers", calls.workers, 1), ("allow-errors", allow_errors, 0), ("retries", calls.retries, 0))
    for name, number, least in limits:
        if number < least:
            raise bad_input(f"{option(name, str(number))}: must be at least {least}")
    if calls.timeout is not None and not 0 < calls.timeout <= TIMEOUT_MAX:
        raise bad_input(f"{option('timeout', f'{calls.timeout:g}')}: must be above 0, and a number of seconds")


class Question(msgspec.Struct, frozen=True):
    """What is asked, and whether the recording that is resumed has answers."""

    key: Key
    text: str
    resumed: bool = False

    @property
    def query_id(self) -> str:
        """Of which query it is."""
        return self.key.query_id


class Returned(msgspec.Struct, frozen=True):
    """What a call returned, its generators run to their end, and how long that took."""

    result: Any
    ms: float


Outcome = Returned | Problem
Take = Callable[[Question, Outcome], bool]  # whether to go on
_Outcomes = SimpleQueue[tuple[int, Returned | BaseException]]
_Lane = SimpleQueue[tuple[int, Question, float] | None]
_Begin = Callable[[int, Question, float], None]  # a call, after a pause


def ask(retrieve: Retrieve, questions: Sequence[Question], calls: Calls, take: Take) -> None:
    """Ask questions and hand each outcome to `take`, in this thread, as they come, as long as it returns True.

    A sync function is called in this thread when there is one worker and no timeout, else in threads; an async one is
    awaited on one event loop, which has a thread of its own, so that this one can be interrupted and may run a loop
    already. Whatever the function raises becomes a problem whose key is the query id, but for a KeyboardInterrupt in
    the main thread. That and what `take` raises end everything: no further question is asked, and calls under way are
    cancelled or left behind. So is a call that takes longer than the timeout, which is a problem too.
    Where a service asks to wait, no call begins before that, and the question is asked again: up to five times, after
    at least 1 s, 2 s, 4 s and so on, beside the retries.
    """
    outcomes: _Outcomes = SimpleQueue()
    waiting = deque((question, 0, 0) for question in questions)
    under_way: dict[int, tuple[Question, int, int, float]] = {}
    free = 0.0  # when a service wants to be asked again
    with _under_way(retrieve, outcomes, calls) as begin:
        for number in count():
            if waiting and len(under_way) < calls.workers:
                question, attempt, waits = waiting.popleft()
                pause = max(_PAUSE_SECONDS * 2.0 ** (attempt - 1) if attempt else 0.0, free - time.monotonic())
                deadline = time.monotonic() + pause + (calls.timeout or math.inf)
                under_way[number] = (question, attempt, waits, deadline)
                begin(number, question, pause)
                continue
            if not under_way:
                return
            done, outcome = _next(outcomes, {number: call[-1] for number, call in under_way.items()})
            if isinstance(outcome, StopError):
                raise outcome
            if done not in under_way:
                continue  # answered too late
            question, attempt, waits, _ = under_way.pop(done)
            outcome = outcome or CallError(f"no answer within {calls.timeout:g} s", again=True)
            again = outcome.again if isinstance(outcome, CallError) else True
            wait = outcome.wait if isinstance(outcome, CallError) else None
            if wait is not None and waits < _MAX_WAITS:
                free = max(free, time.monotonic() + max(wait, 2.0**waits))
                waiting.append((question, attempt, waits + 1))
            elif not isinstance(outcome, Returned) and again and attempt < calls.retries:
                waiting.append((question, attempt + 1, waits))
            elif not take(question, outcome if isinstance(outcome, Returned) else failure(question.query_id, outcome)):
                return


def _next(outcomes: _Outcomes, deadlines: Mapping[int, float]) -> tuple[int, Returned | BaseException | None]:
    """The next call that has an outcome, or none within its time."""
    first = min(deadlines, key=deadlines.__getitem__)
    try:
        patience = deadlines[first] - time.monotonic()
        return outcomes.get(timeout=None if patience == math.inf else max(0.0, patience))
    except Empty:
        return first, None


def _under_way(retrieve: Retrieve, outcomes: _Outcomes, calls: Calls) -> AbstractContextManager[_Begin]:
    """What begins calls: as tasks, in threads, or one after the other here."""
    if is_async(retrieve):
        return _on_loop(retrieve, outcomes, calls)
    if calls.workers > 1 or calls.timeout is not None:
        return _in_threads(retrieve, outcomes)
    return _here(retrieve, outcomes)


@contextmanager
def _here(retrieve: Retrieve, outcomes: _Outcomes) -> Iterator[_Begin]:
    def begin(number: int, question: Question, pause: float) -> None:
        time.sleep(pause)
        outcomes.put((number, _called(retrieve, question)))

    yield begin


@contextmanager
def _in_threads(retrieve: Retrieve, outcomes: _Outcomes) -> Iterator[_Begin]:
    """Daemon threads, which cannot keep the process from ending; for one that hangs another is started."""
    idle: list[_Lane] = []  # only `begin` takes one out

    def work(lane: _Lane) -> None:
        while call := lane.get():
            number, question, pause = call
            time.sleep(pause)
            busy.add(get_ident())
            outcome = _called(retrieve, question)
            busy.discard(get_ident())
            idle.append(lane)
            outcomes.put((number, outcome))

    def begin(number: int, question: Question, pause: float) -> None:
        lane: _Lane = SimpleQueue()
        if idle:
            lane = idle.pop()
        else:
            Thread(target=work, args=(lane,), daemon=True).start()
        lane.put((number, question, pause))

    try:
        yield begin
    finally:
        for lane in idle:
            lane.put(None)


@contextmanager
def _on_loop(retrieve: Retrieve, outcomes: _Outcomes, calls: Calls) -> Iterator[_Begin]:
    started: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    async def serve() -> None:
        started.put((asyncio.get_running_loop(), done := asyncio.Event()))
        await done.wait()

    def run() -> None:
        busy.add(get_ident())
        try:
            asyncio.run(serve())
        except RuntimeError:
            outcomes.put((0, StopError([Problem("the retriever stopped its event loop, so that no answer can come")])))
        finally:
            busy.discard(get_ident())

    async def answer(number: int, question: Question, pause: float) -> None:
        await asyncio.sleep(pause)
        async with asyncio.timeout(calls.timeout):
            outcomes.put((number, await _awaited(retrieve, question)))

    def begin(number: int, question: Question, pause: float) -> None:
        asyncio.run_coroutine_threadsafe(answer(number, question, pause), loop)

    thread = Thread(target=run, daemon=True)
    thread.start()
    loop, done = started.get()
    patience = None if calls.timeout is None else _GRACE_SECONDS  # what was given up may go on
    try:
        yield begin
    except BaseException:
        patience = _GRACE_SECONDS
        raise
    finally:
        with suppress(RuntimeError):  # closed by now
            loop.call_soon_threadsafe(done.set)
        thread.join(patience)


def _called(retrieve: Retrieve, question: Question) -> Returned | BaseException:
    start = time.perf_counter()
    process = os.getpid()
    argument: Any = question if isinstance(retrieve, Service) else question.text
    try:
        result = to_items(retrieve(argument))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
            raise
        return error  # the user's code may raise anything, also SystemExit
    finally:
        if os.getpid() != process:
            os._exit(1)  # a fork of the function's that came back: it must not record as well
    return Returned(result, 1000 * (time.perf_counter() - start))


async def _awaited(retrieve: Retrieve, question: Question) -> Returned | BaseException:
    start = time.perf_counter()
    try:
        result = retrieve(question.text)
        if hasattr(result, "__await__"):
            result = await result
        result = [item async for item in result] if hasattr(result, "__aiter__") else to_items(result)
    except GeneratorExit:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # from outside, not by the function itself
            raise
        return error
    return Returned(result, 1000 * (time.perf_counter() - start))
