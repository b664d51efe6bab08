"""Recall and nDCG at growing cut-offs: one pair of curves over all questions, and small ones by segment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from rankgate.model.details import ReportDetails, Sweep
from rankgate.model.values import Unit
from rankgate.renderers.escape import one_line
from rankgate.renderers.pages.charts import AXES, INK, OF_RUN, Figure, chart, layer

MAX_SEGMENTS = 12
NAMES = {"recall": "recall", "ndcg": "nDCG"}
_UNITS = {"recall": Unit.SHARE, "ndcg": Unit.SCORE}


class Curves(msgspec.Struct, frozen=True, kw_only=True):
    """All curves, and the segments that have none here because there are so many."""

    whole: tuple[Figure, ...]
    segments: tuple[Figure, ...]
    left_out: tuple[str, ...]
    compared: bool


def curves_of(details: ReportDetails) -> Curves | None:
    """The curves; None where nothing can be drawn, as with lists of one result."""
    tags: dict[str | None, list[Sweep]] = {}
    for sweep in details.sweeps:
        if len(sweep.cutoffs) > 1:
            tags.setdefault(sweep.tag, []).append(sweep)
    if not tags:
        return None
    compared, whole = any(sweep.baseline for each in tags.values() for sweep in each), tags.pop(None, [])
    kept, others = list(tags.values())[:MAX_SEGMENTS], list(tags)[MAX_SEGMENTS:]  # in the order of the panel
    floor = _floor([sweep for each in kept for sweep in each])
    return Curves(
        whole=tuple(_figure([sweep], f"curve-{sweep.measure}", 280, 190, _floor(whole)) for sweep in whole),
        segments=tuple(_figure(each, f"curve-{place}", 114, 96, floor) for place, each in enumerate(kept)),
        left_out=tuple(one_line(tag, 60) for tag in others),
        compared=compared,
    )


def knee_text(sweep: Sweep) -> str:
    """A sentence: `Knee of recall: 5 now, 4 in the baseline`."""
    now, before = ("none" if knee is None else f"{knee}" for knee in (sweep.knee, sweep.baseline_knee))
    compared = f" now, {before} in the baseline" if sweep.baseline is not None else ""
    return f"Knee of {NAMES[sweep.measure]}: {now}{compared}."


def _floor(sweeps: Sequence[Sweep]) -> float:
    """Where the axis begins: a tenth at or below the lowest value, so that curves of a kind can be compared."""
    lowest = min((min((*sweep.candidate, *(sweep.baseline or ()))) for sweep in sweeps), default=0.0)
    return min(math.floor(lowest * 10) / 10, 0.9)


def _figure(sweeps: Sequence[Sweep], name: str, width: int, height: int, floor: float) -> Figure:
    tag = "all questions" if sweeps[0].tag is None else one_line(sweeps[0].tag, 60)
    said = tuple(map(knee_text, sweeps))
    panes = [pane(sweep, width, height, floor, small=sweep.tag is not None) for sweep in sweeps]
    picture = chart(
        {"hconcat": panes, "spacing": 14} if len(panes) > 1 else panes[0],
        name=name,
        title=f"{' and '.join(NAMES[sweep.measure] for sweep in sweeps)} by cut-off, {tag}",
        description=" ".join(f"{_ends(sweep)} {text}" for sweep, text in zip(sweeps, said, strict=True)),
    )
    return Figure(name=tag, queries=max(sweep.queries for sweep in sweeps), picture=picture, said=said)


def _ends(sweep: Sweep) -> str:
    k = sweep.cutoffs
    now = f"{sweep.candidate[0]:.3f} at {k[0]} to {sweep.candidate[-1]:.3f} at {k[-1]} now"
    before = f", {sweep.baseline[0]:.3f} to {sweep.baseline[-1]:.3f} in the baseline" if sweep.baseline else ""
    return f"{NAMES[sweep.measure]} goes from {now}{before}."


def pane(sweep: Sweep, width: int, height: int, floor: float, *, small: bool) -> dict[str, Any]:
    """One measure as a Vega-Lite view: the lines, their knees, and the name over them."""
    lines = (("now", sweep.candidate, sweep.knee), ("baseline", sweep.baseline, sweep.baseline_knee))
    points = [  # dashes lie on the line where both are one
        {"k": k, "value": value, "of": of, "knee": k == knee}
        for of, values, knee in lines
        for k, value in zip(sweep.cutoffs, values or (), strict=False)
    ]
    ticks = [k for k in (1, 2, 5, 10, 20, 50, 100) if k <= sweep.cutoffs[-1]]
    x = {
        "field": "k",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [sweep.cutoffs[0], sweep.cutoffs[-1]], "nice": False},
        "axis": {"values": ticks, "format": "d", "grid": False, "title": None if small else "first k results"},
    }
    scale = {"domain": [floor, 1.0], "nice": False, "clamp": True}
    axis = {"tickCount": 3 if small else 5, "format": AXES[_UNITS[sweep.measure]], "title": None}
    y = {"field": "value", "type": "quantitative", "scale": scale, "axis": axis}
    encoding = {"x": x, "y": y, "color": OF_RUN["color"]}
    knees = {"filter": {"field": "knee", "equal": True}}
    line = layer("line", {**encoding, "strokeDash": OF_RUN["strokeDash"]}, strokeWidth=2)
    knee = layer("point", {**encoding, "shape": OF_RUN["shape"]}, filled=True, size=40 if small else 90, opacity=1)
    layers = [line, {"transform": [knees], **knee}]
    if not small:
        text = {"x": x, "y": y, "text": {"value": f"knee {sweep.knee}"}}
        name = layer("text", text, align="left", dx=6, dy=14, fontSize=12)
        layers.append({"transform": [knees, {"filter": {"field": "of", "equal": "now"}}], **name})
    title = {"text": NAMES[sweep.measure], "anchor": "start", "fontSize": 12, "color": INK}
    return {"width": width, "height": height, "title": title, "data": {"values": points}, "layer": layers}
