"""What a memory of runs holds: one record a line, each complete in itself, in the order in which they were added."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from rankgate import __version__
from rankgate.model.base_ref import CommitSha
from rankgate.model.gold_changes import GoldMark
from rankgate.model.values import Verdict
from rankgate.readers.dates import iso_day

SCHEMA_VERSION = 2  # 1: a manifest that knew neither commit nor verdict nor scores; see `migrations`

# history: every run of the main branch. accepted: what gates compare with, the last of it now. anchors: named runs that
# stay, by which one sees what many small accepted drops add up to.
Log = Literal["history", "accepted", "anchors"]
LOGS: tuple[Log, ...] = get_args(Log)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A stored run: where its rankings lie, what they are, where they came from, and why they count.

    Attributes:
        run: the name of the compressed run file, `run-` and the first twelve digits of its digest.
        sha256: the whole digest of that file.
        depth: ranks kept of each list.
        queries: how many lists.
        cut: how many lists were longer.
        kept: what was kept beyond ids.
        answers: how many of the lists have an answer; left out where none has.
        verdicts: how many verdicts of judges on these answers are kept with them; left out where none is.
        date: the day of the record, from --date, as 2026-01-31.
        source: the run's file as it was named.
        provenance: what the run says of itself.
        gold: the gold set of that time.
        commit: the commit whose retriever made the run; None where nobody said.
        branch: its branch.
        verdict: of the check at that time; None where it was not checked.
        scores: each gated metric's value at that time, for people and trends; a check scores the run again.
        reason: why a run was accepted although a gate said no.
        by: who accepted it.
        name: an anchor's name.
        rankgate: the version that wrote the record.
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
    reason: str | None = None
    by: str | None = None
    name: str | None = None
    rankgate: str = __version__

    def __post_init__(self) -> None:
        """Days are compared as text and counted: what is read from a store has to be one."""
        if iso_day(self.date) != self.date:
            raise ValueError(f"date {self.date!a} is no day as 2026-01-31")

    @property
    def id(self) -> str:
        """Twelve digits by which two records of the same run at the same commit are one."""
        said = "\0".join([self.sha256, self.commit or "", self.name or ""])
        return hashlib.sha256(said.encode()).hexdigest()[:12]
