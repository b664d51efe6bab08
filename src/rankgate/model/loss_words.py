"""What was lost, in words: by a gate, results, a part of the questions, small losses that add up; and other code.

First what a report lists, then the sentences of a conclusion that is about one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rankgate.model.base_ref import SHORT_SHA
from rankgate.model.conclusion import Conclusion, ConclusionKind, GivenUp, OtherCode, PartLoss, about_loss
from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import beyond_noise_text, plain_sentence, sentences, waived_text
from rankgate.model.remarks import judged_by
from rankgate.model.report import Report
from rankgate.model.topic import Numbers, Spell, Topic, headline_gate, part_name
from rankgate.model.values import BEYOND, TOLERANCE, Direction, ReasonKind, Unit, Verdict
from rankgate.model.wording import (
    count_text,
    delta_points_text,
    delta_text,
    limit_word,
    part_word,
    points_text,
    size_text,
    value_text,
    vanishes,
)

_PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)


def other_losses(report: Report, name: Spell, text: Spell) -> list[str]:
    """What the conclusion does not say of other code, of empty and of lost parts, and of losses that add up.

    A conclusion about a lost part or such a loss is about the first.
    """
    kind = report.conclusion.kind
    changes = report.changes
    empties = report.measured.empties
    texts: list[str] = []
    if report.origin.other_code and kind is not ConclusionKind.OTHER_CODE:
        texts.append(code_text(report.origin.other_code, text))
    empty_segments = empties.segments if empties and kind is not ConclusionKind.EMPTY else {}
    for tag, (empty, total) in empty_segments.items():
        if kind is not ConclusionKind.EMPTY_SEGMENT or tag != report.conclusion.segment:
            texts.append(_without_result(empty, total, f" of {part_name(tag, name)}"))
    lost_parts = changes.lost_parts[1:] if kind is ConclusionKind.LOST_PART else changes.lost_parts
    texts += parts_texts([part for part in lost_parts if part.segment not in empty_segments], name)
    losses = changes.given_up[1:] if kind is ConclusionKind.GIVEN_UP else changes.given_up
    return texts + [given_up_text(loss, report) for loss in losses]


def parts_texts(parts: list[PartLoss], name: Spell) -> list[str]:
    """Of each segment its largest loss and the others: `lang:th lost 36.0 points of recall@5: 9 of 25 questions …`."""
    by_segment: dict[str, list[PartLoss]] = {}
    for part in parts:
        by_segment.setdefault(part.segment, []).append(part)
    texts: list[str] = []
    for largest, *others in by_segment.values():
        also = " and ".join(f"{each.metric} ({delta_text(each.now - each.before, each.unit)})" for each in others)
        lost = Numbers(about_loss(ConclusionKind.LOST_PART, largest)).lost(part_name(largest.segment, name))
        worse = f"{largest.worse:,} of {count_text(largest.n, 'question')} got worse"
        texts.append(f"{lost}: {worse}{f'; also {also}' if also else ''}")
    return texts


def more_parts(conclusion: Conclusion) -> str:
    """`2 more languages and 1 part by another tag`: those divided as the named one, and the others."""
    texts: list[str] = []
    if same_tag := conclusion.counts.get("segments_fail", 0):
        texts.append(count_text(same_tag, f"more {part_word(conclusion.segment)}"))
    if others := conclusion.counts.get("other_parts_fail", 0):
        texts.append(count_text(others, "part by another tag", "parts by other tags"))
    return " and ".join(texts)


def given_up_text(loss: GivenUp, report: Report) -> str:
    """`6.3 points of recall@5 were given up since 2026-10-01: 2.1 by this run, the rest in 2 accepted steps`."""
    size = points_text(loss.loss, loss.unit)
    steps = count_text(loss.steps, "accepted step")
    when = f"in {steps}{' and this run' if loss.with_run else ''} since {loss.since}"
    gate = next((each for each in report.gates if each.is_main and each.metric == loss.metric), None)
    if loss.with_run and gate is not None and gate.change.delta is not None:
        by_this_run = size_text(gate.change.delta, loss.unit).partition(" ")[0]
        when = f"since {loss.since}: {by_this_run} by this run, the rest in {steps}"
    if loss.unit in (Unit.SHARE, Unit.SCORE) and loss.direction is Direction.HIGHER:
        were = "was" if size == "1.0 point" else "were"
        return f"{size} of {loss.metric} {were} given up {when}"
    verb = "fell" if loss.direction is Direction.HIGHER else "rose"
    return f"{loss.metric} {verb} by {size} {when}"


def code_text(code: OtherCode | None, text: Spell) -> str:
    """Why the run is not of this code; a file is named where its path is plain."""
    if code is None or code.same_as_accepted:
        return "this run is the accepted run, byte by byte: it says nothing of this code"
    what = "a file"  # any other name is the inputs' own text
    if code.path and _PLAIN_PATH.fullmatch(code.path) and "www." not in code.path:
        what = text(code.path)
    more = f" and {count_text(code.more, 'more file')}" if code.more else ""
    return f"this run was recorded at {code.commit[:SHORT_SHA]}, before the last change of {what}{more}"


def empty_run(topic: Topic) -> str:
    """That the run has next to nothing, or lacks lines."""
    absent = topic.count("absent")
    if 2 * absent > topic.count("empty"):
        return (
            f"the run lacks {absent:,} of the {count_text(topic.count('total'), 'question')}: it has no line for them."
        )
    without, total = topic.count("empty"), topic.count("total")
    what = "is empty" if without == total else "is nearly empty"
    return f"the run {what}: {_without_result(without, total)}. The index or the retriever returned nothing."


def empty_segment(topic: Topic) -> str:
    """`none of the 25 questions of lang:th got a result; nor did 2 more languages`."""
    others = more_parts(topic.conclusion)
    nor = f"; nor did {others}" if others else ""
    return f"{_without_result(topic.count('empty'), topic.count('total'), f' of {topic.part}')}{nor}."


def _without_result(empty: int, total: int, whose: str = "") -> str:
    if total == 1:
        return f"the only question{whose} got no result"
    if empty == total:
        return f"none of the {total:,} questions{whose} got a result"
    return f"{empty:,} of the {total:,} questions{whose} got no result"


def given_up(topic: Topic) -> str:
    """The worst of the losses that add up."""
    return f"{given_up_text(topic.report.changes.given_up[0], topic.report)}."


def other_code(topic: Topic) -> str:
    """Why the run is not of this code, as a sentence."""
    return f"{code_text(topic.report.origin.other_code, topic.text)}."


def _of_gate(topic: Topic) -> str:
    """What is wrong with the gate, by whose files, and what else fails with it."""
    gate = headline_gate(topic.report)
    base = topic.report.base
    by = judged_by(base) if base else ""
    by = f"{by}, " if by else ""
    more = _more_text(topic.report)
    if topic.conclusion.rule == "other" and gate is not None:
        where = "" if topic.conclusion.segment is None else f"for {topic.part}, "
        if gate.decision.queries:
            return f"{by}{where}{_must_pass(topic, gate)}{more}."
        reason = plain_sentence(gate) if gate.decision.reasons else f"{gate.metric} gives no reason"
        return f"{by if gate.decision.hard_check_failed else ''}{where}{reason}{more}."
    waived = f"{waived_text(gate.decision.waived)}: " if gate and gate.decision.waived else ""
    limit = _floor(topic) if topic.conclusion.rule == "floor" else _drop(topic)
    return f"{waived}{by}{limit}{_missing_text(topic)}{more}.{_why_in_doubt(gate)}{_rest(topic)}"


def _why_in_doubt(gate: GateResult | None) -> str:
    """Why what is not proven warns all the same; nothing where it is."""
    if gate is None or gate.verdict is not Verdict.WARN:
        return ""
    beyond_noise = any(each.beyond_noise for each in gate.decision.deciding)
    return f" Not proven, but {beyond_noise_text()}." if beyond_noise else ""


def _must_pass(topic: Topic, gate: GateResult) -> str:
    """The questions that must pass and do not, and what else the gate fails for."""
    others = f" and {count_text(len(gate.decision.queries) - 1, 'other question')}" if gate.decision.queries[1:] else ""
    do = "do" if others else "does"
    texts = [f"{topic.name(gate.decision.queries[0])}{others} must pass and {do} not ({gate.metric})"]
    for position, text in enumerate(sentences(gate)):
        by_itself = gate.decision.verdict_of(position) is gate.verdict
        if by_itself and gate.decision.reasons[position].kind is not ReasonKind.MUST_PASS:
            texts.append(text)
    return "; ".join(texts)


def _missing_text(topic: Topic) -> str:
    """`; with 2 missing values at their worst it is 99.0%`."""
    at_worst = topic.conclusion.at_worst
    missing = topic.count("missing")
    if at_worst is None:
        return ""
    values = count_text(missing, "missing value")
    if abs(at_worst) > BEYOND / 2:
        return f"; {values} may be worse than any other"
    worst = "its worst" if missing == 1 else "their worst"
    what = f"the change is {delta_points_text(at_worst, topic.numbers.unit)}"
    if topic.conclusion.rule == "floor":
        what = f"it is {value_text(at_worst, topic.numbers.unit)}"
    return f"; with {values} at {worst} {what}"


def _lost_part(topic: Topic) -> str:
    """`recall@5 holds overall (+0.2), but lang:th lost 36.0 points: 9 of 25 questions got worse`."""
    report, conclusion, numbers = topic.report, topic.conclusion, topic.numbers
    overall = next((gate for gate in report.gates if gate.name == conclusion.gate and gate.segment is None), None)
    ending = f": {topic.count('worse'):,} of {count_text(topic.count('pairs'), 'question')} got worse"
    if more := more_parts(conclusion):
        ending += f"; so did {more}"
    if overall is None or overall.verdict is not Verdict.PASS or overall.change.delta is None:
        return f"{numbers.lost(topic.part)}{ending}."
    change = delta_text(overall.change.delta, overall.unit).removesuffix(" pp")
    fell = overall.direction.sign * overall.change.delta < -TOLERANCE
    allowed = ", allowed" if overall.limits.regression_max is not None and fell else ""
    size = numbers.size(numbers.harm)
    what = f"{topic.part} lost {size}" if numbers.falls else f"it rose by {size} in {topic.part}"
    return f"{conclusion.metric} holds overall ({change}{allowed}), but {what}{ending}."


def _drop(topic: Topic) -> str:
    """`lang:th lost 40.0 points of recall@5: 96.0% → 56.0%, 10.0 allowed`; of what is unproven what is not excluded."""
    numbers, bound = topic.numbers, topic.conclusion.bound
    unproven = numbers.harm <= abs(numbers.limit) + TOLERANCE
    decimals = numbers.decimals_beside(bound) if unproven and bound is not None else numbers.decimals
    allowed = f"{numbers.number(numbers.limit, decimals)} allowed" if numbers.limit else "none allowed"
    if unproven and topic.conclusion.at_worst is not None:
        change = delta_points_text(numbers.change, numbers.unit, numbers.decimals)
        return f"{numbers.metric}{topic.in_part} holds only without its missing values ({change}, {allowed})"
    if unproven:
        loss = "any loss" if bound is None else f"a {numbers.loss_word} of {numbers.size(bound, decimals)}"
        return f"{numbers.metric}{topic.in_part} is not proven safe: {loss} is not excluded, {allowed}"
    return f"{numbers.lost(topic.part, numbers.decimals)}: {numbers.arrow}, {allowed}"


def _floor(topic: Topic) -> str:
    """`recall@5 is 84.1%, below the floor of 85.0%; the baseline was below it, too (84.0%)`."""
    numbers, bound, sign = topic.numbers, topic.conclusion.bound, topic.numbers.direction.sign
    unproven = sign * (numbers.limit - numbers.now) <= TOLERANCE
    decimals = numbers.decimals_beside(bound) if unproven and bound is not None else numbers.decimals
    limit = f"the {limit_word(numbers.direction)} of {numbers.value(numbers.limit, decimals)}"
    value = f"{numbers.metric}{topic.in_part} is {numbers.value(numbers.now, decimals)}"
    if unproven and topic.conclusion.at_worst is not None:
        return f"{value}, and holds {limit} only without its missing values"
    if unproven:
        in_doubt = f"{value}, not proven to hold {limit}"
        return in_doubt if bound is None else f"{in_doubt}; {numbers.value(bound, decimals)} is not excluded"
    beyond = "below" if numbers.falls else "above"
    if topic.conclusion.before is None:
        return f"{value}, {beyond} {limit}"
    baseline = f"held it ({numbers.value(numbers.before)})"
    if sign * (numbers.limit - numbers.before) > TOLERANCE:
        better = ""
        if numbers.harm > 0 and not vanishes(numbers.change, numbers.unit):
            better = f", {numbers.size(numbers.harm)} better"
        baseline = f"was {beyond} it, too ({numbers.value(numbers.before)}{better})"
    return f"{value}, {beyond} {limit}; the baseline {baseline}"


def _rest(topic: Topic) -> str:
    """What became of the other parts: `The 11 other languages hold`, `9 other languages hold, 2 are unproven`."""
    holding, unproven = topic.count("segments_hold"), topic.count("segments_unproven")
    if topic.conclusion.segment is None or not holding + unproven:
        return ""
    other = f"other {part_word(topic.conclusion.segment)}"
    hold = "holds" if holding == 1 else "hold"
    are = "is" if unproven == 1 else "are"
    if not holding:
        return f" {count_text(unproven, other)} {are} unproven."
    if unproven:
        return f" {count_text(holding, other)} {hold}, {unproven:,} {are} unproven."
    if topic.count("segments_fail"):
        return f" {count_text(holding, other)} {hold}."
    return f" The {other} holds." if holding == 1 else f" The {holding:,} {other}s hold."


def _more_text(report: Report) -> str:
    """`; 2 more parts and 1 more gate fail`, and `2 more gates fail with it` where they are of one cause.

    Beside parts and gates of other causes those of one are not counted apart: three counts are too many to read.
    """
    counts = report.conclusion.counts
    gates, same_cause = counts.get("gates_fail", 0), counts.get("same_cause", 0)
    parts = counts.get("segments_fail", 0) + counts.get("other_parts_fail", 0)
    if parts and gates:
        gates += same_cause
        same_cause = 0
    fails = report.verdict is Verdict.FAIL
    one = "fails" if fails else "warns"
    many = "fail" if fails else "warn"
    named = [more_parts(report.conclusion)] if parts else []
    if gates:
        named.append(count_text(gates, "more gate"))
    texts: list[str] = []
    if named:
        texts.append(f"{' and '.join(named)} {one if parts + gates == 1 else many}")
    if same_cause:
        texts.append(f"{count_text(same_cause, 'more gate')} {one if same_cause == 1 else many} with it")
    return "".join(f"; {text}" for text in texts)


SENTENCES: Mapping[ConclusionKind, Callable[[Topic], str]] = {
    ConclusionKind.EMPTY: empty_run,
    ConclusionKind.GATE_FAILS: _of_gate,
    ConclusionKind.OTHER_CODE: other_code,
    ConclusionKind.EMPTY_SEGMENT: empty_segment,
    ConclusionKind.LOST_PART: _lost_part,
    ConclusionKind.GATE_WARNS: _of_gate,
    ConclusionKind.GIVEN_UP: given_up,
}
