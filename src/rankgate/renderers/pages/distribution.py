"""A metric question by question: changes from the largest loss to the largest gain, and the spread behind a mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from markupsafe import Markup

from rankgate.model.details import Measure, ReportDetails
from rankgate.model.values import TOLERANCE, Direction, Unit
from rankgate.model.wording import count_text, delta_text
from rankgate.renderers.pages.charts import AXES, BETTER, OF_RUN, SAME, WORSE, Figure, by, chart, fitted, layer
from rankgate.renderers.pages.segments import leading_measure

MAX_BARS = 160  # beyond, neighbours share a bar: more would be thinner than a line
WAYS = ("worse", "same", "better")
USUAL = "recall@5"
Changes = tuple[list[float], int, list[float]]  # losses, how many stayed, gains

_WIDE, _NARROW, _HEIGHT = 620, 280, 220
_LABEL = 90  # pixels that the label of the ties takes
_BINS = 10


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """The picture and how many questions went which of `WAYS`; `shortened` says that ties take less room."""

    measure: Measure
    counts: tuple[int, int, int]
    picture: Markup
    grouped: int
    shortened: bool


def pairs_of(details: ReportDetails) -> Pairs | None:
    """The changes of the questions that both runs have a value for; None where there are none."""
    measure = leading_measure(details)
    values = _values(details, measure.name) if measure else []
    changes = [after - before for before, after in values if before is not None and after is not None]
    if measure is None or not changes:
        return None
    worse, same, better = parts = split(changes, measure.direction)
    counts = len(worse), same, len(better)
    said = (f"{count:,} {way} ({share_text(count, len(changes))})" for way, count in zip(WAYS, counts, strict=True))
    loss, gain = (delta_text(end[0], measure.unit) if end else "none" for end in (worse[:1], better[-1:]))
    picture = fitted(
        partial(waterfall, parts, measure),
        _WIDE,
        _NARROW,
        name="pairs",
        title=f"Change of {measure.name}, question by question",
        description=f"{', '.join(said)} of {len(changes):,} questions. "
        f"The largest loss is {loss}, the largest gain {gain}.",
    )
    grouped, shortened = grouped_by(parts), room_of(parts) < same
    return Pairs(measure=measure, counts=counts, picture=picture, grouped=grouped, shortened=shortened)


def _values(details: ReportDetails, metric: str) -> list[tuple[float | None, float | None]]:
    return [question.values[metric] for question in details.questions if metric in question.values]


def split(changes: Iterable[float], direction: Direction) -> Changes:
    """Losses from the largest on, how many did not change, and gains up to the largest."""
    sign = direction.sign
    ordered = sorted(changes, key=lambda change: sign * change)
    worse = [change for change in ordered if sign * change < -TOLERANCE]
    better = [change for change in ordered if sign * change > TOLERANCE]
    return worse, len(ordered) - len(worse) - len(better), better


def grouped_by(parts: Changes) -> int:
    """How many neighbours share a bar."""
    return -(-(len(parts[0]) + len(parts[2])) // MAX_BARS) or 1


def room_of(parts: Changes) -> int:
    """For how many ties there is room: half as many as moved, so that 50 changes show among 5,000 questions."""
    worse, same, better = parts
    return min(same, -(-(len(worse) + len(better)) // 2)) or same


def share_text(count: int, of: int) -> str:
    """`84%`; `<1%` and `>99%` where rounding would say none or all."""
    share = 100 * count / of
    if 0 < share < 1:
        return "<1%"
    return ">99%" if 99 < share < 100 else f"{share:.0f}%"  # noqa: PLR2004 -- per cent


def waterfall(parts: Changes, measure: Measure, width: int) -> dict[str, Any]:
    """The Vega-Lite view: losses hang below the line, gains stand on it, and what stayed is the line in between."""
    (worse, same, better), room, size = parts, room_of(parts), grouped_by(parts)
    total = len(worse) + room + len(better)
    gap = 0.12 if total <= MAX_BARS // 2 else 0.0
    scale = 100 if measure.unit is Unit.SHARE else 1
    bars: list[dict[str, Any]] = []
    for way, start, changes in (("worse", 0, worse), ("better", len(worse) + room, better)):
        for begin in range(0, len(changes), size):
            part = changes[begin : begin + size]
            ends = {"from": start + begin + gap, "to": start + begin + len(part) - gap, "zero": 0}
            bars.append({**ends, "change": math.fsum(part) / len(part) * scale, "way": way})
    ties = [{"from": len(worse) + gap, "to": len(worse) + room - gap, "at": 0}] if same else []
    axis = {"title": "questions, sorted by change", "grid": False, "labels": False, "ticks": False}
    x = {"type": "quantitative", "scale": {"domain": [0, total], "nice": False}, "axis": axis}
    across = {"x": {"field": "from", **x}, "x2": {"field": "to"}}
    unit = {Unit.SHARE: " (points)", Unit.MILLISECONDS: " (ms)"}.get(measure.unit, "")
    up = measure.direction.sign * max((abs(bar["change"]) for bar in bars), default=scale)  # a latency that rose hangs
    domain = {"domain": [-up, up], "nice": False}  # losses and gains at one scale
    y = {"type": "quantitative", "scale": domain, "axis": {"title": f"change{unit}", "tickCount": 5}}
    tall = {"y": {"field": "zero", **y}, "y2": {"field": "change"}}
    middle, wide = width * (len(worse) + room / 2) / total, width * room / total > _LABEL
    layers = [
        layer("rect", {**across, **tall, "color": by("way", {"worse": WORSE, "better": BETTER})}, bars),
        layer("rule", {**across, "y": {"field": "at", **y}}, ties, strokeWidth=5, color=SAME),
        # Where no bar is.
        _label(f"▼ {len(worse):,} worse", "left", 4, _HEIGHT // 2 - 12),
        _label(f"▲ {len(better):,} better", "right", width - 4, _HEIGHT // 2 + 14),
        *([_label(f"= {same:,} same", "center", round(middle), _HEIGHT // 2 + 34)] if wide else []),
    ]
    return {"width": width, "height": _HEIGHT, "layer": layers}


def _label(text: str, align: str, x: int, y: int) -> dict[str, Any]:
    encoding = {"x": {"value": x}, "y": {"value": y}, "text": {"value": text}}
    return layer("text", encoding, [{}], align=align, baseline="middle", fontSize=12)


def spread_of(details: ReportDetails) -> Figure | None:
    """The distribution: the leading metric where that is a recall, else at 5; None where there is none."""
    leading = details.leading or ""
    metric = leading if leading.startswith("recall@") else USUAL
    values = _values(details, metric)
    before = [value for value, _ in values if value is not None]
    now = [value for _, value in values if value is not None]
    if not now:
        return None
    said = (_sentence("Now", now), *([_sentence("In the baseline", before)] if before else []))
    title = f"Distribution of {metric} over the questions"
    picture = chart(_spec(now, before), name="spread", title=title, description=" ".join(said))
    return Figure(name=metric, picture=picture, said=said)


def bin_of(value: float) -> int:
    """0 for exactly nothing, 11 for exactly all, and the tenth in between, each with its upper end."""
    if value <= 0:
        return 0
    return _BINS + 1 if value >= 1 else math.ceil(round(value * _BINS, 9))


def _sentence(who: str, values: Sequence[float]) -> str:
    bins = [bin_of(value) for value in values]
    none, full = bins.count(0), bins.count(_BINS + 1)
    mean = math.fsum(values) / len(values)
    return (
        f"{who} the mean is {100 * mean:.1f}%: all relevant documents are found for {count_text(full, 'question')} "
        f"({share_text(full, len(values))}), none for {none:,} ({share_text(none, len(values))}), "
        f"some for {len(values) - none - full:,}."
    )


def _spec(now: Sequence[float], before: Sequence[float]) -> dict[str, Any]:
    runs = [("now", now), *([("baseline", before)] if before else [])]
    width = 0.88 / len(runs)
    bars = []
    for place, (of, values) in enumerate(reversed(runs)):
        bins = [bin_of(value) for value in values]
        for at in range(_BINS + 2):
            begin, end = ((at - 1 + 0.06 + edge * width) / _BINS for edge in (place, place + 1))
            bars.append({"from": begin, "to": end, "share": bins.count(at) / len(values), "zero": 0, "of": of})
    means = [{"mean": math.fsum(values) / len(values), "of": of} for of, values in runs]
    axis = {
        "values": [-0.05, 0.25, 0.5, 0.75, 1.05],
        "labelExpr": "datum.value < 0 ? 'none' : datum.value > 1 ? 'all' : format(datum.value, '.0%')",
        "title": "share of the relevant documents found",
        "grid": False,
    }
    x = {"type": "quantitative", "scale": {"domain": [-0.1, 1.1], "nice": False}, "axis": axis}
    axis = {"format": AXES[Unit.SHARE], "title": "questions", "tickCount": 5}
    y = {"field": "share", "type": "quantitative", "axis": axis}
    bar = {"x": {"field": "from", **x}, "x2": {"field": "to"}, "y": y, "y2": {"field": "zero"}}
    mean = {"x": {"field": "mean", **x}, "color": OF_RUN["color"], "strokeDash": OF_RUN["strokeDash"]}
    layers = [layer("rect", {**bar, "color": OF_RUN["color"]}, bars), layer("rule", mean, means, strokeWidth=2)]
    return {"width": 290, "height": 190, "layer": layers}
