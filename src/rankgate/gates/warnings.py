"""Suspicious facts of criteria, gold and run together: nothing wrong by itself, each worth a look.

Pure: takes what was read, returns sentences. Text from the inputs appears only as quoted, escaped examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from rankgate.criteria import Criteria, Gate, SegmentRule
from rankgate.errors import redacted, shown
from rankgate.gates.power import IN_RUNS, blind_spot, detectable, leaves_open, rounded, sight_text, sights_text
from rankgate.gates.trust import without_labels
from rankgate.metrics.answers import SPREADS, AnsweredRate, JudgedMetric, Rubric
from rankgate.metrics.base import Cutoff, Metric
from rankgate.metrics.estimates import best_possible, is_rate
from rankgate.metrics.matching import By, Matching, match, parents
from rankgate.metrics.tags import segments_of
from rankgate.model.answers import Advisory, AnswerFlaw, VerdictKind, has_labels
from rankgate.model.gate_result import Detectable, GateResult
from rankgate.model.judge_words import advisory_text, labels_text
from rankgate.model.values import TOLERANCE, Direction, Evidence, Gold, Ranking, Sample, Unit
from rankgate.model.wording import count_text, harm_word, points_text, size_text, telling_decimals, value_text
from rankgate.readers.field_map import named
from rankgate.readers.gold_columns import ANSWERS, ROW_NUMBERS
from rankgate.statistics.chance import at_least
from rankgate.statistics.clusters import MIN_CLUSTERS as MIN_FOR_INTERVAL
from rankgate.statistics.quantiles import quantile_interval
from rankgate.statistics.sign_flips import MIN_CLUSTERS as MIN_FOR_TEST

if TYPE_CHECKING:
    from rankgate.gates.judged import Judge

MAX_NAMED, MAX_UNREAD = 3, 6
PART = 0.2  # of its value: a loss that a gate should see
NEUTRAL = 0.025  # of the queries are lost, and as many won; also the share of such changes that may be blocked


def gold_facts(gold: Gold) -> list[str]:
    """Facts of the gold set alone."""
    facts: list[str] = []
    samples = gold.samples.values()
    empty = [sample.query_id for sample in samples if not sample.relevant() and not sample.no_answer]
    if empty:
        without = f"{count_text(len(empty), 'sample')} without a relevant document and without no_answer: true"
        facts.append(f"{without}, left out of relevance metrics; {_named(empty)}")
    questions: dict[str, list[str]] = {}
    for sample in samples:
        if sample.question:
            questions.setdefault(" ".join(sample.question.split()).casefold(), []).append(sample.query_id)
    twice = [ids for ids in questions.values() if len(ids) > 1]
    if twice:
        pairs = "; ".join(" = ".join(map(shown, ids)) for ids in twice[:MAX_NAMED])
        facts.append(f"{count_text(len(twice), 'question is', 'questions are')} asked more than once: {pairs}")
    return [*facts, *reading_facts(gold)]


def input_facts(criteria: Criteria, missing: Mapping[str, str]) -> list[str]:
    """What criteria with a retriever do not name, though `check --record` and `baseline accept` write it."""
    if criteria.retriever is None or not missing:
        return []
    lines = " and ".join(f"`{key}: {name}`" for key, name in missing.items())
    return [f"{criteria.name}: inputs names no {' and no '.join(missing)}; add under `inputs:` {lines}"]


def reading_facts(gold: Gold) -> list[str]:
    """How the file's columns or keys were read, where a reader of the file may have meant something else."""
    reading, facts = gold.reading, list[str]()
    if reading.separator:
        column, sign = reading.separator
        name = {"\n": "line breaks", ",": "commas"}.get(sign, shown(sign))
        facts.append(f"cells of {shown(column)} were split at {name}: a document each")
    crowded = [f"{shown(name)} ({count} values, too many for segments)" for name, count in reading.crowded.items()]
    unread = [*crowded, *map(shown, reading.unread)]
    if unread:
        few = ", ".join(unread[:MAX_UNREAD]) + (f" and {len(unread) - MAX_UNREAD} more" if unread[MAX_UNREAD:] else "")
        no_parts = {*named(ANSWERS, reading.unread), *named(ROW_NUMBERS, reading.unread)}
        name = next((each for each in (*reading.unread, *reading.crowded) if each not in no_parts), "")
        pairs = ",".join(f"{word}={column}" for word, column in {**reading.columns, "tags": name}.items())
        as_columns = f"`rankgate init --gold {quote(redacted(gold.name))} --map {quote(pairs)} --force`"
        how = as_columns if reading.columns else 'write it into `metadata: {tags: ["name:value"]}`'
        facts.append(f"not read: {few}" + (f"; to gate parts of the questions by one: {how}" if name else ""))
    return facts


