"""Where verdicts are kept: SQLite while a judge works, one sorted JSON line a verdict beside a run.

Each record is on the disk before the next question of its thread, and the first verdict of a slot stays, so that
neither a killed process nor a second one at the same store does harm. A verdict takes the place of an `Unjudged`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from rankgate.baselines.records import RESTORE
from rankgate.errors import RankgateError, bad_input, shown
from rankgate.judge.model import MODES, Mode, Record, Slot, canonical
from rankgate.readers.base import Run
from rankgate.readers.json_text import explain, line_json

_TABLES = """
create table if not exists verdicts (
  judge text, task text, key text, repeat integer, verdict integer, line blob, primary key (judge, task, key, repeat)
) without rowid;
create table if not exists modes (endpoint text, model text, mode text, primary key (endpoint, model));
"""
_PUT = """
insert into verdicts values (?, ?, ?, ?, ?, ?) on conflict do update
set verdict = excluded.verdict, line = excluded.line where excluded.verdict > verdict
"""
_REPLACE = "insert or replace into verdicts values (?, ?, ?, ?, ?, ?)"
_PATIENCE, _SWITCHES = 120.0, 100  # seconds for another process that writes; tries to change the file's mode


class Store:
    """The verdicts of one SQLite file, for any number of threads and processes."""

    def __init__(self, path: str | Path) -> None:
        """Open or create it.

        Raises:
            RankgateError: it cannot be opened, or is no such file; any later use may raise it as well.
        """
        self._path, self._lock = str(path), Lock()
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._write_ahead()
            for statement in ("pragma synchronous = full", *_TABLES.split(";")):
                self._base.execute(statement)
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        """Give the file back."""
        self._base.close()

    def get(self, slot: Slot, /) -> Record | None:
        """The record of a slot; None where there is none."""
        where = "select line from verdicts where judge = ? and task = ? and key = ? and repeat = ?"
        rows = self._run(where, slot.judge, slot.task.value, slot.key, slot.repeat)
        return self._record(rows[0][0]) if rows else None

    def put(self, *records: Record, replace: bool = False) -> bool:
        """Keep records, all or none, unless their slots have verdicts; they are on the disk when this returns.

        With `replace` what slots have is given up. False where a slot kept what it had.
        """
        rows = [(*_plain(record.slot), record.unjudged is None, line_of(record)) for record in records]
        with self._lock:
            try:
                if len(rows) > 1:  # one is a transaction of its own
                    self._base.execute("begin immediate")
                taken = self._base.executemany(_REPLACE if replace else _PUT, rows).rowcount
                if len(rows) > 1:
                    self._base.execute("commit")
            except sqlite3.Error as error:
                self._base.rollback()
                raise self._unusable(error) from error
        return taken == len(rows)

    def records(self) -> list[Record]:
        """All records, by judge, task, key and repeat."""
        rows = self._run("select line from verdicts order by judge, task, key, repeat")
        return [self._record(line) for (line,) in rows]

    def mode(self, endpoint: str, model: str) -> Mode | None:
        """The form of answers that an endpoint was found to keep to with a model."""
        rows = self._run("select mode from modes where endpoint = ? and model = ?", endpoint, model)
        return next((mode for mode in MODES if rows and mode == rows[0][0]), None)

    def remember_mode(self, endpoint: str, model: str, mode: Mode) -> None:
        """Keep it: another one would be another judge."""
        self._run("insert or replace into modes values (?, ?, ?)", endpoint, model, mode)

    def _write_ahead(self) -> None:
        """Switch to WAL; SQLite may refuse it at once while another process does the same (4 of 360 times, tried)."""
        for _ in range(_SWITCHES):
            with suppress(sqlite3.OperationalError):
                self._base.execute("pragma journal_mode = wal")
                return
            self._base.execute("begin immediate")  # waits for that process
            self._base.execute("commit")

    def _run(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            try:
                return self._base.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._unusable(error) from error

    def _record(self, line: bytes) -> Record:
        try:
            return record_of(line)
        except ValueError as error:  # of another version, or changed by hand
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> RankgateError:
        return bad_input(f"cannot be used as a store of verdicts ({error}); name another file", file=self._path)


def line_of(record: Record) -> bytes:
    """A record as a line, which ends in a newline."""
    return canonical(msgspec.to_builtins(record)) + b"\n"


def record_of(line: bytes) -> Record:
    """The record of a line.

    Raises:
        ValueError: it is none.
    """
    return msgspec.convert(line_json(line), Record)


def read_verdicts(path: str | Path) -> dict[Slot, Record]:
    """What a `verdicts.jsonl` holds. Files may be appended to each other: the first verdict of a slot counts.

    Raises:
        RankgateError: it cannot be read, or a line is damaged; names the line.
    """
    found: list[Record] = []
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    found.append(record_of(line))
                except (ValueError, RecursionError) as error:
                    raise bad_input(explain(line, error), file=str(path), line=number) from error
    except OSError as error:
        raise bad_input(f"cannot be read: {error.strerror}", file=str(path)) from error
    return by_slot(found)


def by_slot(records: Iterable[Record]) -> dict[Slot, Record]:
    """One record a slot: its first verdict, or its first `Unjudged` where it has none."""
    found: dict[Slot, Record] = {}
    for record in records:
        if found.setdefault(record.slot, record).unjudged and not record.unjudged:
            found[record.slot] = record
    return found


def listed(records: Iterable[Record]) -> bytes:
    """Records as a JSON list, sorted, as a stored run holds them; each is as its line of a `verdicts.jsonl`."""
    return b"[" + b",".join(written(records).splitlines()) + b"]"


def stored_verdicts(run: Run) -> dict[Slot, Record]:
    """What was stored with the answers of a run, which is read for it, with `Need.VERDICTS`.

    Raises:
        RankgateError: the run is malformed, or a verdict is damaged.
    """
    found: list[Record] = []
    for ranking in run.rankings:
        data = (ranking.details.records if ranking.details else None) or b"[]"
        try:
            found += [record_of(bytes(line)) for line in msgspec.json.decode(data, type=list[msgspec.Raw])]
        except (ValueError, RecursionError) as error:
            problem = f"damaged baseline: the verdicts on {shown(ranking.query_id)}: {explain(data, error)}"
            raise bad_input(f"{problem}; {RESTORE}", file=run.name) from error
    return by_slot(found)


def written(records: Iterable[Record]) -> bytes:
    """A `verdicts.jsonl`: a line a record, sorted."""
    return b"".join(line_of(record) for record in sorted(records, key=lambda record: _plain(record.slot)))


def _plain(slot: Slot) -> tuple[str, str, str, int]:
    return (slot.judge, slot.task.value, slot.key, slot.repeat)
