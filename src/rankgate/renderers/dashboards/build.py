"""From the records of a memory to a page's values. Pure: what is read comes in, `date` is the only clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

import msgspec
from msgspec import UNSET

from rankgate.baselines.records import Record
from rankgate.metrics.base import Metric
from rankgate.model.answers import JudgeMark
from rankgate.model.values import RunField
from rankgate.readers.dates import days_after
from rankgate.renderers.dashboards.values import (
    MONTH,
    NOON,
    Acceptance,
    Curve,
    GateSet,
    Known,
    Point,
    ShownRun,
    Step,
    Value,
    place_of,
    places_of,
)

Placed = Sequence[tuple[Record, float]]  # records with their places on the axis of time


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a store remembers, each log oldest first."""

    history: Sequence[Record]
    accepted: Sequence[Record] = ()

    def until(self, date: str) -> Remembered:
        """Without what is dated later."""
        history = [each for each in self.history if each.date <= date]
        accepted = [each for each in self.accepted if each.date <= date]
        return Remembered(history=history, accepted=accepted)

    def runs(self) -> list[Record]:
        """Every run once, by its day: those of the history, and what was accepted without being recorded there."""
        recorded = {record.id for record in self.history}
        only_accepted = {record.id: record for record in self.accepted if record.id not in recorded}
        return sorted([*self.history, *only_accepted.values()], key=lambda record: record.date)


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What a page is asked to show: metrics in their order, those that are gated with their thresholds."""

    metrics: Sequence[Metric]
    limits: Mapping[str, Sequence[float]]
    date: str
    limit: int
    estimates: Mapping[str, Mapping[str, Known]] = {}  # by record, of its stored rankings; for what was not recorded
    paired: Callable[[Record, Record], Mapping[str, Known]] | None = None  # the changes between two of them


def gate_set(
    name: str,
    page: str,
    place: str,
    remembered: Remembered,
    shown: Shown,
) -> GateSet:
    """The values of one page: its criteria's name, the file that it is written to, and its store without secrets.

    `remembered` is what the store holds up to today.
    """
    records = remembered.runs()
    listed = records[max(0, len(records) - shown.limit) :]
    placed = list(zip(listed, places_of([record.date for record in listed]), strict=True))
    runs = _runs(placed, remembered, shown)
    acceptances = _acceptances(remembered.accepted, {run.record.id: run for run in runs}, shown)
    return GateSet(
        name=name,
        page=page,
        place=place,
        today=place_of(shown.date) + 1,
        runs=runs,
        older=records[: len(records) - len(listed)],
        curves=tuple(_curve(metric, runs, acceptances, shown) for metric in shown.metrics),
        acceptances=acceptances,
    )


def _runs(placed: Placed, remembered: Remembered, shown: Shown) -> tuple[ShownRun, ...]:
    accepted = {record.id for record in remembered.accepted}
    golds = [record.gold.fingerprint if record.gold else None for record, _ in placed]
    judges: list[JudgeMark | None] = []
    for record, _ in placed:
        judges.append(record.judge or next(reversed(judges), None))
    changed = [None not in pair and pair[0] != pair[1] for pair in zip(judges, [None, *judges], strict=False)]
    return tuple(
        ShownRun(
            record=record,
            at=at,
            accepted=record.id in accepted,
            new_gold=None not in (gold, before) and gold != before,
            judges=judges_so_far,
            new_judge=new_judge,
            values=_values(record, shown),
        )
        for (record, at), gold, before, judges_so_far, new_judge in zip(
            placed, golds, [None, *golds], accumulate(changed), changed, strict=False
        )
    )


def _values(record: Record, shown: Shown) -> dict[str, Value]:
    stored = shown.estimates.get(record.id, {})
    values = {name: Value(value=known.value, rescored=True) for name, known in stored.items()}
    values |= {name: Value(value=value) for name, value in record.scores.items()}
    return {metric.name: values[metric.name] for metric in shown.metrics if metric.name in values}


def _acceptances(accepted: Sequence[Record], runs: Mapping[str, ShownRun], shown: Shown) -> tuple[Acceptance, ...]:
    """Those since the first run that is shown, and the one that was accepted when it came."""
    first = min((run.record.date for run in runs.values()), default="")
    before = [record for record in accepted if record.date < first][-1:]
    listed = [*before, *(record for record in accepted if record.date >= first)]
    # What the log has later lies no earlier: who goes back to a run of the same day does so after it.
    places = accumulate((_accepted_at(record, runs.get(record.id)) for record in listed), max)
    return tuple(
        Acceptance(record=record, at=at, shown=record.id in runs, values=_values(record, shown))
        for record, at in zip(listed, places, strict=True)
    )


def _accepted_at(record: Record, run: ShownRun | None) -> float:
    """The place of the run if it was accepted on its own day, else the noon of the day of the acceptance."""
    return run.at if run is not None and run.record.date == record.date else place_of(record.date) + NOON


def _curve(metric: Metric, runs: Sequence[ShownRun], acceptances: Sequence[Acceptance], shown: Shown) -> Curve:
    def step(since: Record, before: float | None, run: ShownRun | None) -> Step | None:
        now = run.values[metric.name].value if run else None
        if run is None or now is None or before is None:
            return None
        known = shown.paired(since, run.record).get(metric.name) if shown.paired else None
        size = known.value if known else now - before
        return Step(before=before, size=size, direction=metric.direction, unit=metric.unit, paired=known)

    judged = RunField.VERDICTS in metric.needs
    points: list[Point] = []
    for run in runs:
        value = run.values.get(metric.name)
        if value is not None and value.value is not None:
            span = run.judges if judged else 0
            old = points[-1] if points and points[-1].span == span else None
            came = step(old.run.record, old.value, run) if old else None
            today = shown.estimates.get(run.record.id, {}).get(metric.name)
            points.append(Point(run=run, value=value.value, rescored=value.rescored, step=came, today=today, span=span))
    last = points[-1].run if points else None
    day = days_after(shown.date, -MONTH)
    month = [point for point in points if point.run.record.date <= day and point.span == points[-1].span]
    values = [(each.at, each.values[metric.name].value) for each in acceptances if metric.name in each.values]
    # What is accepted now is the last acceptance, whether or not it has a value.
    accepted = acceptances[-1].values.get(metric.name) if acceptances else None
    newest = next((run.record.judge for run in reversed(runs) if run.record.judge), None)
    if judged and newest and acceptances and acceptances[-1].record.judge not in (newest, UNSET):
        accepted = None  # what another judge gave
    sizes = sorted((abs(point.step.size), at) for at, point in enumerate(points) if point.step)
    largest = {came.way: points[at] for _, at in sizes if (came := points[at].step)}
    return Curve(
        metric=metric.name,
        meaning=metric.meaning,
        unit=metric.unit,
        direction=metric.direction,
        gated=metric.name in shown.limits,
        limits=tuple(sorted(set(shown.limits.get(metric.name, ())))),
        points=tuple(points),
        steps=tuple((at, value) for at, value in values if value is not None),
        month=step(month[-1].run.record, month[-1].value, last) if month else None,
        accepted=step(acceptances[-1].record, accepted.value, last) if accepted else None,
        worse=largest.get("worse"),
        better=largest.get("better"),
        missing=len(runs) - len(points),
    )
