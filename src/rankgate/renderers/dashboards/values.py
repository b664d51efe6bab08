"""What a dashboard shows: the runs of each gate set, a curve a metric, and what happened meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rankgate.model.values import Direction, Unit, Verdict

INDEX = "index.html"  # the page that links to all others


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a dashboard. Days are ISO texts; `at` is a day counted from 1970, with the place within it."""


class Value(_Part, frozen=True, kw_only=True):
    """A metric of a run; None where it is undefined. `rescored`: with today's gold set, not recorded at the time."""

    value: float | None
    rescored: bool = False


class ShownRun(_Part, frozen=True, kw_only=True):
    """A run of the history, or one that was accepted without being recorded there.

    `new_gold` says that its gold set is not the one of the run before. `values` hold what is known of the
    metrics shown.
    """

    id: str
    date: str
    at: float
    commit: str | None
    branch: str | None
    verdict: Verdict | None
    queries: int
    accepted: bool
    anchors: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    new_gold: bool = False
    values: Mapping[str, Value]


class Acceptance(_Part, frozen=True, kw_only=True):
    """A run that became the baseline, why and by whom where somebody said so; `run` is its id if its row is shown."""

    date: str
    at: float
    run: str | None
    commit: str | None
    verdict: Verdict | None
    reason: str | None
    by: str | None
    values: Mapping[str, Value]


class Release(_Part, frozen=True, kw_only=True):
    """A tag of the repository; `run` is the id of the newest run shown of its very commit."""

    tag: str
    date: str
    at: float
    commit: str
    run: str | None


class Span(_Part, frozen=True, kw_only=True):
    """How long a waiver was in force: its first and last day; `since` is None where nobody can tell.

    `until` is the day before it was taken out where that was earlier than `expires`.
    """

    gate: str
    segment: str | None
    up_to: float
    unit: Unit
    since: str | None
    until: str
    expires: str
    issue: str
    reason: str
    by: str
    first: float | None
    last: float


class Jump(_Part, frozen=True, kw_only=True):
    """A change from one run to the next."""

    run: str
    date: str
    before: float
    now: float


class Point(_Part, frozen=True, kw_only=True):
    """A run's value on a curve; `change` is that from the point before it."""

    run: str
    date: str
    at: float
    value: float
    rescored: bool
    verdict: Verdict | None
    accepted: bool
    change: float | None


class Curve(_Part, frozen=True, kw_only=True):
    """A metric over time.

    `limits` are the thresholds of today's gates. `month` is the value of the newest run that is at least a month old,
    `accepted` that of what is accepted now; None where there is none. `worse` and `better` are the largest steps of
    each kind. `steps` are the accepted values with their beginning. `missing` counts runs without a value.
    """

    metric: str
    meaning: str
    unit: Unit
    direction: Direction
    gated: bool
    limits: tuple[float, ...]
    points: tuple[Point, ...]
    steps: tuple[tuple[float, float], ...]
    month: float | None
    accepted: float | None
    worse: Jump | None
    better: Jump | None
    missing: int

    @property
    def last(self) -> float | None:
        """The newest value."""
        return self.points[-1].value if self.points else None


class Older(_Part, frozen=True, kw_only=True):
    """Runs that are too old to be listed."""

    count: int
    first: str
    last: str
    verdicts: Mapping[str, int]


class GateSet(_Part, frozen=True, kw_only=True):
    """One page: what a criteria file gates, over the life of its baseline store. Runs stand oldest first.

    `unscored` says what `--metrics` asked for and could not be rescored.
    """

    name: str
    page: str
    place: str
    today: float
    runs: tuple[ShownRun, ...]
    older: Older | None
    curves: tuple[Curve, ...]
    acceptances: tuple[Acceptance, ...]
    releases: tuple[Release, ...]
    spans: tuple[Span, ...]
    unscored: tuple[str, ...] = ()


class Dashboard(_Part, frozen=True, kw_only=True):
    """All pages, of one day; `repository` is its web address, if it is known."""

    date: str
    repository: str | None
    sets: tuple[GateSet, ...]
