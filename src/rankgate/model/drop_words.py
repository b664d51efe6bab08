"""What a pass says of a drop from the baseline: that none can be, how much is ruled out or allowed, or is unproven."""

from __future__ import annotations

import re

from rankgate.model.conclusion import Strength
from rankgate.model.gate_result import GateResult
from rankgate.model.topic import Topic
from rankgate.model.values import Unit
from rankgate.model.wording import count_text, delta_points_text, delta_text, first_text, value_text, vanishes

_CUTOFF = re.compile(r"@(\d+)$")


def drop_text(topic: Topic, questions: str) -> str:
    """A sentence of what is known of the drop over these questions, and one on those that are not compared."""
    strength = topic.conclusion.strength
    bound = topic.conclusion.bound
    if strength is Strength.UNCHANGED:
        return _unchanged(topic, questions)
    if strength is Strength.RULED_OUT and bound is not None:
        return f"{_ruled_out(topic, questions, bound)}{_uncompared(topic)}"
    if strength is Strength.LOST_AND_ALLOWED:
        return _lost_and_allowed(topic)
    return f"{_unproven(topic, questions)}{_uncompared(topic)}"


def _unchanged(topic: Topic, questions: str) -> str:
    """That no list changed, of the questions that are compared."""
    numbers = topic.numbers
    stays = f"{numbers.metric} stays at {numbers.value(numbers.now)}"
    row = _row(topic)
    if row is not None and row.measured.n != row.change.n_pairs:
        return f"no {_what_stays(topic)} among the {questions} compared: {stays}.{_uncompared(topic)}"
    return f"no {_what_stays(topic)}: {stays} ({questions}).{_uncompared(topic)}"


def _ruled_out(topic: Topic, questions: str, bound: float) -> str:
    """`a loss of more than 0.8 points of recall@5 is ruled out (500 questions, 89.3%, +0.4)`."""
    numbers = topic.numbers
    change = delta_text(numbers.change, numbers.unit, numbers.decimals).removesuffix(" pp")
    size = "" if vanishes(bound, numbers.unit, numbers.decimals) else f" of more than {numbers.size(bound)}"
    worth = f"a {numbers.loss_word}{size} of {numbers.metric} is ruled out"
    return f"{worth} ({questions}, {numbers.value(numbers.now)}, {change})."


def _lost_and_allowed(topic: Topic) -> str:
    """`lost 1.2 points of recall@5, which is allowed: 90.0% → 88.8%; more than 1.9 is ruled out`."""
    numbers = topic.numbers
    bound = topic.conclusion.bound
    verb = "lost" if numbers.falls else "added"
    lost = f"{verb} {numbers.size(numbers.harm, numbers.decimals)} of {numbers.metric}"
    ruled_out = "" if bound is None else f"; more than {numbers.number(bound)} is ruled out"
    return f"{lost}, which is allowed: {numbers.arrow}{ruled_out}."


def _unproven(topic: Topic, questions: str) -> str:
    """`unproven: mrr stays at 0.812, but with 40 questions a loss of up to 0.050 is not excluded; 0.010 is allowed`."""
    numbers = topic.numbers
    bound = topic.conclusion.bound
    moved = f"{numbers.metric} stays at {numbers.value(numbers.now)}"
    if not numbers.vanishing:
        change = delta_points_text(numbers.change, numbers.unit, numbers.decimals)
        moved = f"{change} of {numbers.metric}, within noise"
    decimals = numbers.decimals
    possible = f"any {numbers.loss_word}"
    if bound is not None:
        decimals = numbers.decimals_beside(bound)
        possible = f"a {numbers.loss_word} of up to {numbers.size(bound, decimals)}"
    allowed = "none is allowed"
    if numbers.limit:
        limit = numbers.number(numbers.limit, decimals)
        are = "are" if numbers.unit is Unit.SHARE and limit != "1.0" else "is"
        allowed = f"{limit} {are} allowed"
    comma = "," if topic.count("missing") else ""
    return f"unproven: {moved}, but with {questions}{comma} {possible} is not excluded; {allowed}."


def _what_stays(topic: Topic) -> str:
    """`list changed in the first 5`: as far as the metric looks, or lists that were cut to be compared reach.

    Of values that no list has, and of answers, those.
    """
    if any(each.by_judge for each in topic.report.gates if each.row_key == topic.conclusion.row_key):
        return "answer changed"
    metric = topic.conclusion.metric or ""
    if "quantile=" in metric:
        return "change"  # values may have changed below it, or above
    if topic.conclusion.unit not in (Unit.SHARE, Unit.SCORE) or metric.startswith("score("):
        return "value changed"
    cutoff = _CUTOFF.search(metric)
    reach = int(cutoff[1]) if cutoff else topic.report.provenance.depth
    return f"list changed in {first_text(reach)}" if reach else "list changed"


def _row(topic: Topic) -> GateResult | None:
    """The first row of what the conclusion is about."""
    return next((each for each in topic.report.gates if each.row_key == topic.conclusion.row_key), None)


def _uncompared(topic: Topic) -> str:
    """What is not compared: questions, with the value over all where that reads otherwise, and ranks; what is gone."""
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
    if value is None or paired_value is None:
        return ""
    if count == 0:
        if not row.of_whole_lists or vanishes(value - paired_value, row.unit):
            return ""
        return f" Of the whole lists it is {value_text(value, row.unit)}."
    queries = topic.report.measured.queries
    state = "not in the baseline" if queries is not None and queries.new else "not compared"
    are = count_text(count, f"question is {state}", f"questions are {state}")
    if vanishes(value - paired_value, row.unit):
        return f" {are}."
    return f" With all {row.measured.n:,} it is {value_text(value, row.unit)}: {are}."
