"""The end of a log: the last records up to a day, and that no more is read than they take, however long the log is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.baselines.counted import Counted
from tests.renderers.dashboards.memories import made, record, sha

from rankgate.baselines.directory import DirectoryStore, DirectoryTree
from rankgate.baselines.git_branch import branch_memory
from rankgate.baselines.memory import Memory
from rankgate.baselines.object_memory import MAX_RECENT, ObjectMemory, memory_at
from rankgate.baselines.tree import USUAL_LINE, TreeMemory, last_records
from rankgate.errors import RankgateError
from rankgate.readers.dates import days_after


def day(number: int) -> str:
    return days_after("2026-01-01", number)


def directory(folder: Path) -> Memory:
    return DirectoryStore(str(folder)).memory


def branch(folder: Path) -> Memory:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return branch_memory("git+branch:baselines@.")


def bucket(folder: Path) -> Memory:
    return memory_at(folder.as_uri())


@pytest.mark.parametrize("place", [directory, branch, bucket])
def test_every_store_tells_the_last_records_up_to_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[[Path], Memory]
) -> None:
    monkeypatch.chdir(tmp_path)
    memory = place(tmp_path)
    assert memory.recent("history", 3, until=day(9)) == []
    records = [made(day(number)) for number in range(6)]
    for each, data in records:
        memory.add("history", each, data)
    memory.add("accepted", *records[1])
    expected = [each for each, _ in records[2:5]]
    assert list(memory.recent("history", 3, until=day(4))) == expected
    assert len(memory.recent("history", 100, until=day(9))) == 6
    assert [each.id for each in memory.recent("accepted", 3, until=day(9))] == [records[1][0].id]


class _Noted(DirectoryTree):
    """Counts the bytes that are read."""

    read_bytes = 0

    def tail(self, name: str, size: int) -> bytes:
        data = super().tail(name, size)
        self.read_bytes += len(data)
        return data

    def read(self, name: str) -> bytes | None:
        raise AssertionError(f"{name} was read whole")


def test_of_ten_thousand_records_in_a_directory_the_end_is_read(tmp_path: Path) -> None:
    lines = [msgspec.json.encode(record(day(number))) + b"\n" for number in range(10_000)]
    (tmp_path / "history.jsonl").write_bytes(b"".join(lines))
    tree = _Noted(str(tmp_path))
    found = TreeMemory(tree).recent("history", 12, until=day(10_000))
    assert [each.date for each in found] == [day(number) for number in range(9_988, 10_000)]
    assert tree.read_bytes == 12 * USUAL_LINE


def test_in_a_bucket_the_pointer_is_asked_and_has_the_last_of_the_history(tmp_path: Path) -> None:
    memory = memory_at(tmp_path.as_uri())
    for number in range(MAX_RECENT + 2):
        memory.add("history", *made(day(number)))
    asked: Any = Counted(memory.objects)
    found = ObjectMemory(asked).recent("history", 100, until=day(100))
    assert [each.date for each in found] == [day(number) for number in range(2, MAX_RECENT + 2)]
    assert asked.asked == ["pointer.json"]


def test_a_damaged_record_of_a_buckets_history_stops_nobody_and_is_named_where_all_are_read(tmp_path: Path) -> None:
    """A check asks the pointer, which has the record as it was."""
    memory = memory_at(tmp_path.as_uri())
    memory.add("history", *made(day(1)))
    [name] = memory.objects.names("history")
    memory.objects.replace(f"history/{name}", b"{")
    memory.add("history", *made(day(2)))
    assert [record.date for record in memory.recent("history", 3, until=day(9))] == [day(1), day(2)]
    with pytest.raises(RankgateError, match="damaged record"):
        memory.read("history")


@given(sizes=st.lists(st.integers(0, 3 * USUAL_LINE), max_size=12), most=st.integers(1, 6), until=st.integers(-1, 12))
def test_it_is_the_end_of_the_log_whatever_the_lines_are(sizes: list[int], most: int, until: int) -> None:
    records = [record(day(number), reason="x" * size) for number, size in enumerate(sizes)]
    log = b"".join(msgspec.json.encode(each) + b"\n" for each in records)
    found = last_records(lambda size: log[-size:], most, until=day(until), place="log", what="log")
    assert found == [each for each in records if each.date <= day(until)][-most:]


def test_a_damaged_line_among_the_last_is_an_error_and_an_older_one_is_not_seen() -> None:
    lines = [msgspec.json.encode(record(day(number), commit=sha(str(number)))) for number in range(100)]
    old, new = [*lines], [*lines]
    old[0] = new[98] = b"{"
    logs = [b"\n".join(each) + b"\n" for each in (old, new)]
    assert len(last_records(lambda size: logs[0][-size:], 3, until=day(100), place="log", what="log")) == 3
    with pytest.raises(RankgateError, match="log: damaged log"):
        last_records(lambda size: logs[1][-size:], 3, until=day(100), place="log", what="log")
