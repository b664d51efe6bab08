"""The leading metric's change by segment with its interval and its limit, as a picture; the scale of each metric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from rankgate.model.details import Measure, PanelValue, ReportDetails
from rankgate.model.report import Report
from rankgate.model.values import Unit
from rankgate.model.wording import count_text, delta_text
from rankgate.renderers.escape import listed, middle
from rankgate.renderers.pages import charts
from rankgate.renderers.phrases import shown_gates

MAX_DRAWN = 16

Scales = dict[str, tuple[float, float]]  # the ends of the axis of changes, by metric

_WIDE, _NARROW, _ROW = 728, 340, 24  # pixels
_NOTHING = 1e-9  # changes of less are those of rounding
# How a change is drawn: shape and colour say the same.
_LOOKS = {
    "better": ("up", "var(--better)"),
    "worse": ("down", charts.WORSE),
    "same": ("circle", charts.SAME),
    "unclear": ("circle", charts.SAME),
}


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
    return {
        name: (min(each), max(each)) if max(each) - min(each) > _NOTHING else (-0.01, 0.01)
        for name, each in ends.items()
    }


def changes_charts(details: ReportDetails, scales: Scales) -> tuple[tuple[charts.Chart, charts.Chart], int] | None:
    """The leading metric's change in the panel's rows, and how many segments are left out, none worse than those drawn.

    A wide and a narrow chart; None without a baseline or where there is but one row.
    """
    measure, changed = leading_measure(details), _changed(details)
    drawn = changed[:MAX_DRAWN]
    if measure is None or len(drawn) < 2:  # noqa: PLR2004 -- one row is what the table of gates says already
        return None
    scale, spell = scales[measure.name], partial(delta_text, unit=measure.unit)
    rows = [("all questions" if tag is None else tag, value) for tag, _, value in drawn]
    ways = [value.way(measure.direction, measure.unit) for _, value in rows]
    limits = [f"{spell(value.limit)} for {middle(tag, 60)}" for tag, value in rows if value.limit is not None]
    description = (
        f"Of {count_text(len(rows), 'row')} {ways.count('worse')} lost and {ways.count('better')} gained beyond doubt; "
        f"over all questions the change is {spell(rows[0][1].delta or 0.0)}. "
        f"{f'Limits: {listed(limits, 3)}. ' if limits else ''}"
        f"The scale goes from {spell(scale[0])} to {spell(scale[1])}."
    )
    wide, narrow = (
        charts.Chart(
            id=f"segments-{kind}",
            title=f"Change of {measure.name} by segment{', with limits' if limits else ''}",
            description=description,
            width=width,
            height=len(rows) * _ROW + 34,
            panes=[_pane(rows, measure, scale, width)],
        )
        for kind, width in (("wide", _WIDE), ("narrow", _NARROW))
    )
    return (wide, narrow), len(changed) - len(drawn) + details.left_out


def _changed(details: ReportDetails) -> list[tuple[str | None, str, PanelValue]]:
    name = details.leading or ""
    values = ((row.tag, row.values.get(name)) for row in details.panel)
    return [(tag, name, value) for tag, value in values if value is not None and value.delta is not None]


def _pane(
    rows: Sequence[tuple[str, PanelValue]], measure: Measure, ends: tuple[float, float], width: int
) -> charts.Pane:
    """Rows by their place, so that two segments with one label stay two.

    A bound that is not known lies at the edge; without an interval there is a point alone.
    """
    low, high = ends
    places = [len(rows) - place - 0.5 for place in range(len(rows))]
    names = [_fitting(tag, width / 3) for tag, _ in rows]
    y = charts.Axis(0, len(rows), len(rows) * _ROW + 8, 8, list(zip(places, names, strict=True)))
    points = 100 if measure.unit is Unit.SHARE else 1
    ticks = charts.ticks_of(points * low, points * high, Unit.NUMBER, width // 90)
    changes = [
        (row, delta_text(value.delta or 0.0, measure.unit)) for row, (_, value) in zip(places, rows, strict=True)
    ]
    right = width - 12 - max(charts.width_of(text) for _, text in changes)
    x = charts.Axis(low, high, y.margin, right, [(value / points, text) for value, text in ticks])
    lines = [charts.Line([(0, y.low), (0, y.high)], charts.FAINT, 1)]
    marks: list[charts.Mark] = []
    for row, (_, value) in zip(places, rows, strict=True):
        delta = value.delta or 0.0
        bounds = zip(value.delta_ci or (delta, delta), ends, strict=True)
        first, last = (end if bound is None else bound for bound, end in bounds)
        shape, color = _LOOKS[value.way(measure.direction, measure.unit)]
        if value.limit is not None:
            lines.append(charts.Line([(value.limit, row - 0.5), (value.limit, row + 0.5)], charts.WORSE, 1.5, "3 2"))
        lines.append(charts.Line([(first, row), (last, row)], color, 2))
        marks.append(charts.Mark(delta, row, shape, color, 5))
    return charts.Pane(x, y, lines, marks, right=changes)


def _fitting(tag: str, room: float) -> str:
    """A tag without its middle where it is wider than so many pixels."""
    cuts = (middle(tag, limit) for limit in range(int(room / 5), 2, -1))
    return next((cut for cut in cuts if charts.width_of(cut) <= room), "…")
