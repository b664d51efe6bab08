"""The last records of a log whose lines lie one after the other: no more is read than they take."""

from __future__ import annotations

from collections.abc import Callable

from rankgate.baselines.migrations import decode_record
from rankgate.baselines.records import Record

USUAL_LINE = 2_048  # bytes of a record with a dozen metrics; where they are longer, more is read in a second step


def last_records(tail: Callable[[int], bytes], most: int, *, until: str, place: str, what: str) -> list[Record]:
    """The last records that are not dated after a day, oldest first.

    Args:
        tail: gives so many bytes from the end of the log, all of it where it has no more.
        most: how many, at most.
        until: the day.
        place: the log's, for messages.
        what: names the log in messages.

    Raises:
        RankgateError: what was read is damaged or of a newer schema.
    """
    size = max(most, 1) * USUAL_LINE
    while True:
        data = tail(size)
        whole = len(data) < size
        lines = data.splitlines()[0 if whole else 1 :]  # the first may be the end of one
        records = [decode_record(line, place, what=what) for line in lines if line.strip()]
        found = [record for record in records if record.date <= until]
        if whole or len(found) >= most:
            return found[max(0, len(found) - most) :]
        size *= 4
