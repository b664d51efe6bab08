"""What the gates on a gold set can see, and what not: losses of values, and of judged answers.

Pure: takes what was read and what was judged, returns values; `renderers/warnings.py` has their sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rankgate.criteria import Criteria, Gate, SegmentRule
from rankgate.gates.power import detectable, is_blind, leaves_open
from rankgate.metrics.answers import SPREADS, AnsweredRate, JudgedMetric, Rubric
from rankgate.metrics.base import Metric
from rankgate.metrics.matching import match
from rankgate.metrics.tags import segments_of
from rankgate.model.answers import AnswerFlaw, GateJudge
from rankgate.model.gate_result import Detectable, GateResult
from rankgate.model.values import Direction, Evidence, Gold, Ranking, Sample
from rankgate.statistics.binomial import at_least
from rankgate.statistics.clusters import MIN_CLUSTERS as MIN_FOR_INTERVAL
from rankgate.statistics.quantiles import quantile_interval

if TYPE_CHECKING:
    from rankgate.gates.judged import Judge

PART = 0.2  # of its value: a loss that a gate should see
NEUTRAL = 0.025  # of the queries are lost, and as many won; also the share of such changes that may be blocked


class SightFact:
    """What gates see, or do not."""


@dataclass(frozen=True)
class Sight:
    """What a gate detects over the questions that count for it."""

    gate: Gate
    seen: Detectable


@dataclass(frozen=True)
class Sights(SightFact):
    """What several gates, or one, detect over equally many questions."""

    each: tuple[Sight, ...]


@dataclass(frozen=True)
class BlindSpot(SightFact):
    """A gate that cannot see what it forbids."""

    sight: Sight


@dataclass(frozen=True)
class BlindParts(SightFact):
    """So many segments `among` all in which a gate cannot see what it forbids; `first` is the smallest of them."""

    first: str
    sight: Sight
    blind: int
    among: int


@dataclass(frozen=True)
class UnjudgedParts(SightFact):
    """A rule that judges none of its segments: the largest has too few questions."""

    gate: Gate
    rule: SegmentRule
    segments: int
    largest: int


@dataclass(frozen=True)
class SmallParts(SightFact):
    """So many segments `among` all, of `fewest` to `most` questions, see at best losses above `detectable`."""

    blind: int
    among: int
    fewest: int
    most: int
    detectable: float


@dataclass(frozen=True)
class LostUnseen(SightFact):
    """A `part` of its value that a gate lets be lost, since it sees, or forbids, no less than `caught`."""

    gate: Gate
    value: float
    part: float
    caught: float
    likewise: tuple[str, ...] = ()  # further gates


@dataclass(frozen=True)
class BlockedByChance(SightFact):
    """A gate on single questions that blocks this share of changes without effect."""

    gate: Gate
    share: float
    queries: int


@dataclass(frozen=True)
class NoBound(SightFact):
    """A gate on a quantile, which so many questions give no bound."""

    gate: Gate
    queries: int


@dataclass(frozen=True)
class FewClusters(SightFact):
    """A gate, or its segment, with too few clusters of questions for a proof."""

    gate: Gate
    segment: str | None
    clusters: int


@dataclass(frozen=True)
class JudgedLabels(SightFact):
    """What a gate on judged answers may do, by people's labels."""

    gate: Gate
    judge: GateJudge


@dataclass(frozen=True)
class JudgedSight(SightFact):
    """What it detects: as measured, or by the least and the largest usual spread."""

    gate: Gate
    seen: tuple[Detectable, ...]


@dataclass(frozen=True)
class UnseenAnswers(SightFact):
    """How answers go wrong that no gate which may block is known to see; a rubric may ask for it."""

    flaws: tuple[AnswerFlaw, ...]
    asks_rubric: bool


