"""A memory of runs, wherever it is kept: one layout for a directory, a branch and a bucket.

`accepted/00000001.json`
    A record, written once. What is accepted now is the one with the highest number.
`history/00000001.json`
    Every run of the main branch.
`rankings/run-<12 digits>.jsonl.gz`
    What a record names, by its content.
`rankings/gold-<12 digits>.json`
    A digest of each query of a gold set, by its fingerprint.

Each kind of place has five operations on these files; all else is done here once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import replace

from rankgate.baselines.packing import RUN, checked, run_name
from rankgate.baselines.records import LOGS, RESTORE, Log, Record, amended, anchored, decode_record, refuse_needed
from rankgate.errors import Problem, RankgateError, bad_input, shown
from rankgate.model.lineage import GoldMark

MAX_ROUNDS = 200  # of others that get in first; each round one of them has succeeded
REPEATED = 100  # records of the history among which a job that is started again finds its own
SHORTEST = 4  # digits by which a run may be named
MAX_SHOWN = 12  # digits of a commit
_DELETE = "restore it, or delete it and accept a run again"  # a record is never overwritten
_GOLD = re.compile(r"[0-9a-f]{12}")

# Called with the records of a log, oldest first: whether a new one does not belong behind them.
Unless = Callable[[Sequence[Record]], bool]

RUNS = "rankings"  # not "runs", which is in many a .gitignore
FOLDERS = (RUNS, *LOGS)
DAY = 86_400.0  # seconds for which rankings without a record may belong to one that is being added
ENTRY = re.compile(r"[0-9]{8}\.json")  # the name of a record
OBJECT = re.compile(rf"{RUN.pattern}|gold-[0-9a-f]{{12}}\.json")  # of what records name
ACCEPTED: Log = "accepted"


class Place(Protocol):
    """Three folders of small files; every method raises a RankgateError where they cannot be reached or changed."""

    every_run: bool  # whether the rankings of every record are kept; else those of what is accepted and its anchor
    has_strays: bool  # whether rankings without a record are usual: of a write under way, or one that was killed

    @property
    def spec(self) -> str:
        """How users name it after `--baseline`, without passwords."""

    def refresh(self) -> None:
        """Forget what was read, once whoever is writing has finished."""

    def names(self, folder: str) -> Sequence[str]:
        """What a folder holds, without the folder's name; nothing where there is no such folder."""

    def read(self, names: Sequence[str], *, exact: bool = False) -> Mapping[str, bytes]:
        """Files by name, without those that are not there; `exact` asks for the files themselves and for no copies."""

    def create(self, files: Mapping[str, bytes], message: str) -> bool:
        """Write objects, then a record, whole or not at all; False where that has been written, or others got in."""

    def delete(self, names: Collection[str], message: str) -> bool:
        """Delete files and what killed writes have left; False where others got in. Objects may stay for a day."""


def entry_name(log: Log, number: int) -> str:
    """The name of a log's record with this number."""
    return f"{log}/{number:08d}.json"


def is_object(name: str) -> bool:
    """Whether a name is that of rankings or of a gold set's digests, which are never another's; else a record's."""
    return name.startswith(f"{RUNS}/")


class NotKeptError(RankgateError):
    """A run that is remembered by its numbers alone."""


class Examined(msgspec.Struct, frozen=True):
    """All records that can be read, and what is wrong with the others and with the logs."""

    records: list[Record]
    problems: list[Problem]


