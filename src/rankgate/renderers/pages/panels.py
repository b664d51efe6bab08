"""The retrieval panel: the usual metrics by segment with what changed, and the leading one's change as a chart."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from markupsafe import Markup

from rankgate.exhibit import Exhibit, Measure, PanelRow, PanelValue
from rankgate.metrics.base import Direction
from rankgate.renderers.escape import shorten, visible
from rankgate.renderers.pages.charts import BETTER, SAME, WORSE, chart
from rankgate.renderers.phrases import NOTHING
from rankgate.wording import count_text, delta_text, interval_text, value_text

MOST_DRAWN = 24
ALL = "all questions"
Way = Literal["better", "worse", "unclear"]

_LABEL, _LEFT, _WIDTH, _STEP = 116, 124, 336, 24
_COLOURS = {"better": BETTER, "worse": WORSE, "unclear": SAME}
_SHAPES = {"better": "triangle-up", "worse": "triangle-down", "unclear": "circle"}


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A metric within a scope; `way` is set where the interval excludes that nothing changed."""

    now: str
    now_interval: str
    change: str
    interval: str
    way: Way


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A scope; its tag is None for all questions."""

    tag: str | None
    queries: int
    cells: tuple[Cell, ...]


def panel_rows(exhibit: Exhibit) -> list[Row]:
    """The panel as text."""
    return [
        Row(
            tag=None if row.tag is None else shorten(visible(row.tag), 60),
            queries=row.queries,
            cells=tuple(_cell(row.values[measure.name], measure) for measure in exhibit.measures),
        )
        for row in exhibit.panel
    ]


def _cell(value: PanelValue, measure: Measure) -> Cell:
    return Cell(
        now=NOTHING if value.value is None else value_text(value.value, measure.unit),
        now_interval=interval_text(value.ci, measure.unit),
        change="" if value.delta is None else delta_text(value.delta, measure.unit),
        interval=interval_text(value.delta_ci, measure.unit, change=True) if value.delta else "",
        way=way_of(value, measure.direction),
    )


def way_of(value: PanelValue, direction: Direction) -> Way:
    """Which way a metric went beyond doubt: both bounds of its interval lie on one side of zero."""
    low, high = value.delta_ci or (None, None)
    rose, fell = low is not None and low > 0, high is not None and high < 0
    if not rose and not fell:
        return "unclear"
    return "better" if rose is (direction is Direction.HIGHER) else "worse"


def leading_measure(exhibit: Exhibit) -> Measure | None:
    """The metric whose changes are shown, as a column of the panel."""
    return next((measure for measure in exhibit.measures if measure.name == exhibit.leading), None)


def changes_chart(exhibit: Exhibit) -> tuple[Markup, int] | None:
    """The leading metric's change by segment, all questions first, then the largest loss; and how many are left out.

    None without a baseline or where there is but one row.
    """
    measure = leading_measure(exhibit)
    if measure is None:
        return None
    found = [(row, value) for row in exhibit.panel if (value := row.values[measure.name]).delta is not None]
    sign = 1 if measure.direction is Direction.HIGHER else -1
    found.sort(key=lambda pair: (pair[0].tag is not None, sign * (pair[1].delta or 0.0)))
    drawn = found[:MOST_DRAWN]
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
    scale = 100 if measure.unit.value == "share" else 1
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
    ways = list(_COLOURS)
    colour = {
        "field": "way",
        "type": "nominal",
        "scale": {"domain": ways, "range": list(_COLOURS.values())},
        "legend": None,
    }
    shape = {
        "field": "way",
        "type": "nominal",
        "scale": {"domain": ways, "range": list(_SHAPES.values())},
        "legend": None,
    }
    return {
        "width": _WIDTH,
        "height": {"step": _STEP},
        "data": {"values": data},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "rule", "color": "var(--faint)", "strokeDash": [2, 3]},
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
                "mark": {"type": "text", "align": "right", "baseline": "middle", "fontSize": 11, "color": "var(--faint)"},
                "encoding": {"x": {"value": _WIDTH}, "text": {"field": "said", "type": "nominal"}},
            },
        ],
    }
