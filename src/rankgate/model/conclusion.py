"""What a verdict says, as one value: made once in `gates/conclude.py`, put into words in `headline.py`.

Then what it can be about beside gates: parts, small losses, empty lists, other code, and traffic without labels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Literal

import msgspec

from rankgate.model.gate_result import LIMITS, GateResult
from rankgate.model.values import Direction, Interval, Unit
from rankgate.model.wording import tag_keys

NEARLY_ALL = 0.9  # of the lists, empty


class ConclusionKind(StrEnum):
    """What a conclusion is about; the first that holds, in this order."""

    NOT_JUDGED = "not_judged"
    EMPTY = "empty"  # nearly all lists of the run
    FAILURE = "failure"  # a reason to fail that no gate has
    GATE_FAILS = "gate_fails"
    OTHER_CODE = "other_code"  # the run is not of this code
    EMPTY_SEGMENT = "empty_segment"
    LOST_PART = "lost_part"  # a part that no gate names
    GATE_WARNS = "gate_warns"
    GIVEN_UP = "given_up"  # small losses that were accepted one by one
    WARNING = "warning"  # a reason to warn that no gate has
    NO_BASELINE = "no_baseline"
    PASS = "pass"  # noqa: S105 -- no password


OF_GATES = (ConclusionKind.GATE_FAILS, ConclusionKind.GATE_WARNS)


class Strength(StrEnum):
    """How much a pass says, the weakest first."""

    NOT_EXCLUDED = "not_excluded"
    FLOORS_ONLY = "floors_only"
    LOST_AND_ALLOWED = "lost_and_allowed"
    RULED_OUT = "ruled_out"
    UNCHANGED = "unchanged"  # no list did


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """What the reader of one sentence is told; every output words this value and selects nothing itself.

    `gate` and `segment` name the row of the report that it speaks of, `metric`, `unit` and `direction` are that row's,
    and so are `before` and `now`: over the pairs where it is about a drop, whose `limit` is the largest change for the
    worse that is allowed, with its sign; of a floor `now` is the value over all scored questions and `limit` the floor.
    `bound` is the end of the interval that the strength of a pass rests on: the change for the worse, as a size, that
    is ruled out, or is not. `at_worst` is the value, or the change, with the worst for the `missing` values, where
    these put the limit in doubt. `counts` has only what its kind says: `questions`, `pairs`, `worse`, `empty`, `total`,
    `gates_fail`, `same_cause`, `segments_fail`, `segments_hold`, `segments_unproven`, `missing`, `problems`, `steps`;
    of segments by other tags than that of `segment` only `other_parts_fail`.
    `next` is the next command; `accept` is the one that accepts a drop, for which a gate fails, if it is meant.
    `traffic` is what became of questions without labels.
    """

    kind: ConclusionKind
    gate: str | None = None
    metric: str | None = None
    unit: Unit | None = None
    direction: Direction | None = None
    segment: str | None = None
    rule: Literal["floor", "drop", "other"] | None = None
    before: float | None = None
    now: float | None = None
    limit: float | None = None
    strength: Strength | None = None
    bound: float | None = None
    at_worst: float | None = None
    counts: Mapping[str, int] = {}
    next: list[str] = []
    accept: list[str] = []
    traffic: TrafficShare | None = None

    @property
    def row_key(self) -> tuple[str, str | None] | None:
        """The row that it speaks of, as `GateResult.row_key`."""
        return None if self.gate is None else (self.gate, self.segment)


def about_gate(kind: ConclusionKind, gate: GateResult, rule: Literal["floor", "drop", "other"]) -> Conclusion:
    """A conclusion about a row of the report, by one of its rules."""
    measured = gate.measured.for_floor
    worst, _ = gate.direction.upright(measured.ci)
    drop = rule == "drop"
    end = None if worst is None else gate.direction.sign * worst  # the worst value that the interval does not exclude
    return Conclusion(
        kind=kind,
        gate=gate.name,
        metric=gate.metric,
        unit=gate.unit,
        direction=gate.direction,
        segment=gate.segment,
        rule=rule,
        before=gate.change.baseline,
        now=gate.change.paired_value if drop else measured.value,
        limit=gate.limit if drop else gate.limits.threshold,
        bound=gate.bound if drop else end,
        at_worst=next((each.at_worst for each in gate.decision.reasons if LIMITS.get(each.kind) == rule), None),
    )


def parts_beside(segment: str | None, others: Collection[str | None]) -> dict[str, int]:
    """Counts of the other parts: such as the named one, and by other tags, as topics beside languages."""
    elsewhere = 0 if segment is None else sum(tag_keys(each) != tag_keys(segment) for each in others)
    return {"segments_fail": len(others) - elsewhere, "other_parts_fail": elsewhere}


NO_CONCLUSION = Conclusion(kind=ConclusionKind.PASS)  # of a report that states none: a pass has a strength


class PartLoss(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the questions, by a tag, that lost what the rest did not, though no gate may have asked.

    `before` and `now` are over its `n` questions that both runs have a value for, of which `worse` got worse.
    """

    segment: str
    metric: str
    unit: Unit
    direction: Direction
    before: float
    now: float
    n: int
    worse: int
    p: float


