"""What a pass is worth, in words."""

from __future__ import annotations

import re

from rankgate.model.conclusion import Strength
from rankgate.model.gate_result import GateResult
from rankgate.model.topic import Topic
from rankgate.model.values import TOLERANCE, ReasonKind, Ruling, Unit
from rankgate.model.wording import (
    beyond_word,
    count_text,
    delta_points_text,
    delta_text,
    exact_decimals,
    first_text,
    limit_word,
    telling_decimals,
    value_text,
    vanishes,
)

_CUTOFF = re.compile(r"@(\d+)$")
MAX_FLOORS = 3  # named in a sentence


def value_and_limit(topic: Topic) -> str:
    """`recall@5 is 78.3%, floor 75.0%`; of what lies beyond it, that this is within noise."""
    numbers = topic.numbers
    if topic.conclusion.now is None:
        return f"{numbers.metric} compares with the baseline"
    value = f"{numbers.metric} is {numbers.value(numbers.now)}"
    if topic.conclusion.limit is None:
        return value
    word = limit_word(numbers.direction)
    if numbers.direction.sign * (numbers.limit - numbers.now) > TOLERANCE:  # of a gate that holds, so that it is noise
        beyond = beyond_word(numbers.direction)
        return f"{value}, {beyond} its {word} of {numbers.value(numbers.limit)}, within noise"
    return f"{value}, {word} {numbers.value(numbers.limit)}"


def passes(topic: Topic) -> str:
    """What a pass is worth, and which blocking gates are below their floors within noise."""
    return f"{_worth(topic)}{_below_floors(topic)}{absent_text(topic)}"


def absent_text(topic: Topic) -> str:
    """` 12 questions are absent from the run.`: whatever the value, the run may have ended early.

    Not of a run whose lists are the baseline's, which lacks the same: some formats cannot write an empty list.
    """
    queries = topic.report.measured.queries
    if queries is None or not queries.missing or topic.conclusion.strength is Strength.UNCHANGED:
        return ""
    return f" {count_text(queries.missing, 'question is', 'questions are')} absent from the run."


def _below_floors(topic: Topic) -> str:
    """` Not held, within noise: mrr (0.833, floor 0.870).`, but for the gate whose floor the sentence names."""
    mains = [gate for gate in topic.report.gates if gate.is_main]
    blocking = [gate for gate in mains if gate.severity == "error"]
    of_sentence = topic.conclusion.gate if topic.conclusion.rule == "floor" else None
    texts: list[str] = []
    for gate in blocking or mains:
        reasons = gate.decision.reasons
        in_doubt = any(each.kind is ReasonKind.THRESHOLD and each.ruling is Ruling.INCONCLUSIVE for each in reasons)
        value, limit = gate.measured.value, gate.limits.threshold
        if gate.is_unproven and in_doubt and gate.name != of_sentence and value is not None and limit is not None:
            decimals = max(telling_decimals(value, limit, gate.unit), exact_decimals(limit, gate.unit))
            floor = f"{limit_word(gate.direction)} {value_text(limit, gate.unit, decimals)}"
            texts.append(f"{gate.metric} ({value_text(value, gate.unit, decimals)}, {floor})")
    more = f" and {len(texts) - MAX_FLOORS} more" if len(texts) > MAX_FLOORS else ""
    return f" Not held, within noise: {', '.join(texts[:MAX_FLOORS])}{more}." if texts else ""


