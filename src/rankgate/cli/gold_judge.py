"""`rankgate gold pool --judge`: documents that nobody has judged are put to the judge of the criteria."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from rankgate.cli.judge_ask import ask_job, cost_text, end_of, refuse_committed, warnings_of
from rankgate.collecting.pool import Pair
from rankgate.criteria import Criteria
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.errors import bad_input, shown
from rankgate.judge.job import RUN, Answers, Job, Outcome, plan_job
from rankgate.judge.judging import WORKERS
from rankgate.judge.model import Answer, Passage
from rankgate.judge.plan import BATCH, judged
from rankgate.judge.store import Store
from rankgate.model.answers import VerdictKind
from rankgate.model.judge_words import UNJUDGED_WORDS
from rankgate.model.values import Gold
from rankgate.model.wording import count_text, tokens_text

STORE = ".rankgate/verdicts.jsonl"
RELEVANT = 2  # the lowest grade that says that a passage answers the question, at least partly
_VERDICTS = frozenset({VerdictKind.RELEVANCE})


class JudgedPool(NamedTuple):
    """Pairs with the judge's labels, None where it gave none, and lines that say how many there are."""

    pairs: Sequence[Pair]
    lines: list[str]


def judge_pool(
    arguments: argparse.Namespace, criteria: Criteria, block: JudgeBlock, gold: Gold, unjudged: Sequence[Pair]
) -> JudgedPool | int:
    """The pairs with the judge's labels; the exit code where nothing was to be judged, or not all was.

    Of several runs only what not all of them found makes a difference. A query that nothing answers and a document that
    the query lists as a negative are not asked about.

    Raises:
        RankgateError: a question or a text is missing; or the endpoint fails or a budget is reached, and then the
            verdicts until there are kept in the store.
    """
    pairs = [pair for pair in unjudged if _makes_a_difference(pair) and _may_be_relevant(pair, gold)]
    _require_texts(pairs, gold)
    refuse_committed([STORE])
    size = BATCH if block.context_tokens is None else 1  # passages of a question in one call
    by_query = [list(of_query) for _, of_query in groupby(pairs, lambda pair: pair.query_id)]
    batches = [of_query[at : at + size] for of_query in by_query for at in range(0, len(of_query), size)]
    answers = tuple(map(_answer, batches))
    job = Job(block=block, wants=_VERDICTS, run=Answers(run="", answers=answers), again=arguments.again)
    with Store(STORE, writes=not arguments.dry_run) as store:
        planned = plan_job(job, store)
        plan = planned.plans[RUN]
        work = f"{count_text(len(pairs), 'pair')} of {count_text(len(by_query), 'question')} to judge"
        cost = f"{count_text(plan.every_call, 'call')}, about {tokens_text(plan.tokens)}"
        cached = f"; {count_text(plan.cached, 'call')} made already" if plan.cached else ""
        sys.stderr.write(f"judge {planned.judge.short} ({block.model}): {work}: {cost}{cached}\n")
        sys.stderr.writelines(f"warning: {warning}\n" for warning in warnings_of(job, planned, criteria))
        if arguments.dry_run:
            return 0
        if not pairs:
            return JudgedPool([], [])
        outcome = ask_job(job, planned, store, WORKERS, None)
    if code := end_of(outcome, criteria, ""):
        return code
    labelled = _labelled(batches, answers, outcome, block.repeats, gold)
    gains = [pair.gain for pair in labelled if pair.gain is not None]
    relevant = f"{sum(gain > 0 for gain in gains):,} of them relevant"
    by = f"{count_text(len(gains), 'pair')} labelled by judge {outcome.judge.short}"
    lines = [f"{by}, {relevant}; {cost_text(outcome.spent)}"]
    if missing := outcome.unjudged[RUN]:
        reasons = ", ".join(f"{count_text(count, 'call')} {UNJUDGED_WORDS[kind]}" for kind, count in missing.items())
        lines += [f"  {len(pairs) - len(gains):,} without a label ({reasons}); --again asks once more"]
    return JudgedPool(labelled, lines)


def _makes_a_difference(pair: Pair) -> bool:
    """Whether not all of several runs found the document; of one run every document counts."""
    return len(pair.ranks) == 1 or None in pair.ranks.values()


def _may_be_relevant(pair: Pair, gold: Gold) -> bool:
    sample = gold.samples[pair.query_id]
    return not sample.no_answer and pair.id not in sample.negatives


def _labelled(
    batches: Sequence[Sequence[Pair]], answers: Sequence[Answer], outcome: Outcome, repeats: int, gold: Gold
) -> list[Pair]:
    """The pairs with the median of the judge's grades, and its gain; None where a repeat has no grades."""
    top = max((gain for sample in gold.samples.values() for gain in sample.gains.values()), default=1.0)
    labelled: list[Pair] = []
    for batch, answer in zip(batches, answers, strict=True):
        verdicts = [judged(answer, outcome.judge, _VERDICTS, outcome.records, n).relevance for n in range(repeats)]
        grades = [each for each in verdicts if isinstance(each, tuple)]
        for row, pair in enumerate(batch):
            grade = None
            if len(grades) == repeats:
                grade = sorted(each[row] for each in grades)[(repeats - 1) // 2]
            gain = None if grade is None else gain_of_grade(grade, top)
            labelled.append(replace(pair, gain=gain, grade=grade, judge=outcome.judge.id))
    return labelled


def gain_of_grade(grade: int, top: float) -> float:
    """A grade on the scale of a gold set whose best gain is `top`: up to 1 for 2 and 3 alone, else itself up to it."""
    return min(grade, top) if top > 1 else (top or 1.0) * (grade >= RELEVANT)


def _require_texts(pairs: Sequence[Pair], gold: Gold) -> None:
    if mute := next((pair for pair in pairs if not pair.question), None):
        text = f"query {shown(mute.query_id)} has no question to put to a judge; state `input: {{question: …}}`"
        raise bad_input(text, file=gold.name, line=gold.samples[mute.query_id].line)
    if bare := [pair for pair in pairs if pair.text is None]:
        first = f"such as {shown(bare[0].id)} of {shown(bare[0].query_id)}"
        run = next(name for name, rank in bare[0].ranks.items() if rank is not None)
        text = f"no run states the text of {len(bare):,} documents to judge, {first}; state `text` in items of a line"
        raise bad_input(text, file=run, key="text")


def _answer(batch: Sequence[Pair]) -> Answer:
    passages = tuple(Passage(pair.id, pair.text or "") for pair in batch)
    return Answer(query_id=batch[0].query_id, question=batch[0].question or "", context=passages)
