"""`report.html`: what the engineer who broke retrieval reads for ten minutes. The view chooses; this lays it out.

Recall and nDCG at growing cut-offs are one pair of curves over all questions, and small ones by segment. Last the
spread behind a mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from rankgate.model.details import ReportDetails, Sweep
from rankgate.model.report import Report
from rankgate.model.values import Unit
from rankgate.model.wording import count_text
from rankgate.renderers.escape import one_line
from rankgate.renderers.pages import charts, page
from rankgate.renderers.pages.charts import trend_of
from rankgate.renderers.pages.questions import MAX_PASSAGE, MAX_PASSAGES, metric_of, page_questions
from rankgate.renderers.view import ALL, Limits, view_of

OPEN_ROWS = 12  # of the gates

LIMITS = Limits(open=ALL, numbers=200, lost=20, answers=100, parts=40, metrics=8, changes=100, problems=200)

ICONS = {"pass": "✓", "warn": "!", "fail": "✕", "not_judged": "?"}  # letters, which every font has; words stand beside

MAX_SEGMENTS = 12

NAMES = {"recall": "recall", "ndcg": "nDCG"}

_UNITS = {"recall": Unit.SHARE, "ndcg": Unit.SCORE}

_BINS = 10

_TICKS = ((-0.05, "none"), (0.25, "25%"), (0.5, "50%"), (0.75, "75%"), (1.05, "all"))

_SPREAD_WIDTH, _SPREAD_HEIGHT = 352, 258


def render_report(report: Report, *, judged: bool = True) -> str:
    """The page: one file with its style, its script and its pictures, which loads nothing.

    A report that was read from `report.json` has no rankings: the page lists the questions that the view has. Where
    nothing was `judged`, the page compares two runs: the summary is its title, and there is no verdict.
    """
    details = report.explanation.details
    view = view_of(report, LIMITS)
    questions = page_questions(details, report) if details and details.questions else None
    return page(
        "report.html.j2",
        title=f"rankgate: {view.word}" if judged else one_line(report.summary, 200),
        judged=judged,
        styles=("report.css",),
        scripts=("report.js",),
        data={"question-data": questions.head} if questions else {},
        blocks=questions.blocks if questions else (),
        view=view,
        report=report,
        icons=ICONS,
        open_rows=OPEN_ROWS,
        trend=trend_of(report),
        details=details,
        measures=[each for each in details.measures if each.name not in view.numbers.parts.metrics] if details else [],
        one_level=not any("at once" in row.level or row.level not in ("", "95%") for row in view.numbers.all.rows),
        curves=curves_of(details) if details else None,
        spread=spread_of(metric_of(details), questions.spread) if details and questions else None,
        questions=questions,
        limits=(MAX_PASSAGE, MAX_PASSAGES // 1_000_000),
    )


class Curves(msgspec.Struct, frozen=True, kw_only=True):
    """All curves, and the segments that have none here because there are so many."""

    whole: tuple[charts.Chart, ...]
    segments: tuple[charts.Chart, ...]
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
    compared = any(sweep.baseline for sweeps in tags.values() for sweep in sweeps)
    overall = tags.pop(None, [])
    kept = list(tags.values())[:MAX_SEGMENTS]  # in the order of the panel
    others = list(tags)[MAX_SEGMENTS:]
    floor = _floor([sweep for sweeps in kept for sweep in sweeps])
    return Curves(
        whole=tuple(_chart([sweep], f"curve-{sweep.measure}", 352, 258, _floor(overall)) for sweep in overall),
        segments=tuple(_chart(each, f"curve-{index}", 164, 144, floor) for index, each in enumerate(kept)),
        left_out=tuple(one_line(tag, 60) for tag in others),
        compared=compared,
    )


def knee_text(sweep: Sweep) -> str:
    """A sentence: `Knee of recall: 5 now, 4 in the baseline`."""
    now = "none" if sweep.knee is None else f"{sweep.knee}"
    before = "none" if sweep.baseline_knee is None else f"{sweep.baseline_knee}"
    compared = f" now, {before} in the baseline" if sweep.baseline is not None else ""
    return f"Knee of {NAMES[sweep.measure]}: {now}{compared}."


def _floor(sweeps: Sequence[Sweep]) -> float:
    """Where the axis begins: a tenth at or below the lowest value, so that curves of a kind can be compared."""
    lowest = min((min((*sweep.candidate, *(sweep.baseline or ()))) for sweep in sweeps), default=0.0)
    return min(math.floor(lowest * 10) / 10, 0.9)


def _chart(sweeps: Sequence[Sweep], id_: str, width: int, height: int, floor: float) -> charts.Chart:
    tag, knees = sweeps[0].tag, tuple(map(knee_text, sweeps))
    name = "all questions" if tag is None else one_line(tag, 60)
    return charts.Chart(
        id=id_,
        title=f"{' and '.join(NAMES[sweep.measure] for sweep in sweeps)} by cut-off, {name}",
        description=" ".join(f"{_ends(sweep)} {text}" for sweep, text in zip(sweeps, knees, strict=True)),
        width=len(sweeps) * width,
        height=height,
        panes=[pane(sweep, index * width, width, height, floor) for index, sweep in enumerate(sweeps)],
        name=name,
        sentences=knees,
        queries=max(sweep.queries for sweep in sweeps),
    )


def _ends(sweep: Sweep) -> str:
    k = sweep.cutoffs
    now = f"{sweep.candidate[0]:.3f} at {k[0]} to {sweep.candidate[-1]:.3f} at {k[-1]} now"
    before = f", {sweep.baseline[0]:.3f} to {sweep.baseline[-1]:.3f} in the baseline" if sweep.baseline else ""
    return f"{NAMES[sweep.measure]} goes from {now}{before}."


def pane(sweep: Sweep, left: float, width: int, height: int, floor: float) -> charts.Pane:
    """One measure: the lines and their knees; those of all questions are larger, and say more."""
    k = sweep.cutoffs
    large = sweep.tag is None
    marked_cutoffs = (2, 5, 10, 20, 50) if large else (5, 20)
    label = "first k results" if large else ""
    knee_label = f"knee {sweep.knee}" if large else ""
    below = 44 if large else 24  # pixels
    size = 5.5 if large else 3.5
    ticks = charts.ticks_of(floor, 1.0, _UNITS[sweep.measure], 7 if large else 3)
    y = charts.Axis(floor, 1.0, height - below, 24, ticks, NAMES[sweep.measure])
    between = [each for each in marked_cutoffs if 1.5 * k[0] < each < k[-1] / 1.5]
    numbers = [(each, f"{each}") for each in (k[0], *between, k[-1])]
    x = charts.Axis(k[0], k[-1], left + y.margin, left + width - 16, numbers, label, log=True)
    runs = [(charts.NOW, "circle", sweep.candidate, sweep.knee, knee_label)]
    if sweep.baseline:  # dashes lie on the line where both are one
        runs.append((charts.BEFORE, "diamond", sweep.baseline, sweep.baseline_knee, ""))
    lines: list[charts.Line] = []
    marks: list[charts.Mark] = []
    for color, shape, values, knee, text in runs:
        lines.append(charts.Line(list(zip(k, values, strict=True)), color, 2, charts.DASHES[color]))
        marks += [charts.Mark(*point, shape, color, size, text=text) for point in lines[-1].points if point[0] == knee]
    return charts.Pane(x, y, lines, marks)


def spread_of(metric: str, values: Sequence[tuple[float | None, float | None]]) -> charts.Chart | None:
    """The distribution of a recall's values before and now; None where there are none now."""
    before = [value for value, _ in values if value is not None]
    now = [value for _, value in values if value is not None]
    if not now:
        return None
    sentences = [_sentence("Now", now)]
    runs = [(charts.NOW, now)]
    if before:
        sentences.append(_sentence("In the baseline", before))
        runs.insert(0, (charts.BEFORE, before))
    pane = _bars(runs)
    return charts.Chart(
        id="spread",
        title=f"Distribution of {metric} over the questions",
        description=" ".join(sentences),
        width=_SPREAD_WIDTH,
        height=_SPREAD_HEIGHT,
        panes=[pane],
        name=metric,
        sentences=tuple(sentences),
    )


