"""The last runs of the main branch: a line a gated metric, accepted runs marked, this run last."""

from __future__ import annotations

from typing import Any

import msgspec
from markupsafe import Markup

from rankgate.model.report import MetricValue, Report
from rankgate.model.wording import count_text
from rankgate.renderers.pages.charts import AXES, BEFORE, FAINT, NOW, WORSE, by, chart, layer
from rankgate.renderers.phrases import value_or_dash

MAX_METRICS = 8
# How a point looks, by where it comes from.
_COLOURS = {"recorded": FAINT, "accepted": BEFORE, "this run": NOW}
_SHAPES = {"recorded": "circle", "accepted": "diamond", "this run": "square"}
_SIZES = {"recorded": 24, "accepted": 110, "this run": 80}


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics that have a line, each with its picture, and how many have none because there are so many."""

    lines: dict[str, Markup]
    left_out: int


def trend_of(report: Report) -> Trend | None:
    """The trend; None where no history is known."""
    known = [name for name in report.metrics if any(point.scores.get(name) is not None for point in report.trend)]
    if not known:
        return None
    lines = {name: _picture(report, name, place) for place, name in enumerate(known[:MAX_METRICS])}
    return Trend(lines=lines, left_out=len(known) - len(lines))


def _picture(report: Report, name: str, place: int) -> Markup:
    metric = report.metrics[name]
    points: list[dict[str, Any]] = [
        {"place": at, "value": value, "of": "accepted" if point.accepted else "recorded"}
        for at, point in enumerate(report.trend)
        if (value := point.scores.get(name)) is not None
    ]
    first, last, now = (
        value_or_dash(value, metric.unit) for value in (points[0]["value"], points[-1]["value"], metric.value)
    )
    description = f"{count_text(len(points), 'recorded run')}, from {first} to {last}; this run {now}."
    floors = {gate.threshold for gate in report.gates if gate.metric == name and not gate.segment and not gate.since}
    known = sorted(floor for floor in floors if floor is not None)
    limits = "".join(f" The limit is {value_or_dash(limit, metric.unit)}." for limit in known)
    if metric.value is not None:
        points.append({"place": len(report.trend), "value": metric.value, "of": "this run"})
    title, description = f"{name} over the last runs", f"{description}{limits}"
    return chart(_spec(points, known, metric), name=f"trend-{place}", title=title, description=description)


def _spec(points: list[dict[str, Any]], floors: list[float], metric: MetricValue) -> dict[str, Any]:
    x = {"field": "place", "type": "quantitative", "axis": None, "scale": {"nice": False, "padding": 10}}
    axis = {"title": None, "tickCount": 4, "format": AXES[metric.unit]}
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
