"""Judging carried out: rounds of calls in threads, each verdict kept as it comes, and an end in good order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import NamedTuple

import msgspec

from rankgate.criteria.judge_block import JudgeBlock
from rankgate.judge.asking import ask, choose_mode
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.identity import judge_of
from rankgate.judge.model import Answer, Judge, Keeper, Record, Slot
from rankgate.judge.plan import Call, next_round
from rankgate.model.answers import UnjudgedKind, VerdictKind
from rankgate.model.verdicts import Unjudged

WORKERS = 8
_GRACE = 1.0  # second for calls that are under way when judging is interrupted; then their connections are ended
MAX_FAILURES = 3  # questions in a row that the endpoint fails at: then it is down, or refuses everything
_FAILURES = {UnjudgedKind.HTTP_STATUS, UnjudgedKind.UNREACHABLE, UnjudgedKind.ENVELOPE}
_NO_USE = {*range(300, 400), 401, 402, 403, 404, 405, 410}  # statuses after which no other question fares better


class Progress(NamedTuple):
    """How far judging is: calls done of those that are known to be needed, what was spent, and what came of it.

    `verdicts` are counted by the model that the server named; what is `unjudged`, by reason. `stopped` is why judging
    ended before all was asked.
    """

    done: int
    total: int
    calls: int
    tokens: int
    verdicts: Mapping[str, int]
    unjudged: Mapping[UnjudgedKind, int]
    stopped: Unjudged | None


def settle(block: JudgeBlock, endpoint: Endpoint, spending: Spending) -> Judge | Unjudged:
    """The judge of a block of which no verdict is known: with `structured: auto` the endpoint is tried."""
    if block.structured != "auto":
        return judge_of(block, block.structured)
    mode = choose_mode(endpoint, block.model, block.parameters, spending)
    return mode if isinstance(mode, Unjudged) else judge_of(block, mode)


def judge_answers(
    answers: Sequence[Answer],
    judge: Judge,
    wants: frozenset[VerdictKind],
    *,
    endpoint: Endpoint,
    store: Keeper,
    spending: Spending,
    repeats: int = 1,
    workers: int = WORKERS,
    again: bool = False,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Ask what is not known yet, each question `repeats` times, and keep each verdict before the next of its thread.

    The store also takes what the model itself failed at, which is asked once more only with `again`. `watch` is called
    in this thread after each call. An endpoint at which judging ended early is stopped, and of no further use.

    Raises:
        KeyboardInterrupt: as it came; no further call was begun, and what was answered is kept.
        RankgateError: the store or a prompt of the user cannot be used.
    """
    session = _Session(store, again=again)

    def work(call: Call) -> None:
        record = ask(endpoint, judge, call.slot, call.inputs, spending)
        if record.unjudged is None or record.unjudged.kind.lasts:
            store.put(record)
        if session.take(record):
            endpoint.stopped.set()

    progress = session.progress(0, spending)
    while session.stopped is None and (calls := next_round(answers, judge, wants, session, repeats)):
        total = progress.done + len(calls)
        threads = _Threads(work, calls)
        try:
            threads.start(workers)
            for _ in calls:
                threads.wait_for_one()
                progress = session.progress(total, spending)
                watch(progress)
        except BaseException:
            endpoint.stopped.set()
            threads.end(_GRACE)
            endpoint.hang_up()
            threads.end(_GRACE / 2)
            raise
    return progress


class _Threads:
    """Calls in threads that nobody has to wait for: one that hangs keeps neither an interruption nor the process."""

    def __init__(self, work: Callable[[Call], None], calls: Iterable[Call]) -> None:
        self._work = work
        self._waiting = deque(calls)
        self._done = SimpleQueue[BaseException | None]()
        self._threads: list[Thread] = []

    def start(self, workers: int) -> None:
        """Begin the calls; an interruption may come at any moment of this, too."""
        for _ in range(min(workers, len(self._waiting))):
            self._threads.append(Thread(target=self._run, daemon=True))
            self._threads[-1].start()

    def _run(self) -> None:
        while True:
            try:
                call = self._waiting.popleft()
            except IndexError:
                return
            try:
                self._work(call)
            except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
                self._done.put(error)
            else:
                self._done.put(None)

    def wait_for_one(self) -> None:
        """Until one more call is done; what it raised is raised."""
        if error := self._done.get():
            raise error

    def end(self, seconds: float) -> None:
        """Begin no further call, and wait so long for those that are under way."""
        self._waiting.clear()
        until = monotonic() + seconds
        for thread in self._threads:
            if thread.ident:
                thread.join(max(until - monotonic(), 0.0))


class _Session:
    """What is known while judging goes on: the store, and what came this time, of which the store lacks failures."""

    def __init__(self, store: Keeper, *, again: bool) -> None:
        self.stopped: Unjudged | None = None
        self._records: dict[Slot, Record] = {}
        self._verdicts: Counter[str] = Counter()
        self._unjudged: Counter[UnjudgedKind] = Counter()
        self._store = store
        self._again = again
        self._failures = 0
        self._lock = Lock()

    def get(self, slot: Slot, /) -> Record | None:
        """The record of a slot; none of an earlier failure that is asked again."""
        record = self._records.get(slot) or self._store.get(slot)
        return None if record and record.unjudged and self._again and slot not in self._records else record

    def take(self, record: Record) -> Unjudged | None:
        """Note what came, and return why going on is of no use; what is interrupted by that has the same reason."""
        with self._lock:
            missing = record.unjudged
            if missing and missing.kind is UnjudgedKind.INTERRUPTED and self.stopped:
                record = msgspec.structs.replace(record, unjudged=(missing := self.stopped))
            self._failures = self._failures + 1 if missing and missing.kind in _FAILURES else 0
            status = missing.number if missing and missing.kind is UnjudgedKind.HTTP_STATUS else None
            spent = missing is not None and missing.kind is UnjudgedKind.BUDGET
            if spent or self._failures >= MAX_FAILURES or status in _NO_USE:
                self.stopped = self.stopped or missing
            self._records[record.slot] = record
            if missing:
                self._unjudged[missing.kind] += 1
            else:
                self._verdicts[record.model] += 1
            return self.stopped

    def progress(self, total: int, spending: Spending) -> Progress:
        """What came so far."""
        with self._lock:
            came = (self._verdicts.copy(), self._unjudged.copy(), self.stopped)
            return Progress(len(self._records), total, spending.calls, spending.tokens, *came)
