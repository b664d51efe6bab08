"""A memory of runs in an object store: objects that are made once and never changed, and one small pointer.

    runs/run-<12 digits>.jsonl.gz             run files, named by their content
    accepted/<number>-<id>-<run's digits>.json  records; the number gives the order, and of two that took the same one
    history/…                                at once, the id. So both are in, whoever was first
    pointer.json                              the accepted records once more, so that `check` asks for two objects only

The pointer is a hint: what the listing has and the pointer lacks is read from its object, what the listing lacks is
left out. So two who write it at once lose nothing, nor does one who is killed before.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from rankgate.baselines.memory import Unless, amended, anchored, refuse_needed
from rankgate.baselines.objects import Objects, objects_at
from rankgate.baselines.packing import RUN, checked, run_name
from rankgate.baselines.records import LOGS, SCHEMA_VERSION, DamagedRecordError, Log, Record, decode_record
from rankgate.errors import bad_input

POINTER = "pointer.json"
MAX_RECENT = 24  # records of the history that the pointer repeats
MAX_ROUNDS = 50  # of others that took the very same name; each round one of them has succeeded
UNTOUCHED = 86_400.0  # seconds for which a run file that no record names may still belong to one that is being added
_DELETE = "restore it, or delete it and accept a run again"  # an object is never overwritten
_NAME = re.compile(r"(?P<number>[0-9]{8,15})-(?P<id>[0-9a-f]{12})-(?P<digits>[0-9a-f]{12})\.json")
_LEFT = re.compile(r"\..+\.tmp").fullmatch  # a file of a write that was killed, or is not at its end


class _Name(msgspec.Struct, frozen=True, order=True):
    """The name of a record's object, in the order of the log."""

    number: int
    id: str
    digits: str

    def __str__(self) -> str:
        return f"{self.number:08d}-{self.id}-{self.digits}.json"

    def fits(self, record: Record | None) -> bool:
        return record is not None and (record.id, record.run) == (self.id, run_name(self.digits))


class _Pointer(msgspec.Struct, frozen=True):
    schema_version: int
    accepted: Mapping[str, Record]
    recent: Sequence[Record] = ()  # the last of the history


_NOTHING = _Pointer(SCHEMA_VERSION, {})


