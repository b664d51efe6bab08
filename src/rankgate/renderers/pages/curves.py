"""Recall and nDCG at growing cut-offs: one pair of curves over all questions, and small ones by segment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
from markupsafe import Markup

from rankgate.exhibit import Exhibit, Sweep
from rankgate.renderers.escape import shorten, visible
from rankgate.renderers.pages.charts import BEFORE, NOW, chart

MOST_SEGMENTS = 12
NAMES = {"recall": "recall", "ndcg": "nDCG"}


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A picture, what it is about (None: all questions), over how many, and what it says in a sentence each."""

    tag: str | None
    queries: int
    picture: Markup
    said: tuple[str, ...]


class Curves(msgspec.Struct, frozen=True, kw_only=True):
    """All curves, and how many segments have none here because there are so many."""

    whole: tuple[Curve, ...]
    segments: tuple[Curve, ...]
    left_out: int
    compared: bool


def curves_of(exhibit: Exhibit) -> Curves | None:
    """The curves; None where nothing can be drawn, as with lists of one result."""
    drawable = [sweep for sweep in exhibit.sweeps if len(sweep.cutoffs) > 1]
    if not drawable:
        return None
    whole = [sweep for sweep in drawable if sweep.tag is None]
    tags: dict[str, list[Sweep]] = {}
    for sweep in drawable:
        if sweep.tag is not None:
            tags.setdefault(sweep.tag, []).append(sweep)
    largest = sorted(tags.values(), key=lambda pair: -pair[0].queries)[:MOST_SEGMENTS]
    kept = [pair for pair in tags.values() if pair in largest]
    floor = _floor([sweep for pair in kept for sweep in pair])
    return Curves(
        whole=tuple(
            _curve([sweep], f"curve-{sweep.measure}", width=280, height=190, floor=_floor(whole)) for sweep in whole
        ),
        segments=tuple(
            _curve(pair, f"curve-{place}", width=122, height=96, floor=floor) for place, pair in enumerate(kept)
        ),
        left_out=len(tags) - len(kept),
        compared=any(sweep.baseline for sweep in drawable),
    )


def knee_text(sweep: Sweep) -> str:
    """`recall bends at 5 results now, at 4 in the baseline: more than that bring little.`"""
    name = NAMES[sweep.measure]
    if sweep.knee is None:
        now = f"{name} has no knee now"
    else:
        now = f"{name} has its knee at {sweep.knee} now"
    if sweep.baseline is None:
        return f"{now}."
    before = "none" if sweep.baseline_knee is None else f"{sweep.baseline_knee}"
    return f"{now}, {before} in the baseline."


def _floor(sweeps: Sequence[Sweep]) -> float:
    """Where the axis begins: a tenth at or below the lowest value, so that curves of a kind can be compared."""
    lowest = min((min((*sweep.candidate, *(sweep.baseline or ()))) for sweep in sweeps), default=0.0)
    return min(math.floor(lowest * 10) / 10, 0.9)


def _curve(sweeps: Sequence[Sweep], name: str, *, width: int, height: int, floor: float) -> Curve:
    first = sweeps[0]
    about = "all questions" if first.tag is None else shorten(visible(first.tag), 60)
    said = tuple(knee_text(sweep) for sweep in sweeps)
    measures = " and ".join(NAMES[sweep.measure] for sweep in sweeps)
    panes = [_pane(sweep, width, height, floor, small=first.tag is not None) for sweep in sweeps]
    picture = chart(
        {"hconcat": panes, "spacing": 14} if len(panes) > 1 else panes[0],
        name=name,
        title=f"{measures} by cut-off, {about}",
        description=" ".join(f"{_ends(sweep)} {text}" for sweep, text in zip(sweeps, said, strict=True)),
    )
    return Curve(
        tag=None if first.tag is None else about,
        queries=max(sweep.queries for sweep in sweeps),
        picture=picture,
        said=said,
    )


def _ends(sweep: Sweep) -> str:
    k = sweep.cutoffs
    now = f"{sweep.candidate[0]:.3f} at {k[0]} to {sweep.candidate[-1]:.3f} at {k[-1]} now"
    before = f", {sweep.baseline[0]:.3f} to {sweep.baseline[-1]:.3f} in the baseline" if sweep.baseline else ""
    return f"{NAMES[sweep.measure]} goes from {now}{before}."


def _pane(sweep: Sweep, width: int, height: int, floor: float, *, small: bool) -> dict[str, Any]:
    lines = [("now", sweep.candidate, sweep.knee)]
    if sweep.baseline is not None:
        lines.insert(0, ("baseline", sweep.baseline, sweep.baseline_knee))
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
        "axis": {"tickCount": 3 if small else 5, "format": ".0%" if sweep.measure == "recall" else ".1f", "title": None},
    }
    of = {"domain": ["now", "baseline"]}
    colour = {"field": "of", "type": "nominal", "scale": {**of, "range": [NOW, BEFORE]}, "legend": None}
    dash = {"field": "of", "type": "nominal", "scale": {**of, "range": [[1, 0], [5, 3]]}, "legend": None}
    shape = {"field": "of", "type": "nominal", "scale": {**of, "range": ["circle", "diamond"]}, "legend": None}
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
        "title": {"text": NAMES[sweep.measure], "anchor": "start", "fontSize": 12, "color": "var(--ink)"},
        "data": {"values": points},
        "layer": layer,
    }
