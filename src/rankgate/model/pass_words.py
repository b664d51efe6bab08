"""What a pass is worth, in words."""

from __future__ import annotations

from rankgate.model.conclusion import Strength
from rankgate.model.topic import Topic
from rankgate.model.values import TOLERANCE, ReasonKind, Ruling
from rankgate.model.wording import (
    beyond_word,
    count_text,
    exact_decimals,
    limit_word,
    telling_decimals,
    value_text,
)

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
    if topic.conclusion.metric is None:
        return "no gate limits anything."
    questions = count_text(topic.conclusion.counts.get("pairs", topic.count("questions")), "question")
    if missing := topic.count("missing"):
        questions += f", {missing:,} missing"
    if topic.conclusion.strength is Strength.FLOORS_ONLY:
        value = value_and_limit(topic)
        return f"floors only: {value} ({questions}); no gate that blocks limits a drop of all questions."
    from rankgate.model.drop_words import drop_text  # noqa: PLC0415 -- paid only where a baseline is compared

    return drop_text(topic, questions)