class ObjectMemory:
    """A `Memory` over objects."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects

    @property
    def spec(self) -> str:
        """The place, without passwords."""
        return self.objects.spec

    def read(self, log: Log, *, last: int | None = None) -> list[Record]:
        """The records of a log, oldest first; of the last ones no more is read than they take."""
        names = self._names(log)[-last if last else 0 :]
        return list(self._records(log, names, hinted=log == "accepted" or last is not None).values())

    def recent(self, log: Log, most: int, *, until: str) -> list[Record]:
        """As `Memory` says; the pointer alone is read, which may lack one of two that were recorded at once."""
        pointed = self._pointed()
        records = pointed.recent if log == "history" else tuple(pointed.accepted.values())
        return [record for record in records if record.date <= until][-most:]

    def fetch(self, record: Record) -> bytes:
        """The compressed run file of a record, its digest checked."""
        name = f"runs/{record.run}"
        data = self.objects.read([name]).get(name) if RUN.fullmatch(record.run) else None
        if data is None:
            missing = f"the run {record.run!r} is not there"
            raise bad_input(f"damaged baseline: {missing}; restore it or accept a run again", file=self.spec)
        return checked(data, record, f"{self.spec}/{name}", advice=_DELETE)

    def add(self, log: Log, record: Record, data: bytes, *, unless: Unless | None = None) -> bool:
        """Add a record with its run file; see `Memory`. Who adds between `unless` and the writing is not seen by it."""
        checked(data, record, record.run)
        for _ in range(MAX_ROUNDS):
            names = self._names(log)
            newest = list(self._records(log, names[-1:]).values())
            now = record  # each round by what is there then
            if log == "accepted":
                known = any(each.anchor for each in newest)
                before = newest if known else list(self._records(log, names).values())
                now = anchored(before, amended(newest, record), self.keeps)
            if now in newest or (log == "history" and any(name.id == now.id for name in names)):
                missing = not self.objects.holds(f"runs/{now.run}")
                self._keep_run(now, data)
                return missing
            if unless is not None and unless(list(self._records(log, names).values())):
                return False
            self._keep_run(now, data)
            name = _Name(names[-1].number + 1 if names else 1, now.id, now.sha256[:12])
            if self.objects.create(f"{log}/{name}", msgspec.json.encode(now)):
                if not self.objects.holds(f"runs/{now.run}"):  # an older one, which was pruned just now
                    self._keep_run(now, data)
                self._point()
                return True
        raise bad_input(f"others changed it {MAX_ROUNDS} times before this could be written; try again", file=self.spec)

    def keeps(self, record: Record) -> bool:
        """Whether the run file of a record is there."""
        return self.objects.holds(f"runs/{record.run}")

    def prune(self, log: Log, ids: Collection[str]) -> int:
        """Take records out of a log; see `Memory`. Run files that nobody names go when they are a day old."""
        names = self._names(log)
        refuse_needed(next(reversed(self.read("accepted")), None), log, ids, self.spec)
        gone = [name for name in names if name.id in ids]
        for name in gone:
            self.objects.delete(f"{log}/{name}")
        if gone:
            self._point()
            self._sweep()
        return len(gone)

    def _names(self, log: Log) -> list[_Name]:
        """The names of a log's objects in its order; of a history, only the first of each record."""
        names: list[_Name] = []
        for name in self.objects.names(log):
            if parts := _NAME.fullmatch(name):
                names.append(_Name(int(parts["number"]), parts["id"], parts["digits"]))
            elif name.endswith(".json"):
                message = "is no name of a record; somebody changed this by hand: take it away or name it as it was"
                raise bad_input(message, file=f"{self.spec}/{log}/{name}")
        names.sort()
        first = {name.id: name for name in reversed(names)}
        return [name for name in names if log != "history" or first[name.id] == name]

    def _records(self, log: Log, names: Sequence[_Name], *, hinted: bool = True) -> dict[str, Record]:
        """The records of these objects, as the pointer has them or read; one that is pruned meanwhile is left out."""
        pointed = self._pointed() if names and hinted else _NOTHING
        hints = dict(pointed.accepted) if log == "accepted" else {}
        if log == "history":  # which has each id once
            recent = {record.id: record for record in pointed.recent}
            hints = {str(name): recent[name.id] for name in names if name.id in recent}
        known = {str(name): hints[str(name)] for name in names if name.fits(hints.get(str(name)))}
        data = self.objects.read([f"{log}/{name}" for name in names if str(name) not in known])
        records: dict[str, Record] = {}
        for name in names:
            path = f"{log}/{name}"
            if str(name) in known:
                records[str(name)] = known[str(name)]
            elif path in data:
                place = f"{self.spec}/{path}"
                record = records[str(name)] = decode_record(data[path], place, what="record", advice=_DELETE)
                if not name.fits(record):
                    raise bad_input(f"damaged record: it is not the one that its name says; {_DELETE}", file=place)
        return records

    def _pointed(self) -> _Pointer:
        """What the pointer has; nothing where it is damaged or of another schema, for it is only a hint."""
        try:
            pointer = msgspec.json.decode(self.objects.read([POINTER]).get(POINTER, b""), type=_Pointer)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _NOTHING
        return pointer if pointer.schema_version == SCHEMA_VERSION else _NOTHING

    def _point(self) -> None:
        """Rewrite the pointer from what is there."""
        accepted = self._as_hint("accepted", self._names("accepted"))
        recent = self._as_hint("history", self._names("history")[-MAX_RECENT:])
        pointer = _Pointer(SCHEMA_VERSION, accepted, tuple(recent.values()))
        self.objects.replace(POINTER, msgspec.json.encode(pointer))

    def _as_hint(self, log: Log, names: Sequence[_Name]) -> Mapping[str, Record]:
        try:
            return self._records(log, names)
        except DamagedRecordError:  # whoever reads the log is told
            return {}

    def _keep_run(self, record: Record, data: bytes) -> None:
        name = f"runs/{record.run}"
        if self.objects.holds(name):
            if self.objects.read([name]).get(name) == data:
                self.objects.replace(name, data)  # the same bytes: it is young again, so that nobody prunes it
                return
        elif self.objects.create(name, data):
            return
        message = "damaged baseline: other bytes than its digest says; nothing was overwritten. Delete it and try again"
        raise bad_input(message, file=f"{self.spec}/{name}")

    def _sweep(self) -> None:
        """Delete run files that no record names and what killed writes left, but none that may be on its way."""
        now = self.objects.modified(POINTER)
        named = {run_name(name.digits) for log in LOGS for name in self._names(log)}
        old = [f"runs/{run}" for run in self.objects.names("runs") if RUN.fullmatch(run) and run not in named]
        old += [f"{place}/{name}" for place in ("runs", *LOGS) for name in self.objects.names(place) if _LEFT(name)]
        old += [name for name in self.objects.names("") if _LEFT(name)]
        for path in old:
            written = self.objects.modified(path)
            if now is not None and written is not None and now - written > UNTOUCHED:
                self.objects.delete(path)


def memory_at(url: str) -> ObjectMemory:
    """The memory at a `scheme://` address; see `objects_at`."""
    return ObjectMemory(objects_at(url))
