"""A metric over time as a picture: the last runs in a report, on the dashboard the whole history with its events."""

from __future__ import annotations

import math
from itertools import groupby

from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text, interval_text, value_text
from rankgate.renderers.dashboards.values import NOON, Curve, GateSet, Point, day_of
from rankgate.renderers.escape import one_line
from rankgate.renderers.pages import charts
from rankgate.renderers.phrases import value_or_dash

UNCHECKED = "not checked"
_WARN, _FAIL = "var(--warn)", "var(--fail)"
# How points look, by verdict: colour and shape say the same.
MARKS = {
    Verdict.PASS: ("circle", "var(--pass)"),
    Verdict.WARN: ("up", _WARN),
    Verdict.FAIL: ("square", _FAIL),
    Verdict.NOT_JUDGED: ("diamond", "var(--not-judged)"),
    None: ("cross", charts.SAME),
}
WIDE, NARROW = 900, 350  # pixels
MAX_METRICS = 8  # of a report
_MANY = 100  # points; more are drawn smaller
# How a point of a report looks, by where it comes from.
_RECORDED = ("circle", charts.FAINT, 2.8)
_ACCEPTED = ("diamond", charts.BEFORE, 6)
_THIS_RUN = ("square", charts.NOW, 5)


def trend_of(report: Report) -> tuple[list[charts.Chart], int] | None:
    """The last runs of the main branch, a line a metric, this run last, and how many metrics have no room.

    None where no history is known.
    """
    measured = report.measured
    known = [name for name in measured.metrics if any(point.scores.get(name) is not None for point in measured.trend)]
    if not known:
        return None
    drawn = [_recent(report, name, index) for index, name in enumerate(known[:MAX_METRICS])]
    return drawn, len(known) - len(drawn)


def _recent(report: Report, name: str, index: int) -> charts.Chart:
    metric, trend = report.measured.metrics[name], report.measured.trend
    points = [
        (at, value, _ACCEPTED if point.accepted else _RECORDED)
        for at, point in enumerate(trend)
        if (value := point.scores.get(name)) is not None
    ]
    first, last, now = (value_or_dash(value, metric.unit) for value in (points[0][1], points[-1][1], metric.value))
    floors = {gate.limits.threshold for gate in report.gates if gate.metric == name and not gate.segment}
    limits = sorted(floor for floor in floors if floor is not None)
    sentences = [f"{count_text(len(points), 'recorded run')}, from {first} to {last}; this run {now}."]
    sentences += [f"The limit is {value_or_dash(limit, metric.unit)}." for limit in limits]
    if metric.value is not None:
        points.append((len(trend), metric.value, _THIS_RUN))
    ends = charts.around([*(value for _, value, _ in points), *limits], metric.unit)
    y = charts.Axis(*ends, 142, 12, charts.ticks_of(*ends, metric.unit, 4))
    x = charts.Axis(0, len(trend), y.margin + 8, 334)
    lines = [charts.Line([(0, limit), (x.high, limit)], charts.WORSE, dash="4 3") for limit in limits]
    lines.append(charts.Line([(at, value) for at, value, _ in points], charts.FAINT))
    marks = [charts.Mark(at, value, *looks) for at, value, looks in points]
    return charts.Chart(
        id=f"trend-{index}",
        title=f"{name} over the last runs",
        description=" ".join(sentences),
        width=344,
        height=150,
        panes=[charts.Pane(x, y, lines, marks)],
        name=name,
    )


def trend_charts(shown: GateSet) -> list[tuple[charts.Chart, charts.Chart] | None]:
    """For each curve its wide and its narrow chart; nothing for a curve without a point."""
    return [
        (chart_of(curve, shown, f"trend-{at}-wide", WIDE), chart_of(curve, shown, f"trend-{at}-narrow", NARROW))
        if curve.points
        else None
        for at, curve in enumerate(shown.curves)
    ]


