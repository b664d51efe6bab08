"""The leading metric's change by segment with its interval and its limit, as a picture; the scale of each metric."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any

from markupsafe import Markup

from rankgate.model.details import Measure, PanelValue, ReportDetails
from rankgate.model.report import Report
from rankgate.model.values import Interval, Unit
from rankgate.model.wording import count_text, delta_text
from rankgate.renderers.escape import listed, middle
from rankgate.renderers.pages.charts import BETTER, FAINT, SAME, WORSE, by, fitted, layer
from rankgate.renderers.phrases import shown_gates

MAX_DRAWN = 16

Scales = dict[str, tuple[float, float]]  # the ends of the axis of changes, by metric

_WIDE, _NARROW, _STEP = 720, 336, 24
_COLOURS = {"better": BETTER, "worse": WORSE, "same": SAME, "unclear": SAME}
_SHAPES = {"better": "triangle-up", "worse": "triangle-down", "same": "circle", "unclear": "circle"}


def leading_measure(details: ReportDetails) -> Measure | None:
    """The metric whose changes are shown, as a column of the panel."""
    return next((measure for measure in details.measures if measure.name == details.leading), None)


def scales_of(report: Report, details: ReportDetails | None) -> Scales:
    """The one scale on which changes of a metric are drawn: wide enough for each, its interval, its limit and zero."""
    known: defaultdict[str, list[float | None]] = defaultdict(lambda: [0.0])
    for gate in shown_gates(report):
        if gate.delta is not None:
            known[gate.metric] += [gate.delta, gate.limit, *(gate.delta_ci or ())]
    for _, name, value in _changed(details)[:MAX_DRAWN] if details else ():
        known[name] += [value.delta, value.limit, *(value.delta_ci or ())]
    ends = {name: [each for each in values if each is not None] for name, values in known.items()}
    return {name: (min(each), max(each)) if any(each) else (-0.01, 0.01) for name, each in ends.items()}


def changes_chart(details: ReportDetails, scales: Scales) -> tuple[Markup, int] | None:
    """The leading metric's change in the panel's rows, and how many segments are left out, none worse than those drawn.

    None without a baseline or where there is but one row.
    """
    measure, changed = leading_measure(details), _changed(details)
    drawn = changed[:MAX_DRAWN]
    if measure is None or len(drawn) < 2:  # noqa: PLR2004 -- one row is what the table of gates says already
        return None
    scale, spell = scales[measure.name], partial(delta_text, unit=measure.unit)
    data = [_point(place, tag, value, measure, scale) for place, (tag, _, value) in enumerate(drawn)]
    worse, better = (sum(each["way"] == way for each in data) for way in ("worse", "better"))
    limits = [f"{spell(each['limit'])} for {middle(each['tag'], 60)}" for each in data if each["limit"] is not None]
    description = (
        f"Of {count_text(len(data), 'row')} {worse} lost and {better} gained beyond doubt; "
        f"over all questions the change is {data[0]['said']}. {f'Limits: {listed(limits, 3)}. ' if limits else ''}"
        f"The scale goes from {spell(scale[0])} to {spell(scale[1])}."
    )
    draw, title = partial(_spec, data, scale), f"Change of {measure.name} by segment{', with limits' if limits else ''}"
    picture = fitted(draw, _WIDE, _NARROW, name="segments", title=title, description=description)
    return picture, len(changed) - len(drawn) + details.left_out


def _changed(details: ReportDetails) -> list[tuple[str | None, str, PanelValue]]:
    name = details.leading or ""
    values = ((row.tag, row.values.get(name)) for row in details.panel)
    return [(tag, name, value) for tag, value in values if value is not None and value.delta is not None]


def _point(place: int, tag: str | None, value: PanelValue, measure: Measure, scale: Interval) -> dict[str, Any]:
    """A bound that is not known lies at the edge; without an interval there is a point alone."""
    delta = value.delta or 0.0
    bounds = zip(value.delta_ci or (delta, delta), scale, strict=True)
    low, high = (end if bound is None else bound for bound, end in bounds)
    places = {"change": delta, "low": low, "high": high, "limit": value.limit}
    way, said = value.way(measure.direction, measure.unit), delta_text(delta, measure.unit)
    return {
        "place": place,
        "tag": "all questions" if tag is None else tag,
        "way": way,
        "said": said,
        "share": measure.unit is Unit.SHARE,
        **places,
    }


def _spec(data: list[dict[str, Any]], ends: Interval, width: int) -> dict[str, Any]:
    """Rows by their place, so that two segments with one label stay two."""
    label = width // 3
    rows = [{**each, "label": middle(each["tag"], label // 7)} for each in data]
    limited = [each for each in rows if each["limit"] is not None]
    scale = {"domain": ends, "range": [label + 8, width - 62], "nice": False}
    points = "format(datum.value * 100, '~g')" if data[0]["share"] else "datum.label"
    x = {"type": "quantitative", "scale": scale, "axis": {"tickCount": width // 84, "title": None, "labelExpr": points}}
    colour, shape, y = by("way", _COLOURS), by("way", _SHAPES), {"field": "place", "type": "ordinal", "axis": None}
    interval = {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour}
    limit = {"x": {"field": "limit", **x}, "y": {**y, "bandPosition": 0}, "y2": {"field": "place", "bandPosition": 1}}
    point = {"x": {"field": "change", **x}, "color": colour, "shape": shape}
    name = {"x": {"value": 0}, "text": {"field": "label", "type": "nominal"}}
    change = {"x": {"value": width}, "text": {"field": "said", "type": "nominal"}}
    return {
        "width": width,
        "height": {"step": _STEP},
        "data": {"values": rows},
        "encoding": {"y": y},
        "layer": [
            layer("rule", {"x": {"datum": 0, **x}, "y": None}, color=FAINT),
            layer("rule", limit, limited, color=WORSE, strokeDash=[3, 2], strokeWidth=1.5),
            layer("rule", interval, strokeWidth=2),
            layer("point", point, filled=True, size=80, opacity=1),
            layer("text", name, align="left", baseline="middle", limit=label + 6, fontSize=12),
            layer("text", change, align="right", baseline="middle", fontSize=11, color=FAINT),
        ],
    }
