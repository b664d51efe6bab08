"""A memory of runs: history, what was accepted, and anchors, wherever it is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from msgspec.structs import replace

from rankgate.baselines.records import Log, Record

_AND = "; "  # between reasons

# Asked with the records of a log, oldest first, whether a new one does not belong behind them.
Unless = Callable[[Sequence[Record]], bool]


class Memory(Protocol):
    """Records in three logs, each in the order in which it grew, and the run files that they name.

    Whatever is added is added whole or not at all, also when the process is killed at any byte; two that add at once
    both get in. Nothing is ever overwritten. What methods raise is said here, for every kind of memory.
    """

    @property
    def spec(self) -> str:
        """How users name this place after `--baseline`."""

    def read(self, log: Log, *, last: int | None = None) -> Sequence[Record]:
        """The records of a log, or the last ones, oldest first; none where nothing was ever added.

        Raises:
            RankgateError: the place cannot be reached, or what it holds is damaged or of a newer schema.
        """

    def recent(self, log: Log, most: int, *, until: str) -> Sequence[Record]:
        """The last records of a log that are not dated after a day, oldest first.

        What it costs grows with `most`, not with the log; a place where that cannot be may know fewer, or none.

        Args:
            log: which.
            most: how many, at most.
            until: the day, as 2026-01-31.

        Raises:
            RankgateError: the place cannot be reached, or what was read is damaged or of a newer schema.
        """

    def fetch(self, record: Record) -> bytes:
        """The compressed run file of a record, its digest checked.

        Raises:
            RankgateError: it is not there, or is another one.
        """

    def add(self, log: Log, record: Record, data: bytes, *, unless: Unless | None = None) -> bool:
        """Add a record with its run file.

        Args:
            log: to which.
            record: what is added.
            data: its run file, compressed.
            unless: where it says yes nothing is written; asked again each time that somebody else was quicker.

        Returns:
            False where the log's last record of this id is the newest already, or `unless` says yes, so that nothing
            was written.

        Raises:
            RankgateError: the place cannot be written, or is one that only others write.
        """

    def prune(self, log: Log, ids: Collection[str]) -> int:
        """Take records out of a log, and run files that no record names any more; how many records went.

        Raises:
            RankgateError: as for `add`; also for the record that is accepted now.
        """


def amended(found: Sequence[Record], record: Record) -> Record:
    """What to keep of a run that is accepted again: its first record, with a reason that was given since.

    A job that is started again would else judge the run by itself and replace the reason for which it was accepted.
    Without a commit, another day is another acceptance.

    Args:
        found: what was accepted, oldest first.
        record: of the run that is accepted now.
    """
    first = next(reversed(found), None)
    if first is None or first.id != record.id or not (record.commit or first.date == record.date):
        return record
    reasons = dict.fromkeys(reason for each in (first, record) if each.reason for reason in each.reason.split(_AND))
    return replace(
        first,
        reason=_AND.join(reasons) or None,
        by=first.by or record.by,
        branch=record.branch or first.branch,
        gold=record.gold,
    )
