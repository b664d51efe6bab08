"""A metric over time as a picture: the last runs in a report, on the dashboard the whole history with its events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from rankgate.model.report import Report
from rankgate.model.values import Unit, Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text, interval_text, value_text
from rankgate.renderers.dashboards.values import NOON, Curve, GateSet, Point, Span
from rankgate.renderers.escape import one_line, visible
from rankgate.renderers.pages.charts import AXES, BEFORE, FAINT, NOW, WORSE, Figure, by, chart, fitted, layer
from rankgate.renderers.phrases import value_or_dash

DAY = 86_400_000  # milliseconds
UNCHECKED = "not checked"
# How points look, by verdict: colour and shape say the same.
MARKS = {
    VERDICT_WORDS[Verdict.PASS]: ("var(--pass)", "circle"),
    VERDICT_WORDS[Verdict.WARN]: ("var(--warn)", "triangle-up"),
    VERDICT_WORDS[Verdict.FAIL]: ("var(--fail)", "square"),
    VERDICT_WORDS[Verdict.NOT_JUDGED]: ("var(--not-judged)", "diamond"),
    UNCHECKED: ("var(--same)", "cross"),
}
WIDE, NARROW = 860, 300  # pixels
MAX_METRICS = 8  # of a report
_LETTER, _LONGEST_TAG = 7, 16  # pixels that a letter of a release's name takes at most; letters
_MANY = 100  # points; more are drawn smaller
# How a point of a report looks, by where it comes from.
_COLOURS = {"recorded": FAINT, "accepted": BEFORE, "this run": NOW}
_SHAPES = {"recorded": "circle", "accepted": "diamond", "this run": "square"}
_SIZES = {"recorded": 24, "accepted": 110, "this run": 80}


def trend_of(report: Report) -> tuple[list[Figure], int] | None:
    """The last runs of the main branch, a line a metric, this run last, and how many metrics have no room.

    None where no history is known.
    """
    known = [name for name in report.metrics if any(point.scores.get(name) is not None for point in report.trend)]
    if not known:
        return None
    figures = [_recent(report, name, place) for place, name in enumerate(known[:MAX_METRICS])]
    return figures, len(known) - len(figures)


def _recent(report: Report, name: str, place: int) -> Figure:
    metric = report.metrics[name]
    points: list[dict[str, Any]] = [
        {"place": at, "value": value, "of": "accepted" if point.accepted else "recorded"}
        for at, point in enumerate(report.trend)
        if (value := point.scores.get(name)) is not None
    ]
    values = (points[0]["value"], points[-1]["value"], metric.value)
    first, last, now = (value_or_dash(value, metric.unit) for value in values)
    floors = {gate.threshold for gate in report.gates if gate.metric == name and not gate.segment}
    known = sorted(floor for floor in floors if floor is not None)
    said = [f"{count_text(len(points), 'recorded run')}, from {first} to {last}; this run {now}."]
    said += [f"The limit is {value_or_dash(limit, metric.unit)}." for limit in known]
    if metric.value is not None:
        points.append({"place": len(report.trend), "value": metric.value, "of": "this run"})
    title, spec = f"{name} over the last runs", _recent_spec(points, known, metric.unit)
    return Figure(name=name, picture=chart(spec, name=f"trend-{place}", title=title, description=" ".join(said)))


def _recent_spec(points: list[dict[str, Any]], floors: list[float], unit: Unit) -> dict[str, Any]:
    x = {"field": "place", "type": "quantitative", "axis": None, "scale": {"nice": False, "padding": 10}}
    axis = {"title": None, "tickCount": 4, "format": AXES[unit]}
    y = {"type": "quantitative", "scale": {"zero": False}, "axis": axis}
    place = {"x": x, "y": {"field": "value", **y}}
    looks = {"color": by("of", _COLOURS), "shape": by("of", _SHAPES), "size": by("of", _SIZES)}
    rows = [{"floor": floor} for floor in floors]
    layers = [
        layer("rule", {"y": {"field": "floor", **y}}, rows, strokeDash=[4, 3], color=WORSE),
        layer("line", place, points, color=FAINT, strokeWidth=1.5),
        layer("point", {**place, **looks}, points, filled=True, opacity=1),
    ]
    return {"width": 280, "height": 130, "layer": layers}


def trend_charts(shown: GateSet) -> list[Markup]:
    """For each curve its drawing; nothing for a curve without a point."""
    return [_drawn(curve, shown, f"trend-{at}") if curve.points else Markup() for at, curve in enumerate(shown.curves)]


def _drawn(curve: Curve, shown: GateSet, name: str) -> Markup:
    """With a tooltip on each point, which `dashboard.js` shows too."""
    title, points = f"{curve.metric} over time", {point.run.record.id: point for point in curve.points}
    draw, description = partial(spec_of, curve, shown), described(curve)
    drawn = fitted(draw, WIDE, NARROW, name=name, title=title, description=description)

    def marked(link: re.Match[str]) -> str:
        return f'<g data-run="{link[1]}"><title>{escape(_said(points[link[1]], curve))}</title>'

    linked = re.sub(r'<a xlink:href="[^"]*#run-(\w+)">', marked, drawn).replace("</a>", "</g>")
    return Markup(linked)  # noqa: S704 -- the drawing, and text that is escaped


def _said(point: Point, curve: Curve) -> str:
    """`2026-01-31, run 0123456789ab, commit abcdef1: 80.0%, 95%: 71.2 to 88.8%`; by today's gold set."""
    record, today, now = point.run.record, point.today, value_text(point.value, curve.unit)
    parts = [
        f"{record.date}, run {record.id}" + (f", commit {record.commit[:7]}" if record.commit else "") + f": {now}"
    ]
    if today:
        value, bounds = value_text(today.value, curve.unit), interval_text(today.ci, curve.unit)
        parts += [f"by today's gold set {value}"] * (value != now) + [f"95%: {bounds}"] * bool(bounds)
    return visible(", ".join(parts))