class Memory:
    """Records in two logs, each in the order in which it grew, and the rankings that they name.

    Whatever is added is added whole or not at all, also when the process is killed at any byte; of several that add at
    once all get in, one behind the other. No record is ever overwritten. Every method raises a RankgateError where the
    place cannot be used, or what it holds is damaged or of a newer schema.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._runs: Collection[str] | None = None  # that are there, as of the last reading of a log

    @property
    def spec(self) -> str:
        """How users name the place after `--baseline`."""
        return self.place.spec

    @property
    def every_run(self) -> bool:
        """Whether the rankings of every record are kept."""
        return self.place.every_run

    def read(self, log: Log, *, last: int | None = None) -> list[Record]:
        """The records of a log, or the last ones, oldest first; none where nothing was ever added."""
        names = self._names(log)
        if log == ACCEPTED and not names:
            strays = [self._stray_problem(name) for name in sorted(self._strays())]
            if strays:
                raise RankgateError(strays)
            names = self._names(log)
        return self._records(names[-last if last else 0 :])

    def recent(self, log: Log, most: int, *, until: str) -> list[Record]:
        """The last records of a log, at most so many, that are not dated after a day (2026-01-31), oldest first."""
        names = self._names(log)
        recent: list[Record] = []
        while names and len(recent) < most:
            recent = [record for record in self._records(names[-most:]) if record.date <= until] + recent
            del names[-most:]
        return recent[-most:]

    def fetch(self, record: Record) -> bytes:
        """The compressed run file of a record, its digest checked; an error where it is not there, or is another."""
        name = f"{RUNS}/{record.run}"
        data = self.place.read([name]).get(name) if RUN.fullmatch(record.run) else None
        if data is not None:
            return checked(data, record, f"{self.spec}/{name}")
        if not self.every_run and all(each.run != record.run for each in _needed(self.read(ACCEPTED))):
            which = f"the run {record.id} of {record.date} is remembered by its numbers alone"
            kept = "this place keeps the rankings of what is accepted now and of its anchor"
            raise NotKeptError([Problem(f"{which}: {kept}", self.spec)])
        raise bad_input(f"damaged baseline: the run {record.run!r} is not there; {RESTORE}", file=self.spec)

    def gold_of(self, record: Record) -> GoldMark | None:
        """What a record says of its gold set, with the digest of each query where the place has them."""
        file = _gold_file(record)
        data = self.place.read([file]).get(file) if file else None
        if record.gold is None or data is None:
            return record.gold
        try:
            return replace(record.gold, judged=msgspec.json.decode(data, type=dict[str, str]))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise bad_input(f"damaged digests of a gold set: {error}; {RESTORE}", file=f"{self.spec}/{file}") from error

    def keeps(self, record: Record) -> bool:
        """Whether the rankings of a record are there; a place may keep but the accepted ones and their anchor's."""
        if self._runs is None:
            self._runs = frozenset(filter(RUN.fullmatch, self.place.names(RUNS)))
        return record.run in self._runs

    def add(self, log: Log, record: Record, data: bytes, *, unless: Unless | None = None) -> bool:
        """Add a record with its compressed run file, where the place is not one that only others write.

        False where the log's last record of this id is the newest already, or `unless` says yes: nothing was written.
        That is called again each time that somebody else was quicker.
        """
        checked(data, record, record.run)
        judged = record.gold.judged if record.gold else None
        record = replace(record, gold=record.gold and replace(record.gold, judged=None))
        objects = {f"{RUNS}/{record.run}": data} if self.every_run or log == ACCEPTED else {}
        file = _gold_file(record)
        if file and judged and log == ACCEPTED:
            objects[file] = msgspec.json.format(msgspec.json.encode(judged), indent=1)
        for _ in range(MAX_ROUNDS):
            self.place.refresh()
            # Each round by what is there now: another one may have accepted the same run, or more, in the meantime.
            names = self._names(log)
            known = self._records(names if log == ACCEPTED else names[-REPEATED:])
            new = anchored(known, amended(known, record), self.keeps) if log == ACCEPTED else record
            message = f"{log}: {new.id} of {new.date}"
            is_newest = bool(known) and known[-1] == new
            is_repeated = log != ACCEPTED and any(each.id == new.id for each in known)
            if is_newest or is_repeated:
                if self.place.read(list(objects)) == objects:
                    self._tidy(log)
                    return False
                if self.place.create(objects, message):  # they were deleted or damaged
                    return True
                continue
            if unless is not None and unless(known):
                return False
            last = names[-1].removeprefix(f"{log}/").removesuffix(".json") if names else "0"
            name = entry_name(log, int(last) + 1)
            entry = msgspec.json.format(msgspec.json.encode(new), indent=2) + b"\n"
            if self.place.create({**objects, name: entry}, message):
                self._tidy(log)
                return True
        raise self._never_in()

    def prune(self, log: Log, ids: Collection[str]) -> int:
        """Take records out of a log, and rankings that no record names any more; how many records went.

        The record that is accepted now is refused, and so is its anchor. The newest of the history stays: the number of
        the next one follows on from it.
        """
        for _ in range(MAX_ROUNDS):
            self.place.refresh()
            accepted = self.read(ACCEPTED)
            refuse_needed(accepted[-1] if accepted else None, log, ids, self.spec)
            names = self._names(log)
            records = self._records(names)
            if len(records) < len(names):  # another one prunes too
                continue
            going = {name for name, record in zip(names[:-1], records, strict=False) if record.id in ids}
            if not going:
                return 0
            if self.place.delete([*going, *self._unneeded(going)], f"{log}: {len(going)} pruned"):
                return len(going)
        raise self._never_in()

    def examined(self) -> Examined:
        """Every record itself, whatever copies there are, and what is wrong; nothing is raised for damage."""
        records: list[Record] = []
        problems: list[Problem] = []
        for log in LOGS:
            try:
                decoded, damaged = self._decoded(self._names(log), exact=True)
                records += decoded
                problems += damaged
            except RankgateError as error:
                problems += error.problems
        problems += [
            Problem(f"{record.id} names the run {record.run!r}, which is not that of its digest", self.spec)
            for record in records
            if record.run != run_name(record.sha256)
        ]
        try:
            strays = [] if problems else sorted(self._strays())
            problems += [self._stray_problem(name) for name in strays]
            for record in {_gold_file(record): record for record in records}.values():
                self.gold_of(record)
        except RankgateError as error:
            problems += error.problems
        return Examined(records, problems)

    def listing(self) -> list[str]:
        """The names of all records, by which one sees whether anything was added or pruned meanwhile."""
        return [name for log in LOGS for name in self._names(log)]

    def _names(self, log: Log) -> list[str]:
        """The records of a log, by their numbers."""
        self._runs = None
        names = self.place.names(log)
        foreign = [name for name in names if name.endswith(".json") and not ENTRY.fullmatch(name)]
        if foreign:
            message = "is no name of a record; somebody changed this by hand: take it away or name it as it was"
            raise bad_input(message, file=f"{self.spec}/{log}/{foreign[0]}")
        return [f"{log}/{name}" for name in sorted(names) if ENTRY.fullmatch(name)]

    def _records(self, names: Sequence[str]) -> list[Record]:
        """The records of these names; one that is pruned meanwhile is left out."""
        records, problems = self._decoded(names)
        if problems:
            raise RankgateError(problems)
        return records

    def _decoded(self, names: Sequence[str], *, exact: bool = False) -> tuple[list[Record], list[Problem]]:
        data = self.place.read(names, exact=exact)
        records: list[Record] = []
        problems: list[Problem] = []
        for name in filter(data.__contains__, names):
            try:
                records.append(decode_record(data[name], f"{self.spec}/{name}", advice=_DELETE))
            except RankgateError as error:
                problems += error.problems
        return records, problems

    def _tidy(self, log: Log) -> None:
        """Where few runs are kept, delete what an acceptance leaves behind, and what killed processes have left."""
        for _ in range(0 if self.every_run else MAX_ROUNDS):
            self.place.refresh()
            if self.place.delete(self._unneeded() if log == ACCEPTED else [], "what is needed no more"):
                break

    def _unneeded(self, going: Collection[str] = ()) -> list[str]:
        """Objects that no record needs but those that are going."""
        names = {log: [name for name in self._names(log) if name not in going] for log in LOGS}
        accepted = self._records(names["accepted"])
        if self.every_run:
            needed = {record.run for record in (*self._records(names["history"]), *accepted)}
            golds = {_gold_file(record) for record in accepted}
        else:
            needed = {record.run for record in _needed(accepted)}
            golds = {_gold_file(record) for record in _needed(accepted)}
        needed_files = golds | {f"{RUNS}/{name}" for name in needed}
        files = [f"{RUNS}/{name}" for name in self.place.names(RUNS) if OBJECT.fullmatch(name)]
        return [file for file in files if file not in needed_files]

    def _strays(self) -> set[str]:
        """Rankings of no record that are not being written just now: deleted was their record, or the write killed."""
        if self.place.has_strays:
            return set()
        strays = self._without_record()
        if strays:
            self.place.refresh()
            strays &= self._without_record()
        return strays

    def _without_record(self) -> set[str]:
        runs = {name for name in self.place.names(RUNS) if RUN.fullmatch(name)}
        return runs - {record.run for log in LOGS for record in self._records(self._names(log))} if runs else runs

    def _stray_problem(self, name: str) -> Problem:
        why = "is the run of no record: that was deleted, or an acceptance was interrupted"
        return Problem(f"{why}; {RESTORE}", f"{self.spec}/{RUNS}/{name}")

    def _never_in(self) -> Exception:
        rounds = f"others changed it {MAX_ROUNDS} times before this could be written"
        return bad_input(f"{rounds}; try again", file=self.spec)


