"""The spread behind a mean."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from rankgate.model.details import ReportDetails
from rankgate.model.values import Unit
from rankgate.model.wording import count_text
from rankgate.renderers.pages import charts

USUAL = "recall@5"
_BINS = 10
_TICKS = ((-0.05, "none"), (0.25, "25%"), (0.5, "50%"), (0.75, "75%"), (1.05, "all"))
_WIDTH, _HEIGHT = 352, 258


def share_text(count: int, of: int) -> str:
    """`84%`; `<1%` and `>99%` where rounding would say none or all."""
    share = 100 * count / of
    if 0 < share < 1:
        return "<1%"
    return ">99%" if 99 < share < 100 else f"{share:.0f}%"  # noqa: PLR2004 -- per cent


def metric_of(details: ReportDetails) -> str:
    """The metric whose distribution is shown: the leading one where that is a recall, else the usual one."""
    leading = details.leading or ""
    return leading if leading.startswith("recall@") else USUAL


def spread_of(metric: str, values: Sequence[tuple[float | None, float | None]]) -> charts.Chart | None:
    """The distribution of a recall's values before and now; None where there are none now."""
    before = [value for value, _ in values if value is not None]
    now = [value for _, value in values if value is not None]
    if not now:
        return None
    sentences = (_sentence("Now", now), *([_sentence("In the baseline", before)] if before else []))
    pane = _pane([(charts.BEFORE, before), (charts.NOW, now)] if before else [(charts.NOW, now)])
    return charts.Chart(
        id="spread",
        title=f"Distribution of {metric} over the questions",
        description=" ".join(sentences),
        width=_WIDTH,
        height=_HEIGHT,
        panes=[pane],
        name=metric,
        sentences=sentences,
    )


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


def _pane(runs: Sequence[tuple[str, Sequence[float]]]) -> charts.Pane:
    """For each bin a bar of each run, side by side, and an upright line at each mean."""
    bins = {color: Counter(map(bin_of, values)) for color, values in runs}
    highest = max(count / each.total() for each in bins.values() for count in each.values())
    y = charts.Axis(0, highest, _HEIGHT - 44, 24, charts.ticks_of(0, highest, Unit.SHARE, 6), "questions")
    x = charts.Axis(-0.1, 1.1, y.margin, _WIDTH - 8, _TICKS, "share of the relevant documents found")
    width = 0.88 / _BINS / len(runs)
    bars: list[charts.Line] = []
    means: list[charts.Line] = []
    for index, (color, values) in enumerate(runs):
        for at, count in sorted(bins[color].items()):
            left, share = (at - 0.94) / _BINS + index * width, count / len(values)
            corners = [(left, 0.0), (left, share), (left + width, share), (left + width, 0.0)]
            bars.append(charts.Line(corners, color, filled=True))
        mean = math.fsum(values) / len(values)
        means.append(charts.Line([(mean, 0.0), (mean, highest)], color, 2, charts.DASHES[color]))
    return charts.Pane(x, y, bars + means[::-1])
