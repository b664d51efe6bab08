"""A call of the judge's command: answers of a run and of what it is compared with, their cost, and the outcome."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from rankgate.criteria.judge_block import JudgeBlock
from rankgate.errors import bad_input
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.identity import judges_of, known_judge
from rankgate.judge.judging import judge_answers, settle
from rankgate.judge.model import Answer, Judge, Known, Record, Slot
from rankgate.judge.plan import Plan, plan_for, served_by, walk
from rankgate.judge.runs import answer_of
from rankgate.judge.store import Store, counts_after
from rankgate.model.answers import Unjudged, UnjudgedKind, VerdictKind, fingerprints_count, same_served
from rankgate.model.values import Gold
from rankgate.readers.base import Run

_OF_CONTEXT = frozenset({VerdictKind.SUPPORT, VerdictKind.GOLD_IN_CONTEXT, VerdictKind.RELEVANCE})
RUN = "run"
_SPARE, _SPARE_CALLS = 1.2, 20  # of the baseline's budget, where it is planned: for answers that are asked again


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
    """What is judged: the answers of the run, and of the accepted one; `again` as for `judge_answers`.

    `beside` are the verdicts of other files: what the job needs of them is put into the store. `kept` are those that
    the accepted run keeps. They are not asked for again, and not written anew: whoever reads them has to trust that
    store, which may be a pull request's own copy.
    """

    block: JudgeBlock
    wants: frozenset[VerdictKind]
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
    failed: Mapping[UnjudgedKind, int]
    stopped: Unjudged | None
    at: str
    unjudged: Mapping[str, Counter[UnjudgedKind]]
    records: Mapping[Slot, Record]
    again: int = 0

    @property
    def models(self) -> Counter[str]:
        """How many verdicts each model gave, as the server named it."""
        return Counter(record.model for record in self.records.values() if record.unjudged is None)


def read_answers(run: Run, gold: Gold, wants: frozenset[VerdictKind], depth: int) -> Answers:
    """The answers of a run that was opened with `runs.NEEDS`, in its order.

    Raises:
        RankgateError: the run is malformed.
    """
    found: list[Answer] = []
    textless: list[tuple[str, str]] = []
    ignored = unanswered = 0
    for ranking in run.rankings:
        sample = gold.samples.get(ranking.query_id)
        stated = ranking.details is not None and ranking.details.generated is not None
        if sample is None or not stated:
            ignored += sample is None
            unanswered += sample is not None
            continue
        context = ranking.context(depth) if wants & _OF_CONTEXT else []
        bare = next((item_id for item_id, text in context if text is None), None)
        if bare is None:
            found.append(answer_of(sample, ranking, depth))
        else:
            textless.append((ranking.query_id, bare))
    return Answers(run=run.name, answers=tuple(found), ignored=ignored, unanswered=unanswered, textless=tuple(textless))


def require_answers(found: Answers) -> None:
    """A candidate has answers, and the judge can read what they rest on.

    Raises:
        RankgateError: says which key of the run is missing.
    """
    if found.textless:
        query_id, item_id = found.textless[0]
        problem = f"of {len(found.textless):,} answers a passage has no text, such as {item_id!r} of {query_id!r}"
        advice = "state `text` in the items of a line, or `context_texts: {id: text}` beside its `context`"
        raise bad_input(f"{problem}; {advice}", file=found.run, key="text")
    if not found.answers and found.ignored and not found.unanswered:
        raise bad_input("no line is of a question of the gold set", file=found.run, key="query_id")
    if not found.answers:
        taken = 'takes them from a function that returns {"topk": […], "answer": "…"}'
        raise bad_input(f"the run states no answer; `rankgate record` {taken}", file=found.run, key="answer")


def plan_job(job: Job, store: Store) -> Planned:
    """What judging takes.

    Raises:
        RankgateError: the store or the block's prompts cannot be used.
    """
    known = known_judge(job.block, store.records, job.beside, job.kept)
    judge = known or next(iter(judges_of(job.block)))
    tried = known is not None or job.block.structured != "auto"
    return Planned(judge, tried, _plans(job, judge, store))


def do_job(
    job: Job, planned: Planned, store: Store, endpoint: Endpoint, *, workers: int, watch: Callable[[Spent], None]
) -> Outcome:
    """Ask what is missing, first of the accepted run, within its budget; an interruption ends it in order.

    Raises:
        RankgateError: the store or a prompt of the user cannot be used.
    """
    budget, failed, stopped, at = job.block.budget, Counter[UnjudgedKind](), None, RUN
    judge, plans, own, done = planned.judge, planned.plans, Spending(budget.calls, budget.tokens), set[Answer]()
    again, known = 0, _Verdicts(store, job)
    spendings = [own]
    try:
        settled = judge if planned.tried else settle(job.block, endpoint, own)
        if isinstance(settled, Unjudged):
            stopped, plans = settled, {}
        elif settled.id != judge.id:
            judge, plans = settled, _plans(job, settled, store)
        total = sum(plan.every_call for plan in plans.values())
        before = total - plans[RUN].every_call if plans else 0
        default = max(math.ceil(_SPARE * before), before + _SPARE_CALLS)
        spendings.append(Spending(default if budget.baseline_calls is None else budget.baseline_calls))
        ask = partial(
            judge_answers, judge=judge, wants=job.wants, endpoint=endpoint, repeats=job.block.repeats, workers=workers
        )
        for at in plans:
            answers = [answer for answer in job.runs[at].answers if answer not in done]
            done.update(answers)  # and not asked once more, if it failed
            spending = own if at == RUN else spendings[1]
            progress = ask(
                answers,
                store=known,
                spending=spending,
                again=job.again,
                watch=lambda _: watch(_spent(spendings, total)),
            )
            failed.update({kind: count for kind, count in progress.unjudged.items() if not kind.lasts})
            stopped = progress.stopped
            if stopped:
                break
        old = _Moved(known, moved_slots(job, judge, known))
        if old.slots and not stopped:
            again, at = len(old.slots), "baseline"
            few = max(math.ceil(_SPARE * again), again + _SPARE_CALLS)
            spendings.append(Spending(few if budget.baseline_calls is None else budget.baseline_calls))
            progress = ask(
                job.runs["baseline"].answers,
                store=old,
                spending=spendings[-1],
                watch=lambda _: watch(_spent(spendings, total + again)),
            )
            failed.update({kind: count for kind, count in progress.unjudged.items() if not kind.lasts})
            stopped = progress.stopped
    except KeyboardInterrupt:
        stopped = Unjudged(UnjudgedKind.INTERRUPTED)
    records: dict[Slot, Record] = {}
    unjudged = {name: _unjudged(job, run, judge, known, records) for name, run in job.runs.items()}
    store.put(*records.values())
    return Outcome(
        judge=judge,
        spent=_spent(spendings),
        failed=failed,
        stopped=stopped,
        at=at,
        unjudged=unjudged,
        records=records,
        again=again,
    )


def moved_slots(job: Job, judge: Judge, known: Known) -> frozenset[Slot]:
    """What the baseline's answers rest on where another served model gave it than gave the run's own verdicts.

    Of each question whose answer changed; what both answers rest on is of one model anyway.
    """
    if job.baseline is None:
        return frozenset()
    before = {answer.query_id: answer for answer in job.baseline.answers}
    slots: dict[str, frozenset[Slot]] = {}
    names: tuple[dict[str, str | None], dict[str, str | None]] = ({}, {})
    for answer in job.run.answers:
        old = before.get(answer.query_id)
        if old is None or old == answer:
            continue
        of_run, of_baseline = (_own_records(each, judge, job, known) for each in (answer, old))
        slots[answer.query_id] = frozenset(of_baseline.keys() - of_run.keys())
        names[0][answer.query_id] = served_by(record for slot, record in of_run.items() if slot not in of_baseline)
        names[1][answer.query_id] = served_by(of_baseline[slot] for slot in slots[answer.query_id])
    fingerprints = fingerprints_count(*names)
    moved = [
        query
        for query, name in names[0].items()
        if name and names[1][query] and not same_served(name, names[1][query], fingerprints=fingerprints)
    ]
    return frozenset[Slot]().union(*(slots[query] for query in moved))


def _own_records(answer: Answer, judge: Judge, job: Job, known: Known) -> dict[Slot, Record]:
    walks = [walk(answer, judge, job.wants, known, repeat) for repeat in range(job.block.repeats)]
    return {record.slot: record for each in walks for record in each.records}


def _spent(spendings: Iterable[Spending], total: int = 0) -> Spent:
    return Spent(sum(each.calls for each in spendings), sum(each.tokens for each in spendings), total)


def _plans(job: Job, judge: Judge, store: Store) -> dict[str, Plan]:
    known = _Verdicts(store, job, again=job.again)
    plans: dict[str, Plan] = {}
    for name, run in job.runs.items():
        paid = [call for plan in plans.values() for call in plan.calls]
        plans[name] = plan_for(run.answers, judge, job.wants, known, repeats=job.block.repeats, planned=paid)
    return plans


def _unjudged(job: Job, run: Answers, judge: Judge, known: Known, records: dict[Slot, Record]) -> Counter[UnjudgedKind]:
    """The answers that lack a verdict, by reason: one that lasts, where there is one. What is known is added."""
    found: Counter[UnjudgedKind] = Counter()
    for answer in run.answers:
        walks = [walk(answer, judge, job.wants, known, repeat) for repeat in range(job.block.repeats)]
        found_records = (record for each in walks for record in each.records)
        records.update((record.slot, record) for record in found_records if record != job.kept.get(record.slot))
        values = [getattr(each.verdicts, want.value) for each in walks for want in VerdictKind if want in job.wants]
        missing = sorted((each.kind for each in values if isinstance(each, Unjudged)), key=lambda kind: not kind.lasts)
        found.update(missing[:1])
    return found


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
        """Keep records in the store."""
        self.store.put(*records)


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
