"""What a baseline is: an accepted run, opened for scoring, with the depth to which it was stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from rankgate.errors import RankgateError
from rankgate.model.lineage import How, Lineage
from rankgate.model.values import RunField, Verdict
from rankgate.readers.base import Run

if TYPE_CHECKING:
    from rankgate.baselines.memory import Memory
    from rankgate.baselines.records import Record


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A record, how it was chosen, and how many commits it lies behind; None where it is no known ancestor."""

    record: Record
    how: How
    commits_behind: int | None = None


def choose(records: Sequence[Record], ancestors: Sequence[str], *, branch: str | None = None) -> Chosen | None:
    """Choose among accepted records, oldest first; None where there are none.

    The last record of the nearest of the `ancestors`, of which the first is the one to compare with, that has any; else
    the newest record of the base branch, else the newest.
    """
    latest = {record.commit: record for record in records if record.commit is not None}
    for behind, commit in enumerate(ancestors):
        if commit in latest:
            how: How = "ancestor" if behind else "merge_base"
            return Chosen(record=latest[commit], how=how, commits_behind=behind)
    of_branch = [record for record in records if branch is not None and record.branch == branch]
    others = of_branch or list(records)
    return Chosen(record=others[-1], how="newest") if others else None


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Where a check stands: its day, and the commits before it.

    It stands in the repository around the directory `tree`, if any: where HEAD left `base`, or at HEAD where no base is
    named. `branch` is the base branch, where it is known.
    """

    date: str
    tree: str | None = None
    base: str | None = None
    branch: str | None = None

    def ancestors(self, wanted: Collection[str]) -> Sequence[str]:
        """The commit to compare with and those before it, the nearest first, up to a wanted one at least.

        None where there is no repository.
        """
        if self.tree is None:
            return ()
        from rankgate.files.git import known_ancestors  # noqa: PLC0415 -- paid only where a record names a commit

        return known_ancestors(wanted, self.base, at=self.tree)


class BaselineStore(Protocol):
    """A place that holds the accepted run."""

    @property
    def memory(self) -> Memory | None:
        """All that the place remembers; None where it is but a run."""

    def open(self, needs: frozenset[RunField], *, deepest: int = 0, where: Where | None = None) -> Run | None:
        """The accepted run, or None where nothing has been accepted yet; of several that for `where`, or the newest.

        `needs` is what the metrics read beyond ids; an error where it is damaged, of a newer rankgate, or does not
        reach the rank `deepest`, the lowest that a metric reads by its cut-off.
        """


class MemoryStore(msgspec.Struct, frozen=True):
    """A store that remembers for which commit each run was accepted; a `copy` holds the one that was chosen."""

    memory: Memory
    copy: bool = False

    def open(self, needs: frozenset[RunField], *, deepest: int = 0, where: Where | None = None) -> Run | None:
        """The run that was accepted for the commit to compare with, or for the nearest one before it."""
        chosen = chosen_of(self.memory, where, copy=self.copy)
        while chosen is not None:
            try:
                run = open_record(self.memory, chosen.record, needs, deepest=deepest)
                lineage = lineage_of(chosen, where.date) if where else None
                return replace(run, gold=self.memory.gold_of(chosen.record), lineage=lineage)
            except RankgateError:  # whoever accepts a run at this moment deletes the one before
                now = chosen_of(self.memory, where, copy=self.copy)
                if now == chosen:
                    raise
                chosen = now
        return None


def chosen_of(memory: Memory, where: Where | None, *, copy: bool = False) -> Chosen | None:
    """The accepted record that counts where a check stands, else the newest; None where nothing was accepted yet.

    Where only the newest one's rankings are kept it is that: which commit's it is was decided by who merged it.
    """
    records = memory.read("accepted", last=None if memory.every_run else 1)
    commits = {record.commit for record in records if record.commit}
    ancestors = where.ancestors(commits) if where is not None and commits else ()
    if memory.every_run or copy or not records:
        return choose(records, ancestors, branch=where.branch if where else None)
    [record] = records
    behind = ancestors.index(record.commit) if record.commit in ancestors else None
    return Chosen(record=record, how="here", commits_behind=behind)


def open_record(memory: Memory, record: Record, needs: frozenset[RunField], *, deepest: int = 0) -> Run:
    """A record's run; an error where it is not there, damaged, or not stored deep enough."""
    from rankgate.baselines.packing import refuse_shallow, unpack  # noqa: PLC0415 -- paid only where a run is stored

    refuse_shallow(record, deepest, name=memory.spec)
    return unpack(record, memory.fetch(record), needs, name=memory.spec)


class KeptRun(msgspec.Struct, frozen=True):
    """The run of one record of a store, by the store's name, or by another."""

    memory: Memory
    record: Record
    deepest: int = 0
    name: str | None = None

    def open(self, needs: frozenset[RunField]) -> Run:
        """The run; raises as `open_record` does."""
        run = open_record(self.memory, self.record, needs, deepest=self.deepest)
        return replace(run, name=self.name) if self.name else run


def lineage_of(chosen: Chosen, date: str) -> Lineage:
    """What a report of a check on that day says of the record that it compares with."""
    from rankgate.readers.dates import days_between  # noqa: PLC0415 -- as above

    record = chosen.record
    return Lineage(
        record=record.id,
        date=record.date,
        commit=record.commit,
        branch=record.branch,
        how=chosen.how,
        commits_behind=chosen.commits_behind,
        days_behind=days_between(record.date, date),
        reason=record.reason,
        by=record.by,
        failed=record.verdict is Verdict.FAIL,
        judge=record.judge or None,
        packages=record.packages or {},
    )
