"""The questions that moved as `report.json` alone lists them: without rankings."""

from __future__ import annotations

import msgspec

from rankgate.renderers.escape import shorten, visible
from rankgate.renderers.phrases import rank_move, telling
from rankgate.report import Movement, Report
from rankgate.wording import value_text

MOST_MOVES = 100
MOST_DOCUMENTS = 10


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
    return [_move(move, report) for move in report.misses[:MOST_MOVES]]


def _move(move: Movement, report: Report) -> Move:
    unit = report.metrics[move.metric].unit
    shown, folded = telling(move.documents, move.k, MOST_DOCUMENTS)
    return Move(
        query_id=shorten(visible(move.query_id), 80),
        question=shorten(visible(move.question or ""), 300),
        worse=move.worse,
        values=f"{move.metric} {value_text(move.before, unit)} → {value_text(move.after, unit)}",
        expected=tuple((shorten(visible(each.id), 120), rank_move(each)) for each in shown),
        rest=f"and {len(folded)} more" if folded else "",
        k=move.k,
        instead=tuple(shorten(visible(each), 120) for each in move.instead),
    )
