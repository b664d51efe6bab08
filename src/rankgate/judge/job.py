"""One call of the judge's command: the answers of a run and its baseline, what they cost, and what came of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from rankgate.criteria.judge_block import JudgeBlock
from rankgate.errors import bad_input
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.identity import judge_of
from rankgate.judge.judging import WORKERS, judge_answers, settle
from rankgate.judge.model import MODES, Answer, Judge, Known, Record, Slot, Task
from rankgate.judge.plan import Plan, judged, plan_for
from rankgate.judge.runs import answer_of, judge_with_verdicts
from rankgate.judge.store import Store, read_verdicts
from rankgate.model.answers import Unjudged, UnjudgedKind, Want
from rankgate.model.values import Gold
from rankgate.readers.base import Run

_OF_CONTEXT = frozenset({Want.SUPPORT, Want.GOLD_IN_CONTEXT, Want.RELEVANCE})
_OF_EMBEDDINGS = frozenset({Want.QUESTION_SIMILARITY, Want.ANSWER_SIMILARITY})
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
    """What is judged: the answers of the run, and those of the baseline if there is one; `again` as `judge_answers`."""

    block: JudgeBlock
    wants: frozenset[Want]
    run: Answers
    baseline: Answers | None = None
    again: bool = False

    @property
    def runs(self) -> tuple[Answers, ...]:
        """The run, and the baseline if there is one."""
        return (self.run, self.baseline) if self.baseline else (self.run,)


class Planned(NamedTuple):
    """The plans of `Job.runs`; with `tried` False they are for the first form of answers, if the endpoint takes it."""

    judge: Judge
    tried: bool
    plans: tuple[Plan, ...]


class Spent(NamedTuple):
    """Calls and tokens that were spent, and the calls that are planned."""

    calls: int = 0
    tokens: int = 0
    planned: int = 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a job.

    `unjudged` counts, of each of `Job.runs`, the answers that lack a verdict, by reason; `failed` the calls that failed
    and are not kept. `stopped` is why judging ended early, and `at_baseline` where. `records` is all that is known of
    what the job needs.
    """

    judge: Judge
    spent: Spent
    failed: Mapping[UnjudgedKind, int]
    stopped: Unjudged | None
    at_baseline: bool
    unjudged: tuple[Counter[UnjudgedKind], ...]
    records: Mapping[Slot, Record]

    @property
    def models(self) -> Counter[str]:
        """How many verdicts each model gave, as the server named it; embeddings have a model of their own."""
        given = (each for each in self.records.values() if each.unjudged is None and each.task is not Task.SIMILARITY)
        return Counter(record.model for record in given)


def read_answers(run: Run, gold: Gold, wants: frozenset[Want], depth: int) -> Answers:
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


def take_in(files: Iterable[str], block: JudgeBlock, store: Store, stored: Mapping[Slot, Record] = {}) -> None:
    """Put the verdicts of files, and then those `stored` with a baseline, into the store; a missing file is left out.

    With `structured: auto` the form of answers is that of these verdicts, unless the store knows it.

    Raises:
        RankgateError: a file is damaged, or the store or the block's prompts cannot be used.
    """
    for known in (*(read_verdicts(file) for file in dict.fromkeys(files) if Path(file).exists()), stored):
        store.put(*known.values())
        if block.structured == "auto" and store.mode(block.endpoint, block.model) is None:
            judge = judge_with_verdicts(block, known)
            if any(slot.judge == judge.id for slot in known):
                store.remember_mode(block.endpoint, block.model, judge.mode)


def plan_job(job: Job, store: Store) -> Planned:
    """What judging takes. What the baseline's answers share with the run's is the baseline's to pay for.

    Raises:
        RankgateError: the store or the block's prompts cannot be used.
    """
    block = job.block
    mode = store.mode(block.endpoint, block.model) if block.structured == "auto" else block.structured
    judge = judge_of(block, mode or MODES[0])
    return Planned(judge, mode is not None, _plans(job, judge, store))


