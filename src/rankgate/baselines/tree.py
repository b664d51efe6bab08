"""A memory of runs as a small tree of files, whatever keeps the tree: a directory, a branch of a repository.

    manifest.json             the record that is accepted now, to be read by people and by `check`
    accepted.jsonl            every record that ever was, the last of it now
    history.jsonl             every run of the main branch
    run-<12 digits>.jsonl.gz  run files, named by their content

A record in a log leaves out the digest of each gold query: the manifest has it, and ten thousand of them would not be
small.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

import msgspec
from msgspec.structs import replace

from rankgate.baselines.memory import Unless, amended, anchored, refuse_needed
from rankgate.baselines.packing import RUN, checked, run_name
from rankgate.baselines.records import LOGS, RESTORE, SCHEMA_VERSION, DamagedRecordError, Log, Record, decode_record
from rankgate.errors import Problem, RankgateError, bad_input


class Tree(Protocol):
    """A few files that change together. Every method raises a RankgateError where the place cannot be used."""

    @property
    def spec(self) -> str:
        """How users name this place after `--baseline`."""

    def read(self, name: str) -> bytes | None:
        """A file as the tree had it when it was last refreshed; None where there is none."""

    def tail(self, name: str, size: int) -> bytes:
        """The last bytes of a file, all of it where it has no more; nothing where there is none."""

    def names(self) -> list[str]:
        """The names of all files."""

    def commit(self, writes: Mapping[str, bytes], deletes: Collection[str], message: str) -> bool:
        """Write and delete files in one step; nothing, and False, where the tree has changed since it was read."""

    def still(self) -> AbstractContextManager[None]:
        """Nobody writes while this is open, where the place can promise that; reading sees what is whole."""

    def refresh(self) -> None:
        """Look at the tree again."""


MANIFEST = "manifest.json"
USUAL_LINE = 2_048  # bytes of a record with a dozen metrics; where they are longer, more is read in a second step
_FROM_GIT = "restore it from version control"  # what accepting a run does not fix
MAX_ROUNDS = 200  # of others that get in first; each round one of them has succeeded


class NotKeptError(RankgateError):
    """A run that is remembered by its numbers alone."""


def log_name(log: Log) -> str:
    """The file of a log."""
    return f"{log}.jsonl"


class TreeMemory:
    """A `Memory` in a tree.

    With `every_run` it keeps the run file of every record; else of the one that is accepted now and of its anchor.
    `repairs` says whether accepting a run replaces a manifest that cannot be read; by default it never does.
    `left_over` is how many accepted records a killed acceptance may leave behind the manifest's: one where the log is
    written before it, none where all files change at once.
    """

    def __init__(
        self, tree: Tree, *, every_run: bool = True, repairs: Callable[[], bool] = bool, left_over: int = 1
    ) -> None:
        self.tree = tree
        self._every_run, self._repairs, self._left_over = every_run, repairs, left_over

    @property
    def spec(self) -> str:
        """The tree's."""
        return self.tree.spec

    def accepted(self) -> Record | None:
        """What is accepted now, by the manifest; an error where that is gone and something says that there was one."""
        place, advice = f"{self.spec}/{MANIFEST}", RESTORE if self._repairs() else _FROM_GIT
        data = self.tree.read(MANIFEST)
        if data is not None:
            return decode_record(data, place, advice=advice)
        if witness := self._witness():
            message = f"is not there, and {witness}: it was deleted, or an acceptance was interrupted; {advice}"
            raise DamagedRecordError([Problem(message, place)])
        return None

    def read(self, log: Log, *, last: int | None = None) -> list[Record]:
        """The records of a log, or the last ones, oldest first."""
        return (self._settled()[1] if log == "accepted" else self._log(log))[-last if last else 0 :]

    def recent(self, log: Log, most: int, *, until: str) -> list[Record]:
        """As `Memory` says; what a killed acceptance left behind the manifest's record may be among the accepted."""
        name = log_name(log)
        tail = partial(self.tree.tail, name)
        return last_records(tail, most, until=until, place=f"{self.spec}/{name}", what=f"log of {log}")

    def fetch(self, record: Record) -> bytes:
        """The compressed run file of a record, its digest checked."""
        data = self.tree.read(record.run) if RUN.fullmatch(record.run) else None
        if data is None:
            if not self._keeps(record):
                which = f"the run {record.id} of {record.date} is remembered by its numbers alone"
                kept = "this place keeps the rankings of what is accepted now and of its anchor"
                raise NotKeptError([Problem(f"{which}: {kept}", self.spec)])
            raise bad_input(f"damaged baseline: the run {record.run!r} is not there; {RESTORE}", file=self.spec)
        return checked(data, record, f"{self.spec}/{record.run}")

    def add(self, log: Log, record: Record, data: bytes, *, unless: Unless | None = None) -> bool:
        """Add a record with its run file; see `Memory`."""
        for _ in range(MAX_ROUNDS):
            self.tree.refresh()
            # In any case, for nothing is written beside what contradicts itself.
            accepted, of_accepted = self._settled(replaces=log == "accepted")
            found = of_accepted if log == "accepted" else self._log(log)
            # Each round by what is there now: another one may have accepted the same run, or more, in the meantime.
            now = anchored(found, amended(found, record), self.keeps) if log == "accepted" else record
            if self._is_in(log, found, accepted, now, data) or (unless is not None and unless(found)):
                return False
            again = log == "accepted" and bool(found) and found[-1].id == now.id
            writes, deletes = self._addition(log, [*(found[:-1] if again else found), now], accepted, data)
            if self.tree.commit(writes, deletes, f"{log}: {now.id} of {now.date}"):
                return True
        raise self._never_in()

    def keeps(self, record: Record) -> bool:
        """Whether the run file of a record is there."""
        return bool(RUN.fullmatch(record.run)) and self.tree.read(record.run) is not None

    def prune(self, log: Log, ids: Collection[str]) -> int:
        """Take records out of a log; see `Memory`."""
        for _ in range(MAX_ROUNDS):
            self.tree.refresh()
            accepted = self.accepted()
            refuse_needed(accepted, log, ids, self.spec)
            records = {each: self.read(each) for each in LOGS}
            rest = [record for record in records[log] if record.id not in ids]
            gone = len(records[log]) - len(rest)
            if not gone:
                return 0
            deletes = self._unnamed({**records, log: rest}, accepted)
            if self.tree.commit({log_name(log): _lines(rest)}, deletes, f"{log}: {gone} pruned"):
                return gone
        raise self._never_in()

    def contradictions(self) -> list[Problem]:
        """What manifest and logs say otherwise than each other, and run files whose name is not their content's."""
        try:
            accepted, log = self._settled()[0], self._log("accepted")
        except RankgateError:
            return []  # said by whoever reads them
        message = self._contradiction(accepted, log) if accepted else None
        problems = [Problem(message, f"{self.spec}/{log_name('accepted')}")] if message else []
        for name in self.tree.names():
            data = self.tree.read(name) if RUN.fullmatch(name) else None
            if data is not None and run_name(hashlib.sha256(data).hexdigest()) != name:
                problems.append(Problem("its digest is not the one in its name", f"{self.spec}/{name}"))
        return problems

    def _contradiction(self, accepted: Record, log: Sequence[Record]) -> str | None:
        """What the log of acceptances says otherwise than the manifest."""
        if not log:
            manifest = msgspec.json.decode(self.tree.read(MANIFEST) or b"{}")
            written_today = manifest.get("schema_version") == SCHEMA_VERSION
            empty = f"is empty or not there, and {MANIFEST} says that {accepted.id} is accepted; {_FROM_GIT}"
            return empty if written_today else None
        if log[-1].id != accepted.id:
            return f"ends with {log[-1].id}, and {MANIFEST} says that {accepted.id} is accepted; accept a run again"
        logged, manifest = (msgspec.json.decode(_line(record)) for record in (log[-1], accepted))
        keys = ", ".join(key for key in accepted.__struct_fields__ if logged.get(key) != manifest.get(key))
        return (
            f"says otherwise of {accepted.id} than {MANIFEST}: {keys}; somebody edited one of the two" if keys else None
        )

    def _is_in(self, log: Log, found: Sequence[Record], accepted: Record | None, record: Record, data: bytes) -> bool:
        """Whether there is nothing to do for a record, since it is the newest already, with its run."""
        if log == "history":
            return any(each.id == record.id for each in found)
        return accepted is not None and _line(accepted) == _line(record) and self.tree.read(record.run) == data

    def _addition(
        self, log: Log, grown: Sequence[Record], accepted: Record | None, data: bytes
    ) -> tuple[dict[str, bytes], list[str]]:
        """What to write and to delete, so that a log has grown by its last record."""
        record = grown[-1]
        records = {each: grown if each == log else self._log(each) for each in LOGS}
        writes = {log_name(log): _lines(grown)}
        if self._every_run or log != "history":
            writes[record.run] = data
        if log == "accepted":
            writes[MANIFEST] = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
            accepted = record
        return writes, [name for name in self._unnamed(records, accepted) if name not in writes]

    def _witness(self) -> str | None:
        """What says that something was accepted although no manifest does; None where nothing does."""
        log = log_name("accepted")
        count = sum(bool(line.strip()) for line in (self.tree.read(log) or b"").split(b"\n"))
        if count:
            return f"{log} has {count} record{'s' if count > 1 else ''}"
        named = {record.run for each in LOGS for record in self._log(each)}
        runs = [name for name in self.tree.names() if RUN.fullmatch(name) and name not in named]
        return f"{runs[0]} is the run of no other record" if runs else None

    def _settled(self, *, replaces: bool = False) -> tuple[Record | None, list[Record]]:
        """The manifest's record and the log up to it; read again while nobody writes where they contradict."""
        try:
            return self._state(replaces=replaces)
        except RankgateError:
            with self.tree.still():
                return self._state(replaces=replaces)

    def _state(self, *, replaces: bool) -> tuple[Record | None, list[Record]]:
        try:
            accepted = self.accepted()
        except DamagedRecordError:
            if not (replaces and self._repairs()):
                raise
            return None, self._log("accepted")
        return accepted, self._counting(self._log("accepted"), accepted) if accepted else []

    def _counting(self, found: Sequence[Record], accepted: Record) -> list[Record]:
        """The records as far as the manifest's, which ends them. What follows was never accepted to the end."""
        same = [place for place, record in enumerate(found) if record.id == accepted.id]
        before, following = (found[: same[-1]], found[same[-1] + 1 :]) if same else (found, found[:0])
        # The run of what was accepted before goes only once the new manifest is there: then that one was set back.
        set_back = bool(following) and following[-1].run != accepted.run and self.tree.read(accepted.run) is None
        if len(following) > self._left_over or set_back:
            log = log_name("accepted")
            raise bad_input(
                f"{log} has {len(following):,} accepted after {accepted.id}, which this says is accepted, the last "
                f"{following[-1].id} of {following[-1].date}: somebody changed one of the two. Restore it from "
                f"version control, or take what is not accepted out of {log}",
                file=f"{self.spec}/{MANIFEST}",
            )
        return [*before, accepted]

    def _keeps(self, record: Record) -> bool:
        """Whether the run file of a record should be here."""
        return self._every_run or record.run in self._needed(self._log("accepted"), self.accepted())

    def _log(self, log: Log) -> list[Record]:
        lines = (self.tree.read(log_name(log)) or b"").splitlines()
        place, what = f"{self.spec}/{log_name(log)}", f"log of {log}"
        records: list[Record] = []
        problems: list[Problem] = []
        for number, line in enumerate(lines, start=1):
            try:
                if line.strip():
                    records.append(decode_record(line, place, line=number, what=what, advice=_FROM_GIT))
            except RankgateError as error:
                problems += error.problems
        if problems:
            raise RankgateError(problems)
        return records

    def _unnamed(self, records: Mapping[Log, Sequence[Record]], accepted: Record | None) -> list[str]:
        """Run files that no record needs any more; nothing but run files, whatever the records name."""
        needed = self._needed(records["accepted"], accepted)
        if self._every_run:
            needed |= {record.run for log in LOGS for record in records[log]}
        return [name for name in self.tree.names() if RUN.fullmatch(name) and name not in needed]

    def _needed(self, log: Sequence[Record], accepted: Record | None) -> set[str]:
        """The run files of what is accepted now and of its anchor."""
        if accepted is None:
            return set()
        anchor = accepted.anchor.id if accepted.anchor else None
        return {accepted.run, *(record.run for record in log if record.id == anchor)}

    def _never_in(self) -> Exception:
        rounds = f"others changed it {MAX_ROUNDS} times before this could be written"
        return bad_input(f"{rounds}; try again", file=self.spec)


def _lines(records: Sequence[Record]) -> bytes:
    return b"".join(_line(record) + b"\n" for record in records)


def _line(record: Record) -> bytes:
    return msgspec.json.encode(replace(record, gold=record.gold and replace(record.gold, judged=None)))


def last_records(tail: Callable[[int], bytes], most: int, *, until: str, place: str, what: str) -> list[Record]:
    """The last records, at most so many, that are not dated after a day, oldest first.

    `tail` gives so many bytes from the end of the log, all of it where it has no more.
    """
    size = max(most, 1) * USUAL_LINE
    while True:
        data = tail(size)
        complete = len(data) < size
        lines = data.splitlines()[0 if complete else 1 :]  # the first may be the end of one
        records = [decode_record(line, place, what=what) for line in lines if line.strip()]
        until_then = [record for record in records if record.date <= until]
        if complete or len(until_then) >= most:
            return until_then[max(0, len(until_then) - most) :]
        size *= 4
