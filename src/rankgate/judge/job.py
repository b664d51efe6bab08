"""A call of the judge's command: answers of a run and of what it is compared with, their cost, and the outcome."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from rankgate.criteria.judge_block import JudgeBlock
from rankgate.errors import bad_input
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.identity import judges_of, known_judge
from rankgate.judge.judging import judge_answers, settle
from rankgate.judge.model import Answer, Judge
from rankgate.judge.plan import Collected, Plan, collect_repeats, plan_for, served_by
from rankgate.judge.records import Keeper, Record, Slot
from rankgate.judge.runs import answer_of
from rankgate.judge.store import Store, counts_after
from rankgate.judge.tasks import QUESTIONS
from rankgate.model.answers import UnjudgedKind, VerdictKind
from rankgate.model.values import Gold
from rankgate.model.verdicts import Unjudged, fingerprints_count, same_served
from rankgate.readers.base import Run

_OF_CONTEXT: set[str] = {VerdictKind.SUPPORT, VerdictKind.GOLD_IN_CONTEXT}
_OF_CONTEXT |= {name for name, task in QUESTIONS.items() if task.reads_context}
RUN = "run"
# Of the baseline's budget, where it is planned: for answers that are asked again.
_SPARE = 1.2
_SPARE_CALLS = 20


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says of the gold's queries.

    `ignored` are its lines of other queries, `unanswered` those without any key of an answer. `textless` are (query,
    passage), one for each answer whose context the judge cannot read: it is not among the `answers`.
    """

    run: str
    answers: tuple[Answer, ...]
    ignored: int = 0
    unanswered: int = 0
    textless: tuple[tuple[str, str], ...] = ()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What is judged: the answers of the run, and of the accepted one; with `again` also what the model failed at.

    `beside` are the verdicts of other files: what the job needs of them is put into the store. `kept` are those that
    the accepted run keeps. They are not asked for again, and not written anew: whoever reads them has to trust that
    store, which may be a pull request's own copy.
    """

    block: JudgeBlock
    verdict_kinds: frozenset[str]
    run: Answers
    baseline: Answers | None = None
    beside: Mapping[Slot, Record] = {}
    kept: Mapping[Slot, Record] = {}
    again: bool = False

    @property
    def runs(self) -> dict[str, Answers]:
        """All of them in the order in which they are judged; what they share is judged, and paid for, by the first."""
        return {**({"baseline": self.baseline} if self.baseline else {}), RUN: self.run}


class Planned(NamedTuple):
    """The plans of `Job.runs`; with `tried` False they are for the first form of answers, if the endpoint takes it."""

    judge: Judge
    tried: bool
    plans: Mapping[str, Plan]


class Spent(NamedTuple):
    """Calls and tokens that were spent, and the calls that are planned."""

    calls: int = 0
    tokens: int = 0
    planned: int = 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a job.

    `unjudged` counts, of each of `Job.runs`, the answers that lack a verdict, by reason; `failed` the calls that failed
    and are not kept. `stopped` is why judging ended early, and `at` where. `records` is all that is known of what the
    job needs. `again` counts verdicts on the baseline that were given up, as another model was served since.
    """

    judge: Judge
    spent: Spent
    failed: Mapping[Unjudged, int]
    stopped: Unjudged | None
    at: str
    unjudged: Mapping[str, Counter[UnjudgedKind]]
    records: Mapping[Slot, Record]
    again: int = 0

    @property
    def models(self) -> Counter[str]:
        """How many verdicts each model gave, as the server named it."""
        return Counter(record.model for record in self.records.values() if record.unjudged is None)


def read_answers(run: Run, gold: Gold, verdict_kinds: frozenset[str], depth: int) -> Answers:
    """The answers of a run that was opened with `runs.NEEDS`, in its order."""
    answers: list[Answer] = []
    textless: list[tuple[str, str]] = []
    ignored = unanswered = 0
    for ranking in run.rankings:
        sample = gold.samples.get(ranking.query_id)
        stated = ranking.details is not None and ranking.details.generated is not None
        if sample is None or not stated:
            ignored += sample is None
            unanswered += sample is not None
            continue
        context = ranking.context(depth) if verdict_kinds & _OF_CONTEXT else []
        bare = next((item_id for item_id, text in context if text is None), None)
        if bare is None:
            answers.append(answer_of(sample, ranking, depth))
        else:
            textless.append((ranking.query_id, bare))
    return Answers(
        run=run.name, answers=tuple(answers), ignored=ignored, unanswered=unanswered, textless=tuple(textless)
    )


