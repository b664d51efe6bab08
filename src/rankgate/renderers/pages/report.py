"""`report.html`: what the engineer who broke retrieval reads for ten minutes, in the order in which they need it."""

from __future__ import annotations

import msgspec

from rankgate.model.report import Diagnosis, Movement, Report
from rankgate.model.wording import VERDICT_WORDS, count_text, value_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import shorten, visible
from rankgate.renderers.pages import origins
from rankgate.renderers.pages.curves import curves_of
from rankgate.renderers.pages.forest import changes_chart
from rankgate.renderers.pages.gates import BAR_WIDTH, drift_lines, gate_lines, more_gates
from rankgate.renderers.pages.pairs import pairs_of
from rankgate.renderers.pages.panels import panel_rows
from rankgate.renderers.pages.shell import page
from rankgate.renderers.pages.spread import spread_of
from rankgate.renderers.pages.trend import trend_of
from rankgate.renderers.pages.triage import triage_of
from rankgate.renderers.phrases import CAUSE_WORDS
from rankgate.renderers.what_differs import differences_line, plain

MAX_PROBLEMS = 200
MAX_MOVES = 100
MAX_DOCUMENTS = 10
ICONS = {"pass": "✓", "warn": "!", "fail": "✕", "not_judged": "?"}  # letters, which every font has; words stand beside


def render_report(report: Report) -> str:
    """The page: one file with its style, its script and its pictures, which loads nothing.

    A report that was read from `report.json` has no rankings; the panels that need them say how to get them.

    Raises:
        RankgateError: there are pictures to draw, and the extra that draws them is not installed.
    """
    details = None if report.details is msgspec.UNSET else report.details
    base_changes, more_base_changes = origins.base_changes(report)
    return page(
        "report.html.j2",
        title=f"rankgate: {VERDICT_WORDS[report.verdict]}",
        styles=("report.css",),
        scripts=("report.js",),
        report=report,
        summary=shorten(visible(report.summary), 1200),
        word=VERDICT_WORDS.__getitem__,
        icons=ICONS,
        count=count_text,
        problems=[shorten(visible(str(problem)), 1000) for problem in report.problems[:MAX_PROBLEMS]],
        more_problems=max(0, len(report.problems) - MAX_PROBLEMS),
        gates=gate_lines(report),
        more_gates=more_gates(report),
        drift=drift_lines(report),
        bar_width=BAR_WIDTH,
        notes=[
            visible(text)
            for text in (
                phrases.queries_line(report),
                phrases.segments_line(report, visible),
                *phrases.odd_lines(report, plain),
                *report.notes,
            )
            if text
        ],
        fine_print=[visible(text) for text in report.fine_print],
        findings=[_finding(each) for each in report.diagnosis],
        differs=visible(differences_line(report, plain)),
        details=details,
        panel=panel_rows(details) if details else [],
        segments=changes_chart(details) if details else None,
        curves=curves_of(details) if details else None,
        spread=spread_of(details) if details else None,
        pairs=pairs_of(details) if details else None,
        triage=triage_of(details, report.gates) if details else None,
        causes=CAUSE_WORDS,
        moves=[] if details else moves_of(report),
        trend=trend_of(report),
        waivers=origins.waiver_lines(report),
        base_changes=base_changes,
        more_base_changes=more_base_changes,
        origins=origins.origins(report),
        facts=origins.facts(report),
        command=origins.command_of(report),
    )


def _finding(found: Diagnosis) -> tuple[str, str, str]:
    before, tag, after = phrases.finding_parts(found)
    return visible(before), shorten(visible(tag), 80), visible(after)


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A question that moved."""

    query_id: str
    question: str
    worse: bool
    values: str
    expected: tuple[tuple[str, str], ...]
    rest: str
    k: int
    instead: tuple[str, ...]


def moves_of(report: Report) -> list[Move]:
    """The report's list, the worst first."""
    return [_move(move, report) for move in report.misses[:MAX_MOVES]]


def _move(move: Movement, report: Report) -> Move:
    unit = report.metrics[move.metric].unit
    shown, folded = phrases.telling(move.documents, move.k, MAX_DOCUMENTS)
    return Move(
        query_id=shorten(visible(move.query_id), 80),
        question=shorten(visible(move.question or ""), 300),
        worse=move.worse,
        values=f"{move.metric} {value_text(move.before, unit)} → {value_text(move.after, unit)}",
        expected=tuple((shorten(visible(each.id), 120), phrases.rank_move(each)) for each in shown),
        rest=f"and {len(folded)} more" if folded else "",
        k=move.k,
        instead=tuple(shorten(visible(each), 120) for each in move.instead),
    )
