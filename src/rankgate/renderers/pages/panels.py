"""The retrieval panel: the usual metrics by segment with what changed."""

from __future__ import annotations

from typing import Literal

import msgspec

from rankgate.model.details import Measure, PanelValue, ReportDetails
from rankgate.model.values import Direction
from rankgate.model.wording import delta_text, interval_text, value_text
from rankgate.renderers.escape import shorten, visible
from rankgate.renderers.phrases import NOTHING

Way = Literal["better", "worse", "unclear"]


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


def panel_rows(details: ReportDetails) -> list[Row]:
    """The panel as text."""
    return [
        Row(
            tag=None if row.tag is None else shorten(visible(row.tag), 60),
            queries=row.queries,
            cells=tuple(_cell(row.values[measure.name], measure) for measure in details.measures),
        )
        for row in details.panel
    ]


def _cell(value: PanelValue, measure: Measure) -> Cell:
    return Cell(
        now=NOTHING if value.value is None else value_text(value.value, measure.unit),
        now_interval=interval_text(value.ci, measure.unit),
        change="" if value.delta is None else delta_text(value.delta, measure.unit),
        interval=interval_text(value.delta_ci, measure.unit, change=True) if value.delta_ci != (0.0, 0.0) else "",
        way=way_of(value, measure.direction),
    )


def way_of(value: PanelValue, direction: Direction) -> Way:
    """Which way a metric went beyond doubt: both bounds of its interval lie on one side of zero."""
    low, high = value.delta_ci or (None, None)
    rose, fell = low is not None and low > 0, high is not None and high < 0
    if not rose and not fell:
        return "unclear"
    return "better" if rose is (direction is Direction.HIGHER) else "worse"


def leading_measure(details: ReportDetails) -> Measure | None:
    """The metric whose changes are shown, as a column of the panel."""
    return next((measure for measure in details.measures if measure.name == details.leading), None)
