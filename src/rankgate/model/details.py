"""What pages and `explain` show beyond `report.json`: curves, values by segment, and every question with its rankings.

It goes with a `Report` from step to step and is left out of `report.json`, which a bot carries about and which would be
megabytes with it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from rankgate.model.values import TOLERANCE, Direction, Interval, Unit

T = TypeVar("T")
TEXTS_OF = 3_000  # questions of whose lists texts are read, the worst
NOWHERE = 10**6  # the rank of what is in no list: below all others


class Cause(Enum):
    """What became of a question's relevant documents.

    The first that holds, in this order. `NOTHING_RELEVANT`: the gold names no relevant document. `NO_RESULT`: the run
    lacks the question, or its list is empty. `NEW`: it is new to the baseline. `GONE`: a document that the baseline had
    in the first k is nowhere in the list now. `LOWER`: one left the first k and is still in the list. `BETTER`: one
    came into the first k. `NEVER_FOUND`: one is in the first k of neither run; without a baseline, not of the run.
    `FINE`: nothing of all that.
    """

    NO_RESULT = "no_result"
    GONE = "gone"
    LOWER = "lower"
    NEVER_FOUND = "never_found"
    BETTER = "better"
    FINE = "fine"
    NEW = "new"
    NOTHING_RELEVANT = "nothing_relevant"


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A column of the panel: how a metric is called, read and explained."""

    name: str
    meaning: str
    unit: Unit
    direction: Direction


class PanelValue(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over the queries of a scope, with its own 95 % interval; the change is over the pairs."""

    value: float | None
    ci: Interval | None
    delta: float | None


class PanelRow(msgspec.Struct, frozen=True, kw_only=True):
    """The panel's values over the queries with a tag; over all queries where `tag` is None."""

    tag: str | None
    queries: int
    values: Mapping[str, PanelValue]


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """A metric at growing cut-offs, over the queries with a tag (None: over all).

    `candidate[i]` and `baseline[i]` belong to `cutoffs[i]`. `knee` is the candidate's cut-off after which the curve
    flattens, None where it is flat or a straight line. `baseline` is None where there is none.
    """

    tag: str | None
    queries: int
    measure: Literal["recall", "ndcg"]
    cutoffs: tuple[int, ...]
    candidate: tuple[float, ...]
    baseline: tuple[float, ...] | None
    knee: int | None
    baseline_knee: int | None


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a ranking; `gain` is None where the gold does not judge it."""

    id: str
    gain: float | None


class ListColumns(Sequence[Listed]):
    """A list that is read from columns: millions of items are never built where these are enough."""

    @abstractmethod
    def columns(self) -> tuple[list[str], list[float | None]]:
        """The ids and the gains of its items."""


def columns_of_list(items: Sequence[Listed]) -> tuple[list[str], list[float | None]]:
    """The ids and the gains of a list's items."""
    if isinstance(items, ListColumns):
        return items.columns()
    return [each.id for each in items], [each.gain for each in items]


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """A relevant document of the gold, and its rank in the baseline and now; None where the list has not got it."""

    id: str
    gain: float
    before: int | None
    after: int | None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A gold query: what was expected, both rankings down to the details' depth, and the metrics.

    `values` has by metric the value before and now; None where it is undefined, or the baseline lacks the query.
    `before` is None without a baseline or where that lacks the query, `now` where the run does.
    """

    query_id: str
    question: str | None
    tags: tuple[str, ...]
    cause: Cause
    values: Mapping[str, tuple[float | None, float | None]]
    expected: tuple[Expected, ...]
    before: Sequence[Listed] | None
    now: Sequence[Listed] | None


def read(question: Question) -> Question:
    """The question with its values and lists in it, where they are read from columns only when they are asked for."""
    before = None if question.before is None else tuple(question.before)
    now = None if question.now is None else tuple(question.now)
    return replace(question, values=dict(question.values), before=before, now=now)


class ReportDetails(msgspec.Struct, frozen=True, kw_only=True):
    """All of it: the panel, the sweeps, and every gold query in the order of the gold.

    `leading` is the metric whose changes are shown query by query; None where no metric is of ranked documents. Causes
    speak of the first `k` ranks, or of `ks` where questions have their own; `depth` items of each ranking are shown.
    `measures` are the columns of the panel, in order, and those of the gated metrics that it lacks. Panel and sweeps
    are over all queries first, then by tag, from the worst change of the leading metric to the best; `left_out` tags
    have no row, none of which lost more. `order` are the places of the questions, the worst
    first, as `worst_rows` has them. `texts` are items' by id, before and now, of the worst `TEXTS_OF` questions.
    """

    leading: str | None
    k: int
    depth: int
    measures: tuple[Measure, ...]
    panel: tuple[PanelRow, ...]
    sweeps: tuple[Sweep, ...]
    questions: Sequence[Question]
    order: Sequence[int] = ()
    left_out: int = 0
    ks: Mapping[str, int] = {}
    texts: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})

    def first(self, question: Question) -> int:
        """The first ranks of which the cause of a question speaks."""
        return self.ks.get(question.query_id, self.k)

    def moved(self, question: Question) -> tuple[float, int]:
        """The leading metric's change for the better, 0.0 if not known; documents that came less those that left."""
        before, now = question.values.get(self.leading or "", (None, None))
        change = 0.0 if before is None or now is None else now - before
        if abs(change) <= TOLERANCE:
            change = 0.0
        elif self.lower:
            change = -change
        k = self.first(question)
        return change, sum([came(each, k) - left(each, k) for each in question.expected])

    @property
    def lower(self) -> bool:
        """Whether less of the leading metric is better."""
        return any(each.name == self.leading and each.direction is Direction.LOWER for each in self.measures)


def fate_of(documents: Iterable[Expected], k: int, *, no_result: bool) -> Cause:
    """What became of the relevant documents of a question that got worse; `FINE` where none left the first k."""
    if no_result:
        return Cause.NO_RESULT
    lost = [each.after for each in documents if left(each, k)]
    if not lost:
        return Cause.FINE
    return Cause.GONE if None in lost else Cause.LOWER


def left(document: Expected, k: int) -> bool:
    """Whether a document left the first k."""
    return (document.before or NOWHERE) <= k < (document.after or NOWHERE)


def came(document: Expected, k: int) -> bool:
    """Whether a document came into the first k."""
    return (document.after or NOWHERE) <= k < (document.before or NOWHERE)


def depth_of(document: Expected) -> int:
    """How far it fell; from a list into none counts as further than within any list."""
    return (document.after or NOWHERE) - (document.before or NOWHERE)


def sampled(items: Sequence[T], groups: Sequence[object], most: int) -> list[T]:
    """At most so many, in the given order: the first of each of their groups, then the second of each, and so on."""
    seen = Counter[object]()
    turns: list[tuple[int, int]] = []
    for row, group in enumerate(groups):
        turns.append((seen[group], row))
        seen[group] += 1
    return [items[row] for row in sorted(row for _, row in sorted(turns)[:most])]
