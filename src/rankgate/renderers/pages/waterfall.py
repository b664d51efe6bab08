"""Paired changes as a picture: a bar a question, sorted, so that losses, ties and gains show by how wide they are."""

from __future__ import annotations

from typing import Any

import msgspec

from rankgate.model.details import Measure
from rankgate.model.values import Direction, Unit
from rankgate.renderers.pages.charts import BETTER, SAME, WORSE, by

MAX_BARS = 160  # beyond, neighbours share a bar: more would be thinner than a line
_HEIGHT = 220
_LABEL = 90  # pixels that the label of the ties takes


class Step(msgspec.Struct, frozen=True):
    """Questions from `begin` to before `end` in sorted order, with the mean of their changes."""

    begin: int
    end: int
    change: float


def room_of(counts: tuple[int, int, int]) -> int:
    """For how many ties there is room: half as many as moved, so that 50 changes show among 5,000 questions."""
    worse, same, better = counts
    return min(same, -(-(worse + better) // 2)) or same


def waterfall(
    steps: tuple[list[Step], list[Step]], counts: tuple[int, int, int], measure: Measure, width: int
) -> dict[str, Any]:
    """The Vega-Lite view: losses hang below the line, gains stand on it, and what stayed is the line in between.

    Args:
        steps: losses, the largest first; gains, the largest last, after `room_of` ties.
        counts: how many questions lost, stayed and gained.
        measure: what changed.
        width: in pixels.
    """
    worse, same, better = counts
    room = room_of(counts)
    every = worse + room + better
    gap = 0.12 if every <= MAX_BARS // 2 else 0.0
    scale = 100 if measure.unit is Unit.SHARE else 1
    bars = [
        {"from": step.begin + gap, "to": step.end - gap, "zero": 0, "change": step.change * scale, "way": way}
        for way, part in zip(("worse", "better"), steps, strict=True)
        for step in part
    ]
    ties = [{"from": worse + gap, "to": worse + room - gap, "at": 0}] if same else []
    x = {
        "type": "quantitative",
        "scale": {"domain": [0, every], "nice": False},
        "axis": {"title": "questions, sorted by change", "grid": False, "labels": False, "ticks": False},
    }
    unit = {Unit.SHARE: " (points)", Unit.MILLISECONDS: " (ms)"}.get(measure.unit, "")
    most = max((abs(step.change) for part in steps for step in part), default=1.0) * scale
    up = most if measure.direction is Direction.HIGHER else -most  # a latency that rose hangs below the line
    domain = {"domain": [-up, up], "nice": False}  # losses and gains at one scale
    y = {"type": "quantitative", "scale": domain, "axis": {"title": f"change{unit}", "tickCount": 5}}
    middle, wide = width * (worse + room / 2) / every, width * room / every > _LABEL
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
                "data": {"values": ties},
                "mark": {"type": "rule", "strokeWidth": 5, "color": SAME},
                "encoding": {"x": {"field": "from", **x}, "x2": {"field": "to"}, "y": {"field": "at", **y}},
            },
            # Where no bar is.
            _label(f"▼ {worse:,} worse", "left", 4, _HEIGHT // 2 - 12),
            _label(f"▲ {better:,} better", "right", width - 4, _HEIGHT // 2 + 14),
            *([_label(f"= {same:,} same", "center", round(middle), _HEIGHT // 2 + 34)] if wide else []),
        ],
    }


def _label(text: str, align: str, x: int, y: int) -> dict[str, Any]:
    return {
        "data": {"values": [{}]},
        "mark": {"type": "text", "align": align, "baseline": "middle", "fontSize": 12},
        "encoding": {"x": {"value": x}, "y": {"value": y}, "text": {"value": text}},
    }
