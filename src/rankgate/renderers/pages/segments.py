"""The leading metric's change by segment with its interval, as a picture; which changes are better or worse."""

from __future__ import annotations

from typing import Any, Literal

from markupsafe import Markup

from rankgate.model.details import Measure, PanelRow, PanelValue, ReportDetails
from rankgate.model.values import Direction, Unit
from rankgate.model.wording import count_text, delta_text
from rankgate.renderers.escape import one_line
from rankgate.renderers.pages.charts import BETTER, FAINT, SAME, WORSE, by, chart, layer

MAX_DRAWN = 16

_LABEL, _LEFT, _WIDTH, _STEP = 116, 124, 336, 24
_COLOURS = {"better": BETTER, "worse": WORSE, "unclear": SAME}
_SHAPES = {"better": "triangle-up", "worse": "triangle-down", "unclear": "circle"}


def leading_measure(details: ReportDetails) -> Measure | None:
    """The metric whose changes are shown, as a column of the panel."""
    return next((measure for measure in details.measures if measure.name == details.leading), None)


def way_of(value: PanelValue, direction: Direction) -> Literal["better", "worse", "unclear"]:
    """Which way a metric went beyond doubt: both bounds of its interval lie on one side of zero."""
    low, high = value.delta_ci or (None, None)
    rose, fell = low is not None and low > 0, high is not None and high < 0
    if not rose and not fell:
        return "unclear"
    return "better" if rose is (direction is Direction.HIGHER) else "worse"


def changes_chart(details: ReportDetails) -> tuple[Markup, int] | None:
    """The leading metric's change by segment, all questions first, then the largest loss; and how many are left out.

    None without a baseline or where there is but one row.
    """
    measure = leading_measure(details)
    if measure is None:
        return None
    changed = [(row, value) for row in details.panel if (value := row.values[measure.name]).delta is not None]
    sign = 1 if measure.direction is Direction.HIGHER else -1
    changed.sort(key=lambda pair: (pair[0].tag is not None, sign * (pair[1].delta or 0.0)))
    drawn = changed[:MAX_DRAWN]
    if len(drawn) < 2:  # noqa: PLR2004 -- one row is what the table of gates says already
        return None
    data = [_point(place, row, value, measure) for place, (row, value) in enumerate(drawn)]
    worse, better = (sum(each["way"] == way for each in data) for way in ("worse", "better"))
    description = (
        f"Of {count_text(len(data), 'row')} {worse} lost and {better} gained beyond doubt; "
        f"over all questions the change is {data[0]['said']}."
    )
    title = f"Change of {measure.name} by segment"
    return chart(_spec(data), name="segments", title=title, description=description), len(changed) - len(drawn)


def _point(place: int, row: PanelRow, value: PanelValue, measure: Measure) -> dict[str, Any]:
    scale = 100 if measure.unit is Unit.SHARE else 1
    delta = value.delta or 0.0
    low, high = value.delta_ci or (None, None)
    return {
        "place": place,
        "label": "all questions" if row.tag is None else one_line(row.tag, 60),
        "change": delta * scale,
        "low": (delta if low is None else low) * scale,
        "high": (delta if high is None else high) * scale,
        "way": way_of(value, measure.direction),
        "said": delta_text(delta, measure.unit),
    }


def _spec(data: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows by their place, so that two segments with one label stay two."""
    scale = {"range": [_LEFT, _WIDTH - 62], "zero": True, "nice": True}
    x = {"type": "quantitative", "scale": scale, "axis": {"tickCount": 4, "title": None}}
    colour, shape = by("way", _COLOURS), by("way", _SHAPES)
    interval = {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour}
    point = {"x": {"field": "change", **x}, "color": colour, "shape": shape}
    label = {"x": {"value": 0}, "text": {"field": "label", "type": "nominal"}}
    change = {"x": {"value": _WIDTH}, "text": {"field": "said", "type": "nominal"}}
    return {
        "width": _WIDTH,
        "height": {"step": _STEP},
        "data": {"values": data},
        "encoding": {"y": {"field": "place", "type": "ordinal", "axis": None}},
        "layer": [
            layer("rule", {"x": {"datum": 0, **x}, "y": None}, color=FAINT, strokeDash=[2, 3]),
            layer("rule", interval, strokeWidth=2),
            layer("point", point, filled=True, size=80, opacity=1),
            layer("text", label, align="left", baseline="middle", limit=_LABEL, fontSize=12),
            layer("text", change, align="right", baseline="middle", fontSize=11, color=FAINT),
        ],
    }
