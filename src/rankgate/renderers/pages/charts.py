"""Charts as values: axes with their pixels and ticks, lines and marks, which `chart.svg.j2` writes as SVG.

Then a metric over time: the last runs in a report, on the dashboard the whole history with its events. Colours are the
page's CSS variables, so that one picture serves light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from unicodedata import east_asian_width

import msgspec

from rankgate.model.report import Report
from rankgate.model.values import Unit, Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text, interval_text, value_text
from rankgate.renderers.dashboards.values import NOON, Curve, GateSet, Point, day_of
from rankgate.renderers.escape import one_line
from rankgate.renderers.phrases import value_or_dash

NOW, BEFORE = "var(--now)", "var(--before)"  # the run and the baseline
FAINT, SAME, WORSE = "var(--faint)", "var(--same)", "var(--worse)"
_HUGE = 1e15  # what is more lies at the end of its axis
_MOST_DECIMALS = 12
DASHES = {NOW: "", BEFORE: "5 3"}

Ticks = Sequence[tuple[float, str]]  # values, and what stands there

UNCHECKED = "not checked"
_WARN, _FAIL = "var(--warn)", "var(--fail)"
# How points look, by verdict: colour and shape say the same.
MARKS = {
    Verdict.PASS: ("circle", "var(--pass)"),
    Verdict.WARN: ("up", _WARN),
    Verdict.FAIL: ("square", _FAIL),
    Verdict.NOT_JUDGED: ("diamond", "var(--not-judged)"),
    None: ("cross", SAME),
}
WIDE, NARROW = 900, 350  # pixels
MAX_METRICS = 8  # of a report
_MANY = 100  # points; more are drawn smaller
# How a point of a report looks, by where it comes from.
_RECORDED = ("circle", FAINT, 2.8)
_ACCEPTED = ("diamond", BEFORE, 6)
_THIS_RUN = ("square", NOW, 5)


class Axis(msgspec.Struct, frozen=True):
    """Values between two ends, and the pixels of the ends; its title stands under a plot, or over it."""

    low: float
    high: float
    start: float
    end: float
    ticks: Ticks = ()
    title: str = ""
    log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value; one beyond an end lies at the end."""
        low, high, inside = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, inside = math.log(low), math.log(high), math.log(inside)
        return round(self.start + (inside - low) / (high - low) * (self.end - self.start), 1)

    @property
    def margin(self) -> float:
        """How many pixels its texts take beside a plot."""
        return 12 + max(width_of(text) for _, text in self.ticks)


class Line(msgspec.Struct, frozen=True):
    """From point to point, by values; filled it is an area without a border."""

    points: Sequence[tuple[float, float]]
    color: str
    width: float = 1.5
    dash: str = ""
    opacity: float = 1
    filled: bool = False


class Mark(msgspec.Struct, frozen=True):
    """One of the template's shapes at values, with a text beside it; a run's says under the mouse what is known."""

    x: float
    y: float
    shape: str
    color: str
    size: float
    ring: bool = False
    text: str = ""
    run: str = ""
    hover: str = ""