def _needed(accepted: Sequence[Record]) -> list[Record]:
    """What is accepted now, and its anchor."""
    anchor = accepted[-1].anchor if accepted else None
    first = anchor.id if anchor else None
    return [*accepted[-1:], *(each for each in accepted if each.id == first)]


def _gold_file(record: Record) -> str | None:
    """Where the digests of a record's gold set lie; None where there are none."""
    digits = record.gold.fingerprint[:12] if record.gold else ""
    return f"{RUNS}/gold-{digits}.json" if _GOLD.fullmatch(digits) else None


def newest_accepted(memory: Memory) -> Record | None:
    """What is accepted now; None where nothing is."""
    accepted = memory.read("accepted")
    return accepted[-1] if accepted else None


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
        by_name: dict[str, Record] = {}
        for record in known:
            by_name[record.id] = record
            if record.commit:
                by_name[record.commit] = record
        names = [word] if word in by_name else [name for name in by_name if name.startswith(word)]
        if len(names) > 1:
            several = ", ".join(f"{name[:MAX_SHOWN]} of {by_name[name].date}" for name in names)
            raise bad_input(f"{shown(word)} are the first digits of {several}; write more of them", file=memory.spec)
        if names:
            return by_name[names[0]]
    wanted = "an id, the first digits of a commit, or `accepted`"
    advice = f"name {wanted} (`rankgate baseline history` lists them)"
    raise bad_input(f"has no run {shown(word)}; {advice}", file=memory.spec)
