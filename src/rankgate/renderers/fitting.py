"""The comment within a limit: which rows go first, how many have to, and the line that says what was left out."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rankgate.model.report import Report
from rankgate.model.wording import count_text
from rankgate.renderers import phrases, rows
from rankgate.renderers.question_rows import moved_questions
from rankgate.renderers.segment_rows import MOST_TAGS
from rankgate.renderers.trend_rows import trend_rows

MARKER_ROOM = 512  # characters for the hidden line by which the comment is found again
COMMENT_LIMIT = 65_536 - MARKER_ROOM  # characters; GitHub refuses a longer comment
SUMMARY_BYTES = 65_535  # bytes, whatever GitHub's documentation says of characters
_FIRST_TRY = 128  # rows: more than most comments have
LEAST = 2_000  # characters or bytes: room for the verdict, the counts and what was left out


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows each section of the comment shows; `left_out` says what had to go, or is empty.

    `notes` counts the report's notes and its fine print, in this order.
    """

    problems: int
    gates: int
    warnings: int
    base: int
    finding: int
    differs: int
    notes: int
    questions: int
    tags: int
    trend: int
    compared: int
    left_out: str = ""


def usual_room(report: Report) -> Room:
    """What the comment shows where nothing is in the way: long lists are cut to what people read."""
    judged = bool(report.gates)
    return Room(
        problems=min(len(report.problems), rows.MOST_PROBLEMS),
        gates=len(phrases.shown_gates(report)),
        warnings=len(rows.other_reasons(report)) if judged else 0,
        base=len(rows.base_items(report)) if judged else 0,
        finding=min(len(report.diagnosis), 1) if judged else 0,
        differs=int(bool(rows.differs(report))) if judged else 0,
        notes=len(report.notes) + len(report.fine_print) if judged else 0,
        questions=sum(len(moves) for _, moves in moved_questions(report)),
        tags=min(len(report.segments), MOST_TAGS),
        trend=len(trend_rows(report)),
        compared=len(rows.compared(report)),
    )


def fitted(report: Report, render: Callable[[Room], str], limit: int, measure: Callable[[str], int] = len) -> str:
    """The comment with as many rows as fit.

    Rows go from the last of a section to its first, and sections in this order: trend, tags, questions that moved, what
    was compared, notes, what differs from the baseline, what to look at first, gates that did not decide, what the pull
    request changed of the gate, reasons of no gate, gates that decided with their reasons, problems. The verdict's
    sentence and the counts stay.

    Args:
        report: what is shown.
        render: the comment with a given room.
        limit: at most this, by `measure`; at least `LEAST`.
        measure: the length of a text, in characters unless told otherwise.

    Raises:
        ValueError: the limit is less than `LEAST`.
    """
    if limit < LEAST:
        raise ValueError(f"no comment fits into {limit}: the least is {LEAST}")
    usual = usual_room(report)
    steps = _steps(report, usual)
    total = sum(count for _, count in steps)

    def shown(kept: int) -> str:
        return render(usual if kept == total else _without(report, usual, steps, total - kept))

    # Few rows fit and many do not: from few on, so that ten thousand are never laid out to be thrown away.
    fits, text, tried = 0, shown(0), min(total, _FIRST_TRY)
    while measure(longer := shown(tried)) <= limit:
        if tried == total:
            return longer
        fits, text, tried = tried, longer, min(total, 2 * tried)
    while tried - fits > 1:
        middle = (fits + tried) // 2
        if measure(longer := shown(middle)) <= limit:
            fits, text = middle, longer
        else:
            tried = middle
    return text


def _steps(report: Report, room: Room) -> list[tuple[str, int]]:
    """Sections with how many rows can be dropped of them, in the order in which that happens."""
    idle = len(phrases.others(report))
    return [
        ("trend", room.trend),
        ("tags", room.tags),
        ("questions", room.questions),
        ("compared", room.compared),
        ("notes", room.notes),
        ("differs", room.differs),
        ("finding", room.finding),
        ("gates", idle),
        ("base", room.base),
        ("warnings", room.warnings),
        ("gates", room.gates - idle),
        ("problems", room.problems),
    ]


def _without(report: Report, usual: Room, steps: list[tuple[str, int]], count: int) -> Room:
    """The room that is left when the first `count` rows are dropped."""
    kept: dict[str, int] = {name: getattr(usual, name) for name, _ in steps}
    for name, most in steps:
        dropped = min(most, count)
        kept[name] -= dropped
        count -= dropped
    return Room(**kept, left_out=_left_out(report, usual, kept))


def _left_out(report: Report, usual: Room, kept: dict[str, int]) -> str:
    """What the comment would show and does not, counted against all of it that the report has."""
    sections = (
        ("problems", len(report.problems), "problem", None),
        ("gates", usual.gates, "gate", None),
        ("warnings", usual.warnings, "other reason", None),
        ("base", usual.base, "change of the gate", "changes of the gate"),
        ("notes", usual.notes, "note", None),
        ("questions", len(report.misses), "moved question", None),
        ("tags", len(report.segments), "tag", None),
        ("trend", usual.trend, "trend", None),
        ("compared", usual.compared, "line of what was compared", "lines of what was compared"),
    )
    parts = [
        f"{total - kept[name]:,} of {count_text(total, one, many)}"
        for name, total, one, many in sections
        if kept[name] < getattr(usual, name)
    ]
    sentences = (("differs", "what differs from the baseline"), ("finding", "what to look at first"))
    parts += [words for name, words in sentences if kept[name] < getattr(usual, name)]
    return f"Left out to fit: {', '.join(parts)}; they are in `report.json`."
