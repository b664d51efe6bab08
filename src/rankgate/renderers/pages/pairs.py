"""The paired changes of the leading metric: every question once, sorted from the largest loss to the largest gain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from markupsafe import Markup

from rankgate.model.details import Measure, ReportDetails
from rankgate.model.values import TOLERANCE, Direction, Unit
from rankgate.model.wording import delta_text
from rankgate.renderers.pages.charts import BETTER, SAME, WORSE, by, fitted, layer
from rankgate.renderers.pages.segments import leading_measure

MAX_BARS = 160  # beyond, neighbours share a bar: more would be thinner than a line
_WIDE, _NARROW, _HEIGHT = 620, 280, 220
_LABEL = 90  # pixels that the label of the ties takes


class Step(msgspec.Struct, frozen=True):
    """Questions from `begin` to before `end` in sorted order, with the mean of their changes."""

    begin: int
    end: int
    change: float


class Tile(msgspec.Struct, frozen=True):
    """How many questions went one way, and their share of all."""

    way: str
    sign: str
    count: int
    share: str


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """The picture with its numbers; `shortened` says that ties take less room."""

    measure: Measure
    queries: int
    tiles: tuple[Tile, ...]
    picture: Markup
    grouped: int
    shortened: bool


def pairs_of(details: ReportDetails) -> Pairs | None:
    """The changes of the questions that both runs have a value for; None where there are none."""
    measure = leading_measure(details)
    if measure is None:
        return None
    pairs = [question.values[measure.name] for question in details.questions if measure.name in question.values]
    changes = [after - before for before, after in pairs if before is not None and after is not None]
    if not changes:
        return None
    worse, same, better = split(changes, measure.direction)
    total = len(changes)
    counts = len(worse), same, len(better)
    size = -(-(len(worse) + len(better)) // MAX_BARS) or 1
    room = room_of(counts)
    steps = steps_of(worse, 0, size), steps_of(better, len(worse) + room, size)
    tiles = tuple(
        Tile(way, sign, count, share_text(count, total))
        for way, sign, count in zip(("worse", "same", "better"), "▼=▲", counts, strict=True)
    )
    description = (
        f"{', '.join(f'{tile.count:,} {tile.way} ({tile.share})' for tile in tiles)} of {total:,} questions. "
        f"The largest loss is {_largest(worse, measure)}, the largest gain {_largest(better, measure)}."
    )
    title = f"Change of {measure.name}, question by question"
    draw = partial(waterfall, steps, counts, measure)
    picture = fitted(draw, _WIDE, _NARROW, name="pairs", title=title, description=description)
    return Pairs(measure=measure, queries=total, tiles=tiles, picture=picture, grouped=size, shortened=room < same)


def split(changes: Iterable[float], direction: Direction) -> tuple[list[float], int, list[float]]:
    """Losses from the largest on, how many did not change, and gains up to the largest."""
    sign = 1 if direction is Direction.HIGHER else -1
    towards = sorted(sign * change for change in changes)
    worse = [sign * change for change in towards if change < -TOLERANCE]
    better = [sign * change for change in towards if change > TOLERANCE]
    return worse, len(towards) - len(worse) - len(better), better


def steps_of(changes: Sequence[float], start: int, size: int) -> list[Step]:
    """Bars of `size` questions each, the last of fewer."""
    parts = ((begin, changes[begin : begin + size]) for begin in range(0, len(changes), size))
    return [Step(start + begin, start + begin + len(part), math.fsum(part) / len(part)) for begin, part in parts]


def share_text(count: int, of: int) -> str:
    """`84%`; `<1%` and `>99%` where rounding would say none or all."""
    share = 100 * count / of
    if 0 < share < 1:
        return "<1%"
    return ">99%" if 99 < share < 100 else f"{share:.0f}%"  # noqa: PLR2004 -- per cent


def _largest(changes: Sequence[float], measure: Measure) -> str:
    return delta_text(max(changes, key=abs), measure.unit) if changes else "none"


def room_of(counts: tuple[int, int, int]) -> int:
    """For how many ties there is room: half as many as moved, so that 50 changes show among 5,000 questions."""
    worse, same, better = counts
    return min(same, -(-(worse + better) // 2)) or same


def waterfall(
    steps: tuple[list[Step], list[Step]], counts: tuple[int, int, int], measure: Measure, width: int
) -> dict[str, Any]:
    """The Vega-Lite view: losses hang below the line, gains stand on it, and what stayed is the line in between.

    Steps are losses, the largest first, and gains, the largest last, after `room_of` ties. Counts are of the questions
    that lost, stayed and gained.
    """
    worse, same, better = counts
    room = room_of(counts)
    total = worse + room + better
    gap = 0.12 if total <= MAX_BARS // 2 else 0.0
    scale = 100 if measure.unit is Unit.SHARE else 1
    bars = [
        {"from": step.begin + gap, "to": step.end - gap, "zero": 0, "change": step.change * scale, "way": way}
        for way, part in zip(("worse", "better"), steps, strict=True)
        for step in part
    ]
    ties = [{"from": worse + gap, "to": worse + room - gap, "at": 0}] if same else []
    x = {
        "type": "quantitative",
        "scale": {"domain": [0, total], "nice": False},
        "axis": {"title": "questions, sorted by change", "grid": False, "labels": False, "ticks": False},
    }
    across = {"x": {"field": "from", **x}, "x2": {"field": "to"}}
    unit = {Unit.SHARE: " (points)", Unit.MILLISECONDS: " (ms)"}.get(measure.unit, "")
    most = max((abs(step.change) for part in steps for step in part), default=1.0) * scale
    up = most if measure.direction is Direction.HIGHER else -most  # a latency that rose hangs below the line
    domain = {"domain": [-up, up], "nice": False}  # losses and gains at one scale
    y = {"type": "quantitative", "scale": domain, "axis": {"title": f"change{unit}", "tickCount": 5}}
    tall = {"y": {"field": "zero", **y}, "y2": {"field": "change"}}
    middle, wide = width * (worse + room / 2) / total, width * room / total > _LABEL
    layers = [
        layer("rect", {**across, **tall, "color": by("way", {"worse": WORSE, "better": BETTER})}, bars),
        layer("rule", {**across, "y": {"field": "at", **y}}, ties, strokeWidth=5, color=SAME),
        # Where no bar is.
        _label(f"▼ {worse:,} worse", "left", 4, _HEIGHT // 2 - 12),
        _label(f"▲ {better:,} better", "right", width - 4, _HEIGHT // 2 + 14),
        *([_label(f"= {same:,} same", "center", round(middle), _HEIGHT // 2 + 34)] if wide else []),
    ]
    return {"width": width, "height": _HEIGHT, "layer": layers}


def _label(text: str, align: str, x: int, y: int) -> dict[str, Any]:
    encoding = {"x": {"value": x}, "y": {"value": y}, "text": {"value": text}}
    return layer("text", encoding, [{}], align=align, baseline="middle", fontSize=12)
