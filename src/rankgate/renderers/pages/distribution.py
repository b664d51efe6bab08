"""The spread behind a mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rankgate.model.details import ReportDetails
from rankgate.model.values import Unit
from rankgate.model.wording import count_text
from rankgate.renderers.pages.charts import AXES, OF_RUN, Figure, chart, layer

USUAL = "recall@5"
_BINS = 10


def share_text(count: int, of: int) -> str:
    """`84%`; `<1%` and `>99%` where rounding would say none or all."""
    share = 100 * count / of
    if 0 < share < 1:
        return "<1%"
    return ">99%" if 99 < share < 100 else f"{share:.0f}%"  # noqa: PLR2004 -- per cent


def spread_of(details: ReportDetails) -> Figure | None:
    """The distribution: the leading metric where that is a recall, else at 5; None where there is none."""
    leading = details.leading or ""
    metric = leading if leading.startswith("recall@") else USUAL
    values = [question.values[metric] for question in details.questions if metric in question.values]
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
