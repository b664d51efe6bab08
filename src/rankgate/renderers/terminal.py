"""The summary for a terminal or a log: verdict first, one line a gate, then the questions that lost most."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rankgate.model.conclusion import ConclusionKind
from rankgate.model.details import sampled
from rankgate.model.headline import other_sentences, sentence
from rankgate.model.reasons import waived_text
from rankgate.model.report import GateResult, Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers import phrases
from rankgate.renderers.answer_rows import answer_lines, answers_head, fate, loss_values, lost_answers
from rankgate.renderers.base_changes import changes
from rankgate.renderers.blocks import Block, Table, plain_text
from rankgate.renderers.escape import command_line, inert, listed, one_line, quoted, safe, visible
from rankgate.renderers.phrases import NOTHING, row_name
from rankgate.renderers.what_differs import differences_line, plain

MAX_MOVES = 3
MAX_QUERIES = 10
MAX_PROBLEMS = 20
_WORDS = {Verdict.FAIL: "Failure", Verdict.WARN: "Warning"}
HEADINGS = ("metric", "baseline", "now", "change", "limit", "status")


def render_terminal(report: Report) -> str:
    """The report as plain text."""
    return plain_text(terminal_blocks(report))


def terminal_blocks(report: Report) -> list[Block]:
    """The report as lines and tables; their layout and colours are the printer's business."""
    name, text = partial(safe, limit=60), partial(safe, limit=400)
    blocks: list[Block] = [f"{VERDICT_WORDS[report.verdict]}  {sentence(report, name, text)}"]
    if report.problems:
        blocks += ["", *(line for problem in report.problems[:MAX_PROBLEMS] for line in _indented(str(problem)))]
        more = len(report.problems) - MAX_PROBLEMS
        blocks += [f"  and {more} more"] if more > 0 else []
    if report.gates and report.conclusion.kind is not ConclusionKind.EMPTY:
        sentences = [
            _first_look(report),
            *_must_pass(report),
            *_waived(report),
            *(f"{_WORDS[verdict]}: {said}." for verdict, said in other_sentences(report, name, text)),
            *(change.text for change in changes(report, quoted)),
            differences_line(report, plain),
            *answer_lines(report, lambda text: plain(one_line(text, 80))),
            phrases.queries_line(report),
            phrases.segments_line(report, lambda tag: inert(one_line(tag, 40))),
            *phrases.odd_lines(report, quoted),
            *report.notes,
            *report.fine_print,
        ]
        blocks += ["", *_gates(report), *filter(None, sentences)]
    if report.conclusion.kind is not ConclusionKind.EMPTY:
        blocks += _moves(report) + _answers(report)
    return blocks + _next(report)


def _next(report: Report) -> list[Block]:
    command = report.conclusion.next
    line = f"{phrases.next_head(report)} {inert(command_line(command))}{phrases.next_tail(report)}"
    return ["", line] if command else []


def _gates(report: Report) -> list[Block]:
    """The gates, and what the data say of each value and each change beside these, or where that is too wide, below."""
    rows: list[Sequence[str]] = [(*HEADINGS[:3], "interval", HEADINGS[3], "interval", *HEADINGS[4:])]
    for gate in phrases.shown_gates(report):
        now = (phrases.gate_baseline(gate), phrases.gate_now(gate), phrases.gate_now_interval(gate))
        change = (phrases.gate_change(gate), phrases.gate_change_interval(gate), phrases.gate_limit(gate))
        rows.append((_label(gate, report), *now, *change, phrases.gate_status(gate).upper()))
    values = Table(rows=[(*row[:3], row[4], *row[6:]) for row in rows], right=(1, 2, 3))
    intervals = [(row[0], row[3] or NOTHING, row[5] or NOTHING) for row in rows[1:] if row[3] or row[5]]
    below = Table(rows=[("interval", "of the value", "of the change"), *intervals])
    return [Table(rows=rows, right=(1, 2, 4), instead=(values, below)) if intervals else values, ""]


def _first_look(report: Report) -> str:
    if not report.diagnosis:
        return ""
    before, tag, after = phrases.finding_parts(report.diagnosis[0])
    return f"What to look at first: {before}{one_line(tag, 80)}{after}."


def _waived(report: Report) -> list[str]:
    return [
        f"{_label(gate, report)} {waived_text(gate.waived)} by "
        + ", ".join(one_line(text, 120) for text in gate.waived.texts)
        for gate in report.gates
        if gate.waived
    ]


def _must_pass(report: Report) -> list[str]:
    return [
        f"Must pass and does not ({gate.metric}): {listed(gate.queries, MAX_QUERIES, partial(safe, limit=40))}"
        for gate in report.gates
        if gate.queries
    ]


def _label(gate: GateResult, report: Report) -> str:
    """The metric, and the gate's own name where several gates look at that metric."""
    return row_name(gate, own_name=gate.metric in phrases.shared_metrics(report))


def _moves(report: Report) -> list[Block]:
    worse = [move for move in report.misses if move.worse]
    if not worse or report.moved is None:
        return []
    lines: list[Block] = ["", f"{phrases.moved_head(report)}. The worst of each kind:"]
    for move in sampled(worse, lambda move: move.fate, MAX_MOVES):
        lines.append(f"  {safe(move.query_id, 40)}  {safe(move.question or move.query_id, 70)}")
        documents, _ = phrases.telling(move.documents, move.k, MAX_MOVES)
        lines += [f"    {safe(document.id, 60)}  {phrases.rank_move(document)}" for document in documents]
    return lines


def _answers(report: Report) -> list[Block]:
    lines: list[Block] = ["", f"{answers_head(report)}. The worst of each kind:"]
    for loss in (losses := lost_answers(report, MAX_MOVES)):
        where = f" ({loss.stage.value})" if loss.stage else ""
        lines.append(f"  {safe(loss.query_id, 40)}  {loss_values(loss, report)}{where}")
        lines += [f"    {quoted(each.text)} {fate(each, safe)}" for each in loss.claims[:MAX_MOVES]]
    return lines if losses else []


def _indented(text: str) -> list[str]:
    """A message by lines, each as far in as it was and two columns more, the following ones four."""
    return [
        f"{'    ' if place else '  '}{' ' * (len(line) - len(line.lstrip(' ')))}{visible(line.strip())}"
        for place, line in enumerate(text.splitlines())
    ]
