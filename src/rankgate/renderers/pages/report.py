"""`report.html`: what the engineer who broke retrieval reads for ten minutes, in the order in which they need it."""

from __future__ import annotations

from functools import partial

import msgspec

from rankgate.model import wording
from rankgate.model.lineage import lineage_note
from rankgate.model.reasons import sentences
from rankgate.model.report import BaselineSource, Diagnosis, GateResult, Report, Source
from rankgate.model.values import Direction, Unit
from rankgate.model.waiver_use import WaiverState
from rankgate.renderers import phrases
from rankgate.renderers.answer_rows import answer_lines, fate, loss_values, lost_answers
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import command_line, one_line, quoted, visible
from rankgate.renderers.pages.curves import curves_of
from rankgate.renderers.pages.pairs import pairs_of
from rankgate.renderers.pages.segments import changes_chart, way_of
from rankgate.renderers.pages.shell import page
from rankgate.renderers.pages.spread import spread_of
from rankgate.renderers.pages.trend import trend_of
from rankgate.renderers.pages.triage import mark_of, triage_of
from rankgate.renderers.what_differs import differences_line, plain

MAX_PROBLEMS = 200
MAX_GATES = 200
MAX_CHANGES = 100
MAX_MOVES = 100
MAX_FACTS = 20
BAR_WIDTH = 140.0
_PAD = 6.0
ICONS = {"pass": "✓", "warn": "!", "fail": "✕", "not_judged": "?"}  # letters, which every font has; words stand beside

WAIVER_STATES: dict[WaiverState, str] = {
    "in_force": "in force: lets the violation pass",
    "expiring": "in force, and ends within two weeks",
    "too_small": "without effect: the violation is larger than its ceiling",
    "expired": "without effect: expired",
    "unused": "unused: nothing is violated",
    "unknown": "without effect: there is no such gate or segment",
    "hard_check": "without effect: single questions fail, which no waiver covers",
    "not_judged": "unknown: nothing was judged",
}


def render_report(report: Report) -> str:
    """The page: one file with its style, its script and its pictures, which loads nothing.

    A report that was read from `report.json` has no rankings; the panels that need them say how to get them.

    Raises:
        RankgateError: there are pictures to draw, and the extra that draws them is not installed.
    """
    details = None if report.details is msgspec.UNSET else report.details
    notes = (
        *answer_lines(report, plain),
        phrases.queries_line(report),
        phrases.weights_line(report),
        phrases.segments_line(report, visible),
        *phrases.odd_lines(report, plain),
        *report.notes,
    )
    base_changes = changes(report, quoted)
    units = {gate.name: gate.unit for gate in report.gates}
    return page(
        "report.html.j2",
        title=f"rankgate: {wording.VERDICT_WORDS[report.verdict]}",
        styles=("report.css",),
        scripts=("report.js",),
        report=report,
        summary=one_line(report.summary, 1200),
        icons=ICONS,
        problems=[one_line(problem, 1000) for problem in report.problems[:MAX_PROBLEMS]],
        more_problems=max(0, len(report.problems) - MAX_PROBLEMS),
        gates=phrases.foremost(report, MAX_GATES),
        more_gates=max(0, len(phrases.shown_gates(report)) - MAX_GATES),
        drift=[gate for gate in report.gates if gate.since is not None],
        bar_width=BAR_WIDTH,
        notes=[visible(text) for text in notes if text],
        fine_print=[visible(text) for text in report.fine_print],
        findings=[_finding(each) for each in report.diagnosis],
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
        facts=facts(report),
        command=visible(command_line(report.provenance.command)),
        details=details,
        segments=changes_chart(details) if details else None,
        curves=curves_of(details) if details else None,
        spread=spread_of(details) if details else None,
        pairs=pairs_of(details) if details else None,
        triage=triage_of(details, report.gates) if details else None,
        phrases=phrases,
        wording=wording,
        facts_of=facts_of,
        waiver_states=WAIVER_STATES,
        about_of=about_of,
        bar_of=bar_of,
        count=wording.count_text,
        causes=phrases.CAUSE_WORDS,
        mark_of=mark_of,
        sentences=sentences,
        way_of=way_of,
    )


class Bar(msgspec.Struct, frozen=True):
    """A change and its interval as places on a line `BAR_WIDTH` long; `limit` is the largest allowed change."""

    zero: float
    change: float
    low: float
    high: float
    limit: float | None


def bar_of(gate: GateResult) -> Bar | None:
    """Where a change, its interval and the limit lie beside zero; a bound that is not known lies at the edge."""
    if gate.delta is None:
        return None
    low, high = gate.delta_ci or (gate.delta, gate.delta)
    limit = gate.regression_max
    if limit is not None and gate.direction is Direction.HIGHER:
        limit = -limit
    known = [0.0, gate.delta, *(value for value in (low, high, limit) if value is not None)]
    least, most = min(known), max(known)
    scale = (BAR_WIDTH - 2 * _PAD) / ((most - least) or 1.0)

    def place(value: float) -> float:
        return round(_PAD + (value - least) * scale, 1) if most > least else BAR_WIDTH / 2

    return Bar(
        zero=place(0.0),
        change=place(gate.delta),
        low=0.0 if low is None else place(low),
        high=BAR_WIDTH if high is None else place(high),
        limit=None if limit is None else place(limit),
    )


def about_of(gate: GateResult, report: Report) -> list[tuple[str, str]]:
    """What a row is about beside its metric, as pairs of our word and the input's."""
    by = [(f"by {report.base.judges}", "")] if gate.judged_by and report.base else []
    if gate.segment is not None:
        return [("only", one_line(gate.segment, 80)), *by]
    if gate.since is not None:
        return [("since", one_line(gate.since, 80)), *by]
    several = sum(each.is_main and each.metric == gate.metric for each in report.gates) > 1
    return [*([("gate", one_line(gate.name, 80))] if several else []), *by]


def _finding(found: Diagnosis) -> tuple[str, str, str]:
    before, tag, after = phrases.finding_parts(found)
    return visible(before), one_line(tag, 80), visible(after)


def facts_of(source: Source) -> tuple[list[tuple[str, str]], int]:
    """What an input says of itself, as (key, value), and how much more it says."""
    lineage = source.lineage if isinstance(source, BaselineSource) else None
    note = lineage_note(lineage) if lineage else None
    about = [(key, value) for key, value in source.about.items() if isinstance(value, str | int | float)]
    shown = [(one_line(key, 60), one_line(value, 120)) for key, value in about[:MAX_FACTS]]
    return [*([("accepted", visible(note))] if note else []), *shown], max(0, len(about) - MAX_FACTS)


def facts(report: Report) -> list[tuple[str, str]]:
    """The rest of the provenance, as (what, value)."""
    provenance = report.provenance
    known = (
        ("Criteria", provenance.criteria),
        ("Base", report.base.commit.shown if report.base else None),
        ("Judged on", provenance.date),
        ("rankgate", provenance.rankgate),
        ("Depth", None if provenance.depth is None else f"first {provenance.depth} results of each list"),
        ("Gold fingerprint", provenance.gold_fingerprint),
    )
    return [(what, one_line(value)) for what, value in known if value]
