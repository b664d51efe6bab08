"""The sections of the comment: a function that writes each one, and one row of the table at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized

import msgspec

from rankgate.model.conclusion import ConclusionKind
from rankgate.model.report import GateResult, Report
from rankgate.model.values import Verdict
from rankgate.model.wording import count_text, value_text
from rankgate.renderers import phrases, rows
from rankgate.renderers.answer_rows import answer_lines, answers_head, answers_text, lost_answers
from rankgate.renderers.escape import code
from rankgate.renderers.links import links_line
from rankgate.renderers.phrases import moved_head, value_or_dash
from rankgate.renderers.question_rows import all_listed, move_item, moved_line, moved_questions
from rankgate.renderers.rows import named

MAX_TRENDS = 6
MAX_TAGS = 60
MAX_GATES = 3  # above the folds; with segments one less
MAX_OPEN = 5  # gates, problems, reasons and notes there
MAX_NOTES = 2
LONGEST_OPEN = 300  # characters of a problem there
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
    always: bool = False  # it says something where it has no row, too


def sections(report: Report, room: Room) -> list[str]:
    """The parts of the comment below its first line, as Markdown, each within its room; folds unless all is well.

    Sections that have one title, side by side, lie in one fold.
    """
    calm = report.verdict is Verdict.PASS
    opened, folds = list[str](), dict[Callable[[Report], str] | str, list[str]]()
    for section in SECTIONS:
        if (room[section.key] or section.always) and (text := section.text(report, room)):
            (opened if section.title is None else folds.setdefault(section.title, [])).append(text)
    folded = [
        _folded(title if isinstance(title, str) else title(report), "\n\n".join(texts), calm=calm)
        for title, texts in folds.items()
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
    shown = [str(problem) for problem in report.problems[: room["problems"]]]
    lines = [f"- {code(problem, LONGEST_OPEN)}" for problem in shown[:MAX_OPEN]]
    rest = [f"- {code(problem, rows.LONGEST_SENTENCE)}" for problem in shown[MAX_OPEN:]]
    more = len(report.problems) - len(shown)
    rest += [f"- and {more:,} more in `report.json`"] if more > 0 else []
    text = "\n".join(["No verdict could be reached, so this does not count as passed. To fix it:\n", *lines])
    return _parts(text, _folded("More problems", "\n".join(rest), calm=False) if rest else "")


def _gates(report: Report, room: Room) -> str:
    groups = phrases.decided(report)
    more, see = len(groups) - room["gates"], ": see all numbers" if room["numbers"] else ""
    left = f"{count_text(more, 'more gate')} {phrases.VERBS[report.verdict][more > 1]}{see}."
    return _parts(_table(rows.group_rows(report, groups[: room["gates"]])), left * (more > 0))


def _first_gates(report: Report) -> Sequence[Sequence[GateResult]]:
    groups = phrases.decided(report)[:MAX_GATES]
    return groups[: MAX_GATES - any(len(group) > 1 for group in groups)]


def _open(report: Report) -> int:
    """How many reasons stand above the folds: the fewer the more gates, problems and commands do."""
    gates = min(len(phrases.decided(report)), len(_first_gates(report)) + 1)
    others = len(report.problems) + bool(report.conclusion.next)
    return max(0, min(MAX_OPEN - gates - others, len(rows.all_reasons(report, phrases.deciding(report)))))


def _reasons(report: Report, room: Room) -> str:
    return _listed(_reason_items(report, 0, room["warnings"]))


def _more_reasons(report: Report, room: Room) -> str:
    segments = _segments(report) if room["numbers"] and report.verdict is not Verdict.PASS else ""
    return _parts(_listed(_reason_items(report, room["warnings"], room["reasons"])), segments)


def _reason_items(report: Report, start: int, most: int) -> list[str]:
    """Of the reasons of all gates, those first that decided, so many from there on."""
    return [reason() for reason in _all_reasons(report)[start : start + most]] if most else []


def _all_reasons(report: Report) -> list[Callable[[], str]]:
    return rows.all_reasons(report, [*phrases.deciding(report), *phrases.others(report)])


def _base(report: Report, room: Room) -> str:
    return "\n".join([f"{rows.base_head(report)}\n", *rows.base_items(report)[: room["base"]]])


def _noted(report: Report) -> int:
    """How many notes stand above the folds: where all is well, and where they say whom to believe."""
    return MAX_NOTES if report.verdict is Verdict.PASS or report.untrusted_run or report.base else 0


def _notes(report: Report, room: Room) -> str:
    if not report.gates and not report.base:
        return ""
    lines = [named(phrases.values_line(report), report), _segments(report)] if report.verdict is Verdict.PASS else []
    lines.append(rows.accepted_by_reason(report))
    return " ".join(filter(None, [*lines, named(" ".join(report.notes[: min(room["notes"], _noted(report))]), report)]))


def _segments(report: Report) -> str:
    return phrases.segments_line(report, lambda text: code(text, 80))


def _questions(report: Report, room: Room) -> str:
    parts = [moved_line(report, room["questions"])]
    for heading, moves in moved_questions(report, room["questions"]):
        parts += [heading, "\n".join(move_item(move, report) for move in moves)]
    listed = "All of them" if all_listed(report) else f"The {len(report.misses)} that moved most"
    return _parts(*parts, f"{listed} are in `report.json`.")


def _numbers_head(report: Report) -> str:
    """`All numbers: 1 gate fails, 3 gates hold`."""
    return f"All numbers: {phrases.others_line(report, every=True)}" if report.gates else "All numbers"


def _numbers(report: Report, room: Room) -> str:
    return _table(rows.gate_rows(report, phrases.foremost(report, room["numbers"])))


def _tags(report: Report, room: Room) -> str:
    table = [
        rows.segment_head(report),
        *(rows.segment_row(segment, report) for segment in report.segments[: room["tags"]]),
    ]
    more = len(report.segments) - room["tags"]
    left = f"{count_text(more, 'more tag is', 'more tags are')} in `report.json`." if more > 0 else ""
    return _parts("**By tag**", "\n".join(table), left)


def _trend(report: Report, room: Room) -> str:
    head = "| Metric | Trend | Lowest | Highest | Newest | This run |\n|:--|:--|--:|--:|--:|--:|"
    return "\n".join([f"**{trend_head(report)}**\n", head, *trend_rows(report)[: room["trend"]]])


def _compared(report: Report, room: Room) -> str:
    noted = [*report.notes, *report.fine_print][_noted(report) : room["notes"]]
    lines = [" ".join(answer_lines(report, code)), phrases.queries_line(report)]
    lines = [*(named(line, report) for line in [*lines, " ".join(noted)]), rows.odd_line(report)]
    return _parts(*lines[: len(lines) * bool(report.gates)], "\n".join(rows.compared(report)[: room["compared"]]))


def _parts(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _table(shown: Sequence[str]) -> str:
    return "\n".join(["| Status | Metric | Change | Limit |\n|:--|:--|:--|:--|", *shown]) if shown else ""


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


def _tag_count(report: Report) -> int:
    return min(len(report.segments), MAX_TAGS)


def _lost(report: Report) -> int:
    return report.answers.worse if report.answers else 0


def _further(report: Report) -> int:
    return len(_all_reasons(report)) - _open(report) if report.gates else 0


def _judged(items: Callable[[Report], Sized]) -> Callable[[Report], int]:
    """How many there are, where gates were judged."""
    return lambda report: len(items(report)) if report.gates else 0


def _measured(items: Callable[[Report], Sized]) -> Callable[[Report], int]:
    """The same, where the run is not empty: of that no metric says anything."""
    empty = ConclusionKind.EMPTY
    return lambda report: len(items(report)) if report.gates and report.conclusion.kind is not empty else 0


_LOST = ("answer that got worse", "answers that got worse")
_CHANGES = ("change of the gate", "changes of the gate")
_LINES = ("line of what was compared", "lines of what was compared")
_ROWS = ("row of numbers", "rows of numbers")
_FINDING = "what to look at first"
_DIFFERS = "what differs from the baseline"
_BASE_HEAD = "What the pull request changes of the gate"
_COMPARED = "What was compared, and how to repeat it"

# In the order in which they stand.
SECTIONS = (
    Section("problems", 16, ("problem", None), _problem_count, _problems, of=lambda r: len(r.problems)),
    Section("finding", 8, _FINDING, _measured(lambda r: r.diagnosis[:1]), lambda r, _: rows.first_look(r)),
    Section("links", 13, "links", lambda r: int(bool(links_line(r))), lambda r, _: links_line(r)),
    Section("gates", 15, ("gate", None), _measured(_first_gates), _gates, of=lambda r: len(phrases.decided(r))),
    Section("next", 14, "the next command", lambda r: int(bool(r.conclusion.next)), lambda r, _: rows.next_line(r)),
    Section("warnings", 12, ("other reason", None), lambda r: _open(r) if r.gates else 0, _reasons),
    Section("notes", 6, ("note", None), lambda r: len(r.notes) + len(r.fine_print), _notes, always=True),
    Section("base", 11, _CHANGES, lambda r: len(rows.base_items(r)), _base, _BASE_HEAD),
    Section("answers", 4, _LOST, _judged(lost_answers), answers_text, answers_head, _lost),
    Section("questions", 3, ("moved question", None), _question_count, _questions, moved_head, lambda r: len(r.misses)),
    Section("numbers", 10, _ROWS, _measured(phrases.shown_gates), _numbers, _numbers_head),
    Section("reasons", 9, ("further reason", None), _further, _more_reasons, _numbers_head, always=True),
    Section("tags", 2, ("tag", None), _tag_count, _tags, _numbers_head, lambda r: len(r.segments)),
    Section("trend", 1, ("trend", None), lambda r: len(trend_rows(r)), _trend, _numbers_head),
    Section("differs", 7, _DIFFERS, _judged(lambda r: rows.differs(r)[:1]), lambda r, _: rows.differs(r), _COMPARED),
    Section("compared", 5, _LINES, lambda r: len(rows.compared(r)), _compared, _COMPARED, always=True),
)
