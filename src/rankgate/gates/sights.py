"""What the gates on a gold set can see, and what not: losses of values, and of judged answers.

Pure: takes what was read and what was judged, returns sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rankgate.criteria import Criteria, Gate, SegmentRule
from rankgate.errors import shown
from rankgate.gates.power import IN_RUNS, blind_spot, detectable, leaves_open, rounded, sight_text, sights_text
from rankgate.metrics.answers import SPREADS, AnsweredRate, JudgedMetric, Rubric
from rankgate.metrics.base import Metric
from rankgate.metrics.estimates import is_rate
from rankgate.metrics.matching import match
from rankgate.metrics.tags import segments_of
from rankgate.model.answers import AnswerFlaw
from rankgate.model.gate_result import Detectable, GateResult
from rankgate.model.judge_words import labels_text
from rankgate.model.values import Direction, Evidence, Gold, Ranking, Sample, Unit
from rankgate.model.wording import count_text, harm_word, points_text, size_text, value_text
from rankgate.statistics.chance import at_least
from rankgate.statistics.clusters import MIN_CLUSTERS as MIN_FOR_INTERVAL
from rankgate.statistics.quantiles import quantile_interval
from rankgate.statistics.sign_flips import MIN_CLUSTERS as MIN_FOR_TEST

if TYPE_CHECKING:
    from rankgate.gates.judged import Judge

PART = 0.2  # of its value: a loss that a gate should see
NEUTRAL = 0.025  # of the queries are lost, and as many won; also the share of such changes that may be blocked


def unseen_answers(criteria: Criteria, judges: Mapping[str, Judge]) -> list[str]:
    """Answers that go wrong in a way that no gate which may block is known to see; `judges` by metric."""
    sees: set[AnswerFlaw] = set()
    asks_rubric = False
    for gate in criteria.gates:
        metric = gate.metric
        if gate.blocks and isinstance(metric, AnsweredRate):
            sees.add(AnswerFlaw.EMPTY)  # which takes no judge
        if gate.blocks and (metric.name not in judges or judges[metric.name].units.may_block(gate)):
            sees |= getattr(metric, "sees", frozenset())
            asks_rubric = asks_rubric or isinstance(metric, Rubric)
    unseen = [flaw.value for flaw in AnswerFlaw if flaw not in sees]
    if not unseen:
        return []
    also = ", unless a rubric asks for that" if asks_rubric else ""
    where = "docs/judge.md, “Answers that go wrong”, says which gates do"
    return [f"no gate that may block sees answers that are {', '.join(unseen)}{also}; {where}"]


def judged_facts(
    criteria: Criteria, gold: Gold, results: Sequence[GateResult], judges: Mapping[str, Judge]
) -> list[str]:
    """What gates on judged answers may do and can see and what not, and how many labels and questions they need.

    As measured on two runs, or by how much real systems vary; `judges` by metric, where there is no
    result. Of a metric for which the gold alone does not say what counts every question does.
    """
    measured = {result.name: result for result in results if result.segment is None}
    facts: list[str] = []
    for gate in criteria.gates:
        metric, result = gate.metric, measured.get(gate.name)
        if not isinstance(metric, JudgedMetric) or metric.name not in judges:
            continue
        units = judges[metric.name].units
        judge = (result and result.judge) or units.trust.judge()
        facts.append(f"gate {shown(gate.name)}: {labels_text(metric.name, judge)}")
        samples = [*filter(None, counting(metric, [*gold.samples.values()], criteria.default_k))]
        seen = _judged_sights(gate, result, samples, units.slope)
        if seen:
            facts.append(f"gate {shown(gate.name)}: {_judged_sight_text(gate, seen)}")
    return [*facts, *unseen_answers(criteria, judges)] if judges else facts


def _judged_sights(gate: Gate, result: GateResult | None, samples: Sequence[Sample], slope: float) -> list[Detectable]:
    """What the gate sees as measured, else by the least and the largest spread that real systems have."""
    measured = result.evidence.detectable if result else None
    if measured and not measured.assumed:
        return [measured]
    clusters = [sample.cluster or (sample.query_id,) for sample in samples]
    see = partial(detectable, gate, clusters, queries=len(samples), slope=slope)
    return [seen for spread in SPREADS if (seen := see(assumed=spread))]


def _judged_sight_text(gate: Gate, seen: Sequence[Detectable]) -> str:
    """`with 200 questions, drops of 5.1 to 9.2 pp or more are detected …`, and how many would do."""
    safe, unit = gate.evidence is Evidence.PROVEN_SAFE, gate.metric.unit
    sizes = [size_text(each.margin if safe else each.detectable, unit) for each in seen]
    span = f"{sizes[0].split()[0]} to {sizes[1]}" if sizes[1:] else sizes[0]
    caught = f"{harm_word(gate.metric.direction)}s of {span} or more are detected 80 % of the time"
    if safe:
        caught = f"a change without effect is proven safe within {span} 80 % of the time"
    spread = f"spread of {seen[0].spread:.2g} measured"
    if sizes[1:]:
        spread = f"spread of {SPREADS[0]} to {SPREADS[1]} assumed, as between real systems"
    limit = f"{size_text(gate.regression_max or 0.0, unit)} allowed"
    text = f"with {count_text(seen[0].queries, 'question')}, {caught} ({limit}; {spread})"
    needed = [rounded(each.queries_needed) for each in seen if each.queries_needed and not seen[-1].sees]
    if needed:
        would = "do" if safe else f"detect {size_text(2 * (gate.regression_max or 0.0), unit)}"
        text += f"; about {' to '.join(dict.fromkeys(needed))} questions would {would}"
    return text


def power_facts(criteria: Criteria, gold: Gold, results: Sequence[GateResult]) -> list[str]:
    """Gates that promise to stop what the gold set cannot see, as measured, or before there are results by its size."""
    measured = {(result.name, result.segment): result for result in results if result.change.n_pairs}
    whole = {result.name: result for result in reversed(results) if result.segment is None}
    sights: list[tuple[Gate, Detectable]] = []
    lost: dict[str, str] = {}
    facts: list[str] = []
    for gate in criteria.gates:
        counts = counting(gate.metric, [*gold.samples.values()], criteria.default_k)
        counted = [*filter(None, counts)]
        result = measured.get((gate.name, None))
        seen = result.evidence.detectable if result else planned(gate, counted)
        judged = isinstance(gate.metric, JudgedMetric)  # of which `judged_facts` speaks
        blind = None if judged else _blind_spot(gate, result, counted)
        if blind and seen and gate.evidence is not Evidence.PROVEN_SAFE:
            sights.append((gate, seen))
            blind = None
        if gate.name in whole and (unseen := _lost_unseen(gate, whole[gate.name])):
            lost[gate.name] = unseen
        sentences = (blind, _blocks_by_chance(gate, len(counted)))
        facts += [f"gate {shown(gate.name)}: {sentence}" for sentence in sentences if sentence]
        for rule in gate.segments:
            parts = _parts(gold, rule, counts)
            facts += _unjudged_parts(gate, rule, parts)
            facts += _blind_parts(gate, rule, parts, measured)
    return [*_together(sights), *_all_lost(lost), *facts]


def _unjudged_parts(gate: Gate, rule: SegmentRule, parts: Mapping[str, Sequence[Sample]]) -> list[str]:
    """That a rule judges none of its segments, since all are too small."""
    held = [len(samples) for name, samples in parts.items() if rule.limits_of(name) is not None]
    if not held or max(held) >= rule.min_queries:
        return []
    none = f"judges none of its {len(held)} segments" if held[1:] else "does not judge its only segment"
    most = f"at most {count_text(max(held), 'question')}, fewer than {rule.min_queries} (`min_queries`)"
    return [f"gate {shown(gate.name)} {none} by {' and '.join(map(shown, rule.by))}: {most}"]


def _blind_parts(
    gate: Gate,
    rule: SegmentRule,
    parts: Mapping[str, Sequence[Sample]],
    measured: Mapping[tuple[str, str | None], GateResult],
) -> list[str]:
    """In how many segments the gate cannot see what it forbids, and the smallest of them, which sees least."""
    of_parts = _part_gates(gate, rule, parts)  # what is too small to be judged promises nothing
    blind: dict[str, str] = {}
    for name, samples in sorted(parts.items(), key=lambda item: len(item[1])):
        result = measured.get((gate.name, name))
        unknown = isinstance(gate.metric, JudgedMetric) and result is None  # nor J
        sentence = None if name not in of_parts or unknown else _blind_spot(of_parts[name], result, samples)
        if sentence:
            blind[name] = sentence
    if not blind:
        return []
    name, sentence = next(iter(blind.items()))
    return [
        f"gate {shown(gate.name)}, {count_text(len(blind), 'segment')} of {len(parts)}: in {shown(name)} {sentence}"
    ]


def proof_facts(criteria: Criteria, gold: Gold) -> list[str]:
    """Gates and segments with too few queries, or clusters, for a bound or for any proof."""
    facts: list[str] = []
    samples = list(gold.samples.values())
    clustered = any(sample.cluster is not None for sample in samples)
    for gate in criteria.gates:
        every = gate.metric.worst is None  # what the run alone states, any query may have
        counts = counting(gate.metric, samples, criteria.default_k)
        scored = {row for row, each in enumerate(counts) if every or each}
        name, q = shown(gate.name), gate.metric.at_quantile
        if q is not None and None in quantile_interval([0.0] * len(scored), q, confidence=gate.confidence):
            unbounded = count_text(len(scored), "question gives", "questions give")
            facts.append(
                f"gate {name}: {unbounded} {gate.metric.name} no bound; the swap test alone can prove a change"
            )
        if not clustered or q is not None:
            continue
        parts = {f"gate {name}": scored}
        for rule in gate.segments:
            named = {tag: scored.intersection(rows) for tag, rows in segments_of(gold, rule.by).items()}
            judged = [tag for tag, rows in named.items() if len(rows) >= rule.min_queries and rule.limits_of(tag)]
            parts |= {f"gate {name}, {shown(tag)}": named[tag] for tag in judged}
        for place, rows in parts.items():
            count = len({(samples[row].cluster, None if samples[row].cluster else row) for row in rows})
            if count < MIN_FOR_INTERVAL:
                harm, interval = f"{MIN_FOR_TEST} on harm can be proven", f"{MIN_FOR_INTERVAL} on a low value can"
                needed = f"{harm}, from {interval}" if count < MIN_FOR_TEST else interval
                facts.append(f"{place}: {count_text(count, 'cluster')} of questions; from {needed}")
    return facts


def _together(sights: Sequence[tuple[Gate, Detectable]]) -> list[str]:
    """What gates see, on one line where as many questions count for each."""
    by_queries: dict[int, list[tuple[Gate, Detectable]]] = {}
    for gate, seen in sights:
        by_queries.setdefault(seen.queries, []).append((gate, seen))
    texts: list[str] = []
    for each in by_queries.values():
        gate, seen = each[0]
        texts.append(sights_text(each) if each[1:] else f"gate {shown(gate.name)}: {sight_text(gate, seen)}")
    return texts


def _all_lost(lost: Mapping[str, str]) -> list[str]:
    """Gates that let a fifth be lost unseen: one line, with the sizes of the first."""
    if not lost:
        return []
    first, others = next(iter(lost)), [shown(name) for name in lost][1:]
    also = f"; the same goes for {', '.join(others)}" if others else ""
    return [f"gate {shown(first)}: {lost[first]}{also}"]


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


def small_parts(criteria: Criteria, gold: Gold) -> str | None:
    """How many segments are too small to prove a loss that their limit names, in one sentence; None where none is."""
    seen: list[Detectable] = []
    for gate in criteria.gates:
        counts = counting(gate.metric, [*gold.samples.values()], criteria.default_k)
        for rule in gate.segments:
            parts = _parts(gold, rule, counts)
            judged = _part_gates(gate, rule, parts).items()
            seen += filter(None, (planned(part, parts[name]) for name, part in judged))
    blind = sorted((each for each in seen if not each.sees), key=lambda each: each.queries)
    if not blind:
        return None
    first, last = blind[0], blind[-1]
    sizes = f"{first.queries} to {last.queries}" if first.queries < last.queries else f"{first.queries}"
    losses = points_text(last.detectable, Unit.SHARE)
    detects = f"only losses above {losses}" if last.detectable <= 1 else "no loss at all"
    of_all = f"{len(blind)} of {count_text(len(seen), 'segment')}, of {sizes} questions,"
    return f"{of_all} {'detect' if blind[1:] else 'detects'} {detects}{IN_RUNS}"


def sight_facts(criteria: Criteria, gold: Gold, results: Sequence[GateResult]) -> list[str]:
    """What each gate on a drop sees, as measured or as planned; of those that see too little `power_facts` speaks."""
    measured = {result.name: result for result in results if result.change.n_pairs and result.segment is None}
    sights: list[tuple[Gate, Detectable]] = []
    for gate in criteria.gates:
        if isinstance(gate.metric, JudgedMetric):  # of which `judged_facts` speaks
            continue
        samples = [*filter(None, counting(gate.metric, [*gold.samples.values()], criteria.default_k))]
        result = measured.get(gate.name)
        seen = result.evidence.detectable if result else planned(gate, samples)
        if seen and _blind_spot(gate, result, samples) is None:
            sights.append((gate, seen))
    return _together(sights)


def _lost_unseen(gate: Gate, result: GateResult) -> str | None:
    """That a gate which limits drops lets a fifth of its value be lost, in words; None where its limits do not."""
    value, unit, limit, seen = result.measured.value, gate.metric.unit, gate.regression_max, result.evidence.detectable
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
    if caught < part:
        return None
    sizes = [points_text(size, unit) for size in (part, caught)]
    some = "only drops of {} or more are" if not is_rate(gate.metric) or caught <= 1 else "no drop is"
    why = "a drop of {} is allowed" if caught == limit else f"{some} detected{IN_RUNS}"
    return f"a fifth of {value_text(value, unit)}, {sizes[0]}, can be lost unseen: {why.format(sizes[1])}"


def _blocks_by_chance(gate: Gate, queries: int) -> str | None:
    """What `max_lost_queries` does to neutral changes, P(Bin(queries, 2.5 %) > limit), in words; None where little."""
    limit = gate.max_lost_queries
    if limit is None or gate.evidence is not Evidence.PROVEN_HARM or limit >= queries:
        return None
    blocked = at_least(limit + 1, queries, NEUTRAL)
    if blocked <= NEUTRAL:
        return None
    which = f"the changes that lose 2.5% of {count_text(queries, 'question')} and win as many"
    return f"`max_lost_queries: {limit}` beside proven_harm blocks {blocked:.0%} of {which}"


def _blind_spot(gate: Gate, result: GateResult | None, samples: Sequence[Sample]) -> str | None:
    """What the gate cannot see over these queries: as measured, if that leaves anything open, else as planned."""
    if result:
        return blind_spot(gate, result.evidence.detectable) if leaves_open(result) else None
    return blind_spot(gate, planned(gate, samples))


def planned(gate: Gate, samples: Sequence[Sample]) -> Detectable | None:
    """What the gate could see over these queries, before any run, by a planning spread."""
    clusters = [sample.cluster or (sample.query_id,) for sample in samples]  # a query without one is its own
    relevant = sum(len(sample.relevant()) for sample in samples) / max(len(samples), 1)
    return detectable(gate, clusters, queries=len(samples), relevant=relevant)


def counting(metric: Metric, samples: Sequence[Sample], default_k: int) -> list[Sample | None]:
    """The queries that count for the metric whatever is found, None for others; all where only an answer tells."""
    blank = (match(each, Ranking(each.query_id, []), default_k=default_k, needs=metric.needs) for each in samples)
    counts = [each if metric.absent(empty) is not None else None for each, empty in zip(samples, blank, strict=True)]
    of_answers = isinstance(metric, JudgedMetric) and not metric.gold_keys
    return list(samples) if of_answers and not any(counts) else counts