def require_answers(answers: Answers) -> None:
    """A candidate has answers, and the judge can read what they rest on; else a RankgateError names the key."""
    if answers.textless:
        query_id, item_id = answers.textless[0]
        problem = f"of {len(answers.textless):,} answers a passage has no text, such as {item_id!r} of {query_id!r}"
        advice = "state `text` in the items of a line, or `context_texts: {id: text}` beside its `context`"
        raise bad_input(f"{problem}; {advice}", file=answers.run, key="text")
    if not answers.answers and answers.ignored and not answers.unanswered:
        raise bad_input("no line is of a question of the gold set", file=answers.run, key="query_id")
    if not answers.answers:
        taken = 'takes them from a function that returns {"topk": […], "answer": "…"}'
        raise bad_input(f"the run states no answer; `rankgate record` {taken}", file=answers.run, key="answer")


def plan_job(job: Job, store: Store) -> Planned:
    """What judging takes."""
    known = known_judge(job.block, store.records, job.beside, job.kept)
    judge = known or next(iter(judges_of(job.block)))
    tried = known is not None or job.block.structured != "auto"
    return Planned(judge, tried, _plans(job, judge, store))


def do_job(
    job: Job, planned: Planned, store: Store, endpoint: Endpoint, *, workers: int, watch: Callable[[Spent], None]
) -> Outcome:
    """Ask what is missing, first of the accepted run, within its budget; an interruption ends it in order."""
    work = _Work(job, planned, store, endpoint, workers=workers, watch=watch)
    try:
        if not planned.tried:
            work.settle_judge()
        work.ask_runs()
        work.ask_moved()
    except KeyboardInterrupt:
        work.stopped = Unjudged(UnjudgedKind.INTERRUPTED)
    return work.outcome()


class _Work:
    """A job under way: who judges, what was spent, what failed, and why and where it ended early."""

    def __init__(
        self,
        job: Job,
        planned: Planned,
        store: Store,
        endpoint: Endpoint,
        *,
        workers: int,
        watch: Callable[[Spent], None],
    ) -> None:
        self._judge = planned.judge
        self._known = _Verdicts(store, job)
        self._failed = Counter[Unjudged]()
        self.stopped: Unjudged | None = None
        self._at = RUN
        self._again = 0
        self._job = job
        self._store = store
        self._endpoint = endpoint
        self._workers = workers
        self._watch = watch
        self._plans = planned.plans
        self._planned_calls = 0
        self._of_run = Spending(job.block.budget.calls, job.block.budget.tokens)
        self._spendings = [self._of_run]

    def spent(self) -> Spent:
        """What was spent so far, and the calls that are planned."""
        calls = sum(each.calls for each in self._spendings)
        tokens = sum(each.tokens for each in self._spendings)
        return Spent(calls, tokens, self._planned_calls)

    def settle_judge(self) -> None:
        """Ask the endpoint which form of answers it takes, and plan anew for the judge that asks in this form."""
        outcome = settle(self._job.block, self._endpoint, self._of_run)
        if isinstance(outcome, Unjudged):
            self.stopped = outcome
            self._plans = {}
        elif outcome.id != self._judge.id:
            self._judge = outcome
            self._plans = _plans(self._job, outcome, self._store)

    def ask_runs(self) -> None:
        """Ask about each run's answers; one that both have is asked about once, also where that failed."""
        calls = {name: plan.every_call for name, plan in self._plans.items()}
        self._planned_calls = sum(calls.values())
        of_baseline = self._spending_on_baseline(self._planned_calls - calls.get(RUN, 0))
        known = _Verdicts(self._store, self._job, again=self._job.again)
        done: set[Answer] = set()
        for name in self._plans:
            self._at = name
            answers = [answer for answer in self._job.runs[name].answers if answer not in done]
            done.update(answers)
            self._ask(answers, known, self._of_run if name == RUN else of_baseline)
            if self.stopped:
                return

    def ask_moved(self) -> None:
        """Ask again what the baseline's answers rest on where another model is served now."""
        moved = _Moved(self._known, self._moved_slots())
        if not moved.slots or self.stopped:
            return
        self._at = "baseline"
        self._again = len(moved.slots)
        self._planned_calls += self._again
        self._ask(self._job.runs["baseline"].answers, moved, self._spending_on_baseline(self._again))

    def _spending_on_baseline(self, planned: int) -> Spending:
        """The budget that the block has for the baseline; without one, for the planned calls and some to spare."""
        limit = self._job.block.budget.baseline_calls
        if limit is None:
            limit = max(math.ceil(_SPARE * planned), planned + _SPARE_CALLS)
        self._spendings.append(Spending(limit))
        return self._spendings[-1]

    def _ask(self, answers: Sequence[Answer], store: Keeper, spending: Spending) -> None:
        ending = judge_answers(
            answers,
            self._judge,
            self._job.verdict_kinds,
            endpoint=self._endpoint,
            store=store,
            spending=spending,
            repeats=self._job.block.repeats,
            workers=self._workers,
            watch=lambda: self._watch(self.spent()),
        )
        self._failed.update(ending.failed)
        self.stopped = ending.stopped

    def _moved_slots(self) -> frozenset[Slot]:
        """What the baseline's answers rest on where another served model gave it than gave the run's own verdicts.

        Of each question whose answer changed; what both answers rest on is of one model anyway.
        """
        if self._job.baseline is None:
            return frozenset()
        baseline_answers = {answer.query_id: answer for answer in self._job.baseline.answers}
        slots: dict[str, frozenset[Slot]] = {}
        served_run: dict[str, str | None] = {}
        served_baseline: dict[str, str | None] = {}
        for answer in self._job.run.answers:
            query = answer.query_id
            old = baseline_answers.get(query)
            if old is None or old == answer:
                continue
            of_run = self._records_of(answer)
            of_baseline = self._records_of(old)
            slots[query] = frozenset(of_baseline.keys() - of_run.keys())
            served_run[query] = served_by(record for slot, record in of_run.items() if slot not in of_baseline)
            served_baseline[query] = served_by(of_baseline[slot] for slot in slots[query])
        fingerprints = fingerprints_count(served_run, served_baseline)
        moved = [
            query
            for query, name in served_run.items()
            if name
            and served_baseline[query]
            and not same_served(name, served_baseline[query], fingerprints=fingerprints)
        ]
        return frozenset[Slot]().union(*(slots[query] for query in moved))

    def _records_of(self, answer: Answer) -> dict[Slot, Record]:
        return {record.slot: record for each in self._repeats_of(answer) for record in each.records}

    def _repeats_of(self, answer: Answer) -> list[Collected]:
        return collect_repeats(answer, self._judge, self._job.verdict_kinds, self._known, self._job.block.repeats)

    def outcome(self) -> Outcome:
        """What came of it; what the job needs of other files is put into the store."""
        records: dict[Slot, Record] = {}
        unjudged = {name: self._unjudged(run, records) for name, run in self._job.runs.items()}
        self._store.put(*records.values())
        return Outcome(
            judge=self._judge,
            spent=self.spent(),
            failed=self._failed,
            stopped=self.stopped,
            at=self._at,
            unjudged=unjudged,
            records=records,
            again=self._again,
        )

    def _unjudged(self, run: Answers, records: dict[Slot, Record]) -> Counter[UnjudgedKind]:
        """How many answers lack a verdict, by reason: one that lasts, where there is one.

        To `records` are added those that the verdicts rest on, but for what a stored run keeps already.
        """
        counts: Counter[UnjudgedKind] = Counter()
        for answer in run.answers:
            missing: list[UnjudgedKind] = []
            for repeat in self._repeats_of(answer):
                records.update({each.slot: each for each in repeat.records if each != self._job.kept.get(each.slot)})
                kinds = [each for each in (*VerdictKind, *QUESTIONS) if each in self._job.verdict_kinds]
                verdicts = [repeat.verdicts.of(kind) for kind in kinds]
                by_criterion = [each for verdict in verdicts if isinstance(verdict, dict) for each in verdict.values()]
                missing += [each.kind for each in (*verdicts, *by_criterion) if isinstance(each, Unjudged)]
            if missing:
                counts[next((kind for kind in missing if kind.lasts), missing[0])] += 1
        return counts


