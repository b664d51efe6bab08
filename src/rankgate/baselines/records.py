"""What a memory of runs holds: one record a line, each complete in itself, in the order in which they were added.

Records as earlier releases wrote them become those of today; what a later one wrote is refused by its number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from rankgate import __version__
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.model.answers import JudgeMark
from rankgate.model.base_ref import CommitSha
from rankgate.model.gold_changes import GoldMark
from rankgate.model.lineage import AnchorMark
from rankgate.model.values import Verdict
from rankgate.readers.dates import iso_day

SCHEMA_VERSION = 2  # 1: a manifest that knew neither commit nor verdict nor scores
RESTORE = "restore it from version control or accept a run again"  # true where accepting puts a whole one in its place

# history: every run of the main branch. accepted: what gates compare with, the last of it now.
Log = Literal["history", "accepted"]
LOGS: tuple[Log, ...] = get_args(Log)


class DamagedRecordError(RankgateError):
    """A record that cannot be read; where it is the manifest of a directory, accepting a run again fixes it."""


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


def decode_record(
    data: bytes, file: str, *, line: int | None = None, what: str = "baseline manifest", advice: str = RESTORE
) -> Record:
    """Read a record of any schema up to today's; a `DamagedRecordError` where it is none, an error if it is newer."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SCHEMA_VERSION:
            known = f"this rankgate reads ({SCHEMA_VERSION}); upgrade rankgate"
            raise bad_input(f"baseline schema {version} is newer than {known}", file=file, line=line)
        if version == SCHEMA_VERSION:
            return msgspec.json.decode(data, type=Record)
        raw = msgspec.json.decode(data, type=dict[str, Any])
        for older in range(version, SCHEMA_VERSION):
            raw = FORWARD[older](raw)
        return msgspec.convert(raw, Record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError) as error:
        why = f"has no schema {error}" if isinstance(error, KeyError) else str(error)
        raise DamagedRecordError([Problem(f"damaged {what}: {why}; {advice}", file, line)]) from error


def _from_1(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Schema 1 knew neither commit nor verdict nor scores, and called the day `accepted`."""
    kept = {key: value for key, value in raw.items() if key != "accepted"}
    return {**kept, "schema_version": 2, **({"date": raw["accepted"]} if "accepted" in raw else {})}


# From each schema to the next.
FORWARD: Mapping[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {1: _from_1}


class _Version(msgspec.Struct):
    schema_version: int
