"""A metric over the runs that are shown: its points, how it changed, and what was accepted meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rankgate.metrics.base import Metric
from rankgate.model.values import Direction
from rankgate.readers.dates import days_after
from rankgate.renderers.dashboards.days import MONTH
from rankgate.renderers.dashboards.values import Acceptance, Curve, Jump, Point, ShownRun


def curve_of(
    metric: Metric,
    runs: Sequence[ShownRun],
    acceptances: Sequence[Acceptance],
    *,
    date: str,
    gated: bool,
    limits: Iterable[float] = (),
) -> Curve:
    """The curve of a metric.

    Args:
        metric: which.
        runs: oldest first.
        acceptances: oldest first.
        date: today.
        gated: whether a gate of today has it.
        limits: thresholds of today's gates.
    """
    points = _points(metric.name, runs)
    before = days_after(date, -MONTH)
    old = [point.value for point in points if point.date <= before]
    # What is accepted now is the last acceptance, whether or not it has a value.
    accepted = acceptances[-1].values.get(metric.name) if acceptances else None
    jumps = [Jump(run=now.run, date=now.date, before=was.value, now=now.value) for was, now in pairwise(points)]
    sign = 1 if metric.direction is Direction.HIGHER else -1
    ranked = sorted(jumps, key=lambda jump: sign * (jump.now - jump.before))
    return Curve(
        metric=metric.name,
        meaning=metric.meaning,
        unit=metric.unit,
        direction=metric.direction,
        gated=gated,
        limits=tuple(sorted(set(limits))),
        points=tuple(points),
        steps=tuple(_steps(metric.name, acceptances)),
        month=old[-1] if old else None,
        accepted=accepted.value if accepted else None,
        worse=ranked[0] if ranked and sign * (ranked[0].now - ranked[0].before) < 0 else None,
        better=ranked[-1] if ranked and sign * (ranked[-1].now - ranked[-1].before) > 0 else None,
        missing=len(runs) - len(points),
    )


def _points(name: str, runs: Sequence[ShownRun]) -> list[Point]:
    points: list[Point] = []
    for run in runs:
        found = run.values.get(name)
        if found is None or found.value is None:
            continue
        points.append(
            Point(
                run=run.id,
                date=run.date,
                at=run.at,
                value=found.value,
                rescored=found.rescored,
                verdict=run.verdict,
                accepted=run.accepted,
                change=found.value - points[-1].value if points else None,
            )
        )
    return points


def _steps(name: str, acceptances: Sequence[Acceptance]) -> Iterable[tuple[float, float]]:
    for each in acceptances:
        found = each.values.get(name)
        if found is not None and found.value is not None:
            yield each.at, found.value
