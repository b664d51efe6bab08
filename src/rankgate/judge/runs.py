"""From a run to the answers that a judge is asked about, and to rankings that carry what it said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rankgate.criteria import Criteria
from rankgate.criteria.inputs import Inputs, Opener
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.judge.identity import judges_of
from rankgate.judge.model import Answer, Judge, Known, Passage, Record, Slot
from rankgate.judge.plan import judged
from rankgate.judge.store import read_verdicts
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import Metric
from rankgate.model.answers import Want
from rankgate.model.values import Details, Generated, Gold, Need, Ranking, Sample
from rankgate.readers.base import Run

NEEDS = frozenset({Need.ANSWER, Need.TEXTS})  # of a run whose answers are judged


def wants_of(metrics: Iterable[Metric]) -> frozenset[Want]:
    """What these metrics need of a judge."""
    return frozenset[Want]().union(*(metric.wants for metric in metrics if isinstance(metric, JudgedMetric)))


def verdicts_beside(run: str) -> str:
    """Where the verdicts on a run's answers lie: `run.verdicts.jsonl` beside `run.jsonl`."""
    path = Path(run)
    return str(path.with_name(f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}.verdicts.jsonl"))


def answer_of(sample: Sample, ranking: Ranking, depth: int) -> Answer:
    """What a run says of a query, and what the gold says; a passage without a text is an empty one.

    Args:
        sample: of the gold; of several reference answers the first counts.
        ranking: read with `NEEDS`.
        depth: how many results are the context where the line does not say.
    """
    generated = (ranking.details or Details()).generated or Generated()
    return Answer(
        query_id=sample.query_id,
        question=sample.question or "",
        answer=generated.answer,
        context=tuple(Passage(item_id, text or "") for item_id, text in ranking.context(depth)),
        citations=generated.citations or (),
        abstained=bool(generated.abstained),
        reference=next(iter(sample.answers), None),
        claims=sample.claims,
        no_answer=sample.no_answer,
    )


def answers_of(gold: Gold, rankings: Iterable[Ranking], depth: int) -> Iterator[Answer]:
    """The answers to the gold's queries, in the order of the run."""
    for ranking in rankings:
        sample = gold.samples.get(ranking.query_id)
        if sample is not None:
            yield answer_of(sample, ranking, depth)


def judge_with_verdicts(block: JudgeBlock, known: Mapping[Slot, Record]) -> Judge:
    """Of the judges that a block may mean, the one with the most verdicts; the first of equals.

    Raises:
        RankgateError: the block's own prompts cannot be used.
    """
    counts = Counter(slot.judge for slot in known)
    return max(judges_of(block), key=lambda judge: counts[judge.id])


def with_verdicts(
    rankings: Iterable[Ranking], gold: Gold, judge: Judge, known: Known, wants: frozenset[Want], block: JudgeBlock
) -> Iterator[Ranking]:
    """The rankings, each with what the judge said of its answer, one set a repeat; nothing is asked."""
    for ranking in rankings:
        sample = gold.samples.get(ranking.query_id)
        details = ranking.details or Details()
        if sample is None or details.generated is None:
            yield ranking
            continue
        answer = answer_of(sample, ranking, block.depth)
        verdicts = tuple(judged(answer, judge, wants, known, repeat) for repeat in range(block.repeats))
        yield replace(ranking, details=replace(details, verdicts=verdicts))


def judged_runs(
    inputs: Inputs, criteria: Criteria, gold: Gold, metrics: Sequence[Metric], *runs: Opener
) -> tuple[Callable[..., Any], ...]:
    """What opens runs, of which each ranking now carries the verdicts on its answer.

    The verdicts are those of the file that the caller names, or else of the one beside the candidate's run, unless that
    run is untrusted: who wrote its answers may have written these as well.

    Raises:
        RankgateError: the file is damaged, or the criteria's prompts cannot be used.
    """
    block, run = criteria.judge, inputs.run or criteria.inputs.run
    if block is None:
        return runs
    beside = verdicts_beside(run.path) if run and not inputs.untrusted_run else None
    path = inputs.verdicts or (beside if beside and Path(beside).exists() else None)
    known = read_verdicts(path) if path else {}
    judge, wants = judge_with_verdicts(block, known), wants_of(metrics)

    def opening(opened: Opener) -> Opener:
        def again(needs: frozenset[Need] = frozenset(), **how: object) -> Run | None:
            found = opened(needs=needs | NEEDS, **how)
            if found is None:
                return None
            rankings = with_verdicts(found.rankings, gold, judge, known, wants, block)
            return replace(found, rankings=rankings, file=None)

        return again

    return tuple(map(opening, runs))
