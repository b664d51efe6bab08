"""The end of a log: the last records up to a day, and that no more is read than they take, however long the log is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.renderers.dashboards.memories import made, record

from rankgate.baselines.branch import branch_memory
from rankgate.baselines.directory import directory_store
from rankgate.baselines.memory import Memory
from rankgate.baselines.stores import remote_memory
from rankgate.errors import RankgateError
from rankgate.readers.dates import days_after


def day(number: int) -> str:
    return days_after("2026-01-01", number)


def directory(folder: Path) -> Memory:
    return directory_store(str(folder)).memory


def branch(folder: Path) -> Memory:
    subprocess.run(["git", "init", "-q", "."], check=True)
    return branch_memory("git+branch:baselines@.")


def shared(folder: Path) -> Memory:
    return remote_memory(folder.as_uri())


def bucket(folder: Path) -> Memory:
    return remote_memory(f"memory://{folder}")


@pytest.mark.parametrize("place", [directory, branch, shared, bucket])
def test_every_store_tells_the_last_records_up_to_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[Path], Memory]
) -> None:
    monkeypatch.chdir(tmp_path)
    memory = place(tmp_path / "kept")
    assert memory.recent("history", 3, until=day(9)) == []
    records = [made(day(number)) for number in range(6)]
    for each, data in records:
        memory.add("history", each, data)
    memory.add("accepted", *records[1])
    expected = [each for each, _ in records[2:5]]
    assert list(memory.recent("history", 3, until=day(4))) == expected
    assert len(memory.recent("history", 100, until=day(9))) == 6
    assert [each.id for each in memory.recent("accepted", 3, until=day(9))] == [records[1][0].id]


def test_of_a_long_log_the_end_is_read_whatever_the_days_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, names = directory(tmp_path), list[str]()
    (tmp_path / "history").mkdir()
    for number in range(1, 301):
        (tmp_path / f"history/{number:08d}.json").write_bytes(msgspec.json.encode(record(day(number))))
    read = memory.place.read

    def noted(asked: Sequence[str], *, exact: bool = False) -> Mapping[str, bytes]:
        names.extend(asked)
        return read(asked, exact=exact)

    monkeypatch.setattr(memory.place, "read", noted)
    assert [each.date for each in memory.recent("history", 12, until=day(300))] == [day(n) for n in range(289, 301)]
    assert len(names) == 12
    for until, expected in ((295, range(284, 296)), (5, range(1, 6)), (0, ())):
        assert [each.date for each in memory.recent("history", 12, until=day(until))] == [day(n) for n in expected]


def test_a_damaged_record_among_the_last_is_an_error_and_an_older_one_is_not_seen(tmp_path: Path) -> None:
    memory = directory(tmp_path)
    for number in range(9):
        memory.add("history", *made(day(number)))
    (tmp_path / "history/00000001.json").write_bytes(b"{")
    assert len(memory.recent("history", 3, until=day(100))) == 3
    (tmp_path / "history/00000008.json").write_bytes(b"{")
    with pytest.raises(RankgateError, match=r"history/00000008\.json: damaged record"):
        memory.recent("history", 3, until=day(100))
