"""The sections of the comment: a function that writes each one, and one row of the table at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from rankgate.model.report import GateResult, Report
from rankgate.model.values import Verdict
from rankgate.model.wording import count_text, value_text
from rankgate.renderers import phrases, rows
from rankgate.renderers.answer_rows import answer_lines, answers_head, answers_text, lost_answers
from rankgate.renderers.escape import code
from rankgate.renderers.phrases import moved_head, value_or_dash
from rankgate.renderers.question_rows import all_listed, move_item, moved_line, moved_questions
from rankgate.renderers.rows import named
from rankgate.renderers.segment_rows import MAX_TAGS, segment_head, segment_legend, segment_row

MAX_TRENDS = 6
_LEVELS = "▁▂▃▄▅▆▇█"

Room = Mapping[str, int]


class Section(msgspec.Struct, frozen=True):
    """A part of the comment, how many rows it shows, and how the last line counts those that are left out."""

    key: str  # names its rows in `room`; sections may share one
    goes: int  # its turn where not all fit; rows of the lowest are dropped first
    said: tuple[str, str | None] | str  # a row and several in words, or a clause for a section that is one sentence
    usual: Callable[[Report], int]  # how many rows where nothing is in the way
    text: Callable[[Report, Room], str]  # its Markdown within the room; nothing where it has nothing to show
    title: Callable[[Report], str] | str | None = None  # of the fold that it lies in; None: it stands above the folds
    of: Callable[[Report], int] | None = None  # all that the report has, which left out rows are counted against


def sections(report: Report, room: Room) -> list[str]:
    """The parts of the comment below its first line, as Markdown, each within its room; folds unless all is well."""
    calm = report.verdict is Verdict.PASS
    texts = [(section.title, section.text(report, room)) for section in SECTIONS]
    opened = [text for title, text in texts if title is None and text]
    folded = [
        _folded(title if isinstance(title, str) else title(report), text, calm=calm)
        for title, text in texts
        if title and text
    ]
    if calm:
        folded = ["<details>\n<summary>Gates, tags, what was compared, and how to repeat it</summary>", *folded]
        folded.append("</details>")
    return opened + folded


def _folded(title: str, text: str, *, calm: bool) -> str:
    if calm:
        return f"**{title}**\n\n{text}"
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def _problems(report: Report, room: Room) -> str:
    if not report.problems:
        return ""
    lines = [f"- {code(str(problem), 600)}" for problem in report.problems[: room["problems"]]]
    more = len(report.problems) - room["problems"]
    lines += [f"- and {count_text(more, 'more', 'more')} in `report.json`"] if more > 0 else []
    return "\n".join(["No verdict could be reached, so this does not count as passed. To fix it:\n", *lines])


def _finding(report: Report, room: Room) -> str:
    return rows.first_look(report) if room["finding"] else ""


def _gates(report: Report, room: Room) -> str:
    return _table(report, phrases.deciding(report, room["gates"]))


def _reasons(report: Report, room: Room) -> str:
    why = rows.reasons(report, phrases.deciding(report, room["gates"]))
    return _listed([*why, *rows.other_reasons(report, room["warnings"])]) if report.gates else ""


def _base(report: Report, room: Room) -> str:
    if not room["base"]:
        return ""
    return "\n".join([f"{rows.base_head(report)}\n", *rows.base_items(report)[: room["base"]]])


def _differs(report: Report, room: Room) -> str:
    return rows.differs(report) if room["differs"] and report.verdict is not Verdict.PASS else ""


def _notes(report: Report, room: Room) -> str:
    if not report.gates:
        return ""
    values = named(phrases.values_line(report), report) if report.verdict is Verdict.PASS else ""
    segments = phrases.segments_line(report, lambda text: code(text, 80))
    counted = [named(line(report), report) for line in (phrases.queries_line, phrases.weights_line)]
    lines = [values, *counted, segments, rows.odd_line(report)]
    noted = " ".join(filter(None, [*lines, named(" ".join(report.notes[: room["notes"]]), report)]))
    return "\n\n".join(filter(None, [named(" ".join(answer_lines(report, code)), report), noted]))


def _questions(report: Report, room: Room) -> str:
    if not room["questions"]:
        return ""
    parts = [moved_line(report, room["questions"])]
    for heading, moves in moved_questions(report, room["questions"]):
        parts += [heading, "\n".join(move_item(move, report) for move in moves)]
    listed = "All of them" if all_listed(report) else f"The {len(report.misses)} that moved most"
    return "\n\n".join(filter(None, [*parts, f"{listed} are in `report.json`."]))


def _others_head(report: Report) -> str:
    return phrases.others_line(report).capitalize()


def _other_gates(report: Report, room: Room) -> str:
    beside = phrases.others(report, room["gates"])
    return f"{_table(report, beside)}\n\n{_listed(rows.reasons(report, beside))}".rstrip()


def _tags(report: Report, room: Room) -> str:
    if not room["tags"]:
        return ""
    table = [segment_head(report), *(segment_row(segment, report) for segment in report.segments[: room["tags"]])]
    more = len(report.segments) - room["tags"]
    left = f"{count_text(more, 'more tag is', 'more tags are')} in `report.json`." if more > 0 else ""
    return "\n\n".join(filter(None, ["\n".join(table), segment_legend(report), left]))


def _trend(report: Report, room: Room) -> str:
    if not room["trend"]:
        return ""
    head = "| Metric | Trend | Lowest | Highest | Newest | This run |\n|:--|:--|--:|--:|--:|--:|"
    return "\n".join([head, *trend_rows(report)[: room["trend"]]])


def _compared(report: Report, room: Room) -> str:
    differs = rows.differs(report) if room["differs"] and report.verdict is Verdict.PASS else ""
    fine_print = [*report.notes, *report.fine_print][len(report.notes) : room["notes"]]
    items = "\n".join(rows.compared(report)[: room["compared"]])
    return "\n\n".join(filter(None, [differs, named(" ".join(fine_print), report), items]))


def _table(report: Report, gates: Sequence[GateResult]) -> str:
    head = "| Metric | Baseline | Now | Change | Limit | Status |\n|:--|--:|--:|:--|:--|:--|"
    return "\n".join([head, *rows.gate_rows(report, gates)]) if gates else ""


def _listed(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def trend_head(report: Report) -> str:
    """`The last 8 runs of the main branch, 2026-01-02 to 2026-01-30`; nothing where no history is known."""
    if not report.trend:
        return ""
    days = list(dict.fromkeys((report.trend[0].date, report.trend[-1].date)))
    runs = f"The last {len(report.trend)} runs" if len(report.trend) > 1 else "The last run"
    return f"{runs} of the main branch, {' to '.join(days)}"


def trend_rows(report: Report) -> list[str]:
    """A row a metric: its values drawn from old to new, the lowest, the highest, the newest, and this run's."""
    lines: list[str] = []
    for name, metric in list(report.metrics.items())[:MAX_TRENDS]:
        values = [point.scores.get(name) for point in report.trend]
        known = [value for value in values if value is not None]
        if not known:
            continue
        shown = [value_text(value, metric.unit) for value in (min(known), max(known), known[-1])]
        now = value_or_dash(metric.value, metric.unit)
        lines.append(f"| **{named(name, report)}** | `{spark(values)}` | {' | '.join(shown)} | {now} |")
    return lines


