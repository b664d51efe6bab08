"""The summary for a terminal or a log: the conclusion, what failed or warns, counts of the rest, what comes next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.model.wording import count_text
from rankgate.renderers.blocks import Block, Pairs, Table, plain_text
from rankgate.renderers.escape import Sentence, Text, one_line, plain
from rankgate.renderers.phrases import Note
from rankgate.renderers.view import EVERYTHING, Limits, Problems, View, view_of
from rankgate.renderers.view.numbers import HEADINGS, Row, Rows, cells_of

if TYPE_CHECKING:
    from rankgate.renderers.view.answers import LostAnswer
    from rankgate.renderers.view.questions import Lost

MAX_ROWS = 4  # a screen of 24 lines, with as many that wrap
LONGEST_PART = 24
_WORDS = {Verdict.FAIL: "Failure", Verdict.WARN: "Warning", Verdict.NOT_JUDGED: "Not judged", Verdict.PASS: "Note"}


def render_terminal(report: Report) -> str:
    """The report as plain text."""
    return plain_text(terminal_blocks(report))


def verdict_line(report: Report) -> str:
    """The verdict and the conclusion alone."""
    view = view_of(report)
    return f"{view.word}  {plain(view.conclusion)}"


def terminal_blocks(report: Report, *, everything: bool = False) -> list[Block]:
    """The report as lines and tables; their layout and colours are the printer's business.

    `everything` shows all rows, the worst questions, the parts and what was compared.
    """
    view = view_of(report, EVERYTHING if everything else Limits(first=MAX_ROWS))
    numbers, remarks = view.numbers, view.remarks
    blocks: list[Block] = [f"{view.word}  {plain(view.conclusion)}", *_problems(view.problems)]
    blocks += _paragraph([view.traffic.sentence] if view.traffic.sentence else [])
    blocks += _paragraph([("Look here first: ", *view.findings[0])] if view.findings else [])
    blocks += _table(numbers.all if everything else numbers.first, everything=everything)
    blocks += _paragraph(filter(None, [numbers.values, *map(_noted, remarks.warnings), *remarks.notes]))
    blocks += _all(view) if everything else _paragraph(_moved(view))
    if view.next.command:
        after = plain(view.next.after)
        blocks += ["", f"{view.next.before} {view.next.command.raw}{after}"]
    if view.next.if_meant:
        blocks += [plain(view.next.if_meant)]
    return blocks


def _paragraph(lines: Iterable[Sentence | str]) -> list[Block]:
    """Lines of which a text is spelled already."""
    shown = [line if isinstance(line, str) else plain(line) for line in lines]
    return ["", *shown] if shown else []


def _noted(note: Note) -> str:
    return f"{_WORDS[note.verdict]}: {plain(note.text)}"


def _problems(problems: Problems) -> list[Block]:
    """Each by lines, as far in as it was and two columns more, the following ones four."""
    lines: list[Block] = [
        f"{'    ' if index else '  '}{' ' * (len(line) - len(line.lstrip(' ')))}{one_line(line.strip())}"
        for problem in (*problems.first, *problems.further)
        for index, line in enumerate(problem.raw.splitlines())
    ]
    more = [f"  and {problems.more} more"] if problems.more else []
    return ["", *lines, *more] if lines else []


def _table(rows: Rows, *, everything: bool) -> list[Block]:
    """The rows, and below them what their numbers do not show."""
    if not rows.rows:
        return []
    cells: list[tuple[str, ...]] = [HEADINGS]
    notes: list[Block] = []
    for row in rows.rows:
        name = _name(row, rows)
        cells.append(cells_of(row, name))
        notes += [f"  {name}: {plain(note)}" for note in row.notes]
    narrow = Table(rows=[(*cell[:3], *cell[4:]) for cell in cells])
    more = [f"{rows.more}; --all shows them"] if rows.more else []
    note = ["", rows.note] if rows.note else []
    return ["", Table(rows=cells, instead=() if everything else (narrow,)), *notes, *more, *note]


def _name(row: Row, rows: Rows) -> str:
    """What a row is of, with the metric, which is no heading here, and the label of its gate."""
    if row.kind == "rest":
        return plain(row.name)
    metric: Sentence = (row.metric,)
    if row.label:
        metric = (row.metric, " (", Text(row.label, LONGEST_PART), ")")
    if row.part is not None:
        return plain((*metric, " · ", Text(row.part.raw, LONGEST_PART)))
    if row.kind == "whole" and rows.heading == row.metric:
        return plain((*metric, " · ", *row.name))
    return plain(metric)


def _moved(view: View) -> list[Sentence]:
    """How many questions and answers got worse, and the warnings that have no room."""
    counts = [each.moved for each in (view.questions, view.answers) if each.lost]
    counts += filter(None, [view.remarks.more_warnings])
    return [(f"{'; '.join(counts)}; --all shows them",)] if counts else []


def _all(view: View) -> list[Block]:
    """What stands behind the first screen of the comment."""
    blocks: list[Block] = []
    questions, answers, parts, changes = view.questions, view.answers, view.numbers.parts, view.gate_changes
    if questions.lost:
        blocks += ["", f"{questions.moved}. The worst:", *(line for lost in questions.lost for line in _question(lost))]
    if answers.lost:
        blocks += ["", f"{answers.moved}. The worst:", *(line for lost in answers.lost for line in _answer(lost))]
    if parts.rows:
        rows = [(plain(part.tag), f"{part.questions:,}", *(value.text for value in part.values)) for part in parts.rows]
        numbers = range(1, 2 + len(parts.metrics))
        blocks += ["", Table(rows=[("tag", "questions", *parts.metrics), *rows], right=tuple(numbers))]
        blocks += [f"and {count_text(parts.more, 'more tag')}, none of which lost more"] if parts.more else []
    blocks += _paragraph([*filter(None, [view.numbers.segments]), *map(_noted, view.remarks.reasons)])
    blocks += _paragraph([changes.base, *(change.text for change in changes.listed)] if changes.listed else [])
    blocks += _paragraph([*filter(None, [view.origins.differs]), *view.remarks.fine_print])
    return [*blocks, "", Pairs([(origin.kind, plain(origin.text)) for origin in view.origins.listed])]


def _question(lost: Lost) -> list[Block]:
    head = f"{_named(lost)}  {lost.metric} {lost.values}, {lost.cause}"
    return [head, *(f"    {plain(each.id)}  {each.move}" for each in lost.documents)]


def _answer(lost: LostAnswer) -> list[Block]:
    return [f"{_named(lost)}  {lost.values} ({lost.stage})", *(f"    {plain(claim)}" for claim in lost.claims)]


def _named(lost: Lost | LostAnswer) -> str:
    return f"  {plain(lost.id)}  {plain(lost.question)}" if lost.question else f"  {plain(lost.id)}"
