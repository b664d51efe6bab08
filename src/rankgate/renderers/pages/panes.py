"""A curve as a picture: a metric over the first k results, now and in the baseline, with the knees marked."""

from __future__ import annotations

from typing import Any

from rankgate.model.details import Sweep
from rankgate.model.values import Unit
from rankgate.renderers.pages.charts import AXES, BEFORE, INK, NOW, by

NAMES = {"recall": "recall", "ndcg": "nDCG"}
_UNITS = {"recall": Unit.SHARE, "ndcg": Unit.SCORE}


def pane(sweep: Sweep, width: int, height: int, floor: float, *, small: bool) -> dict[str, Any]:
    """One measure as a Vega-Lite view: the lines, their knees, and the name over them."""
    lines = [("now", sweep.candidate, sweep.knee)]
    if sweep.baseline is not None:
        lines.append(("baseline", sweep.baseline, sweep.baseline_knee))  # dashes lie on the line where both are one
    points = [
        {"k": k, "value": value, "of": of, "knee": k == knee}
        for of, values, knee in lines
        for k, value in zip(sweep.cutoffs, values, strict=True)
    ]
    ticks = [k for k in (1, 2, 5, 10, 20, 50, 100) if k <= sweep.cutoffs[-1]]
    x = {
        "field": "k",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [sweep.cutoffs[0], sweep.cutoffs[-1]], "nice": False},
        "axis": {"values": ticks, "format": "d", "grid": False, "title": None if small else "first k results"},
    }
    y = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [floor, 1.0], "nice": False, "clamp": True},
        "axis": {
            "tickCount": 3 if small else 5,
            "format": AXES[_UNITS[sweep.measure]],
            "title": None,
        },
    }
    colour, dash, shape = (
        by("of", {"now": now, "baseline": before})
        for now, before in ((NOW, BEFORE), ([1, 0], [5, 3]), ("circle", "diamond"))
    )
    knees = {"filter": {"field": "knee", "equal": True}}
    encoding = {"x": x, "y": y, "color": colour}
    layer: list[dict[str, Any]] = [
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {**encoding, "strokeDash": dash}},
        {
            "transform": [knees],
            "mark": {"type": "point", "filled": True, "size": 40 if small else 90, "opacity": 1},
            "encoding": {**encoding, "shape": shape},
        },
    ]
    if not small:
        layer.append(
            {
                "transform": [knees, {"filter": {"field": "of", "equal": "now"}}],
                "mark": {"type": "text", "align": "left", "dx": 6, "dy": 14, "fontSize": 12},
                "encoding": {"x": x, "y": y, "text": {"value": f"knee {sweep.knee}"}},
            }
        )
    return {
        "width": width,
        "height": height,
        "title": {"text": NAMES[sweep.measure], "anchor": "start", "fontSize": 12, "color": INK},
        "data": {"values": points},
        "layer": layer,
    }