def judged_facts(
    criteria: Criteria, gold: Gold, results: Sequence[GateResult], judges: Mapping[str, Judge]
) -> list[SightFact]:
    """What gates on judged answers may do and can see and what not, and how many labels and questions they need.

    As measured on two runs, or by how much real systems vary; `judges` by metric, where there is no
    result. Of a metric for which the gold alone does not say what counts every question does.
    """
    measured = {result.name: result for result in results if result.segment is None}
    facts: list[SightFact] = []
    for gate in criteria.gates:
        metric = gate.metric
        result = measured.get(gate.name)
        if not isinstance(metric, JudgedMetric) or metric.name not in judges:
            continue
        units = judges[metric.name].units
        facts.append(JudgedLabels(gate, (result and result.judge) or units.trust.judge()))
        seen = result.evidence.detectable if result else None
        sights = [seen]
        if seen is None or seen.assumed:  # by the least and the largest spread that real systems have
            samples = [*filter(None, counting(gate.metric, gold.samples.values(), criteria.default_k))]
            sights = [planned(gate, samples, assumed=spread, slope=units.slope) for spread in SPREADS]
        if any(sights):
            facts.append(JudgedSight(gate, tuple(filter(None, sights))))
    return [*facts, *_unseen_answers(criteria, judges)] if judges else facts


def _unseen_answers(criteria: Criteria, judges: Mapping[str, Judge]) -> list[UnseenAnswers]:
    """`judges` by metric."""
    sees: set[AnswerFlaw] = set()
    asks_rubric = False
    for gate in criteria.gates:
        metric = gate.metric
        if gate.blocks and isinstance(metric, AnsweredRate):
            sees.add(AnswerFlaw.EMPTY)  # which takes no judge
        if gate.blocks and (metric.name not in judges or judges[metric.name].units.may_block(gate)):
            sees |= getattr(metric, "sees", frozenset())
            asks_rubric = asks_rubric or isinstance(metric, Rubric)
    unseen = tuple(flaw for flaw in AnswerFlaw if flaw not in sees)
    return [UnseenAnswers(unseen, asks_rubric)] if unseen else []


def power_facts(criteria: Criteria, gold: Gold, results: Sequence[GateResult]) -> list[SightFact]:
    """Gates that promise to stop what the gold set cannot see, as measured, or before there are results by its size."""
    measured = {(result.name, result.segment): result for result in results if result.change.n_pairs}
    overall = {result.name: result for result in reversed(results) if result.segment is None}
    sights: list[Sight] = []
    lost: list[LostUnseen] = []
    facts: list[SightFact] = []
    for gate in criteria.gates:
        counts = counting(gate.metric, gold.samples.values(), criteria.default_k)
        counted = [*filter(None, counts)]
        judged = isinstance(gate.metric, JudgedMetric)  # of which `judged_facts` speaks
        blind = None if judged else _blind(gate, measured.get((gate.name, None)), counted)
        if blind and gate.evidence is Evidence.PROVEN_SAFE:
            facts.append(BlindSpot(blind))
        elif blind:
            sights.append(blind)
        if gate.name in overall and (unseen := _lost_unseen(gate, overall[gate.name])):
            lost.append(unseen)
        if by_chance := _blocks_by_chance(gate, len(counted)):
            facts.append(by_chance)
        for rule in gate.segments:
            parts = _parts(gold, rule, counts)
            facts += [*_unjudged_parts(gate, rule, parts), *_blind_parts(gate, rule, parts, measured)]
    together = [replace(lost[0], likewise=tuple(each.gate.name for each in lost[1:]))] if lost else []
    return [*_together(sights), *together, *facts]


def _unjudged_parts(gate: Gate, rule: SegmentRule, parts: Mapping[str, Sequence[Sample]]) -> list[UnjudgedParts]:
    held = [len(samples) for name, samples in parts.items() if rule.limits_of(name) is not None]
    few = bool(held) and max(held) < rule.min_queries
    return [UnjudgedParts(gate, rule, len(held), max(held))] if few else []


