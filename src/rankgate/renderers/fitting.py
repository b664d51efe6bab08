"""The comment within a limit: which rows go first, how many have to, and the line that says what was left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rankgate.model.report import Report
from rankgate.model.wording import count_text
from rankgate.renderers import sections
from rankgate.renderers.sections import Room, Section

MARKER_ROOM = 512  # characters for the hidden line by which the comment is found again
COMMENT_LIMIT = 65_536 - MARKER_ROOM  # characters; GitHub refuses a longer comment
SUMMARY_BYTES = 65_535  # bytes, whatever GitHub's documentation says of characters
_FIRST_TRY = 128  # rows: more than most comments have
LEAST = 2_000  # characters or bytes: room for the verdict, the counts and what was left out


def usual_room(report: Report) -> dict[str, int]:
    """What each section shows where nothing is in the way: long lists are cut to what people read."""
    return _room(_budgets(report))


def _budgets(report: Report) -> list[tuple[Section, int]]:
    return [(section, section.usual(report)) for section in sections.SECTIONS]


def _room(budgets: Sequence[tuple[Section, int]]) -> dict[str, int]:
    room: dict[str, int] = {}
    for section, count in budgets:
        room[section.key] = room.get(section.key, 0) + count
    return room


def fitted(report: Report, render: Callable[[Room, str], str], limit: int, measure: Callable[[str], int] = len) -> str:
    """The comment with as many rows as fit.

    Rows go from the last of a section to its first, and sections in the turn that their rows in `SECTIONS` state. The
    verdict's sentence and the counts stay. `render` takes the room and the line that says what was left out; `measure`
    gives the length of a text.

    Raises:
        ValueError: the limit is less than `LEAST`.
    """
    if limit < LEAST:
        raise ValueError(f"no comment fits into {limit}: the least is {LEAST}")
    budgets = _budgets(report)
    usual = _room(budgets)
    total = sum(usual.values())

    def shown(kept: int) -> str:
        if kept == total:
            return render(usual, "")
        room = _without(budgets, total - kept)
        return render(room, _left_out(report, usual, room))

    # Few rows fit and many do not: from few on, so that ten thousand are never laid out to be thrown away.
    fits, text, tried, most = 0, shown(0), min(total, _FIRST_TRY), total + 1
    while most - fits > 1:
        if measure(longer := shown(tried)) <= limit:
            fits, text = tried, longer
        else:
            most = tried
        tried = min(total, 2 * tried) if most > total else (fits + most) // 2
    return text


def _without(budgets: Sequence[tuple[Section, int]], count: int) -> dict[str, int]:
    """The room that is left when the first `count` rows are dropped."""
    kept = _room(budgets)
    for section, usual in sorted(budgets, key=lambda each: each[0].goes):
        dropped = min(usual, count)
        kept[section.key] -= dropped
        count -= dropped
    return kept


def _left_out(report: Report, usual: Room, kept: Room) -> str:
    """What the comment would show and does not, counted against all of it that the report has."""
    cut = [each for key, each in {each.key: each for each in sections.SECTIONS}.items() if kept[key] != usual[key]]
    counts: list[str] = []
    for section in cut:
        if not isinstance(section.said, str):
            total = section.of(report) if section.of else usual[section.key]
            counts.append(f"{total - kept[section.key]:,} of {count_text(total, *section.said)}")
    clauses = [section.said for section in cut if isinstance(section.said, str)]
    return f"Left out to fit: {', '.join(counts + clauses)}; they are in `report.json`."
