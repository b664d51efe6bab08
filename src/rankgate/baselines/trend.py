"""How it went before: the last runs of the main branch as they were recorded. From values to values."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.baselines.records import Record
from rankgate.model.report import TrendPoint

MAX_POINTS = 12
MAX_ACCEPTED = 4 * MAX_POINTS  # acceptances among which those of the points are looked for


def trend_of(history: Sequence[Record], accepted: Sequence[Record]) -> list[TrendPoint]:
    """A point for each recorded run, in their order.

    Args:
        history: recorded runs, oldest first.
        accepted: what was accepted in that time; a run of the history is one of them where the ids agree.
    """
    ids = {record.id for record in accepted}
    return [
        TrendPoint(
            date=record.date,
            commit=record.commit,
            verdict=record.verdict,
            accepted=record.id in ids,
            scores=record.scores,
        )
        for record in history
    ]