def _blind_parts(
    gate: Gate,
    rule: SegmentRule,
    parts: Mapping[str, Sequence[Sample]],
    measured: Mapping[tuple[str, str | None], GateResult],
) -> list[BlindParts]:
    of_parts = _part_gates(gate, rule, parts)  # what is too small to be judged promises nothing
    blind: dict[str, Sight] = {}  # by segment, that with the fewest questions first
    for name, samples in sorted(parts.items(), key=lambda item: len(item[1])):
        result = measured.get((gate.name, name))
        unknown = isinstance(gate.metric, JudgedMetric) and result is None  # nor J
        sight = None if name not in of_parts or unknown else _blind(of_parts[name], result, samples)
        if sight:
            blind[name] = sight
    if not blind:
        return []
    smallest = next(iter(blind))
    return [BlindParts(smallest, blind[smallest], len(blind), len(parts))]


def sight_facts(criteria: Criteria, gold: Gold, results: Sequence[GateResult]) -> list[Sights]:
    """What each gate on a drop sees, as measured or as planned; of those that see too little `power_facts` speaks."""
    measured = {result.name: result for result in results if result.change.n_pairs and result.segment is None}
    sights: list[Sight] = []
    for gate in criteria.gates:
        if isinstance(gate.metric, JudgedMetric):  # of which `judged_facts` speaks
            continue
        samples = [*filter(None, counting(gate.metric, gold.samples.values(), criteria.default_k))]
        result = measured.get(gate.name)
        seen = result.evidence.detectable if result else planned(gate, samples)
        if seen and _blind(gate, result, samples) is None:
            sights.append(Sight(gate, seen))
    return _together(sights)


def _together(sights: Sequence[Sight]) -> list[Sights]:
    """Those for which equally many questions count."""
    by_queries: dict[int, list[Sight]] = {}
    for sight in sights:
        by_queries.setdefault(sight.seen.queries, []).append(sight)
    return [Sights(tuple(each)) for each in by_queries.values()]


def small_parts(criteria: Criteria, gold: Gold) -> SmallParts | None:
    """How many segments are too small to prove a loss that their limit names; None where none is."""
    seen: list[Detectable] = []
    for gate in criteria.gates:
        counts = counting(gate.metric, gold.samples.values(), criteria.default_k)
        for rule in gate.segments:
            parts = _parts(gold, rule, counts)
            judged = _part_gates(gate, rule, parts).items()
            seen += filter(None, (planned(part, parts[name]) for name, part in judged))
    blind = sorted((each for each in seen if not each.sees), key=lambda each: each.queries)
    if not blind:
        return None
    return SmallParts(len(blind), len(seen), blind[0].queries, blind[-1].queries, blind[-1].detectable)


def _parts(gold: Gold, rule: SegmentRule, counts: Sequence[Sample | None]) -> dict[str, list[Sample]]:
    """By segment the queries that count."""
    tagged = segments_of(gold, rule.by).items()
    return {name: [*filter(None, map(counts.__getitem__, rows))] for name, rows in tagged}


def _part_gates(gate: Gate, rule: SegmentRule, parts: Mapping[str, Sequence[Sample]]) -> dict[str, Gate]:
    """The gate as it judges each segment that is large enough, with the confidence of Holm's first step."""
    judged = [name for name, samples in parts.items() if len(samples) >= rule.min_queries]
    limits = {name: each for name in judged if (each := rule.limits_of(name)) is not None}
    confidence = gate.confidence
    if gate.evidence is Evidence.PROVEN_HARM and limits:
        both = any(None not in (each.threshold, each.regression_max) for each in limits.values())
        confidence = 1 - (1 - confidence) / (len(limits) * (2 if both else 1))
    return {
        name: gate.model_copy(update={"confidence": confidence, "regression_max": each.regression_max})
        for name, each in limits.items()
    }


