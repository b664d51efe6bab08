"""Suspicious facts of criteria, gold and run together: nothing wrong by itself, each worth a look.

Pure: takes what was read, returns sentences. Text from the inputs appears only as quoted, escaped examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

from rankgate.criteria import Criteria, Gate
from rankgate.errors import redacted, shown
from rankgate.gates.trust import without_labels
from rankgate.metrics.answers import AnsweredRate, JudgedMetric, Rubric
from rankgate.metrics.base import Cutoff
from rankgate.metrics.estimates import best_possible
from rankgate.metrics.matching import By, Matching, parents
from rankgate.model.answers import Advisory, VerdictKind, has_labels
from rankgate.model.judge_words import advisory_text
from rankgate.model.values import TOLERANCE, Direction, Gold, Ranking, Sample
from rankgate.model.wording import count_text, telling_decimals, value_text
from rankgate.readers.field_map import named
from rankgate.readers.gold_columns import ANSWERS, ROW_NUMBERS

MAX_NAMED, MAX_UNREAD = 3, 6


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


def rubric_facts(criteria: Criteria) -> list[str]:
    """Rubrics that no gate is on, and that are asked all the same where a gate is on another."""
    rubrics = criteria.judge.rubrics if criteria.judge else {}
    used = {gate.metric.criterion for gate in criteria.gates if isinstance(gate.metric, Rubric)}
    return [f"judge.rubrics: no gate is on rubric({name})" for name in rubrics if name not in used]


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