def chart_of(curve: Curve, shown: GateSet, id_: str, width: int) -> charts.Chart:
    """A curve by the day, and on each point a tooltip, which `dashboard.js` shows too."""
    height = 310 if width == WIDE else 266
    values = [*(point.value for point in curve.points), *(value for _, value in curve.steps), *curve.limits]
    ends, (start, today) = charts.around(values, curve.unit), domain(shown)
    y = charts.Axis(*ends, height - 26, 24, charts.ticks_of(*ends, curve.unit, 7))
    x = charts.Axis(start, today, y.margin, width - 24, day_ticks(start, today, width // 100))
    limits = [charts.Line([(start, limit), (today, limit)], _FAIL, dash="2 3") for limit in curve.limits]
    lines = [*limits, *_accepted(curve, start, today), *_by_judge(curve)]
    return charts.Chart(
        id=id_,
        title=f"{curve.metric} over time",
        description=described(curve),
        width=width,
        height=height,
        panes=[charts.Pane(x, y, lines, _marks(curve))],
    )


def _point_label(point: Point, curve: Curve) -> str:
    """`2026-01-31, run 0123456789ab, commit abcdef1: 80.0%, 95%: 71.2 to 88.8%`; by today's gold set."""
    record, today, now = point.run.record, point.today, value_text(point.value, curve.unit)
    parts = [
        f"{record.date}, run {record.id}" + (f", commit {record.commit[:7]}" if record.commit else "") + f": {now}"
    ]
    if today:
        value, bounds = value_text(today.value, curve.unit), interval_text(today.ci, curve.unit)
        parts += [f"by today's gold set {value}"] * (value != now) + [f"95%: {bounds}"] * bool(bounds)
    return one_line(", ".join(parts))


def described(curve: Curve) -> str:
    """The curve in numbers, for those who cannot see it."""
    values = [point.value for point in curve.points]
    ends = [value_text(value, curve.unit) for value in (values[0], values[-1], min(values), max(values))]
    limits = "".join(f"; today's limit is {value_text(limit, curve.unit)}" for limit in curve.limits)
    first, last = (curve.points[index].run.record.date for index in (0, -1))
    return (
        f"{len(values)} values, from {ends[0]} on {first} to {ends[1]} on {last}; the lowest is {ends[2]}, "
        f"the highest {ends[3]}{limits}. The table below lists all of them."
    )


def looks_of(curve: Curve) -> list[tuple[str, str, str]]:
    """What its points say by shape and colour, in words."""
    verdicts = {point.run.record.verdict for point in curve.points}
    return [(VERDICT_WORDS[each] if each else UNCHECKED, *looks) for each, looks in MARKS.items() if each in verdicts]


def domain(shown: GateSet) -> tuple[float, float]:
    """The days that the axis covers: those of the runs, up to the end of today."""
    return min((run.at for run in shown.runs[:1]), default=shown.today - NOON) - NOON, shown.today


def day_ticks(low: float, high: float, count: int) -> charts.Ticks:
    """About so many days or months on the axis of time, which counts days since 1970 and is a whole one at least."""
    dates = [(day, day_of(day)) for day in range(math.ceil(low), math.floor(high) + 1)]
    days = [(day, date[5:]) for day, date in dates]
    months = [(day, date[:7]) for day, date in dates if date.endswith("-01")]
    choices = [days[::step] for step in (1, 2, 7, 14)] + [months[::step] for step in (1, 2, 3, 6, 12, 24, 60, 120)]
    return min((ticks for ticks in choices if len(ticks) > 1), key=lambda ticks: abs(len(ticks) - count))


def _by_judge(curve: Curve) -> list[charts.Line]:
    """A line for each judge, as values of two do not compare."""
    opacity = 0.6 if len(curve.points) <= _MANY else 0.3
    judges = [list(points) for _, points in groupby(curve.points, key=lambda point: point.span)]
    lines = [[(point.run.at, point.value) for point in points] for points in judges]
    return [charts.Line(points, charts.NOW, opacity=opacity) for points in lines]


def _marks(curve: Curve) -> list[charts.Mark]:
    """A ring for each point that was accepted, and on top the points by their verdicts."""
    size, ring = (3.8, 7) if len(curve.points) <= _MANY else (2.3, 4.5)
    accepted = [point for point in curve.points if point.run.accepted]
    rings = [charts.Mark(point.run.at, point.value, "circle", charts.BEFORE, ring, ring=True) for point in accepted]
    for point in curve.points:
        record, hover, looks = point.run.record, _point_label(point, curve), MARKS[point.run.record.verdict]
        rings.append(charts.Mark(point.run.at, point.value, *looks, size, run=record.id, hover=hover))
    return rings


def _accepted(curve: Curve, start: float, today: float) -> list[charts.Line]:
    """The accepted value as steps, each up to the next one and the last up to today."""
    ends = [*(at for at, _ in curve.steps[1:]), today]
    steps = [(at, end, value) for (at, value), end in zip(curve.steps, ends, strict=False) if end > start]
    points = [(day, value) for start_day, end_day, value in steps for day in (start_day, end_day)]
    return [charts.Line(points, charts.BEFORE, dash="6 3")] if points else []
