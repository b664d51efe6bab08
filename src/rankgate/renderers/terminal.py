"""The summary for a terminal or a log: verdict first, one line a gate, then the questions that lost most."""

from __future__ import annotations

from rankgate.model.details import sampled
from rankgate.model.headline import other_sentences
from rankgate.model.reasons import waived_text
from rankgate.model.report import GateResult, Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers import phrases
from rankgate.renderers.blocks import Block, Table, plain_text
from rankgate.renderers.escape import inert, quoted, shorten, visible
from rankgate.renderers.phrases import NOTHING, row_name
from rankgate.renderers.what_differs import differences_line, plain

MAX_MOVES = 3
MAX_QUERIES = 10
MAX_PROBLEMS = 20
HEADINGS = ("metric", "baseline", "now", "change", "limit", "status")


def render_terminal(report: Report) -> str:
    """The report as plain text."""
    return plain_text(terminal_blocks(report))


def terminal_blocks(report: Report) -> list[Block]:
    """The report as lines and tables; their layout and colours are the printer's business."""
    lines: list[Block] = [f"{VERDICT_WORDS[report.verdict]}  {report.summary}"]
    if report.problems:
        lines.append("")
        for problem in report.problems[:MAX_PROBLEMS]:
            lines += _indented(str(problem))
        if len(report.problems) > MAX_PROBLEMS:
            lines.append(f"  and {len(report.problems) - MAX_PROBLEMS} more")
    if report.gates:
        rows = [
            (
                _label(gate, report),
                phrases.gate_baseline(gate),
                phrases.gate_now(gate),
                phrases.gate_change(gate),
                phrases.gate_limit(gate),
                phrases.gate_status(gate).upper(),
            )
            for gate in phrases.shown_gates(report)
        ]
        lines += ["", Table(rows=[HEADINGS, *rows], right=(1, 2, 3)), "", *_intervals(report)]
        lines += filter(
            None,
            [
                _first_look(report),
                *_must_pass(report),
                *_waived(report),
                *_warnings(report),
                *_changed(report),
                differences_line(report, plain),
                phrases.queries_line(report),
                phrases.segments_line(report, lambda tag: inert(shorten(visible(tag), 40))),
                *phrases.odd_lines(report, quoted),
                *report.notes,
                *report.fine_print,
            ],
        )
    return lines + _moves(report)


def _intervals(report: Report) -> list[Block]:
    """What the data say of each value and each change, where they say anything."""
    rows = [
        (
            _label(gate, report),
            phrases.gate_now_interval(gate) or NOTHING,
            phrases.gate_change_interval(gate) or NOTHING,
        )
        for gate in phrases.shown_gates(report)
        if gate.ci or gate.delta_ci
    ]
    return [Table(rows=[("interval", "of the value", "of the change"), *rows]), ""] if rows else []


def _first_look(report: Report) -> str:
    """What to look at first, or nothing."""
    if not report.diagnosis:
        return ""
    before, tag, after = phrases.finding_parts(report.diagnosis[0])
    return f"What to look at first: {before}{shorten(visible(tag), 80)}{after}."


def _warnings(report: Report) -> list[str]:
    """Warnings that no gate has, where the headline says something else."""
    words = {Verdict.FAIL: "Failure", Verdict.WARN: "Warning"}
    return [f"{words[verdict]}: {text}." for verdict, text in other_sentences(report)]


def _waived(report: Report) -> list[str]:
    """Who lets which violation pass, and why."""
    return [
        f"{_label(gate, report)} {waived_text(gate.waived)} by "
        + ", ".join(shorten(visible(text), 120) for text in gate.waived.texts)
        for gate in report.gates
        if gate.waived
    ]


def _changed(report: Report) -> list[str]:
    """What the pull request changed of the gate."""
    if report.base is None:
        return []
    from rankgate.renderers.base_changes import changes  # noqa: PLC0415 -- paid only with a base

    return [change.text for change in changes(report, quoted)]


def _must_pass(report: Report) -> list[str]:
    """The queries that must pass and do not, by gate."""
    return [
        f"Must pass and does not ({gate.metric}): "
        + ", ".join(shorten(inert(visible(query)), 40) for query in gate.queries[:MAX_QUERIES])
        + (f" and {len(gate.queries) - MAX_QUERIES} more" if len(gate.queries) > MAX_QUERIES else "")
        for gate in report.gates
        if gate.queries
    ]


def _label(gate: GateResult, report: Report) -> str:
    """The metric, and the gate's own name where several gates look at that metric."""
    return row_name(gate, own_name=sum(each.is_main and each.metric == gate.metric for each in report.gates) > 1)


def _moves(report: Report) -> list[Block]:
    worse = [move for move in report.misses if move.worse]
    if not worse or report.moved is None:
        return []
    lines: list[Block] = ["", f"{phrases.moved_head(report)}. The worst of each kind:"]
    for move in sampled(worse, lambda move: move.fate, MAX_MOVES):
        question = inert(visible(move.question or move.query_id))
        lines.append(f"  {shorten(inert(visible(move.query_id)), 40)}  {shorten(question, 70)}")
        documents, _ = phrases.telling(move.documents, move.k, MAX_MOVES)
        lines += [f"    {shorten(inert(visible(doc.id)), 60)}  {phrases.rank_move(doc)}" for doc in documents]
    return lines


def _indented(text: str) -> list[str]:
    """A message by lines, each as far in as it was and two columns more, the following ones four."""
    found = text.splitlines()
    return [
        f"{'  ' if index == 0 else '    '}{' ' * (len(line) - len(line.lstrip(' ')))}{visible(line.strip())}"
        for index, line in enumerate(found)
    ]
