"""What was lost, in words: results, a part of the questions, small losses that add up; and a run of other code."""

from __future__ import annotations

import re

from rankgate.model.base_ref import SHORT_SHA
from rankgate.model.conclusion import Conclusion, ConclusionKind, GivenUp, OtherCode, PartLoss
from rankgate.model.report import Report
from rankgate.model.topic import Numbers, Spell, Topic, part_name
from rankgate.model.values import Direction, Unit
from rankgate.model.wording import count_text, delta_text, part_word, points_text, size_text

_PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)


def part_text(part: PartLoss, name: Spell) -> str:
    """`lang:th lost 36.0 points of recall@5: 9 of 25 questions got worse`."""
    numbers = Numbers(
        Conclusion(
            kind=ConclusionKind.LOST_PART,
            metric=part.metric,
            unit=part.unit,
            direction=part.direction,
            before=part.before,
            now=part.now,
        )
    )
    lost = numbers.lost(part_name(part.segment, name))
    return f"{lost}: {part.worse:,} of {count_text(part.n, 'question')} got worse"


def parts_texts(parts: list[PartLoss], name: Spell) -> list[str]:
    """One text a segment: its largest loss, and what else it lost."""
    by_segment: dict[str, list[PartLoss]] = {}
    for part in parts:
        by_segment.setdefault(part.segment, []).append(part)
    texts: list[str] = []
    for largest, *others in by_segment.values():
        also = " and ".join(f"{each.metric} ({delta_text(each.now - each.before, each.unit)})" for each in others)
        texts.append(part_text(largest, name) + (f"; also {also}" if also else ""))
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


def other_losses(report: Report, name: Spell, text: Spell) -> list[str]:
    """What the conclusion does not say of other code, of empty and of lost parts, and of losses that add up."""
    kind, changes, empties = report.conclusion.kind, report.changes, report.measured.empties
    code = report.origin.other_code if kind is not ConclusionKind.OTHER_CODE else None
    texts = [code_text(code, text)] if code else []
    segments = empties.segments if empties and kind is not ConclusionKind.EMPTY else {}
    spoken = report.conclusion.segment if kind is ConclusionKind.EMPTY_SEGMENT else None
    texts += [_without_result(*segments[tag], f" of {part_name(tag, name)}") for tag in segments if tag != spoken]
    lost = changes.lost_parts[kind is ConclusionKind.LOST_PART :]
    texts += parts_texts([part for part in lost if part.segment not in segments], name)
    return texts + [given_up_text(loss, report) for loss in changes.given_up[kind is ConclusionKind.GIVEN_UP :]]