def proof_facts(criteria: Criteria, gold: Gold) -> list[SightFact]:
    """Gates and segments with too few queries, or clusters, for a bound or for any proof."""
    facts: list[SightFact] = []
    samples = list(gold.samples.values())
    clustered = any(sample.cluster is not None for sample in samples)
    for gate in criteria.gates:
        every = gate.metric.worst is None  # what the run alone states, any query may have
        counts = counting(gate.metric, gold.samples.values(), criteria.default_k)
        scored = {row for row, each in enumerate(counts) if every or each}
        q = gate.metric.at_quantile
        if q is not None and None in quantile_interval([0.0] * len(scored), q, confidence=gate.confidence):
            facts.append(NoBound(gate, len(scored)))
        if not clustered or q is not None:
            continue
        parts: list[tuple[str | None, set[int]]] = [(None, scored)]
        for rule in gate.segments:
            named = {tag: scored.intersection(rows) for tag, rows in segments_of(gold, rule.by).items()}
            judged = [tag for tag, rows in named.items() if len(rows) >= rule.min_queries and rule.limits_of(tag)]
            parts += [(tag, named[tag]) for tag in judged]
        for segment, rows in parts:
            count = len({(samples[row].cluster, None if samples[row].cluster else row) for row in rows})
            if count < MIN_FOR_INTERVAL:
                facts.append(FewClusters(gate, segment, count))
    return facts


def _lost_unseen(gate: Gate, result: GateResult) -> LostUnseen | None:
    """That a gate which limits drops lets a fifth of its value be lost; None where its limits do not."""
    value, limit, seen = result.measured.value, gate.regression_max, result.evidence.detectable
    if limit is None or not value or value < 0 or gate.metric.direction is Direction.LOWER:
        return None
    part = PART * value
    high = result.measured.ci[1] if result.measured.ci else None
    noise = 0.0
    if gate.evidence is Evidence.PROVEN_HARM:
        noise = value if high is None else high - value
    if gate.threshold is not None and value - part + noise < gate.threshold:
        return None
    caught = limit if limit >= part or seen is None else seen.detectable
    return None if caught < part else LostUnseen(gate, value, part, caught)


def _blocks_by_chance(gate: Gate, queries: int) -> BlockedByChance | None:
    """What `max_lost_queries` does to neutral changes, P(Bin(queries, 2.5 %) > limit); None where little."""
    limit = gate.max_lost_queries
    if limit is None or gate.evidence is not Evidence.PROVEN_HARM or limit >= queries:
        return None
    blocked = at_least(limit + 1, queries, NEUTRAL)
    return None if blocked <= NEUTRAL else BlockedByChance(gate, blocked, queries)


def _blind(gate: Gate, result: GateResult | None, samples: Sequence[Sample]) -> Sight | None:
    """What the gate does not see enough of: as measured, if that leaves anything open, else as planned."""
    if result and not leaves_open(result):
        return None
    seen = result.evidence.detectable if result else planned(gate, samples)
    return Sight(gate, seen) if seen and is_blind(gate, seen) else None


def planned(
    gate: Gate, samples: Sequence[Sample], *, assumed: float | None = None, slope: float = 1.0
) -> Detectable | None:
    """What the gate could see over these queries, before any run, by the usual spread, or an assumed one."""
    clusters = [sample.cluster or (sample.query_id,) for sample in samples]  # a query without one is its own
    relevant = sum(len(sample.relevant()) for sample in samples) / max(len(samples), 1)
    return detectable(gate, clusters, queries=len(samples), relevant=relevant, assumed=assumed, slope=slope)


def counting(metric: Metric, samples: Collection[Sample], default_k: int) -> list[Sample | None]:
    """The queries that count for the metric whatever is found, None for others; all where only an answer tells."""
    blank = (match(each, Ranking(each.query_id, []), default_k=default_k, needs=metric.needs) for each in samples)
    counts = [each if metric.absent(empty) is not None else None for each, empty in zip(samples, blank, strict=True)]
    of_answers = isinstance(metric, JudgedMetric) and not metric.gold_keys
    return list(samples) if of_answers and not any(counts) else counts