class Pane(msgspec.Struct, frozen=True):
    """A plot: what lies between its axes, by values."""

    x: Axis
    y: Axis
    lines: Sequence[Line] = ()
    marks: Sequence[Mark] = ()


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A picture with the name over it, what it says in a sentence each, and how many questions it is about.

    Its id is of letters, digits and hyphens, and no other chart of the page has it.
    """

    id: str
    title: str
    description: str
    width: float
    height: float
    panes: Sequence[Pane]
    name: str = ""
    sentences: Sequence[str] = ()
    queries: int = 0


def around(values: Sequence[float], unit: Unit) -> tuple[float, float]:
    """The ends of an axis that has all values and some room beyond them; no share lies beyond none and all."""
    low = _drawable(min(values))
    high = _drawable(max(values))
    margin = (high - low) / 12
    if high - low <= max(abs(low), abs(high), 0.001) / 1e9:  # all values are one
        margin = abs(low) / 10 or 1.0
    if unit is Unit.SHARE:
        return max(low - margin, min(low, 0.0)), min(high + margin, max(high, 1.0))
    return low - margin, high + margin


def _drawable(value: float) -> float:
    return min(max(value, -_HUGE), _HUGE)


def ticks_of(low: float, high: float, unit: Unit, count: int) -> Ticks:
    """Multiples of 1, 2 or 5 times a power of ten: about so many, two at least, and no two of them read alike."""
    values: list[float] = []
    while len(values) < 2:  # noqa: PLR2004 -- one would be no scale
        rough = (high - low) / count
        power = math.floor(math.log10(rough))
        step = next(size for size in (1, 2, 5, 10, 20) if size * 10.0**power >= rough) * 10.0**power
        numbers = range(math.floor(low / step), math.ceil(high / step) + 1)
        values = [value for number in numbers if low <= (value := round(number * step, -power)) <= high]
        count += 1
    sizes = [100 * value for value in values] if unit is Unit.SHARE else values
    least = (sizes[1] - sizes[0]) / 1000  # of a decimal that counts
    decimals = 0
    while decimals < _MOST_DECIMALS and any(abs(size - round(size, decimals)) >= least for size in sizes):
        decimals += 1
    suffix = "%" if unit is Unit.SHARE else ""
    texts = [f"{size:,.{decimals}f}".replace("-", "−") + suffix for size in sizes]
    return list(zip(values, texts, strict=True))


def width_of(text: str) -> float:
    """About how many pixels a text takes, in a font of wide letters."""
    return sum(12 if char in "%@MWmw" or east_asian_width(char) in "WF" else 7 for char in text)


def trend_of(report: Report) -> tuple[list[Chart], int] | None:
    """The last runs of the main branch, a line a metric, this run last, and how many metrics have no room.

    None where no history is known.
    """
    measured = report.measured
    known = [name for name in measured.metrics if any(point.scores.get(name) is not None for point in measured.trend)]
    if not known:
        return None
    drawn = [_recent(report, name, index) for index, name in enumerate(known[:MAX_METRICS])]
    return drawn, len(known) - len(drawn)


def _recent(report: Report, name: str, index: int) -> Chart:
    metric = report.measured.metrics[name]
    trend = report.measured.trend
    looks_of = [_ACCEPTED if point.accepted else _RECORDED for point in trend]
    values = [point.scores.get(name) for point in trend]
    points = [(at, value, looks_of[at]) for at, value in enumerate(values) if value is not None]
    first = value_or_dash(points[0][1], metric.unit)
    last = value_or_dash(points[-1][1], metric.unit)
    now = value_or_dash(metric.value, metric.unit)
    floors = {gate.limits.threshold for gate in report.gates if gate.metric == name and not gate.segment}
    limits = sorted(floor for floor in floors if floor is not None)
    sentences = [f"{count_text(len(points), 'recorded run')}, from {first} to {last}; this run {now}."]
    sentences += [f"The limit is {value_or_dash(limit, metric.unit)}." for limit in limits]
    if metric.value is not None:
        points.append((len(trend), metric.value, _THIS_RUN))
    ends = around([*(value for _, value, _ in points), *limits], metric.unit)
    y = Axis(*ends, 142, 12, ticks_of(*ends, metric.unit, 4))
    x = Axis(0, len(trend), y.margin + 8, 334)
    lines = [Line([(0, limit), (x.high, limit)], WORSE, dash="4 3") for limit in limits]
    lines.append(Line([(at, value) for at, value, _ in points], FAINT))
    marks = [Mark(at, value, *looks) for at, value, looks in points]
    return Chart(
        id=f"trend-{index}",
        title=f"{name} over the last runs",
        description=" ".join(sentences),
        width=344,
        height=150,
        panes=[Pane(x, y, lines, marks)],
        name=name,
    )


def trend_charts(shown: GateSet) -> list[tuple[Chart, Chart] | None]:
    """For each curve its wide and its narrow chart; nothing for a curve without a point."""
    return [
        (chart_of(curve, shown, f"trend-{at}-wide", WIDE), chart_of(curve, shown, f"trend-{at}-narrow", NARROW))
        if curve.points
        else None
        for at, curve in enumerate(shown.curves)
    ]


def chart_of(curve: Curve, shown: GateSet, id_: str, width: int) -> Chart:
    """A curve by the day, and on each point a tooltip, which `dashboard.js` shows too."""
    height = 310 if width == WIDE else 266
    values = [*(point.value for point in curve.points), *(value for _, value in curve.steps), *curve.limits]
    ends = around(values, curve.unit)
    start, today = domain(shown)
    y = Axis(*ends, height - 26, 24, ticks_of(*ends, curve.unit, 7))
    x = Axis(start, today, y.margin, width - 24, day_ticks(start, today, width // 100))
    limits = [Line([(start, limit), (today, limit)], _FAIL, dash="2 3") for limit in curve.limits]
    lines = [*limits, *_accepted(curve, start, today), *_by_judge(curve)]
    return Chart(
        id=id_,
        title=f"{curve.metric} over time",
        description=described(curve),
        width=width,
        height=height,
        panes=[Pane(x, y, lines, _marks(curve))],
    )


def _point_label(point: Point, curve: Curve) -> str:
    """`2026-01-31, run 0123456789ab, commit abcdef1: 80.0%, 95%: 71.2 to 88.8%`; by today's gold set."""
    record = point.run.record
    recorded = value_text(point.value, curve.unit)
    commit = f", commit {record.commit[:7]}" if record.commit else ""
    parts = [f"{record.date}, run {record.id}{commit}: {recorded}"]
    if point.today:
        value = value_text(point.today.value, curve.unit)
        bounds = interval_text(point.today.ci, curve.unit)
        if value != recorded:
            parts.append(f"by today's gold set {value}")
        if bounds:
            parts.append(f"95%: {bounds}")
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
    first = shown.runs[0].at if shown.runs else shown.today - NOON
    return first - NOON, shown.today


