"""The leading metric's change by segment with its interval, as a picture."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from rankgate.model.details import Measure, PanelRow, PanelValue, ReportDetails
from rankgate.model.values import Direction, Unit
from rankgate.model.wording import count_text, delta_text
from rankgate.renderers.escape import shorten, visible
from rankgate.renderers.pages.charts import BETTER, FAINT, SAME, WORSE, by, chart
from rankgate.renderers.pages.panels import leading_measure, way_of

MAX_DRAWN = 16
ALL = "all questions"

_LABEL, _LEFT, _WIDTH, _STEP = 116, 124, 336, 24
_COLOURS = {"better": BETTER, "worse": WORSE, "unclear": SAME}
_SHAPES = {"better": "triangle-up", "worse": "triangle-down", "unclear": "circle"}


def changes_chart(details: ReportDetails) -> tuple[Markup, int] | None:
    """The leading metric's change by segment, all questions first, then the largest loss; and how many are left out.

    None without a baseline or where there is but one row.
    """
    measure = leading_measure(details)
    if measure is None:
        return None
    found = [(row, value) for row in details.panel if (value := row.values[measure.name]).delta is not None]
    sign = 1 if measure.direction is Direction.HIGHER else -1
    found.sort(key=lambda pair: (pair[0].tag is not None, sign * (pair[1].delta or 0.0)))
    drawn = found[:MAX_DRAWN]
    if len(drawn) < 2:  # noqa: PLR2004 -- one row is what the table of gates says already
        return None
    data = [_point(place, row, value, measure) for place, (row, value) in enumerate(drawn)]
    worse, better = (sum(each["way"] == way for each in data) for way in ("worse", "better"))
    said = (
        f"Of {count_text(len(data), 'row')} {worse} lost and {better} gained beyond doubt; "
        f"over all questions the change is {data[0]['said']}."
    )
    picture = chart(_spec(data), name="segments", title=f"Change of {measure.name} by segment", description=said)
    return picture, len(found) - len(drawn)


def _point(place: int, row: PanelRow, value: PanelValue, measure: Measure) -> dict[str, Any]:
    scale = 100 if measure.unit is Unit.SHARE else 1
    delta = value.delta or 0.0
    low, high = value.delta_ci or (None, None)
    return {
        "place": place,
        "label": ALL if row.tag is None else shorten(visible(row.tag), 60),
        "change": delta * scale,
        "low": (delta if low is None else low) * scale,
        "high": (delta if high is None else high) * scale,
        "way": way_of(value, measure.direction),
        "said": delta_text(delta, measure.unit),
    }


def _spec(data: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows by their place, so that two segments with one label stay two."""
    y = {"field": "place", "type": "ordinal", "axis": None}
    scale = {"range": [_LEFT, _WIDTH - 62], "zero": True, "nice": True}
    x = {"type": "quantitative", "scale": scale, "axis": {"tickCount": 4, "title": None}}
    colour, shape = by("way", _COLOURS), by("way", _SHAPES)
    return {
        "width": _WIDTH,
        "height": {"step": _STEP},
        "data": {"values": data},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "rule", "color": FAINT, "strokeDash": [2, 3]},
                "encoding": {"x": {"datum": 0, **x}, "y": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                "encoding": {"x": {"field": "change", **x}, "color": colour, "shape": shape},
            },
            {
                "mark": {"type": "text", "align": "left", "baseline": "middle", "limit": _LABEL, "fontSize": 12},
                "encoding": {"x": {"value": 0}, "text": {"field": "label", "type": "nominal"}},
            },
            {
                "mark": {
                    "type": "text",
                    "align": "right",
                    "baseline": "middle",
                    "fontSize": 11,
                    "color": FAINT,
                },
                "encoding": {"x": {"value": _WIDTH}, "text": {"field": "said", "type": "nominal"}},
            },
        ],
    }
