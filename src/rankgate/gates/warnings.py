"""Suspicious facts of criteria, gold and run together: nothing wrong by itself, each worth a look.

Pure: takes what was read, returns values; `renderers/warnings.py` has their sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rankgate.criteria import Criteria, Gate
from rankgate.metrics.answers import AnsweredRate, JudgedMetric, Rubric
from rankgate.metrics.base import Cutoff, Metric
from rankgate.metrics.estimates import best_possible
from rankgate.metrics.matching import By, Matching, parents
from rankgate.model.answers import Advisory, GateJudge, VerdictKind, has_labels
from rankgate.model.conclusion import OtherCode
from rankgate.model.values import TOLERANCE, Direction, Gold, Ranking, Sample
from rankgate.readers.field_map import named
from rankgate.readers.gold_columns import ANSWERS, ROW_NUMBERS


class InputFact:
    """What may be wrong with the inputs."""


@dataclass(frozen=True)
class OfQuestions(InputFact):
    """A fact about these questions."""

    ids: tuple[str, ...]


class NothingRelevant(OfQuestions):
    """Samples that judge no document relevant and do not say that there is none."""


@dataclass(frozen=True)
class RepeatedQuestions(InputFact):
    """Groups of ids whose questions have one text."""

    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class UnnamedInputs(InputFact):
    """What criteria with a retriever do not name: by key the file that `check --record` and `baseline accept` write."""

    criteria: str
    missing: Mapping[str, str]


@dataclass(frozen=True)
class SplitCells(InputFact):
    """A column whose cells were split into several documents at a sign."""

    column: str
    sign: str


@dataclass(frozen=True)
class UnreadColumns(InputFact):
    """Columns of the gold set's file that are not read, and by name those with too many values for segments.

    `part` is one by which parts of the questions could be gated, by a map of the `columns` that are read; empty where
    there is none.
    """

    gold: str
    unread: tuple[str, ...]
    crowded: Mapping[str, int]
    columns: Mapping[str, str]
    part: str


class AbsentQuestions(OfQuestions):
    """Questions of the gold set without a line in the run."""


class UnknownQuestions(OfQuestions):
    """Questions of the run that the gold set lacks."""


class StrayScores(OfQuestions):
    """Questions of `inputs.scores` that the run lacks."""


@dataclass(frozen=True)
class RepeatedIds(OfQuestions):
    """Questions whose rankings name documents twice, and how many names that are in all."""

    removed: int


class EmptyRankings(OfQuestions):
    """Questions whose rankings have no result."""


@dataclass(frozen=True)
class UnseenIds(InputFact):
    """Ids of `relevant` documents that no ranking of any run holds."""

    ids: tuple[str, ...]
    relevant: int


@dataclass(frozen=True)
class ShortRankings(InputFact):
    """Gates that look at more results than the longest ranking has."""

    gates: tuple[str, ...]
    longest: int


@dataclass(frozen=True)
class CappedMetric(InputFact):
    """Questions with more relevant documents than a metric sees, and the best value that it can have for them all."""

    metric: Metric
    ids: tuple[str, ...]
    reachable: float


@dataclass(frozen=True)
class NeverPasses(InputFact):
    """A gate whose floor is above the best value that its metric can have on this gold set."""

    gate: Gate
    floor: float
    reachable: float


@dataclass(frozen=True)
class NeverBlocks(InputFact):
    """A gate that may block by the criteria, on a metric for which people have no labels to give."""

    gate: Gate
    judge: GateJudge


@dataclass(frozen=True)
class RisesWithRefusals(InputFact):
    """A gate that counts claims alone, in criteria that limit no refusals."""

    gate: Gate


@dataclass(frozen=True)
class UnusedRubric(InputFact):
    """A rubric that no gate is on, and that is asked all the same where a gate is on another."""

    name: str


@dataclass(frozen=True)
class NotRecorded(InputFact):
    """The run that the criteria name and that is not there yet."""

    run: str


@dataclass(frozen=True)
class OldRun(InputFact):
    """The run is not of this code."""

    code: OtherCode


class TrafficInGold(OfQuestions):
    """Questions of the traffic that the gold set has, too."""


@dataclass(frozen=True)
class NotWaivable(InputFact):
    """A gate that fails for single questions, which no waiver covers."""

    gate: str


@dataclass(frozen=True)
class JudgingCost(InputFact):
    """What judging all answers of the run takes, and the first key of `judge.budget` that allows less."""

    answers: int
    calls: int
    tokens: int
    beyond: str | None


def gold_facts(gold: Gold) -> list[InputFact]:
    """Facts of the gold set alone."""
    facts: list[InputFact] = []
    samples = gold.samples.values()
    empty = [sample.query_id for sample in samples if not sample.relevant() and not sample.no_answer]
    if empty:
        facts.append(NothingRelevant(tuple(empty)))
    by_question: dict[str, list[str]] = {}
    for sample in samples:
        if sample.question:
            by_question.setdefault(" ".join(sample.question.split()).casefold(), []).append(sample.query_id)
    repeated = [tuple(ids) for ids in by_question.values() if len(ids) > 1]
    if repeated:
        facts.append(RepeatedQuestions(tuple(repeated)))
    return [*facts, *reading_facts(gold)]


def reading_facts(gold: Gold) -> list[InputFact]:
    """How the file's columns or keys were read, where a reader of the file may have meant something else."""
    reading = gold.reading
    facts: list[InputFact] = []
    if reading.separator:
        facts.append(SplitCells(*reading.separator))
    if reading.unread or reading.crowded:
        no_parts = {*named(ANSWERS, reading.unread), *named(ROW_NUMBERS, reading.unread)}
        parts = [name for name in (*reading.unread, *reading.crowded) if name not in no_parts]
        part = parts[0] if parts else ""
        facts.append(UnreadColumns(gold.name, tuple(reading.unread), reading.crowded, reading.columns, part))
    return facts