def _sentence(who: str, values: Sequence[float]) -> str:
    bins = [bin_of(value) for value in values]
    none, full = bins.count(0), bins.count(_BINS + 1)
    mean = math.fsum(values) / len(values)
    return (
        f"{who} the mean is {100 * mean:.1f}%: all relevant documents are found for {count_text(full, 'question')} "
        f"({share_text(full, len(values))}), none for {none:,} ({share_text(none, len(values))}), "
        f"some for {len(values) - none - full:,}."
    )


def _bars(runs: Sequence[tuple[str, Sequence[float]]]) -> charts.Pane:
    """For each bin a bar of each run, side by side, and an upright line at each mean."""
    bins = {color: Counter(map(bin_of, values)) for color, values in runs}
    highest = max(count / each.total() for each in bins.values() for count in each.values())
    y = charts.Axis(0, highest, _SPREAD_HEIGHT - 44, 24, charts.ticks_of(0, highest, Unit.SHARE, 6), "questions")
    x = charts.Axis(-0.1, 1.1, y.margin, _SPREAD_WIDTH - 8, _TICKS, "share of the relevant documents found")
    width = 0.88 / _BINS / len(runs)
    bars: list[charts.Line] = []
    means: list[charts.Line] = []
    for index, (color, values) in enumerate(runs):
        for at, count in sorted(bins[color].items()):
            left = (at - 0.94) / _BINS + index * width
            share = count / len(values)
            corners = [(left, 0.0), (left, share), (left + width, share), (left + width, 0.0)]
            bars.append(charts.Line(corners, color, filled=True))
        mean = math.fsum(values) / len(values)
        means.append(charts.Line([(mean, 0.0), (mean, highest)], color, 2, charts.DASHES[color]))
    return charts.Pane(x, y, bars + means[::-1])


def share_text(count: int, of: int) -> str:
    """`84%`; `<1%` and `>99%` where rounding would say none or all."""
    share = 100 * count / of
    if 0 < share < 1:
        return "<1%"
    return ">99%" if 99 < share < 100 else f"{share:.0f}%"  # noqa: PLR2004 -- per cent


def bin_of(value: float) -> int:
    """0 for exactly nothing, 11 for exactly all, and the tenth in between, each with its upper end."""
    if value <= 0:
        return 0
    return _BINS + 1 if value >= 1 else math.ceil(round(value * _BINS, 9))