def do_job(
    job: Job, store: Store, endpoint: Endpoint, *, workers: int = WORKERS, watch: Callable[[Spent], None]
) -> Outcome:
    """Ask what is missing, first of the baseline, each run within its own budget; an interruption ends it in order.

    Raises:
        RankgateError: the store or a prompt of the user cannot be used.
    """
    budget, failed, stopped, at_baseline = job.block.budget, Counter[UnjudgedKind](), None, False
    spendings = [Spending(budget.calls, budget.tokens)]
    planned = 0
    try:
        judge = settle(job.block, endpoint, store, spendings[0])
        if isinstance(judge, Unjudged):
            stopped, judge = judge, plan_job(job, store).judge
        plans = () if stopped else _plans(job, judge, store)
        planned = sum(map(calls_of, plans))
        for answers, plan in reversed([*zip(job.runs, plans, strict=False)]):
            at_baseline = answers is not job.run
            if at_baseline:
                default = max(math.ceil(_SPARE * calls_of(plan)), calls_of(plan) + _SPARE_CALLS)
                spendings.append(Spending(default if budget.baseline_calls is None else budget.baseline_calls))
            progress = judge_answers(
                answers.answers,
                judge,
                job.wants,
                endpoint=endpoint,
                store=store,
                spending=spendings[at_baseline],
                repeats=job.block.repeats,
                workers=workers,
                again=job.again,
                watch=lambda _: watch(_spent(spendings, planned)),
            )
            failed.update({kind: count for kind, count in progress.unjudged.items() if not kind.lasts})
            stopped = progress.stopped
            if stopped:
                break
    except KeyboardInterrupt:
        stopped, judge = Unjudged(UnjudgedKind.INTERRUPTED), plan_job(job, store).judge
    known = _Noted(store)
    return Outcome(
        judge=judge,
        spent=_spent(spendings, planned),
        failed=failed,
        stopped=stopped,
        at_baseline=at_baseline,
        unjudged=tuple(_unjudged(job, run, judge, known) for run in job.runs),
        records=known.records,
    )


def calls_of(plan: Plan) -> int:
    """The calls that a plan makes, as far as they can be foreseen."""
    return len(plan.calls) + plan.later_calls


def _spent(spendings: Iterable[Spending], planned: int) -> Spent:
    return Spent(sum(each.calls for each in spendings), sum(each.tokens for each in spendings), planned)


def _plans(job: Job, judge: Judge, store: Store) -> tuple[Plan, ...]:
    known, repeats = _Noted(store, failures=not job.again), job.block.repeats
    first = [plan_for(run.answers, judge, job.wants, known, repeats=repeats) for run in job.runs[1:]]
    paid = [call for plan in first for call in plan.calls]
    return (plan_for(job.run.answers, judge, job.wants, known, repeats=repeats, planned=paid), *first)


def _unjudged(job: Job, run: Answers, judge: Judge, known: Known) -> Counter[UnjudgedKind]:
    """The answers that lack a verdict, by reason: one that lasts, where there is one."""
    found: Counter[UnjudgedKind] = Counter()
    for answer in run.answers:
        repeats = [judged(answer, judge, job.wants, known, repeat) for repeat in range(job.block.repeats)]
        values = [getattr(each, want.value) for each in repeats for want in Want if want in job.wants]
        missing = sorted((each.kind for each in values if isinstance(each, Unjudged)), key=lambda kind: not kind.lasts)
        found.update(missing[:1])
    return found


class _Noted:
    """Looks verdicts up, and keeps what it found; earlier failures only where they count."""

    def __init__(self, known: Known, *, failures: bool = True) -> None:
        self.records: dict[Slot, Record] = {}
        self._known, self._failures = known, failures

    def get(self, slot: Slot, /) -> Record | None:
        """The record of a slot."""
        record = self.records.get(slot) or self._known.get(slot)
        if record is None or (record.unjudged and not self._failures):
            return None
        self.records[slot] = record
        return record