def day_ticks(low: float, high: float, count: int) -> Ticks:
    """About so many days or months on the axis of time, which counts days since 1970 and is a whole one at least."""
    dates = [(day, day_of(day)) for day in range(math.ceil(low), math.floor(high) + 1)]
    days = [(day, date[5:]) for day, date in dates]
    months = [(day, date[:7]) for day, date in dates if date.endswith("-01")]
    choices = [days[::step] for step in (1, 2, 7, 14)] + [months[::step] for step in (1, 2, 3, 6, 12, 24, 60, 120)]
    return min((ticks for ticks in choices if len(ticks) > 1), key=lambda ticks: abs(len(ticks) - count))


def _by_judge(curve: Curve) -> list[Line]:
    """A line for each judge, as values of two do not compare."""
    opacity = 0.6 if len(curve.points) <= _MANY else 0.3
    judges = [list(points) for _, points in groupby(curve.points, key=lambda point: point.span)]
    lines = [[(point.run.at, point.value) for point in points] for points in judges]
    return [Line(points, NOW, opacity=opacity) for points in lines]


def _marks(curve: Curve) -> list[Mark]:
    """A ring for each point that was accepted, and on top the points by their verdicts."""
    is_long = len(curve.points) > _MANY
    size = 2.3 if is_long else 3.8
    ring = 4.5 if is_long else 7
    accepted = [point for point in curve.points if point.run.accepted]
    marks = [Mark(point.run.at, point.value, "circle", BEFORE, ring, ring=True) for point in accepted]
    for point in curve.points:
        record = point.run.record
        shape, colour = MARKS[record.verdict]
        hover = _point_label(point, curve)
        marks.append(Mark(point.run.at, point.value, shape, colour, size, run=record.id, hover=hover))
    return marks


def _accepted(curve: Curve, start: float, today: float) -> list[Line]:
    """The accepted value as steps, each up to the next one and the last up to today."""
    ends = [*(at for at, _ in curve.steps[1:]), today]
    steps = [(at, end, value) for (at, value), end in zip(curve.steps, ends, strict=False) if end > start]
    points = [(day, value) for start_day, end_day, value in steps for day in (start_day, end_day)]
    return [Line(points, BEFORE, dash="6 3")] if points else []