def _plans(job: Job, judge: Judge, store: Store) -> dict[str, Plan]:
    known = _Verdicts(store, job, again=job.again)
    plans: dict[str, Plan] = {}
    for name, run in job.runs.items():
        paid = [call for plan in plans.values() for call in plan.calls]
        plans[name] = plan_for(run.answers, judge, job.verdict_kinds, known, repeats=job.block.repeats, planned=paid)
    return plans


class _Verdicts(msgspec.Struct, frozen=True):
    """A store, and behind it what is known elsewhere; with `again` without what the model failed at."""

    store: Store
    job: Job
    again: bool = False

    def get(self, slot: Slot, /) -> Record | None:
        """The record of a slot: its first verdict, or else its first failure."""
        record: Record | None = None
        for known in (self.store, self.job.beside, self.job.kept):
            later = known.get(slot)
            record = later if later and counts_after(later, record) else record
        return None if self.again and record and record.unjudged else record

    def put(self, *records: Record) -> None:
        """Keep records in the store, also in place of what was asked about although it has a verdict: a damaged one."""
        for record in records:
            known = self.store.get(record.slot)
            self.store.put(record, replace=known is not None and known.unjudged is None)


class _Moved(msgspec.Struct, frozen=True):
    """The same while slots are asked again: each keeps what it has until its new verdict is there."""

    known: _Verdicts
    slots: frozenset[Slot]

    def get(self, slot: Slot, /) -> Record | None:
        """The record of a slot that is not asked again."""
        return None if slot in self.slots else self.known.get(slot)

    def put(self, *records: Record) -> None:
        """Keep verdicts in place of those that slots have; a failure takes no verdict's place."""
        self.known.store.put(*(record for record in records if record.unjudged is None), replace=True)
