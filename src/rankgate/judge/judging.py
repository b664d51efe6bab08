"""Judging carried out: rounds of calls in threads, each verdict kept as it comes, and an end in good order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Lock

import msgspec

from rankgate.judge.asking import ask, choose_mode
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.identity import JudgeBlock, judge_of
from rankgate.judge.model import Answer, Judge, Mode, Record, Slot, Unjudged, UnjudgedKind
from rankgate.judge.plan import Call, Want, next_round
from rankgate.judge.store import Store

WORKERS = 8
MAX_FAILURES = 3  # questions in a row that the endpoint fails at: then it is down, or refuses everything
_FAILURES = {UnjudgedKind.HTTP_STATUS, UnjudgedKind.UNREACHABLE, UnjudgedKind.ENVELOPE}
_NO_USE = {*range(300, 400), 401, 402, 403, 404, 405, 410}  # statuses after which no other question fares better


class Progress(msgspec.Struct, frozen=True):
    """How far judging is: calls done, calls known to be needed so far, and tokens spent."""

    done: int
    total: int
    tokens: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it; `stopped` is why it ended before all was asked.

    `verdicts` are those that came, by the model that the server named; `unjudged` those that did not, by reason.
    """

    verdicts: Mapping[str, int]
    unjudged: Mapping[UnjudgedKind, int]
    calls: int
    tokens: int
    stopped: Unjudged | None = None


def settle(block: JudgeBlock, endpoint: Endpoint, store: Store, spending: Spending) -> Judge | Unjudged:
    """The judge of a block: with `structured: auto` the endpoint is tried once, and the store remembers what it takes.

    Raises:
        RankgateError: the block's prompts cannot be used.
    """
    if block.structured != "auto":
        return judge_of(block, block.structured)
    mode: Mode | Unjudged | None = store.mode(block.endpoint, block.model)
    mode = mode or choose_mode(endpoint, block.model, block.parameters, spending)
    if isinstance(mode, Unjudged):
        return mode
    store.remember_mode(block.endpoint, block.model, mode)
    return judge_of(block, mode)


def judge_answers(
    answers: Sequence[Answer],
    judge: Judge,
    wants: frozenset[Want],
    *,
    endpoint: Endpoint,
    store: Store,
    spending: Spending,
    repeats: int = 1,
    workers: int = WORKERS,
    again: bool = False,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Outcome:
    """Ask what is not known yet, and keep each verdict before the next question of its thread.

    Args:
        answers: of one run.
        judge: who is asked; `settle` gives it.
        wants: what metrics need.
        endpoint: where. Where judging ends early it is stopped, and of no further use.
        store: takes verdicts, and what the model itself failed at.
        spending: the budget of this run.
        repeats: how often each question is asked.
        workers: threads.
        again: ask once more what stayed unjudged an earlier time.
        watch: called in this thread after each call.

    Raises:
        KeyboardInterrupt: as it came; no further call was begun, and what was answered is kept.
        RankgateError: the store or a prompt of the user cannot be used.
    """
    session = _Session(store, again=again)

    def work(call: Call) -> None:
        record = ask(endpoint, judge, call.slot, call.inputs, spending)
        if record.unjudged is None or record.unjudged.kind.lasts:
            store.put(record)
        record = store.get(call.slot) or record  # another process may have been first
        if session.take(record):
            endpoint.stopped.set()

    with ThreadPoolExecutor(workers) as threads:
        try:
            while session.stopped is None and (calls := next_round(answers, judge, wants, session, repeats)):
                total = len(session.records) + len(calls)
                for done in as_completed([threads.submit(work, call) for call in calls]):
                    done.result()
                    watch(Progress(len(session.records), total, spending.tokens))
        except BaseException:
            endpoint.stopped.set()
            threads.shutdown(cancel_futures=True)
            raise
    found = session.records.values()
    return Outcome(
        verdicts=Counter(record.model for record in found if record.unjudged is None),
        unjudged=Counter(record.unjudged.kind for record in found if record.unjudged),
        calls=spending.calls,
        tokens=spending.tokens,
        stopped=session.stopped,
    )


class _Session:
    """What is known while judging goes on: the store, and what came this time, of which the store lacks failures."""

    def __init__(self, store: Store, *, again: bool) -> None:
        self.records: dict[Slot, Record] = {}
        self.stopped: Unjudged | None = None
        self._store, self._again, self._failures, self._lock = store, again, 0, Lock()

    def get(self, slot: Slot, /) -> Record | None:
        """The record of a slot; none of an earlier failure that is asked again."""
        if slot in self.records:
            return self.records[slot]
        found = self._store.get(slot)
        return None if self._again and found and found.unjudged else found

    def take(self, record: Record) -> Unjudged | None:
        """Note what came, and return why going on is of no use; what is interrupted by that has the same reason."""
        with self._lock:
            missing = record.unjudged
            if missing and missing.kind is UnjudgedKind.INTERRUPTED and self.stopped:
                record = msgspec.structs.replace(record, unjudged=self.stopped)
            failed = missing is not None and missing.kind in _FAILURES
            self._failures = self._failures + 1 if failed else 0
            status = (missing.number or 0) if missing and missing.kind is UnjudgedKind.HTTP_STATUS else 0
            spent = missing is not None and missing.kind is UnjudgedKind.BUDGET
            if spent or self._failures >= MAX_FAILURES or status in _NO_USE:
                self.stopped = self.stopped or missing
            self.records[record.slot] = record
            return self.stopped