def spark(values: list[float | None]) -> str:
    """One character a value, as high as the value lies between the lowest and the highest; `·` where there is none."""
    known = [value for value in values if value is not None]
    low, width = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)

    def level(value: float) -> str:
        return _LEVELS[round((value - low) / width * (len(_LEVELS) - 1))] if width > 0 else _LEVELS[3]

    return "".join("·" if value is None else level(value) for value in values)


def _problem_count(report: Report) -> int:
    return min(len(report.problems), rows.MAX_PROBLEMS)


def _question_count(report: Report) -> int:
    return sum(len(moves) for _, moves in moved_questions(report))


def _where_judged(count: Callable[[Report], int]) -> Callable[[Report], int]:
    return lambda report: count(report) if report.gates else 0


_FINDING = _where_judged(lambda report: min(len(report.diagnosis), 1))
_REASONS = _where_judged(lambda report: len(rows.other_reasons(report)))
_BASE = _where_judged(lambda report: len(rows.base_items(report)))
_DIFFERS = _where_judged(lambda report: int(bool(rows.differs(report))))
_NOTES = _where_judged(lambda report: len(report.notes) + len(report.fine_print))
_ANSWERS = _where_judged(lambda report: len(lost_answers(report)))
_LOST = ("answer that got worse", "answers that got worse")
_CHANGES = ("change of the gate", "changes of the gate")
_LINES = ("line of what was compared", "lines of what was compared")
_COMPARED = "What was compared, and how to repeat it"

# In the order in which they stand.
SECTIONS = (
    Section("problems", 13, ("problem", None), _problem_count, _problems, of=lambda r: len(r.problems)),
    Section("finding", 8, "what to look at first", _FINDING, _finding),
    Section("gates", 12, ("gate", None), lambda r: len(phrases.deciding(r)), _gates),
    Section("warnings", 11, ("other reason", None), _REASONS, _reasons),
    Section("base", 10, _CHANGES, _BASE, _base),
    Section("differs", 7, "what differs from the baseline", _DIFFERS, _differs),
    Section("notes", 6, ("note", None), _NOTES, _notes),
    Section("answers", 4, _LOST, _ANSWERS, answers_text, answers_head, lambda r: r.answers.worse if r.answers else 0),
    Section("questions", 3, ("moved question", None), _question_count, _questions, moved_head, lambda r: len(r.misses)),
    Section("gates", 9, ("gate", None), lambda r: len(phrases.others(r)), _other_gates, _others_head),
    Section("tags", 2, ("tag", None), lambda r: len(r.segments[:MAX_TAGS]), _tags, "By tag", lambda r: len(r.segments)),
    Section("trend", 1, ("trend", None), lambda r: len(trend_rows(r)), _trend, trend_head),
    Section("compared", 5, _LINES, lambda r: len(rows.compared(r)), _compared, _COMPARED),
)
