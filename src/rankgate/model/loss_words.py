"""What was lost, in words: a conclusion's numbers, a part of the questions, small losses that add up, other code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from rankgate.model.base_ref import SHORT_SHA
from rankgate.model.conclusion import Conclusion, ConclusionKind, GivenUp, OtherCode, PartLoss
from rankgate.model.report import Report
from rankgate.model.values import Direction, Unit
from rankgate.model.wording import (
    count_text,
    delta_text,
    exact_decimals,
    part_word,
    points_text,
    size_text,
    telling_decimals,
    value_text,
    vanishes,
)

Spell = Callable[[str], str]  # makes text of the inputs safe to show
_PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)


class Numbers:
    """The numbers of a conclusion; `decimals` are those with which no rounding hides a violation, or a change."""

    def __init__(self, conclusion: Conclusion) -> None:
        """What a conclusion does not state is 0; such numbers are shown by no sentence."""
        self.metric = conclusion.metric
        self.unit = conclusion.unit or Unit.NUMBER
        self.direction = conclusion.direction or Direction.HIGHER
        self.now = conclusion.now or 0.0
        self.before = conclusion.before or 0.0
        self.limit = conclusion.limit or 0.0
        self.change = self.now - self.before
        self.harm = -self.direction.sign * self.change  # the change for the worse, as a size
        self.falls = self.direction is Direction.HIGHER  # where it gets worse
        self.decimals = self._decimals(conclusion)

    def _decimals(self, conclusion: Conclusion) -> int:
        decimals = [exact_decimals(0.0, self.unit)]
        of_drop = conclusion.rule == "drop"
        if conclusion.limit is not None:
            decimals.append(exact_decimals(conclusion.limit, self.unit))
            if of_drop or conclusion.now is not None:
                decimals.append(telling_decimals(self.change if of_drop else self.now, conclusion.limit, self.unit))
        if of_drop and conclusion.before is not None and conclusion.now is not None:
            decimals.append(telling_decimals(self.now, self.before, self.unit))
        return max(decimals)

    def value(self, value: float) -> str:
        """`96.0%`."""
        return value_text(value, self.unit, self.decimals)

    def size(self, size: float, decimals: int | None = None) -> str:
        """`5.8 points`, `0.050`, `120.0 ms`."""
        return points_text(size, self.unit, decimals)

    def number(self, size: float, decimals: int | None = None) -> str:
        """The same without its unit."""
        return size_text(size, self.unit, decimals).partition(" ")[0]

    @property
    def arrow(self) -> str:
        """`96.0% → 56.0%`."""
        return f"{self.value(self.before)} → {self.value(self.now)}"

    @property
    def vanishing(self) -> bool:
        """Whether the change rounds to nothing."""
        return vanishes(self.change, self.unit, self.decimals)

    @property
    def loss_word(self) -> str:
        """What a change for the worse is called."""
        return "loss" if self.falls else "rise"

    def lost(self, part: str, decimals: int | None = None) -> str:
        """`recall@5 lost 5.8 points`, `lang:th lost 40.0 points of recall@5`, `latency(p90) rose by 120.0 ms`."""
        size = self.size(self.harm, decimals)
        if self.unit in (Unit.SHARE, Unit.SCORE) and self.falls:
            return f"{part} lost {size} of {self.metric}" if part else f"{self.metric} lost {size}"
        where = f" in {part}" if part else ""
        return f"{self.metric}{where} {'fell' if self.falls else 'rose'} by {size}"


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
    return f"{numbers.lost(name(part.segment))}: {part.worse:,} of {count_text(part.n, 'question')} got worse"


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


class Topic(NamedTuple):
    """What a sentence is made of: the report, its conclusion with the numbers, how text of the inputs is spelled."""

    report: Report
    conclusion: Conclusion
    numbers: Numbers
    name: Spell
    text: Spell

    @property
    def part(self) -> str:
        """The tag that it names; empty for all questions."""
        return "" if self.conclusion.segment is None else self.name(self.conclusion.segment)

    @property
    def in_part(self) -> str:
        """The same after a metric."""
        return f" in {self.part}" if self.part else ""

    def count(self, key: str) -> int:
        """What the conclusion counts."""
        return self.conclusion.counts.get(key, 0)