def run_facts(gold: Gold, rankings: Sequence[Ranking], *, name: str, scored: frozenset[str] = frozenset()) -> list[str]:
    """Facts of a run under the gold set."""
    answered = dict.fromkeys(ranking.query_id for ranking in rankings)
    missing = [query_id for query_id in gold.samples if query_id not in answered]
    unknown = [query_id for query_id in answered if query_id not in gold.samples]
    repeated = [ranking.query_id for ranking in rankings if ranking.duplicates]
    empty = [ranking.query_id for ranking in rankings if not ranking.ids]
    removed = count_text(sum(ranking.duplicates for ranking in rankings), "repeated id")
    facts = [
        (
            missing,
            f"{count_text(len(missing), 'question is', 'questions are')} absent from {name} and would score as worst",
        ),
        (unknown, f"{count_text(len(unknown), 'question')} of {name} without a sample in the gold set"),
        (sorted(scored - answered.keys()), "inputs.scores has questions that the run lacks"),
        (repeated, f"{removed} in {count_text(len(repeated), 'ranking')} of {name} would be removed"),
        (empty, f"{count_text(len(empty), 'ranking')} of {name} without a single result"),
    ]
    return [f"{text}; {_named(ids)}" for ids, text in facts if ids]


def unseen_facts(gold: Gold, runs: Sequence[Sequence[Ranking]], how: Matching) -> list[str]:
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
    unseen = [doc for doc in relevant if doc not in seen]
    if not unseen or not runs:
        return []
    hint = "; did the ids change since the gold was written?" if 2 * len(unseen) > len(relevant) else ""
    occur = "occurs" if len(unseen) == 1 else "occur"
    of_all = f"{len(unseen)} of {count_text(len(relevant), 'relevant id')}"
    return [f"{of_all} {occur} in no ranking; {_named(unseen)}{hint}"]


def gate_facts(criteria: Criteria, gold: Gold, rankings: Sequence[Ranking]) -> list[str]:
    """What the gold set, or the length of the lists, makes impossible for a gate."""
    facts: list[str] = []
    longest = max((len(ranking.ids) for ranking in rankings), default=0)
    deeper = [
        gate for gate in criteria.gates if isinstance(gate.metric.cutoff, int) and 0 < longest < gate.metric.cutoff
    ]
    if deeper:
        names = ", ".join(shown(gate.name) for gate in deeper)
        look = "looks" if len(deeper) == 1 else "look"
        facts.append(f"the longest ranking has {count_text(longest, 'result')}, and {names} {look} at more")
    for gate in criteria.gates:
        metric = gate.metric
        facts += _ceiling(gate, gold.samples, criteria.default_k)
        if gate.blocks and isinstance(metric, JudgedMetric) and not has_labels(metric.name):
            why = advisory_text(metric.name, without_labels(Advisory.METRIC).judge())
            facts.append(f"gate {shown(gate.name)} never blocks: {why}")
    blocking = [gate for gate in criteria.gates if gate.blocks]
    limits_refusals = any(
        isinstance(gate.metric, AnsweredRate) and (gate.threshold is not None or gate.regression_max is not None)
        for gate in blocking
    )
    by_claims = [
        gate for gate in blocking if isinstance(gate.metric, JudgedMetric) and VerdictKind.SUPPORT in gate.metric.asks
    ]
    if by_claims and not limits_refusals:
        counts = f"gate {shown(by_claims[0].name)} counts answers that assert something, and so rises with refusals"
        facts.append(f"{counts}; add a gate on answered_rate with `severity: error`")
    return facts


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
        measured_drop = result.evidence.detectable if result else None
        see = partial(detectable, gate, slope=units.slope)
        facts.append(f"gate {shown(gate.name)}: {labels_text(metric.name, judge)}")
        samples = [*filter(None, counting(metric, [*gold.samples.values()], criteria.default_k))]
        clusters = [sample.cluster or (sample.query_id,) for sample in samples]
        planned = [see(queries=len(samples), clusters=clusters, assumed=spread) for spread in SPREADS]
        seen = [each for each in planned if each]
        if measured_drop and not measured_drop.assumed:
            seen = [measured_drop]
        if not seen:
            continue
        safe, unit = gate.evidence is Evidence.PROVEN_SAFE, metric.unit
        sizes = [size_text(each.margin if safe else each.detectable, unit) for each in seen]
        span = f"{sizes[0].split()[0]} to {sizes[1]}" if sizes[1:] else sizes[0]
        caught = f"{harm_word(metric.direction)}s of {span} or more are detected 80 % of the time"
        caught = f"a change without effect is proven safe within {span} 80 % of the time" if safe else caught
        spread = f"spread of {SPREADS[0]} to {SPREADS[1]} assumed, as between real systems"
        spread = spread if sizes[1:] else f"spread of {seen[0].spread:.2g} measured"
        limit = f"{size_text(gate.regression_max or 0.0, unit)} allowed"
        questions = count_text(seen[0].queries, "question")
        needed = [rounded(each.queries_needed) for each in seen if each.queries_needed and not seen[-1].sees]
        would = "do" if safe else f"detect {size_text(2 * (gate.regression_max or 0.0), unit)}"
        more = f"; about {' to '.join(dict.fromkeys(needed))} questions would {would}" if needed else ""
        facts.append(f"gate {shown(gate.name)}: with {questions}, {caught} ({limit}; {spread}){more}")
    return [*facts, *unseen_answers(criteria, judges)] if judges else facts


