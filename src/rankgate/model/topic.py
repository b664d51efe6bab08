"""What a sentence about a conclusion is made of: its numbers, its row, and how text of the inputs is spelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rankgate.model.conclusion import OF_GATES, Conclusion
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Report
from rankgate.model.values import Direction, Unit
from rankgate.model.wording import (
    distinguishing_decimals,
    is_plain_name,
    limit_decimals,
    points_text,
    size_text,
    value_text,
    vanishes,
)

Spell = Callable[[str], str]  # makes text of the inputs safe to show


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
        self.of_floor = conclusion.rule == "floor"
        of_drop = conclusion.rule == "drop"
        self.decimals = limit_decimals(conclusion.limit, self.change if of_drop else conclusion.now, self.unit)
        if of_drop and conclusion.before is not None and conclusion.now is not None:
            self.decimals = max(self.decimals, distinguishing_decimals(self.now, self.before, self.unit))

    def decimals_beside(self, bound: float) -> int:
        """Those with which the end of the interval also differs from the limit that it does not clear."""
        limit = self.limit if self.of_floor else abs(self.limit)
        return max(self.decimals, distinguishing_decimals(bound, limit, self.unit))

    def value(self, value: float, decimals: int | None = None) -> str:
        """`96.0%`."""
        return value_text(value, self.unit, self.decimals if decimals is None else decimals)

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


def part_name(segment: str, name: Spell) -> str:
    """`lang:th`; of a bare word that it is a tag, since it could be a word of the sentence."""
    bare_word = ":" not in segment and is_plain_name(segment)
    return f"the tag {name(segment)}" if bare_word else name(segment)


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
        return "" if self.conclusion.segment is None else part_name(self.conclusion.segment, self.name)

    @property
    def in_part(self) -> str:
        """The same after a metric."""
        return f" in {self.part}" if self.part else ""

    def count(self, key: str) -> int:
        """What the conclusion counts."""
        return self.conclusion.counts.get(key, 0)


def headline_gate(report: Report) -> GateResult | None:
    """The row that the conclusion speaks of; None where it speaks of no gate that fails or warns."""
    conclusion = report.conclusion
    if conclusion.kind not in OF_GATES:
        return None
    rows = [gate for gate in report.gates if gate.row_key == conclusion.row_key and gate.verdict is report.verdict]
    exact = [gate for gate in rows if conclusion.limit in (gate.limit, gate.limits.threshold)]
    best = exact or rows
    return best[0] if best else None
