"""Judging carried out: rounds of calls in threads, each verdict kept as it comes, and an end in good order.

Whatever an endpoint sends to a question ends in verdicts or in an `Unjudged` with its reason; where an answer is
unusable, the model is asked for another one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Annotated, Any, NamedTuple

import msgspec
from pydantic import AliasPath, BaseModel, BeforeValidator, Field

from rankgate.criteria.judge_block import JudgeBlock
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.identity import judge_of, messages_of, rendered
from rankgate.judge.model import MODES, Answer, Inputs, Judge, Mode, rough_tokens
from rankgate.judge.plan import Call, next_round
from rankgate.judge.records import Keeper, Record, Slot
from rankgate.judge.replies import parsed, schema_of
from rankgate.judge.tasks import TASKS, Task, tokens_of
from rankgate.model.answers import Entailment, UnjudgedKind
from rankgate.model.verdicts import Support, Unjudged

WORKERS = 8
_GRACE = 1.0  # second for calls that are under way when judging is interrupted; then their connections are ended
MAX_FAILURES = 3  # questions in a row that the endpoint fails at: then it is down, or refuses everything
_FAILURES = {UnjudgedKind.HTTP_STATUS, UnjudgedKind.UNREACHABLE, UnjudgedKind.ENVELOPE}
_NO_USE = {*range(300, 400), 401, 402, 403, 404, 405, 410}  # statuses after which no other question fares better
RETRIES = 2
QUOTE_RETRIES = 1
MAX_COUNTED = 10**9  # tokens of a call; more is nonsense
_NAME_CHARACTERS = 200  # of a server's name for itself
_ECHOED_CHARACTERS = 20_000  # of an answer that the model sees again
_NOT_TAKEN = {400, 415, 422}  # how servers refuse a `response_format`
# What services call the same.
_CUT_OFF = {"length", "max_tokens"}
_REFUSED = {"content_filter", "refusal", "safety"}


class Ending(NamedTuple):
    """What came of judging: what is `unjudged`, by reason, and why it ended before all was asked, or nothing came.

    `failed` are the failures that are not kept.
    """

    unjudged: Mapping[UnjudgedKind, int]
    failed: Mapping[Unjudged, int]
    stopped: Unjudged | None


def settle(block: JudgeBlock, endpoint: Endpoint, spending: Spending) -> Judge | Unjudged:
    """The judge of a block of which no verdict is known, or why the endpoint cannot say.

    With `structured: auto` it is asked for `{"ok": true}`, for the best form that it both takes and keeps to.
    """
    if block.structured != "auto":
        return judge_of(block, block.structured)
    messages = [{"role": "user", "content": 'Answer with this JSON object and nothing else: {"ok": true}'}]
    refused = Unjudged(UnjudgedKind.NO_JSON)
    for mode in MODES:
        body = {**block.parameters, "model": block.model, "messages": messages, **_form(mode, _Probe)}
        outcome = endpoint.post(body, _Completion, spending, 50)
        if isinstance(outcome, Unjudged):
            if outcome.kind is not UnjudgedKind.HTTP_STATUS or outcome.number not in _NOT_TAKEN:
                return outcome
            refused = outcome
        elif mode == "prompt" or not isinstance(parsed(outcome.content, _Probe), Unjudged):
            return judge_of(block, mode)
    return refused


def judge_answers(
    answers: Sequence[Answer],
    judge: Judge,
    verdict_kinds: frozenset[str],
    *,
    endpoint: Endpoint,
    store: Keeper,
    spending: Spending,
    repeats: int = 1,
    workers: int = WORKERS,
    watch: Callable[[], None] = lambda: None,
) -> Ending:
    """Ask what is not known yet, each question `repeats` times, and keep each verdict before the next of its thread.

    The store also takes what the model itself failed at, which is then not asked again. `watch` is called in this
    thread after each call. An endpoint at which judging ended early is stopped, and of no further use.

    Raises:
        KeyboardInterrupt: as it came; no further call was begun, and what was answered is kept.
        RankgateError: the store or a prompt of the user cannot be used.
    """
    session = _Session(store)

    def work(call: Call) -> None:
        record = ask(endpoint, judge, call.slot, call.inputs, spending)
        if record.unjudged is None or record.unjudged.kind.lasts:
            store.put(record)
        session.take(record)
        if session.stopped:
            endpoint.stopped.set()

    while session.stopped is None and (calls := next_round(answers, judge, verdict_kinds, session, repeats)):
        threads = _Threads(work, calls)
        try:
            threads.start(workers)
            for _ in calls:
                threads.wait_for_one()
                watch()
        except BaseException:
            endpoint.stopped.set()
            threads.end(_GRACE)
            endpoint.hang_up()
            threads.end(_GRACE / 2)
            raise
    return Ending(session.unjudged, session.failed, session.stopped or session.never_answered)


class _Session:
    """What is known while judging goes on: the store, and what came this time, of which the store lacks failures."""

    def __init__(self, store: Keeper) -> None:
        self.stopped: Unjudged | None = None
        self.never_answered: Unjudged | None = None  # the last failure of an endpoint that failed at each question
        self.unjudged = Counter[UnjudgedKind]()
        self.failed = Counter[Unjudged]()
        self._records: dict[Slot, Record] = {}
        self._store = store
        self._failures = 0
        self._lock = Lock()

    def get(self, slot: Slot, /) -> Record | None:
        """The record of a slot."""
        return self._records.get(slot) or self._store.get(slot)

    def take(self, record: Record) -> None:
        """Note what came, and in `stopped` why going on is of no use, which is the reason of what that interrupts."""
        with self._lock:
            missing = record.unjudged
            if missing and missing.kind is UnjudgedKind.INTERRUPTED and self.stopped:
                missing = self.stopped
                record = msgspec.structs.replace(record, unjudged=missing)
            self._failures = self._failures + 1 if missing and missing.kind in _FAILURES else 0
            status = missing.number if missing and missing.kind is UnjudgedKind.HTTP_STATUS else None
            spent = missing is not None and missing.kind is UnjudgedKind.BUDGET
            if spent or self._failures >= MAX_FAILURES or status in _NO_USE:
                self.stopped = self.stopped or missing
            self._records[record.slot] = record
            self.never_answered = missing if self._failures == len(self._records) else None
            if missing:
                self.unjudged[missing.kind] += 1
                if not missing.kind.lasts:
                    self.failed.update([missing])


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


def ask(endpoint: Endpoint, judge: Judge, slot: Slot, inputs: Inputs, spending: Spending) -> Record:
    """What the judge says of some inputs, with what it cost; `slot` is where that is kept."""
    asking = _Asking(endpoint, judge, inputs, spending)
    outcome = asking.verdicts()
    is_failure = isinstance(outcome, Unjudged)
    return Record(
        **slot._asdict(),
        verdicts=None if is_failure else outcome,
        unjudged=outcome if is_failure else None,
        model=asking.model,
        fingerprint=asking.fingerprint,
        tokens=asking.tokens,
    )


class _Asking:
    """One question under way: what it cost so far, and who answered."""

    def __init__(self, endpoint: Endpoint, judge: Judge, inputs: Inputs, spending: Spending) -> None:
        self._endpoint = endpoint
        self._judge = judge
        self._inputs = inputs
        self._spending = spending
        self.tokens = (0, 0)
        self.model = ""
        self.fingerprint: str | None = None

    def verdicts(self) -> Any:
        """The usable answer. The model learns what is wrong with an unusable one, twice, and with quotes, once.

        Of a second answer for the sake of quotes only the verdicts on those statements count.
        """
        prompts = self._judge.prompts
        schema = None if self._judge.mode == "json_schema" else schema_of(TASKS[self._inputs.task])
        begin = messages_of(prompts, self._inputs, schema)
        messages = begin
        problems = 0
        quotes = 0
        kept: Any = ()
        while True:
            outcome, content = self._answer(messages)
            if isinstance(outcome, Unjudged):
                problems += 1
                if problems > RETRIES or not outcome.kind.lasts or outcome.kind is UnjudgedKind.CONTEXT_TOO_LONG:
                    return kept if kept and outcome.kind.lasts else outcome
                again = rendered(
                    prompts, "again.j2", problem=outcome.kind.value, number=outcome.number, limit=outcome.limit
                )
                content = (
                    ""
                    if outcome.kind in {UnjudgedKind.LENGTH, UnjudgedKind.CONTENT_FILTER, UnjudgedKind.EMPTY}
                    else content
                )
            else:
                kept = _with_better_quotes(kept, outcome)
                wrong = _unverified(kept)
                if not wrong or quotes == QUOTE_RETRIES:
                    return kept
                quotes += 1
                again = rendered(prompts, "again.j2", problem=Entailment.UNVERIFIED.value, statements=wrong)
            earlier = [{"role": "assistant", "content": content[:_ECHOED_CHARACTERS]}] if content else []
            messages = [*begin, *earlier, {"role": "user", "content": again}]

    def _answer(self, messages: list[dict[str, str]]) -> tuple[Any, str]:
        """The verdicts, or why there are none; and the text that came, empty where none did."""
        judge = self._judge
        task = TASKS[self._inputs.task]
        body = {"model": judge.model, "messages": messages, **_form(judge.mode, task)}
        more = sum(rough_tokens(message["content"]) for message in messages[2:])
        completion = self._post({**judge.parameters, **body}, more)
        if isinstance(completion, Unjudged):
            return completion, ""
        if completion.reason in _CUT_OFF:
            return Unjudged(UnjudgedKind.LENGTH), completion.content
        if completion.reason in _REFUSED:
            return Unjudged(UnjudgedKind.CONTENT_FILTER), completion.content
        answer = parsed(completion.content, task)
        return (answer if isinstance(answer, Unjudged) else answer.verdicts(self._inputs)), completion.content

    def _post(self, body: object, more: int) -> _Completion | Unjudged:
        """The answer or why there is none; charged with the tokens that the server counts, or else the estimate."""
        sent, received = tokens_of(self._inputs, self._judge.prompts)
        outcome = self._endpoint.post(body, _Completion, self._spending, sent + more + received)
        if isinstance(outcome, _Completion):
            used = (sent + more, received) if outcome.sent is None else (outcome.sent, outcome.received or 0)
            self._spending.correct(sum(used) - sent - more - received)
            self.tokens = (self.tokens[0] + used[0], self.tokens[1] + used[1])
            self.model = (outcome.model or "")[:_NAME_CHARACTERS]
            self.fingerprint = outcome.system_fingerprint and outcome.system_fingerprint[:_NAME_CHARACTERS]
        return outcome


def _with_better_quotes(earlier: Any, later: Any) -> Any:
    """The earlier verdicts, but the later ones on statements whose quotes were not verified; else the later ones."""
    wrong = _unverified(earlier)
    if not wrong:
        return later
    return tuple(later[n] if n + 1 in wrong else each for n, each in enumerate(earlier))


def _unverified(verdicts: Any) -> list[int]:
    supports = [each for each in verdicts if isinstance(each, Support)] if isinstance(verdicts, tuple) else []
    return [each.n for each in supports if each.verdict is Entailment.UNVERIFIED]


def _form(mode: Mode, task: type[Task]) -> dict[str, Any]:
    if mode == "prompt":
        return {}
    form: dict[str, Any] = {"type": mode}
    if mode == "json_schema":
        form["json_schema"] = {"name": task.name, "strict": True, "schema": schema_of(task)}
    return {"response_format": form}


class _Part(BaseModel):
    """Of content in parts those of other types are thoughts, mostly."""

    type: str = "text"
    text: str = ""


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message = _Message()
    finish_reason: str | None = None


def _count(stated: Any) -> int | None:
    """Tokens that a server counted; None where it states what no count can be, since the answer is worth as much."""
    is_count = isinstance(stated, int | float) and 0 <= stated <= MAX_COUNTED and stated == int(stated)
    return int(stated) if is_count else None


TokenCount = Annotated[int | None, BeforeValidator(_count)]


class _Completion(BaseModel):
    """An answer, with the tokens that the server counted; without a choice it is empty."""

    model: str | None = None
    system_fingerprint: str | None = None
    sent: TokenCount = Field(None, validation_alias=AliasPath("usage", "prompt_tokens"))
    received: TokenCount = Field(None, validation_alias=AliasPath("usage", "completion_tokens"))
    choices: list[_Choice]

    @property
    def choice(self) -> _Choice:
        """The first choice, or an empty one."""
        return next(iter(self.choices), _Choice())

    @property
    def content(self) -> str:
        """What the model says, without its thoughts where the server parts them."""
        content = self.choice.message.content or ""
        return content if isinstance(content, str) else "".join(part.text for part in content if part.type == "text")

    @property
    def reason(self) -> str:
        """Why it ends."""
        return "refusal" if self.choice.message.refusal else (self.choice.finish_reason or "").casefold()


@dataclass(frozen=True)
class _Probe(Task):
    ok: bool

    name = "probe"

    def verdicts(self, inputs: Inputs) -> bool:
        """Whether it says what it was asked to say."""
        del inputs
        return self.ok