def rubric_facts(criteria: Criteria) -> list[str]:
    """Rubrics that no gate is on, and that are asked all the same where a gate is on another."""
    rubrics = criteria.judge.rubrics if criteria.judge else {}
    used = {gate.metric.criterion for gate in criteria.gates if isinstance(gate.metric, Rubric)}
    return [f"judge.rubrics: no gate is on rubric({name})" for name in rubrics if name not in used]


def power_facts(criteria: Criteria, gold: Gold, results: Sequence[GateResult]) -> list[str]:
    """Gates that promise to stop what the gold set cannot see, as measured, or before there are results by its size."""
    measured = {(result.name, result.segment): result for result in results if result.change.n_pairs}
    sights, lost, facts = list[tuple[Gate, Detectable]](), dict[str, str](), list[str]()
    for gate in criteria.gates:
        counts = counting(gate.metric, [*gold.samples.values()], criteria.default_k)
        counted = [*filter(None, counts)]
        judged = isinstance(gate.metric, JudgedMetric)  # of which `judged_facts` speaks
        result = measured.get((gate.name, None))
        sentence = None if judged else _blind_spot(gate, result, counted)
        seen = result.evidence.detectable if result else planned(gate, counted)
        if sentence and seen and gate.evidence is not Evidence.PROVEN_SAFE:
            sights.append((gate, seen))
            sentence = None
        unseen = [_lost_unseen(gate, each) for each in results if each.place == (gate.name, None)]
        if unseen and unseen[0]:
            lost[gate.name] = unseen[0]
        sentences = (sentence, _blocks_by_chance(gate, len(counted)))
        facts += [f"gate {shown(gate.name)}: {sentence}" for sentence in sentences if sentence]
        for rule in gate.segments:
            blind: dict[str, str] = {}
            parts = _parts(gold, rule, counts)
            of_parts = _part_gates(gate, rule, parts)
            held = [len(samples) for name, samples in parts.items() if rule.limits_of(name) is not None]
            if held and max(held) < rule.min_queries:
                none = f"judges none of its {len(held)} segments" if held[1:] else "does not judge its only segment"
                most = f"at most {count_text(max(held), 'question')}, fewer than {rule.min_queries} (`min_queries`)"
                facts.append(f"gate {shown(gate.name)} {none} by {' and '.join(map(shown, rule.by))}: {most}")
            # The smallest first, for it sees least; what is too small to be judged promises nothing.
            for name, samples in sorted(parts.items(), key=lambda item: len(item[1])):
                unknown = judged and (gate.name, name) not in measured  # nor J
                if name not in of_parts or unknown:
                    continue
                sentence = _blind_spot(of_parts[name], measured.get((gate.name, name)), samples)
                blind |= {name: sentence} if sentence else {}
            if blind:
                name, sentence = next(iter(blind.items()))
                count = count_text(len(blind), "segment")
                facts.append(f"gate {shown(gate.name)}, {count} of {len(parts)}: in {shown(name)} {sentence}")
    return [*_together(sights), *_all_lost(lost), *facts]


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


def _ceiling(gate: Gate, samples: Mapping[str, Sample], default_k: int) -> list[str]:
    """The best value that any retriever could reach, where that is below the top of the range."""
    metric = gate.metric
    if metric.needs or metric.high is None or metric.direction is Direction.LOWER or metric.cutoff is Cutoff.NONE:
        return []
    values = ((query_id, best_possible(metric, sample, default_k)) for query_id, sample in samples.items())
    best = {query_id: value for query_id, value in values if value is not None}
    k = metric.cutoff if isinstance(metric.cutoff, int) else None
    capped = (query_id for query_id, value in best.items() if value < metric.high and metric.cutoff is not Cutoff.WHOLE)
    short = [each for each in capped if len(samples[each].relevant()) > (k or samples[each].k or default_k)]
    if not best:
        return []
    reachable = metric.aggregate(list(best.values()))
    facts: list[str] = []
    if short:
        which = count_text(len(short), "question has", "questions have")
        more = f"{which} more relevant documents than {metric.name} sees"
        at_best = f"so that it can reach {value_text(reachable, metric.unit)} at best"
        facts.append(f"{more}, {at_best}; {_named(short)}")
    if gate.threshold is not None and reachable < gate.threshold - TOLERANCE:
        decimals = telling_decimals(reachable, gate.threshold, metric.unit)
        floor, best_value = (value_text(value, metric.unit, decimals) for value in (gate.threshold, reachable))
        best_possible_is = f"the best possible {metric.name} on this gold set is {best_value}"
        facts.append(f"gate {shown(gate.name)} can never pass: its floor is {floor}, {best_possible_is}")
    return facts


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MAX_NAMED} more" if len(ids) > MAX_NAMED else ""
    return f"{', '.join(map(shown, ids[:MAX_NAMED]))}{more}"
