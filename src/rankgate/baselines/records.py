"""What a memory of runs holds: records, each complete in itself, in the order in which they were added.

What a later release wrote is refused by its number. A run that is accepted again keeps its first record, and each
record says from which acceptance small losses add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from rankgate import __version__
from rankgate.errors import bad_input
from rankgate.model.answers import JudgeMark
from rankgate.model.base_ref import CommitSha
from rankgate.model.lineage import AnchorMark, GoldMark
from rankgate.model.report import TrendPoint
from rankgate.model.values import Verdict
from rankgate.readers.dates import iso_day

SCHEMA_VERSION = 2
RESTORE = "restore it or accept a run again"  # of rankings, which another acceptance writes anew

# history: every run of the main branch. accepted: what gates compare with, the last of it now.
Log = Literal["history", "accepted"]
LOGS: tuple[Log, ...] = get_args(Log)

MAX_POINTS = 12  # of a trend
MAX_ACCEPTED = 4 * MAX_POINTS  # acceptances among which those of the points are looked for
_AND = "; "  # between reasons


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A stored run: where its rankings lie, what they are, where they came from, and why they count.

    `run` is the name of the compressed run file, `run-` and the first twelve digits of its digest `sha256`. It has
    `queries` lists, each down to `depth`, of which `cut` were longer; `kept` is what was kept beyond ids. So many
    `answers` are among it, and so many `verdicts` of judges on these; each is left out where there is none. `date` is
    the day of the record, from --date, as 2026-01-31. `source` is the run's file as it was named, `provenance` what the
    run says of itself, `gold` the gold set of that time. `commit` is that whose retriever made the run; None where
    nobody said. `verdict` is of the check at that time; None where it was not checked. `scores` has each gated metric's
    value at that time, for people and trends; a check scores the run again. `judge` judged its answers, and
    `packages` are the versions of those that gave it metrics beyond ours. `reason` is
    why a run was accepted although a gate said no, `rankgate` the version that wrote the record. `anchor` is the one
    from which small losses add up, which may be the record itself; of a log of acceptances alone.
    """

    schema_version: int = SCHEMA_VERSION
    run: str
    sha256: str
    depth: Annotated[int, msgspec.Meta(ge=1)]
    queries: int
    cut: int = 0
    kept: list[str]
    answers: int | UnsetType = UNSET
    verdicts: int | UnsetType = UNSET
    date: str
    source: str
    provenance: Mapping[str, Any]
    gold: GoldMark | None
    commit: CommitSha | None = None
    branch: str | None = None
    verdict: Verdict | None = None
    scores: Mapping[str, float | None] = {}
    judge: JudgeMark | UnsetType = UNSET
    packages: Mapping[str, str] | UnsetType = UNSET
    reason: str | None = None
    by: str | None = None
    anchor: AnchorMark | UnsetType = UNSET
    rankgate: str = __version__

    def __post_init__(self) -> None:
        """Days are compared as text and counted: what is read from a store has to be one."""
        if iso_day(self.date) != self.date:
            raise ValueError(f"date {self.date!a} is no day as 2026-01-31")

    @property
    def id(self) -> str:
        """Twelve digits by which two records of the same run at the same commit are one."""
        names = "\0".join([self.sha256, self.commit or ""])
        return hashlib.sha256(names.encode()).hexdigest()[:12]


def decode_record(data: bytes, file: str, *, advice: str) -> Record:
    """Read a record of today's schema; an error with advice where it is none, or is of a later rankgate."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version == SCHEMA_VERSION:
            return msgspec.json.decode(data, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad_input(f"damaged record: {error}; {advice}", file=file) from error
    if version > SCHEMA_VERSION:
        known = f"this rankgate reads ({SCHEMA_VERSION}); upgrade rankgate"
        raise bad_input(f"baseline schema {version} is newer than {known}", file=file)
    raise bad_input(f"damaged record: there is no schema {version}; {advice}", file=file)


class _Version(msgspec.Struct):
    schema_version: int


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
    if not accepted:
        return record
    first = accepted[-1]
    if first.id != record.id or not (record.commit or first.date == record.date):
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