class GivenUp(msgspec.Struct, frozen=True, kw_only=True):
    """What accepted losses, each of them allowed, add up to by a metric: since the acceptance that is the anchor.

    `before` is the anchor's value and `now` the run's, over the `n` questions that both have a value for. `limit` is
    the largest change for the worse that the gate allows at once, with its sign. `anchor` is the id of that acceptance,
    `since` its day, and `steps` how many followed it; `with_run` says that this run, not yet accepted, lost as well.
    """

    metric: str
    unit: Unit
    direction: Direction
    before: float
    now: float
    limit: float
    n: int
    anchor: str
    since: str
    steps: int
    with_run: bool = False

    @property
    def loss(self) -> float:
        """As a size."""
        return -self.direction.sign * (self.now - self.before)


def about_loss(kind: ConclusionKind, loss: PartLoss | GivenUp, gate: str | None = None) -> Conclusion:
    """A conclusion about a loss that no gate decides; `gate` is one of its metric."""
    return Conclusion(
        kind=kind,
        gate=gate,
        metric=loss.metric,
        unit=loss.unit,
        direction=loss.direction,
        rule="drop",
        before=loss.before,
        now=loss.now,
    )


class Empties(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the lists are empty or absent, and the tags of whose questions nearly all are.

    `absent` of them are in no line of the run. `first` is a question without a result, `before` how many results the
    baseline had for it.
    """

    empty: int
    total: int
    absent: int = 0
    segments: Mapping[str, tuple[int, int]] = {}
    first: str | None = None
    before: int | None = None

    @property
    def nearly_all(self) -> bool:
        """Whether the whole run is as good as empty, so that no drop is worth a word."""
        return self.total > 0 and self.empty >= NEARLY_ALL * self.total

    @property
    def warns(self) -> bool:
        """Whether there is more to it than single questions."""
        return self.nearly_all or bool(self.segments)


class OtherCode(msgspec.Struct, frozen=True, kw_only=True):
    """Why the run is not of this code: recorded at `commit`, before `path` changed; or it is the accepted run."""

    commit: str
    path: str | None = None
    more: int = 0
    same_as_accepted: bool = False


class TrafficSegment(msgspec.Struct, frozen=True, kw_only=True):
    """The questions with a tag: how many were compared, how many of them changed, and their share of what changed."""

    tag: str
    asked: int
    changed: int
    share: float


class TrafficShare(msgspec.Struct, frozen=True, kw_only=True):
    """What a conclusion says of the traffic.

    `changed` is the share of the traffic, by counts, that gets other results, `asked` how many questions were compared,
    `segment` where the change lies, beyond chance. Of `labelled` questions all needed labels are there, and no more
    than `bound` can be lost.
    """

    changed: float
    asked: int
    segment: str | None
    labelled: int
    bound: float


class TrafficExample(msgspec.Struct, frozen=True, kw_only=True):
    """A question that gets other results, the most asked first; its text only where that may be published."""

    query_id: str
    question: str | None
    count: float
    before: tuple[str, ...]
    now: tuple[str, ...]


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """What a report has of the traffic.

    The file has `named` questions and the run `recorded`; compared are the `asked` that the accepted run has. Of these
    `changed` get other results among the first `k`, in another order too where that counts; `share` is that by counts,
    `bound` what can be lost there, `interval` the exact one of the share of questions. `limit` is the drop that the
    gate allows. `empty` have no result any more, and `absent` no line in the run. `measured` says that each gate over
    traffic has the labels that it needs. `concentrated` is the tag where more changed than chance puts there.
    `repeated` are ids of questions whose id or text the gold set has, too.
    """

    named: int
    recorded: int = 0
    asked: int = 0
    changed: int = 0
    share: float = 0.0
    bound: float = 0.0
    interval: Interval = (None, None)
    k: int = 0
    limit: float | None = None
    empty: int = 0
    absent: int = 0
    labelled: int = 0
    measured: bool = False
    concentrated: TrafficSegment | None = None
    segments: list[TrafficSegment] = []
    examples: list[TrafficExample] = []
    repeated: list[str] = []