def run_facts(gold: Gold, rankings: Sequence[Ranking], scored: frozenset[str] = frozenset()) -> list[InputFact]:
    """Facts of a run under the gold set; `scored` are the questions of `inputs.scores`."""
    answered = dict.fromkeys(ranking.query_id for ranking in rankings)
    absent = tuple(query_id for query_id in gold.samples if query_id not in answered)
    unknown = tuple(query_id for query_id in answered if query_id not in gold.samples)
    stray = tuple(sorted(scored - answered.keys()))
    repeated = tuple(ranking.query_id for ranking in rankings if ranking.duplicates)
    empty = tuple(ranking.query_id for ranking in rankings if not ranking.ids)
    removed = sum(ranking.duplicates for ranking in rankings)
    facts: list[OfQuestions] = [
        AbsentQuestions(absent),
        UnknownQuestions(unknown),
        StrayScores(stray),
        RepeatedIds(repeated, removed),
        EmptyRankings(empty),
    ]
    return [fact for fact in facts if fact.ids]


def unseen_facts(gold: Gold, runs: Sequence[Sequence[Ranking]], how: Matching) -> list[InputFact]:
    """Relevant ids that no ranking of any run holds: unreachable documents, or ids that were replaced.

    Passages are no ids.
    """
    if how.by is By.TEXT:
        return []
    rankings = [ranking for run in runs for ranking in run]
    seen = {doc for ranking in rankings for doc in ranking.ids}
    if how.by is By.DOC:
        seen = {doc for ranking in rankings for doc in parents(ranking.ids, ranking.details, how.separator)}
    ids = (doc for sample in gold.samples.values() for doc in sample.relevant() if doc not in sample.spans)
    relevant = dict.fromkeys(ids)
    unseen = tuple(doc for doc in relevant if doc not in seen)
    return [UnseenIds(unseen, len(relevant))] if unseen and runs else []


def gate_facts(criteria: Criteria, gold: Gold, rankings: Sequence[Ranking]) -> list[InputFact]:
    """What the gold set, or the length of the lists, makes impossible for a gate."""
    facts: list[InputFact] = []
    longest = max((len(ranking.ids) for ranking in rankings), default=0)
    deeper = [
        gate.name for gate in criteria.gates if isinstance(gate.metric.cutoff, int) and 0 < longest < gate.metric.cutoff
    ]
    if deeper:
        facts.append(ShortRankings(tuple(deeper), longest))
    for gate in criteria.gates:
        facts += _ceiling(gate, gold.samples, criteria.default_k)
        if gate.blocks and isinstance(gate.metric, JudgedMetric) and not has_labels(gate.metric.name):
            facts.append(NeverBlocks(gate, GateJudge(reason=Advisory.METRIC)))
    blocking = [gate for gate in criteria.gates if gate.blocks]
    limits_refusals = any(
        isinstance(gate.metric, AnsweredRate) and (gate.threshold is not None or gate.regression_max is not None)
        for gate in blocking
    )
    by_claims = [
        gate for gate in blocking if isinstance(gate.metric, JudgedMetric) and VerdictKind.SUPPORT in gate.metric.asks
    ]
    if by_claims and not limits_refusals:
        facts.append(RisesWithRefusals(by_claims[0]))
    return facts


def rubric_facts(criteria: Criteria) -> list[InputFact]:
    """Rubrics that no gate is on."""
    rubrics = criteria.judge.rubrics if criteria.judge else {}
    used = {gate.metric.criterion for gate in criteria.gates if isinstance(gate.metric, Rubric)}
    return [UnusedRubric(name) for name in rubrics if name not in used]


def _ceiling(gate: Gate, samples: Mapping[str, Sample], default_k: int) -> list[InputFact]:
    """The best value that any retriever could reach, where that is below the top of the range."""
    metric = gate.metric
    if metric.needs or metric.high is None or metric.direction is Direction.LOWER or metric.cutoff is Cutoff.NONE:
        return []
    values = ((query_id, best_possible(metric, sample, default_k)) for query_id, sample in samples.items())
    best = {query_id: value for query_id, value in values if value is not None}
    if not best:
        return []
    k = metric.cutoff if isinstance(metric.cutoff, int) else None
    capped = (query_id for query_id, value in best.items() if value < metric.high and metric.cutoff is not Cutoff.WHOLE)
    short = [each for each in capped if len(samples[each].relevant()) > (k or samples[each].k or default_k)]
    reachable = metric.aggregate(list(best.values()))
    facts: list[InputFact] = []
    if short:
        facts.append(CappedMetric(metric, tuple(short), reachable))
    if gate.threshold is not None and reachable < gate.threshold - TOLERANCE:
        facts.append(NeverPasses(gate, gate.threshold, reachable))
    return facts
