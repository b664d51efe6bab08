"""`report.html`: what the engineer who broke retrieval reads for ten minutes, in the order in which they need it."""

from __future__ import annotations

from functools import partial

import msgspec

from rankgate.model import wording
from rankgate.model.lineage import lineage_note
from rankgate.model.reasons import sentences
from rankgate.model.report import GateResult, Report
from rankgate.model.values import Unit
from rankgate.renderers import phrases
from rankgate.renderers.answer_rows import answer_lines, fate, loss_values, lost_answers
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import command_line, one_line, quoted, visible
from rankgate.renderers.pages.curves import curves_of
from rankgate.renderers.pages.distribution import spread_of
from rankgate.renderers.pages.questions import MAX_PASSAGE, MAX_PASSAGES, questions_data
from rankgate.renderers.pages.segments import changes_charts, scales_of
from rankgate.renderers.pages.shell import page
from rankgate.renderers.pages.trend_chart import trend_of
from rankgate.renderers.what_differs import differences_line, plain

MAX_PROBLEMS = 200
OPEN_GATES, MAX_GATES = 12, 200  # rows that stand open, and in all
MAX_CHANGES = 100
MAX_MOVES = 100
ICONS = {"pass": "✓", "warn": "!", "fail": "✕", "not_judged": "?"}  # letters, which every font has; words stand beside


def render_report(report: Report, *, judged: bool = True) -> str:
    """The page: one file with its style, its script and its pictures, which loads nothing.

    A report that was read from `report.json` has no rankings; the panels that need them say how to get them. Where
    nothing was `judged`, the page compares two runs: the summary is its title, and there is no verdict.
    """
    details = None if report.details is msgspec.UNSET else report.details
    scales = scales_of(report, details)
    notes = (
        *answer_lines(report, plain),
        phrases.queries_line(report),
        phrases.segments_line(report, visible),
        *phrases.odd_lines(report, plain),
        *report.notes,
    )
    base_changes = changes(report, quoted)
    questions = questions_data(details, report) if details else None
    units = {gate.name: gate.unit for gate in report.gates}
    return page(
        "report.html.j2",
        title=f"rankgate: {wording.VERDICT_WORDS[report.verdict]}" if judged else one_line(report.summary),
        judged=judged,
        styles=("report.css",),
        scripts=("report.js",),
        data={"question-data": questions} if questions and questions["way"] else {},
        report=report,
        summary=one_line(report.summary, 1200),
        icons=ICONS,
        problems=[one_line(problem, 1000) for problem in report.problems[:MAX_PROBLEMS]],
        more_problems=max(0, len(report.problems) - MAX_PROBLEMS),
        gates=phrases.foremost(report, OPEN_GATES),
        folded_gates=phrases.foremost(report, MAX_GATES, after=OPEN_GATES),
        more_gates=max(0, len(phrases.shown_gates(report)) - MAX_GATES),
        notes=[visible(text) for text in notes if text],
        fine_print=[visible(text) for text in report.fine_print],
        findings=[phrases.finding_parts(each) for each in report.diagnosis],
        differs=visible(differences_line(report, plain)),
        moves=report.misses[:MAX_MOVES],
        losses=lost_answers(report, MAX_MOVES),
        loss_values=loss_values,
        fate=partial(fate, spell=partial(one_line, limit=120)),
        trend=trend_of(report),
        waivers=[(waiver, units.get(waiver.gate, Unit.NUMBER)) for waiver in report.waivers],
        base_changes=base_changes[:MAX_CHANGES],
        more_base_changes=max(0, len(base_changes) - MAX_CHANGES),
        inputs=phrases.inputs_of(report.provenance),
        command=visible(command_line(report.provenance.command)),
        details=details,
        scales=scales,
        segments=changes_charts(details, scales) if details else None,
        curves=curves_of(details) if details else None,
        spread=spread_of(details) if details else None,
        questions=questions,
        limits=(MAX_PASSAGE, MAX_PASSAGES // 1_000_000),
        phrases=phrases,
        wording=wording,
        lineage_note=lineage_note,
        about_of=about_of,
        count=wording.count_text,
        sentences=sentences,
    )


def about_of(gate: GateResult, report: Report) -> list[tuple[str, str]]:
    """What a row is about beside its metric, as pairs of our word and the input's."""
    if gate.segment is not None:
        return [("only", one_line(gate.segment, 80))]
    return [("gate", one_line(gate.name, 80))] if gate.metric in phrases.shared_metrics(report) else []
