"""`report.html`: what the engineer who broke retrieval reads for ten minutes. The view chooses; this lays it out."""

from __future__ import annotations

from rankgate.model import wording
from rankgate.model.report import Report
from rankgate.renderers import phrases
from rankgate.renderers.escape import one_line
from rankgate.renderers.pages.curves import curves_of
from rankgate.renderers.pages.distribution import metric_of, spread_of
from rankgate.renderers.pages.questions import MAX_PASSAGE, MAX_PASSAGES, page_questions
from rankgate.renderers.pages.shell import page
from rankgate.renderers.pages.trend_chart import trend_of
from rankgate.renderers.view import ALL, Limits, view_of

OPEN_ROWS = 12  # of the gates
LIMITS = Limits(open=ALL, numbers=200, lost=20, answers=100, parts=40, metrics=8, changes=100, problems=200)
ICONS = {"pass": "✓", "warn": "!", "fail": "✕", "not_judged": "?"}  # letters, which every font has; words stand beside


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
