"""Logs of records as values: what a run that is accepted again keeps, and from where small losses add up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from rankgate.baselines.records import Log, Record
from rankgate.errors import bad_input
from rankgate.model.lineage import AnchorMark
from rankgate.model.report import TrendPoint

MAX_POINTS = 12  # of a trend
MAX_ACCEPTED = 4 * MAX_POINTS  # acceptances among which those of the points are looked for
_AND = "; "  # between reasons


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
    reasons = dict.fromkeys([*_reasons(first), *_reasons(record)])
    by = first.by or record.by
    branch = record.branch or first.branch
    anchor = record.anchor or first.anchor
    return replace(first, reason=_AND.join(reasons) or None, by=by, branch=branch, gold=record.gold, anchor=anchor)


def _reasons(record: Record) -> list[str]:
    return record.reason.split(_AND) if record.reason else []


def anchor_of(accepted: Sequence[Record], keeps: Callable[[Record], bool]) -> AnchorMark | None:
    """From which acceptance the losses of the next run add up, by the last of these; None where there is none.

    The first record names none: then it is the oldest whose run is kept. `accepted` is oldest first.
    """
    if accepted and accepted[-1].anchor:
        return accepted[-1].anchor
    kept = next((row for row, each in enumerate(accepted) if keeps(each)), None)
    if kept is None:
        return None
    return AnchorMark(id=accepted[kept].id, date=accepted[kept].date, steps=len(accepted) - 1 - kept)


def anchored(accepted: Sequence[Record], record: Record, keeps: Callable[[Record], bool]) -> Record:
    """A record with its anchor: the one that it states, else that of the record before it; the first needs none."""
    before = anchor_of(accepted, keeps)
    stated = record.anchor or None
    again = bool(accepted) and accepted[-1].id == record.id
    if before is None or (stated is None and again) or (stated is not None and stated.id != before.id):
        return record
    if before.id == record.id:
        return replace(record, anchor=AnchorMark(id=before.id, date=before.date))
    if stated is None:
        return replace(record, anchor=replace(before, steps=before.steps + 1))
    return replace(record, anchor=replace(stated, given_up={**before.given_up, **stated.given_up}))


def refuse_needed(accepted: Record | None, log: Log, ids: Collection[str], spec: str) -> None:
    """Refuse to forget what is accepted now, or its anchor."""
    if accepted is None or log != "accepted":
        return
    if accepted.id in ids:
        raise bad_input(f"{accepted.id} is accepted now; it is not pruned", file=spec)
    if accepted.anchor and accepted.anchor.id in ids:
        raise bad_input(f"small losses add up from {accepted.anchor.id}; it is not pruned", file=spec)
