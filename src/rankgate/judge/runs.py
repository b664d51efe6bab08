"""From a run to the answers that a judge is asked about, and to rankings that carry what it said of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rankgate.criteria import Criteria, InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.judge.identity import judges_of, known_judge
from rankgate.judge.model import Answer, Judge, Passage
from rankgate.judge.plan import BATCH, Plan, collect_verdicts, judged, plan_for
from rankgate.judge.records import Known, Record, Slot
from rankgate.judge.sample import item_of
from rankgate.judge.store import by_slot, listed, read_verdicts, stored_verdicts
from rankgate.judge.tasks import QUESTIONS
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import Metric
from rankgate.metrics.plan import Plan as Scoring
from rankgate.model.answers import JudgeMark, VerdictKind
from rankgate.model.values import Details, Generated, Gold, Ranking, RunField, Sample
from rankgate.model.verdicts import NO_VERDICT
from rankgate.readers.base import Run, RunSource
from rankgate.readers.source import STDIN

# What reports explain a drop by, where verdicts on it happen to be known.
EXPLAINING_KINDS = frozenset(
    {VerdictKind.STATE, VerdictKind.SUPPORT, VerdictKind.GOLD_IN_ANSWER, VerdictKind.GOLD_IN_CONTEXT}
)
NEEDS = frozenset({RunField.ANSWER, RunField.TEXTS})  # of a run whose answers are judged


def verdict_kinds_of(metrics: Iterable[Metric]) -> frozenset[str]:
    """What these metrics need of a judge."""
    return frozenset[str]().union(*(metric.asks for metric in metrics if isinstance(metric, JudgedMetric)))


def verdicts_beside(run: str) -> str:
    """Where the verdicts on a run's answers lie: `run.verdicts.jsonl` beside `run.jsonl`."""
    path = Path(run)
    return str(path.with_name(f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}.verdicts.jsonl"))


def verdicts_file(run: InputFile | None, named: str | None = None) -> str | None:
    """The file of the verdicts on a run: the one that is named, else the one beside it; None where there is none."""
    beside = verdicts_beside(run.path) if run and run.is_file else None
    return named or (beside if beside and Path(beside).exists() else None)


def answer_of(sample: Sample, ranking: Ranking, depth: int) -> Answer:
    """What a run, read with `NEEDS`, says of a query, and what the gold says, of whose answers the first counts.

    A passage without a text is an empty one; `depth` results are the context where the line does not say.
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


def judge_with_verdicts(block: JudgeBlock, *known: Iterable[Slot]) -> Judge:
    """The judge with the most of these verdicts; the first that a block may mean where none has any."""
    return known_judge(block, *known) or next(iter(judges_of(block)))


def with_records(
    rankings: Iterable[Ranking],
    gold: Gold,
    known: Mapping[Slot, Record],
    depth: int,
    rubrics: Mapping[str, str] = {},
) -> Iterator[Ranking]:
    """The rankings, each with the records on its answer, to be stored.

    These are what any metric looks up for it, of each judge in `known` and whatever that one's limits: a gate that is
    added later, or a judge that is chosen again, asks for nothing that was known once. The rankings are read with
    `NEEDS`; `rubrics` are the criteria in words whose verdicts are kept.
    """
    samples = gold.samples
    judges = sorted({(slot.judge, slot.repeat) for slot in known})
    for ranking in rankings:
        sample = samples.get(ranking.query_id)
        details = ranking.details or Details()
        records_of_answer: list[Record] = []
        if sample is not None and details.generated is not None:
            answer = answer_of(sample, ranking, depth)
            for judge, repeat in judges:
                records_of_answer += _records(answer, judge, repeat, known, rubrics)
        records = listed(by_slot(records_of_answer).values()) if records_of_answer else None
        yield replace(ranking, details=replace(details, records=records)) if records else ranking


def _records(
    answer: Answer, judge_id: str, repeat: int, known: Known, rubrics: Mapping[str, str]
) -> tuple[Record, ...]:
    judge = Judge(id=judge_id, model="", parameters={}, mode="prompt", prompts={}, rubrics=rubrics)
    verdict_kinds = frozenset([*VerdictKind, *QUESTIONS])
    collected = collect_verdicts(answer, judge, verdict_kinds, known, repeat)
    claims = (collected.verdicts.claims, collected.verdicts.gold_claims)
    if not any(isinstance(each, tuple) and len(each) > BATCH for each in claims):
        return collected.records
    # A model of a small context was asked about so many claims in batches.
    in_batches = collect_verdicts(answer, replace(judge, context_tokens=0), verdict_kinds, known, repeat)
    return collected.records + in_batches.records


def plan_of(block: JudgeBlock, gold: Gold, metrics: Iterable[Metric], rankings: Iterable[Ranking]) -> Plan:
    """What judging a run, read with `NEEDS`, would take if no verdict were known."""
    samples = gold.samples
    verdict_kinds = verdict_kinds_of(metrics)
    judge = next(iter(judges_of(block)))
    stated = (each for each in rankings if each.query_id in samples and each.details and each.details.generated)
    answers = [answer_of(samples[each.query_id], each, block.depth) for each in stated]
    return plan_for(answers, judge, verdict_kinds, {}, repeats=block.repeats)


class RunVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge said of the answers of runs.

    `mark` says who judged them, `judges` whose verdicts were at hand.
    """

    gold: Gold
    block: JudgeBlock
    judge: Judge
    known: Known
    verdict_kinds: frozenset[str]
    mark: JudgeMark | None
    judges: tuple[str, ...]

    def reads(self, plan: Scoring) -> frozenset[RunField]:
        """What a run has to be opened with, so that verdicts can be put on it."""
        return (plan.needs | NEEDS) - {RunField.VERDICTS}

    def on(self, run: Run) -> Run:
        """The run, read with `NEEDS`, each ranking with the verdicts on its answer."""
        return replace(
            run,
            rankings=self._judged(run.rankings),
            quick=None,
            provenance={**run.provenance, "judge": f"{self.judge.short} ({self.judge.model})"},
            judge=self.mark,
            judges=self.judges,
        )

    def _judged(self, rankings: Iterable[Ranking]) -> Iterator[Ranking]:
        """The rankings, each with what the judge said of its answer, one set a repeat; nothing is asked."""
        for ranking in rankings:
            sample = self.gold.samples.get(ranking.query_id)
            if sample is None:
                yield ranking
                continue
            details = ranking.details or Details()
            answer = answer_of(sample, ranking, self.block.depth)
            # Not even an empty answer: its claims are missing, and not none.
            more = {"key": item_of(answer).key} if details.generated else {"claims": NO_VERDICT, "support": NO_VERDICT}
            repeats = (judged(answer, self.judge, self.verdict_kinds, self.known, n) for n in range(self.block.repeats))
            verdicts = tuple(replace(each, **more) for each in repeats)
            yield replace(ranking, details=replace(details, verdicts=verdicts, records=None))


def known_verdicts(inputs: Inputs, criteria: Criteria, accepted: RunSource) -> tuple[dict[Slot, Record], ...]:
    """The verdicts of the file for the candidate, see `run_verdicts`; and these with what the accepted run keeps."""
    path = verdicts_file(None if inputs.untrusted_run else inputs.run or criteria.inputs.run, inputs.verdicts)
    named = read_verdicts(path) if path else {}
    baseline = inputs.baseline or criteria.inputs.baseline
    readable = not (baseline and baseline.path == STDIN)  # which can be read only once
    opened = accepted.open(frozenset({RunField.VERDICTS})) if readable else None
    kept = stored_verdicts(opened) if opened and opened.format == "baseline" else {}
    return named, by_slot([*named.values(), *kept.values()])


def run_verdicts(
    inputs: Inputs, criteria: Criteria, gold: Gold, plan: Scoring, accepted: RunSource
) -> RunVerdicts | None:
    """What the judge of the criteria said of the answers of the candidate and of the accepted run; None without one.

    The verdicts are those of the file that the caller names, or else of the one beside the candidate's run, unless that
    run is untrusted: who wrote its answers may have written these as well. Behind them count those of the accepted run.
    """
    block = criteria.judge
    if block is None:
        return None
    named, known = known_verdicts(inputs, criteria, accepted)
    judge = judge_with_verdicts(block, named, known)
    verdict_kinds = verdict_kinds_of(plan.metrics) | EXPLAINING_KINDS
    ids = {slot.judge for slot in known}
    mark = JudgeMark(judge.short, judge.model) if judge.id in ids else None
    judges = tuple(sorted(each[:8] for each in ids))
    return RunVerdicts(
        gold=gold, block=block, judge=judge, known=known, verdict_kinds=verdict_kinds, mark=mark, judges=judges
    )
