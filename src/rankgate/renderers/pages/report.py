"""`report.html`: what the engineer who broke retrieval reads for ten minutes. The view chooses; this lays it out.

Recall and nDCG at growing cut-offs are one pair of curves over all questions, and small ones by segment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from rankgate.model import wording
from rankgate.model.details import ReportDetails, Sweep
from rankgate.model.report import Report
from rankgate.model.values import Unit
from rankgate.renderers import phrases
from rankgate.renderers.escape import one_line
from rankgate.renderers.pages import charts
from rankgate.renderers.pages.distribution import metric_of, spread_of
from rankgate.renderers.pages.questions import MAX_PASSAGE, MAX_PASSAGES, page_questions
from rankgate.renderers.pages.shell import page
from rankgate.renderers.pages.trend_chart import trend_of
from rankgate.renderers.view import ALL, Limits, view_of

OPEN_ROWS = 12  # of the gates
LIMITS = Limits(open=ALL, numbers=200, lost=20, answers=100, parts=40, metrics=8, changes=100, problems=200)
ICONS = {"pass": "✓", "warn": "!", "fail": "✕", "not_judged": "?"}  # letters, which every font has; words stand beside

MAX_SEGMENTS = 12
NAMES = {"recall": "recall", "ndcg": "nDCG"}
_UNITS = {"recall": Unit.SHARE, "ndcg": Unit.SCORE}


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
        phrases=phrases,
        wording=wording,
        count=wording.count_text,
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
    compared, whole = any(sweep.baseline for each in tags.values() for sweep in each), tags.pop(None, [])
    kept, others = list(tags.values())[:MAX_SEGMENTS], list(tags)[MAX_SEGMENTS:]  # in the order of the panel
    floor = _floor([sweep for each in kept for sweep in each])
    return Curves(
        whole=tuple(_chart([sweep], f"curve-{sweep.measure}", 352, 258, _floor(whole)) for sweep in whole),
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
    whole, k = sweep.tag is None, sweep.cutoffs
    ticks = charts.ticks_of(floor, 1.0, _UNITS[sweep.measure], 7 if whole else 3)
    y = charts.Axis(floor, 1.0, height - (44 if whole else 24), 24, ticks, NAMES[sweep.measure])
    between = [each for each in ((2, 5, 10, 20, 50) if whole else (5, 20)) if 1.5 * k[0] < each < k[-1] / 1.5]
    numbers = [(each, f"{each}") for each in (k[0], *between, k[-1])]
    x = charts.Axis(k[0], k[-1], left + y.margin, left + width - 16, numbers, "first k results" * whole, log=True)
    runs = [(charts.NOW, "circle", sweep.candidate, sweep.knee, f"knee {sweep.knee}" * whole)]
    if sweep.baseline:  # dashes lie on the line where both are one
        runs.append((charts.BEFORE, "diamond", sweep.baseline, sweep.baseline_knee, ""))
    size = 5.5 if whole else 3.5
    lines: list[charts.Line] = []
    marks: list[charts.Mark] = []
    for color, shape, values, knee, text in runs:
        lines.append(charts.Line(list(zip(k, values, strict=True)), color, 2, charts.DASHES[color]))
        marks += [charts.Mark(*point, shape, color, size, text=text) for point in lines[-1].points if point[0] == knee]
    return charts.Pane(x, y, lines, marks)
