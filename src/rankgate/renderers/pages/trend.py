"""The last runs of the main branch: a line a gated metric, accepted runs marked, this run last."""

from __future__ import annotations

from typing import Any

import msgspec
from markupsafe import Markup

from rankgate.model.base_ref import SHORT_SHA
from rankgate.model.report import MetricValue, Report
from rankgate.model.values import Unit
from rankgate.model.wording import VERDICT_WORDS, count_text, value_text
from rankgate.renderers.escape import shorten, visible
from rankgate.renderers.pages.charts import AXES, BEFORE, FAINT, NOW, WORSE, by, chart
from rankgate.renderers.phrases import NOTHING

MAX_METRICS = 8
_KINDS = ("recorded", "accepted", "this run")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over time."""

    metric: str
    meaning: str
    picture: Markup


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded run as a row of the table."""

    date: str
    commit: str
    verdict: str
    accepted: bool
    values: tuple[str, ...]


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The lines and the table under them."""

    lines: tuple[Line, ...]
    rows: tuple[Past, ...]
    left_out: int


def trend_of(report: Report) -> Trend | None:
    """The trend; None where no history is known."""
    known = [name for name in report.metrics if any(point.scores.get(name) is not None for point in report.trend)]
    if not known:
        return None
    kept = known[:MAX_METRICS]
    return Trend(
        lines=tuple(_line(report, name, place) for place, name in enumerate(kept)),
        rows=tuple(
            Past(
                date=shorten(visible(point.date), 40),
                commit="" if point.commit is None else visible(point.commit)[:SHORT_SHA],
                verdict=VERDICT_WORDS[point.verdict] if point.verdict else NOTHING,
                accepted=point.accepted,
                values=tuple(_text(point.scores.get(name), report.metrics[name].unit) for name in kept),
            )
            for point in report.trend
        ),
        left_out=len(known) - len(kept),
    )


def _text(value: float | None, unit: Unit) -> str:
    return NOTHING if value is None else value_text(value, unit)


def _line(report: Report, name: str, place: int) -> Line:
    metric = report.metrics[name]
    points = [
        {"place": at, "value": value, "of": "accepted" if point.accepted else "recorded"}
        for at, point in enumerate(report.trend)
        if (value := point.scores.get(name)) is not None
    ]
    values = [value for point in report.trend if (value := point.scores.get(name)) is not None]
    if metric.value is not None:
        points.append({"place": len(report.trend), "value": metric.value, "of": "this run"})
    floors = {gate.threshold for gate in report.gates if gate.metric == name and not gate.segment and not gate.since}
    said = (
        f"{count_text(len(values), 'recorded run')}, from {_text(values[0], metric.unit)} "
        f"to {_text(values[-1], metric.unit)}; this run {_text(metric.value, metric.unit)}."
    )
    picture = chart(
        _spec(points, sorted(floor for floor in floors if floor is not None), metric),
        name=f"trend-{place}",
        title=f"{name} over the last runs",
        description=said,
    )
    return Line(metric=name, meaning=shorten(visible(metric.meaning), 200), picture=picture)


def _spec(points: list[dict[str, Any]], floors: list[float], metric: MetricValue) -> dict[str, Any]:
    x = {"field": "place", "type": "quantitative", "axis": None, "scale": {"nice": False, "padding": 10}}
    axis = {"title": None, "tickCount": 4, "format": AXES[metric.unit]}
    y = {"type": "quantitative", "scale": {"zero": False}, "axis": axis}
    return {
        "width": 280,
        "height": 130,
        "layer": [
            {
                "data": {"values": [{"floor": floor} for floor in floors]},
                "mark": {"type": "rule", "strokeDash": [4, 3], "color": WORSE},
                "encoding": {"y": {"field": "floor", **y}},
            },
            {
                "data": {"values": points},
                "mark": {"type": "line", "color": FAINT, "strokeWidth": 1.5},
                "encoding": {"x": x, "y": {"field": "value", **y}},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "opacity": 1},
                "encoding": {
                    "x": x,
                    "y": {"field": "value", **y},
                    "color": by("of", dict(zip(_KINDS, (FAINT, BEFORE, NOW), strict=True))),
                    "shape": by("of", dict(zip(_KINDS, ("circle", "diamond", "square"), strict=True))),
                    "size": by("of", dict(zip(_KINDS, (24, 110, 80), strict=True))),
                },
            },
        ],
    }