def _worth(topic: Topic) -> str:
    conclusion, numbers = topic.conclusion, topic.numbers
    if conclusion.metric is None:
        return "no gate limits anything."
    questions = count_text(conclusion.counts.get("pairs", topic.count("questions")), "question")
    if missing := topic.count("missing"):
        questions += f", {missing:,} missing"
    if conclusion.strength is Strength.FLOORS_ONLY:
        value = value_and_limit(topic)
        return f"floors only: {value} ({questions}); no gate that blocks limits a drop of all questions."
    now = numbers.value(numbers.now)
    if conclusion.strength is Strength.UNCHANGED:
        return _unchanged(topic, now, questions)
    loss, bound = numbers.loss_word, conclusion.bound
    if conclusion.strength is Strength.RULED_OUT and bound is not None:
        change = delta_text(numbers.change, numbers.unit, numbers.decimals).removesuffix(" pp")
        size = "" if vanishes(bound, numbers.unit, numbers.decimals) else f" of more than {numbers.size(bound)}"
        worth = f"a {loss}{size} of {numbers.metric} is ruled out"
        return f"{worth} ({questions}, {now}, {change}).{_uncompared(topic)}"
    if conclusion.strength is Strength.LOST_AND_ALLOWED:
        verb = "lost" if numbers.falls else "added"
        lost = f"{verb} {numbers.size(numbers.harm, numbers.decimals)} of {numbers.metric}"
        out = "" if bound is None else f"; more than {numbers.number(bound)} is ruled out"
        return f"{lost}, which is allowed: {numbers.arrow}{out}."
    moved = f"{numbers.metric} stays at {now}"
    if not numbers.vanishing:
        change = delta_points_text(numbers.change, numbers.unit, numbers.decimals)
        moved = f"{change} of {numbers.metric}, within noise"
    decimals = numbers.decimals if bound is None else numbers.decimals_beside(bound)
    size = f"any {loss}" if bound is None else f"a {loss} of up to {numbers.size(bound, decimals)}"
    allowed = "none is allowed"
    if numbers.limit:
        limit = numbers.number(numbers.limit, decimals)
        are = "are" if numbers.unit is Unit.SHARE and limit != "1.0" else "is"
        allowed = f"{limit} {are} allowed"
    comma = "," if topic.count("missing") else ""
    unsure = f"with {questions}{comma} {size} is not excluded; {allowed}"
    return f"unproven: {moved}, but {unsure}.{_uncompared(topic)}"


def _unchanged(topic: Topic, now: str, questions: str) -> str:
    """That no list changed, of the questions that are compared."""
    stays = f"{topic.numbers.metric} stays at {now}"
    row = _row(topic)
    if row is not None and row.measured.n != row.change.n_pairs:
        return f"no {_what_stays(topic)} among the {questions} compared: {stays}.{_uncompared(topic)}"
    return f"no {_what_stays(topic)}: {stays} ({questions}).{_uncompared(topic)}"


def _what_stays(topic: Topic) -> str:
    """`list changed in the first 5`: as far as the metric looks; of values that no list has, and of answers, those."""
    if any(each.by_judge for each in topic.report.gates if each.place == topic.conclusion.place):
        return "answer changed"
    metric = topic.conclusion.metric or ""
    if topic.conclusion.unit not in (Unit.SHARE, Unit.SCORE) or metric.startswith("score("):
        return "value changed"
    cutoff = _CUTOFF.search(metric)
    return f"list changed in {first_text(int(cutoff[1]))}" if cutoff else "list changed"


def _row(topic: Topic) -> GateResult | None:
    """The first row of what the conclusion is about."""
    return next((each for each in topic.report.gates if each.place == topic.conclusion.place), None)


def _uncompared(topic: Topic) -> str:
    """How many questions are not compared, with the value over all where that reads otherwise; how many are gone."""
    row = _row(topic)
    text = "" if row is None else _left_out(row, topic)
    changes = topic.report.explanation.gold_changes
    if changes is not None and changes.removed:
        are = count_text(changes.removed, "question of the baseline is", "questions of the baseline are")
        text += f" {are} no longer in the gold set."
    return text


def _left_out(row: GateResult, topic: Topic) -> str:
    value, paired_value = row.measured.value, row.change.paired_value
    count = row.measured.n - row.change.n_pairs
    if count == 0 or value is None or paired_value is None:
        return ""
    queries = topic.report.measured.queries
    state = "not in the baseline" if queries is not None and queries.new else "not compared"
    are = count_text(count, f"question is {state}", f"questions are {state}")
    if vanishes(value - paired_value, row.unit):
        return f" {are}."
    return f" With all {row.measured.n:,} it is {value_text(value, row.unit)}: {are}."
