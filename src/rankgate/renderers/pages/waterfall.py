"""Paired changes as a picture: a bar a question, sorted, so that losses, ties and gains show by how wide they are."""

from __future__ import annotations

from typing import Any

import msgspec

from rankgate.exhibit import Measure
from rankgate.metrics.base import Unit
from rankgate.renderers.pages.charts import BETTER, SAME, WORSE, by

MOST_BARS = 160  # beyond, neighbours share a bar: more would be thinner than a line
_HEIGHT = 220


class Step(msgspec.Struct, frozen=True):
    """Questions from `begin` to before `end` in sorted order, with the mean of their changes."""

    begin: int
    end: int
    change: float


def waterfall(
    steps: tuple[list[Step], list[Step]], counts: tuple[int, int, int], measure: Measure, width: int
) -> dict[str, Any]:
    """The Vega-Lite view: losses hang below the line, gains stand on it, and what stayed is the line in between.

    Args:
        steps: losses, the largest first; gains, the largest last.
        counts: how many questions lost, stayed and gained.
        measure: what changed.
        width: in pixels.
    """
    every = sum(counts)
    gap = 0.12 if every <= MOST_BARS // 2 else 0.0
    scale = 100 if measure.unit is Unit.SHARE else 1
    bars = [
        {"from": step.begin + gap, "to": step.end - gap, "zero": 0, "change": step.change * scale, "way": way}
        for way, part in zip(("worse", "better"), steps, strict=True)
        for step in part
    ]
    same = [{"from": counts[0] + gap, "to": counts[0] + counts[1] - gap, "at": 0}] if counts[1] else []
    x = {
        "type": "quantitative",
        "scale": {"domain": [0, every], "nice": False},
        "axis": {
            "title": "questions, sorted by change",
            "grid": False,
            "tickCount": 5,
            "tickMinStep": 1,
            "format": "~s",
        },
    }
    unit = {Unit.SHARE: " (points)", Unit.MILLISECONDS: " (ms)"}.get(measure.unit, "")
    most = max((abs(step.change) for part in steps for step in part), default=1.0) * scale
    domain = {"domain": [-most, most], "nice": False}  # losses and gains at one scale
    y = {"type": "quantitative", "scale": domain, "axis": {"title": f"change{unit}", "tickCount": 5}}
    return {
        "width": width,
        "height": _HEIGHT,
        "layer": [
            {
                "data": {"values": bars},
                "mark": {"type": "rect"},
                "encoding": {
                    "x": {"field": "from", **x},
                    "x2": {"field": "to"},
                    "y": {"field": "zero", **y},
                    "y2": {"field": "change"},
                    "color": by("way", {"worse": WORSE, "better": BETTER}),
                },
            },
            {
                "data": {"values": same},
                "mark": {"type": "rule", "strokeWidth": 5, "color": SAME},
                "encoding": {"x": {"field": "from", **x}, "x2": {"field": "to"}, "y": {"field": "at", **y}},
            },
            # Where no bar is.
            _label(f"▼ {counts[0]:,} worse", "left", 4, _HEIGHT // 2 - 12),
            _label(f"▲ {counts[2]:,} better", "right", width - 4, _HEIGHT // 2 + 14),
        ],
    }


def _label(text: str, align: str, x: int, y: int) -> dict[str, Any]:
    return {
        "data": {"values": [{}]},
        "mark": {"type": "text", "align": align, "baseline": "middle", "fontSize": 12},
        "encoding": {"x": {"value": x}, "y": {"value": y}, "text": {"value": text}},
    }
