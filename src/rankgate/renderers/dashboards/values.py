"""What a dashboard shows: the runs of each gate set, a curve a metric, and what happened meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from rankgate.baselines.records import Record
from rankgate.model.values import Direction, Interval, Unit
from rankgate.model.wording import vanishes
from rankgate.readers.dates import days_after, days_between

INDEX = "index.html"  # the page that links to all others
MONTH = 30  # days
StepOutcome = Literal["better", "worse", "same", "unknown"]
NOON = 0.5


def place_of(day: str) -> float:
    """The begin of an ISO day, in days since 1970."""
    return float(days_between("1970-01-01", day))


def day_of(days: int) -> str:
    """The ISO day that begins so many days after the first of 1970."""
    return days_after("1970-01-01", days)


def places_of(days: Sequence[str]) -> list[float]:
    """A place for each of these ordered days; those of one day lie one after the other within it."""
    counts = Counter(days)
    seen = Counter[str]()
    places: list[float] = []
    for day in days:
        seen[day] += 1
        places.append(place_of(day) + (seen[day] - NOON) / counts[day])
    return places


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a dashboard. Days are ISO texts; `at` is a day counted from 1970, with the place within it."""


class Value(_Part, frozen=True, kw_only=True):
    """A metric of a run; None where it is undefined. `rescored`: with today's gold set, not recorded at the time."""

    value: float | None
    rescored: bool = False


class ShownRun(_Part, frozen=True, kw_only=True):
    """A run of the history, or one that was accepted without being recorded there."""

    record: Record
    at: float
    accepted: bool
    new_gold: bool = False  # another gold set than that of the run before
    judges: int = 0  # how often another judge came up to this run: values of judged metrics compare within one
    new_judge: bool = False
    values: Mapping[str, Value]  # what is known of the metrics shown


class Acceptance(_Part, frozen=True, kw_only=True):
    """A run that became the baseline; `shown` says that it has a row."""

    record: Record
    at: float
    shown: bool
    values: Mapping[str, Value]


class Known(NamedTuple):
    """What stored rankings say by today's gold set: a value or a change, and its 95 % interval where there is one."""

    value: float
    ci: Interval | None


class Step(_Part, frozen=True, kw_only=True):
    """From an earlier run's recorded value to a later one's; `paired` is None where their rankings do not compare."""

    before: float
    size: float  # on the questions of both, else the difference of the recorded values
    direction: Direction
    unit: Unit
    paired: Known | None

    @property
    def outcome(self) -> StepOutcome:
        """A change is one only where its paired interval excludes zero, and it does not read ±0."""
        if self.paired is None:
            return "unknown"
        if not (certain := self.direction.certain(self.paired.ci)) or vanishes(self.size, self.unit):
            return "same"
        return "better" if certain > 0 else "worse"


class Point(_Part, frozen=True, kw_only=True):
    """A run's value on a curve, and the step from the point before it in the same span: the judge is the same.

    `today` is the value by today's gold set, where the rankings are stored.
    """

    run: ShownRun
    value: float
    rescored: bool
    step: Step | None
    today: Known | None = None
    span: int = 0


class Curve(_Part, frozen=True, kw_only=True):
    """A metric over time.

    `limits` are the thresholds of today's gates, `steps` the accepted values with their beginning. `month` is the step
    from the newest run that is at least a month old to the last, `accepted` that from what is accepted now. `worse` and
    `better` are the points with the largest steps that are changes. `missing` counts runs without a value.
    """

    metric: str
    meaning: str
    unit: Unit
    direction: Direction
    gated: bool
    limits: tuple[float, ...]
    points: tuple[Point, ...]
    steps: tuple[tuple[float, float], ...]
    month: Step | None
    accepted: Step | None
    worse: Point | None
    better: Point | None
    missing: int

    @property
    def last(self) -> float | None:
        """The newest value."""
        return self.points[-1].value if self.points else None


class Questions(_Part, frozen=True, kw_only=True):
    """Shares and scores question by question, by today's gold set, of the newest stored runs that a page has room for.

    `columns` has by run and metric three letters a question of `ids`: the value in thousandths, hexadecimal, or `---`
    where there is none. `depths` are by run; only runs of one depth compare. `more` runs have no room.
    """

    ids: Sequence[str]
    columns: Mapping[str, Mapping[str, str]]
    depths: Mapping[str, int]
    more: int = 0


class GateSet(_Part, frozen=True, kw_only=True):
    """One page: what a criteria file gates, over the life of its baseline store. Runs stand oldest first."""

    name: str
    page: str
    place: str
    today: float
    runs: tuple[ShownRun, ...]
    older: Sequence[Record]  # runs that are too old to be listed
    curves: tuple[Curve, ...]
    acceptances: tuple[Acceptance, ...]
    unscored: Sequence[str] = ()  # what `--metrics` asked for and could not be rescored
    questions: Questions | None = None


class Dashboard(_Part, frozen=True, kw_only=True):
    """All pages, of one day; `repository` is its web address, if it is known."""

    date: str
    repository: str | None
    sets: tuple[GateSet, ...]
