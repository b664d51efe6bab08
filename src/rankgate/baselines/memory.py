"""A memory of runs, wherever it is kept: history and what was accepted; and which record people mean."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from msgspec.structs import replace

from rankgate.baselines.records import Log, Record
from rankgate.errors import bad_input, shown
from rankgate.model.base_ref import LogChange
from rankgate.model.lineage import AnchorMark
from rankgate.model.report import TrendPoint

MAX_POINTS = 12  # of a trend
MAX_ACCEPTED = 4 * MAX_POINTS  # acceptances among which those of the points are looked for
SHORTEST, MAX_SHOWN = 4, 12  # digits by which a run may be named, and of a commit that are shown
_AND = "; "  # between reasons

# Called with the records of a log, oldest first: whether a new one does not belong behind them.
Unless = Callable[[Sequence[Record]], bool]


class Memory(Protocol):
    """Records in two logs, each in the order in which it grew, and the run files that they name.

    Whatever is added is added whole or not at all, also when the process is killed at any byte; two that add at once
    both get in. Nothing is ever overwritten. Every method raises a RankgateError where the place cannot be reached, or
    what it holds is damaged or of a newer schema. All that is said here holds for every kind of memory.
    """

    @property
    def spec(self) -> str:
        """How users name this place after `--baseline`."""

    def read(self, log: Log, *, last: int | None = None) -> Sequence[Record]:
        """The records of a log, or the last ones, oldest first; none where nothing was ever added."""

    def recent(self, log: Log, most: int, *, until: str) -> Sequence[Record]:
        """The last records of a log, at most so many, that are not dated after a day (2026-01-31), oldest first.

        What it costs grows with `most`, not with the log; a place where that cannot be may know fewer, or none.
        """

    def fetch(self, record: Record) -> bytes:
        """The compressed run file of a record, its digest checked; an error where it is not there, or is another."""

    def add(self, log: Log, record: Record, data: bytes, *, unless: Unless | None = None) -> bool:
        """Add a record with its compressed run file, where the place is not one that only others write.

        False where the log's last record of this id is the newest already, or `unless` says yes: nothing was written.
        That is called again each time that somebody else was quicker.
        """

    def keeps(self, record: Record) -> bool:
        """Whether the run file of a record is there; a place may keep but the accepted run and its anchor's."""

    def prune(self, log: Log, ids: Collection[str]) -> int:
        """Take records out of a log, and run files that no record names any more; how many records went.

        The record that is accepted now is refused, and so is its anchor.
        """


def lookup(memory: Memory, word: str) -> Record:
    """The record that a word names: `accepted`, or the first digits of an id or a commit.

    Of several for one id or one commit it is the newest.

    Raises:
        RankgateError: there is none, or these are the first digits of several.
    """
    accepted = memory.read("accepted")
    if word == "accepted":
        if not accepted:
            raise bad_input("nothing has been accepted yet", file=memory.spec)
        return accepted[-1]
    if len(word) >= SHORTEST:
        # Both are named by their digits; of a commit the newest record counts, as it does where a check chooses one.
        # Dates are compared as they are written; of one day what stands later in the logs.
        known = sorted([*memory.read("history"), *accepted], key=lambda record: record.date)
        by_name = {name: record for record in known for name in (record.commit, record.id) if name}
        meant = [word] if word in by_name else [name for name in by_name if name.startswith(word)]
        if len(meant) > 1:
            named_by = ", ".join(f"{name[:MAX_SHOWN]} of {by_name[name].date}" for name in meant)
            raise bad_input(f"{shown(word)} are the first digits of {named_by}; write more of them", file=memory.spec)
        if meant:
            return by_name[meant[0]]
    wanted = "an id, the first digits of a commit, or `accepted`"
    advice = f"name {wanted} (`rankgate baseline history` lists them)"
    raise bad_input(f"has no run {shown(word)}; {advice}", file=memory.spec)


def trend_of(history: Sequence[Record], accepted: Sequence[Record]) -> list[TrendPoint]:
    """A point for each recorded run, in their order; it was accepted where one of that id was, in that time."""
    ids = {record.id for record in accepted}
    return [
        TrendPoint(
            date=each.date, commit=each.commit, verdict=each.verdict, accepted=each.id in ids, scores=each.scores
        )
        for each in history
    ]


def amended(accepted: Sequence[Record], record: Record) -> Record:
    """What to keep of a run that is accepted again: its first record, with a reason that was given since.

    A job that is started again would else judge the run by itself and replace the reason for which it was accepted.
    Without a commit, another day is another acceptance. `accepted` is oldest first.
    """
    first = next(reversed(accepted), None)
    if first is None or first.id != record.id or not (record.commit or first.date == record.date):
        return record
    reasons = dict.fromkeys(reason for each in (first, record) if each.reason for reason in each.reason.split(_AND))
    by, branch = first.by or record.by, record.branch or first.branch
    anchor = record.anchor or first.anchor
    return replace(first, reason=_AND.join(reasons) or None, by=by, branch=branch, gold=record.gold, anchor=anchor)


def anchor_of(accepted: Sequence[Record], keeps: Callable[[Record], bool]) -> AnchorMark | None:
    """From which acceptance the losses of the next run add up, by the last of these; None where there is none.

    Records of an earlier release name none: then it is the oldest whose run is kept. `accepted` is oldest first.
    """
    if accepted and accepted[-1].anchor:
        return accepted[-1].anchor
    kept = next((row for row, each in enumerate(accepted) if keeps(each)), None)
    if kept is None:
        return None
    return AnchorMark(id=accepted[kept].id, date=accepted[kept].date, steps=len(accepted) - 1 - kept)


def anchored(accepted: Sequence[Record], record: Record, keeps: Callable[[Record], bool]) -> Record:
    """A record with its anchor: the one that it states, else that of the record before it; the first needs none."""
    before, own = anchor_of(accepted, keeps), record.anchor or None
    again = bool(accepted) and accepted[-1].id == record.id
    if before is None or (own is None and again) or (own is not None and own.id != before.id):
        return record
    if before.id == record.id:
        return replace(record, anchor=AnchorMark(id=before.id, date=before.date))
    if own is None:
        return replace(record, anchor=replace(before, steps=before.steps + 1))
    return replace(record, anchor=replace(own, given_up={**before.given_up, **own.given_up}))


def rewritten(base: Sequence[Record], head: Sequence[Record], anchor: AnchorMark | None) -> LogChange | None:
    """What a pull request did to the log of acceptances, by the base's and its own, both oldest first; None: it grew.

    The last of the base's, of which `anchor` is the anchor, may have been accepted again, with another reason.
    """
    if not base or anchor is None:
        return None
    *older, last = base
    if list(head[: len(older)]) != older or len(head) < len(base) or head[len(older)].id != last.id:
        return "log"
    same, newest = head[len(older)], head[-1]
    forged = bool(last.anchor) and same.anchor != last.anchor
    moved = (newest.anchor.id if newest.anchor else anchor.id) != anchor.id
    return "anchor" if forged or moved else None


def refuse_needed(accepted: Record | None, log: Log, ids: Collection[str], place: str) -> None:
    """Refuse to forget what is accepted now, or its anchor."""
    if accepted is None or log != "accepted":
        return
    if accepted.id in ids:
        raise bad_input(f"{accepted.id} is accepted now; it is not pruned", file=place)
    if accepted.anchor and accepted.anchor.id in ids:
        raise bad_input(f"small losses add up from {accepted.anchor.id}; it is not pruned", file=place)