def described(curve: Curve) -> str:
    """The curve in numbers, for those who cannot see it."""
    values = [point.value for point in curve.points]
    ends = [value_text(value, curve.unit) for value in (values[0], values[-1], min(values), max(values))]
    limits = "".join(f"; today's limit is {value_text(limit, curve.unit)}" for limit in curve.limits)
    first, last = (curve.points[place].run.record.date for place in (0, -1))
    return (
        f"{len(values)} values, from {ends[0]} on {first} to {ends[1]} on {last}; the lowest is {ends[2]}, "
        f"the highest {ends[3]}{limits}. The table below lists all of them."
    )


def spec_of(curve: Curve, shown: GateSet, width: int) -> dict[str, Any]:
    """The chart in Vega-Lite. Time is in milliseconds of UTC, so that no time zone moves a point."""
    start, end = domain(shown)
    x = {
        "field": "t",
        "type": "temporal",
        "title": None,
        "scale": {"type": "utc", "domain": [_ms(start), _ms(end)], "nice": False},
        "axis": {"tickCount": width // 100, "labelOverlap": True, "grid": False},
    }
    axis = {"format": AXES[curve.unit], "tickCount": 5}
    y = {"field": "v", "type": "quantitative", "title": None, "scale": {"zero": False, "padding": 8}, "axis": axis}
    limits = layer("rule", {"y": y}, [{"v": limit} for limit in curve.limits], color="var(--fail)", strokeDash=[2, 3])
    spans = [span for span in shown.spans if span.metric and span.metric.name == curve.metric]
    place = {"x": x, "y": y}
    layers = [*_bands(spans, x, start, end), *_releases(shown, x, width), limits, *_accepted(curve, place, end)]
    layers = [each for each in layers if each["data"]["values"]] + _points(curve, place)
    return {"width": width, "height": 260 if width == WIDE else 220, "layer": layers}


def domain(shown: GateSet) -> tuple[float, float]:
    """The days that the axis covers: those of the runs, up to the end of today."""
    return min((run.at for run in shown.runs[:1]), default=shown.today - NOON) - NOON, shown.today


def _points(curve: Curve, place: dict[str, Any]) -> list[dict[str, Any]]:
    verdicts = [point.run.record.verdict for point in curve.points]
    words = [VERDICT_WORDS[verdict] if verdict else UNCHECKED for verdict in verdicts]
    apart = {"detail": {"field": "judge"}} if any(point.span for point in curve.points) else {}
    rows = [
        {
            "t": _ms(each.run.at),
            "v": each.value,
            "verdict": word,
            "judge": each.span,
            "run": f"#run-{each.run.record.id}",
        }
        for each, word in zip(curve.points, words, strict=True)
    ]
    there = [word for word in MARKS if word in words]
    color, shape = (
        {
            "field": "verdict",
            "type": "nominal",
            "scale": {"domain": there, "range": [MARKS[word][part] for word in there]},
        }
        for part in (0, 1)
    )
    opacity, size = (0.6, 45) if len(rows) <= _MANY else (0.3, 16)
    looks = {"color": color, "shape": shape, "href": {"field": "run"}}
    return [
        layer("line", {**place, **apart}, rows, color=NOW, strokeWidth=1.5, opacity=opacity),
        layer("point", {**place, **looks}, rows, filled=True, opacity=1, size=size),
    ]


def _accepted(curve: Curve, place: dict[str, Any], end: float) -> list[dict[str, Any]]:
    """The accepted value as steps, and a ring around each point that was accepted."""
    steps = [{"t": _ms(at), "v": value} for at, value in curve.steps]
    steps += [{"t": _ms(end), "v": curve.steps[-1][1]}] if curve.steps else []
    rings = [{"t": _ms(point.run.at), "v": point.value} for point in curve.points if point.run.accepted]
    looks = {"interpolate": "step-after", "color": BEFORE, "strokeDash": [6, 3], "clip": True}
    size = 160 if len(rings) <= _MANY else 60
    ring = {"shape": "circle", "filled": False, "color": BEFORE, "strokeWidth": 2, "size": size}
    return [layer("line", place, steps, **looks), layer("point", place, rings, **ring)]


def _bands(spans: Sequence[Span], x: dict[str, Any], start: float, end: float) -> list[dict[str, Any]]:
    """Where a waiver's begin is known a band, and for each a line at its end."""
    bands = [
        {"t": _ms(max(span.first, start)), "end": _ms(min(span.last, end))}
        for span in spans
        if span.first is not None and span.first < end and span.last > start
    ]
    ends = [{"t": _ms(span.last)} for span in spans if start <= span.last <= end]
    return [
        layer("rect", {"x": x, "x2": {"field": "end"}}, bands, color="var(--warn)", opacity=0.13),
        layer("rule", {"x": x}, ends, color="var(--warn)", strokeDash=[1, 3]),
    ]


def _releases(shown: GateSet, x: dict[str, Any], width: int) -> list[dict[str, Any]]:
    """A line each, and the names of as many as have room above the chart, the newest first."""
    start, end = domain(shown)
    left = float("inf")
    named: list[dict[str, Any]] = []
    for release in sorted(shown.releases, key=lambda release: release.at, reverse=True):
        tag = one_line(release.tag.name, _LONGEST_TAG)
        middle, half = (release.at - start) / (end - start) * width, len(tag) * _LETTER / 2
        if middle + half < left:
            left = middle - half - _LETTER
            named.append({"t": _ms(release.at), "tag": tag})
    rows = [{"t": _ms(release.at)} for release in shown.releases]
    label = {"x": x, "text": {"field": "tag"}, "y": {"value": -4}}
    return [
        layer("rule", {"x": x}, rows, color="var(--same)"),
        layer("text", label, named, color="var(--faint)", fontSize=11, baseline="bottom"),
    ]


def _ms(at: float) -> int:
    return round(at * DAY)
