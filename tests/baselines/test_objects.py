"""A memory in an object store: on a real S3-compatible server and on the local file system alike."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.baselines.accepting import logged
from tests.baselines.counted import Counted
from tests.children import start
from tests.conftest import ROOT

from rankgate.baselines.base import MemoryStore
from rankgate.baselines.object_memory import ObjectMemory, memory_at
from rankgate.baselines.packing import pack, recorded
from rankgate.baselines.records import LOGS, Log, Record
from rankgate.baselines.stores import store_for
from rankgate.errors import RankgateError
from rankgate.model.lineage import AnchorMark
from rankgate.model.values import Ranking, Verdict
from rankgate.readers.formats import read_run


def made(text: str, **about: Any) -> tuple[Record, bytes]:
    """A record and the bytes of its run file, which nobody reads here."""
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    said: dict[str, Any] = {"commit": digest[:40], "date": "2025-06-01", **about}
    record = Record(
        run=f"run-{digest[:12]}.jsonl.gz",
        sha256=digest,
        depth=100,
        queries=1,
        kept=[],
        source="run.jsonl",
        provenance={"system": "bm25"},
        gold=None,
        **said,
    )
    return record, data


def objects_in(memory: ObjectMemory) -> dict[str, bytes]:
    """All that lies there."""
    folders = ["runs", *LOGS]
    names = [f"{folder}/{name}" for folder in folders for name in memory.objects.names(folder)]
    return dict(memory.objects.read([*names, "pointer.json"]))


def names_of(memory: ObjectMemory, log: Log) -> list[str]:
    return sorted(memory.objects.names(log))


A, B, C = made("a"), made("b"), made("c")


def test_a_place_where_nothing_was_ever_added_is_empty(place: str) -> None:
    memory = memory_at(place)
    assert [memory.read(log) for log in LOGS] == [[], []]
    assert memory.spec == place


@pytest.mark.parametrize("log", LOGS)
def test_what_was_added_is_read_by_others_in_that_order(place: str, log: Log) -> None:
    for record, data in (B, A, C):
        assert memory_at(place).add(log, record, data)
    memory = memory_at(f"{place}/")
    assert memory.read(log) == (logged(B[0], A[0], C[0]) if log == "accepted" else [B[0], A[0], C[0]])
    assert [memory.fetch(record) for record in memory.read(log)] == [b"b", b"a", b"c"]
    assert [memory.read(other) for other in LOGS if other != log] == [[]]


def test_the_number_and_the_id_are_the_name(place: str) -> None:
    memory = memory_at(place)
    memory.add("accepted", *A)
    memory.add("accepted", *B)
    assert names_of(memory, "accepted") == [
        f"00000001-{A[0].id}-{A[0].sha256[:12]}.json",
        f"00000002-{B[0].id}-{B[0].sha256[:12]}.json",
    ]
    assert set(memory.objects.names("runs")) == {A[0].run, B[0].run}


@pytest.mark.parametrize("log", LOGS)
def test_the_newest_is_not_added_twice(place: str, log: Log) -> None:
    memory = memory_at(place)
    assert memory.add(log, *A)
    before = objects_in(memory)
    assert not memory.add(log, *A)
    assert objects_in(memory) == before


@pytest.mark.parametrize("log", LOGS)
def test_adding_it_again_brings_back_a_run_that_is_gone(place: str, log: Log) -> None:
    """As every message about a run that is not there says."""
    memory = memory_at(place)
    memory.add(log, *A)
    memory.objects.delete(f"runs/{A[0].run}")
    assert memory.add(log, *A)
    assert memory.fetch(A[0]) == b"a"
    assert memory.read(log) == [A[0]]


def test_a_history_has_each_record_once_and_the_accepted_log_each_acceptance(place: str) -> None:
    memory = memory_at(place)
    for record, data in (A, B, A):
        memory.add("history", record, data)
        memory.add("accepted", record, data)
    assert memory.read("history") == [A[0], B[0]]
    again = replace(A[0], anchor=AnchorMark(id=A[0].id, date=A[0].date))
    assert memory.read("accepted") == [*logged(A[0], B[0]), again]


def test_a_run_accepted_again_for_another_reason_is_accepted_again(place: str) -> None:
    memory = memory_at(place)
    why = made("a", reason="the old embedder is gone")
    assert why[0].id == A[0].id
    assert memory.add("accepted", *A)
    assert memory.add("accepted", *why)
    assert memory.read("accepted") == [A[0], why[0]]


def test_two_that_took_one_number_at_once_are_both_in_and_everyone_sees_one_order(place: str) -> None:
    first, second = memory_at(place), memory_at(place)
    first.add("history", *A)
    name = names_of(first, "history")[0]
    stranger = f"00000001-{B[0].id}-{B[0].sha256[:12]}.json"
    second.objects.create(f"runs/{B[0].run}", b"b")
    second.objects.create(f"history/{stranger}", msgspec.json.encode(B[0]))
    by_name = [record for _, record in sorted([(name, A[0]), (stranger, B[0])])]
    assert memory_at(place).read("history") == by_name
    memory_at(place).add("history", *C)
    assert memory_at(place).read("history") == [*by_name, C[0]]


def test_an_address_after_baseline_opens_what_is_accepted_there(place: str) -> None:
    packed = pack([Ranking("q1", ["a", "b"])], source="run.jsonl")
    record = recorded(packed, source="run.jsonl", provenance={"system": "bm25"}, gold=None, date="2025-06-01")
    store = store_for(place)
    assert store.open(frozenset()) is None
    assert store.memory is not None
    store.memory.add("accepted", record, packed.data)
    opened = store_for(place).open(frozenset())
    assert opened is not None
    assert [(each.query_id, each.ids) for each in opened.rankings] == [("q1", ["a", "b"])]
    assert opened.provenance["system"] == "bm25"


# -- the pointer --


def test_a_pointer_that_is_behind_damaged_or_gone_changes_nothing(place: str) -> None:
    memory = memory_at(place)
    memory.add("accepted", *A)
    behind = memory.objects.read(["pointer.json"])["pointer.json"]
    memory.add("accepted", *B)
    for pointer in (behind, b"", b"{", b"[]", b'{"schema_version":2,"accepted":{}}', b'{"schema_version":9}'):
        memory.objects.replace("pointer.json", pointer)
        assert memory_at(place).read("accepted") == logged(A[0], B[0])
    memory.objects.delete("pointer.json")
    assert memory_at(place).read("accepted") == logged(A[0], B[0])


def test_a_pointer_that_is_ahead_or_lies_is_not_believed(place: str) -> None:
    memory = memory_at(place)
    memory.add("accepted", *A)
    memory.add("accepted", *B)
    ahead = memory.objects.read(["pointer.json"])["pointer.json"]
    memory.objects.delete(f"accepted/{names_of(memory, 'accepted')[1]}")
    assert memory_at(place).read("accepted") == [A[0]]
    memory.objects.replace("pointer.json", ahead.replace(A[0].sha256.encode(), B[0].sha256.encode()))
    assert memory_at(place).read("accepted") == [A[0]]


def test_what_gates_compare_with_takes_one_listing_and_one_object_however_long_the_history_is(place: str) -> None:
    memory = memory_at(place)
    for number in range(30):
        memory.add("history", *made(f"h{number}"))
    for number in range(5):
        memory.add("accepted", *made(f"a{number}"))
    counted: Any = Counted(memory.objects)
    assert len(ObjectMemory(counted).read("accepted")) == 5
    assert counted.asked == ["accepted/", "pointer.json"]
    counted.asked.clear()
    assert len(ObjectMemory(counted).read("history", last=20)) == 20
    assert counted.asked == ["history/", "pointer.json"], "the pointer has the last ones of the history too"


@pytest.mark.full
def test_no_request_is_made_for_what_another_one_says(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted where s3fs sends them: a check makes six at most, and none of them asks for an object's size."""
    import s3fs

    asked: list[str] = []
    call = s3fs.S3FileSystem._call_s3

    async def noted(files: Any, method: Any, *arguments: Any, **options: Any) -> Any:
        asked.append(method if isinstance(method, str) else method.__name__)
        return await call(files, method, *arguments, **options)

    memory = memory_at(f"s3://{bucket}/teams/search")
    for number in range(40):
        memory.add("history", *made(f"h{number}"))
    for number in range(3):
        memory.add("accepted", *made(f"a{number}"))
    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", noted)
    memory = memory_at(f"s3://{bucket}/teams/search")
    assert MemoryStore(memory).open(frozenset()) is not None
    assert len(memory.recent("history", 12, until="2099-01-01")) == 12
    assert len(memory.recent("accepted", 12, until="2099-01-01")) == 3
    # Earlier releases of s3fs list by another way, which is not counted here.
    assert [each for each in asked if each != "list_objects_v2"] == ["get_object"] * 4
    assert len(asked) <= 5
    asked.clear()
    assert len(memory.read("history", last=30)) == 30
    assert [each for each in asked if each != "list_objects_v2"] == ["get_object"] * 7, "the pointer has 24 of them"
    assert len(asked) <= 8


def test_a_run_accepted_again_by_a_job_that_was_started_again_is_once_in_the_log(place: str) -> None:
    record, data = made("one")
    forced = replace(record, commit="abcabca", reason="smaller index")
    memory = memory_at(place)
    assert memory.add("accepted", forced, data)
    assert not memory.add("accepted", replace(forced, reason=None, verdict=Verdict.PASS), data)
    assert memory.read("accepted") == [forced]
    assert memory.add("accepted", replace(forced, reason="agreed in #12"), data)
    assert memory.read("accepted")[-1] == replace(forced, reason="smaller index; agreed in #12")


def test_what_killed_writes_left_goes_when_it_is_a_day_old(tmp_path: Path) -> None:
    memory = memory_at(f"file://{tmp_path}")
    for number in range(3):
        memory.add("history", *made(f"h{number}"))
    left = [
        tmp_path / name for name in (".pointer.json.a1.tmp", "runs/.run-1.jsonl.gz.b2.tmp", "history/.x.json.c3.tmp")
    ]
    for file in left:
        file.write_bytes(b"half")
        os.utime(file, (1, 1))
    young = tmp_path / "history" / ".y.json.d4.tmp"
    young.write_bytes(b"half")
    assert len(memory.read("history")) == 3
    assert memory.prune("history", [memory.read("history")[0].id]) == 1
    assert [file.name for file in left if file.exists()] == []
    assert young.exists(), "it may be at work"


# -- several at once --

ADDS = textwrap.dedent("""
    import sys
    from tests.baselines.test_objects import made
    from rankgate.baselines.object_memory import memory_at
    memory = memory_at(sys.argv[1])
    for number in range(int(sys.argv[3])):
        record, data = made(f"{sys.argv[2]}-{number}")
        memory.add("history", record, data)
        memory.add("accepted", record, data)
        print(number, flush=True)
""")


def adding(place: str, who: str, often: int) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", ADDS, place, who, str(often)]
    return start(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})


def test_of_several_that_add_at_once_nothing_is_lost_and_all_see_one_order(place: str) -> None:
    processes, rounds = 4, 5
    working = [adding(place, f"p{number}", rounds) for number in range(processes)]
    assert [process.wait() for process in working] == [0] * processes
    for process in working:
        process.communicate()
    memory = memory_at(place)
    expected = {made(f"p{who}-{number}")[0].id for who in range(processes) for number in range(rounds)}
    for log in ("history", "accepted"):
        records = memory.read(log)
        assert sorted(record.id for record in records) == sorted(expected)
        place_of = {record.id: index for index, record in enumerate(records)}
        for who in range(processes):
            own = [place_of[made(f"p{who}-{number}")[0].id] for number in range(rounds)]
            assert own == sorted(own), "nobody's later record comes before its earlier one"
    last = made("afterwards")
    memory.add("accepted", *last)
    assert memory_at(place).read("accepted")[-1].id == last[0].id
    assert all(memory.fetch(record) for record in memory.read("accepted"))


def test_killed_at_any_moment_it_holds_what_was_there_and_what_was_whole(place: str) -> None:
    memory = memory_at(place)
    memory.add("accepted", *A)
    for life in range(2):
        process = adding(place, f"life{life}", 200)
        assert process.stdout is not None
        for _ in range(1 + 4 * life):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        records = memory_at(place).read("accepted")
        assert records[0] == A[0]
        for log in LOGS:
            assert all(memory.fetch(record) for record in memory.read(log))
    assert memory.add("accepted", *B)
    assert memory.read("accepted")[-1].id == B[0].id


WRITES = ["runs/", "accepted/", "pointer.json"]


class Dies(Counted):
    """Ends before a write to such a name, as a killed process does."""

    def __init__(self, inner: Any, before: str) -> None:
        super().__init__(inner)
        self.before = before

    def create(self, name: str, data: bytes) -> Any:
        if name.startswith(self.before):
            raise KeyboardInterrupt
        return self.inner.create(name, data)

    def replace(self, name: str, data: bytes) -> None:
        if name.startswith(self.before):
            raise KeyboardInterrupt
        self.inner.replace(name, data)


@pytest.mark.parametrize("before", WRITES)
def test_ended_between_two_writes_it_is_the_old_or_the_new_and_a_second_try_mends_it(place: str, before: str) -> None:
    memory = memory_at(place)
    memory.add("accepted", *A)
    dying: Any = Dies(memory.objects, before)
    with pytest.raises(KeyboardInterrupt):
        ObjectMemory(dying).add("accepted", *B)
    old_or_new = [A[0]] if before != "pointer.json" else logged(A[0], B[0])
    assert memory_at(place).read("accepted") == old_or_new
    memory_at(place).add("accepted", *B)
    assert memory_at(place).read("accepted") == logged(A[0], B[0])
    assert memory.fetch(B[0]) == b"b"


# -- prune --


def test_prune_takes_records_out_of_one_log(place: str) -> None:
    memory = memory_at(place)
    for record, data in (A, B, C):
        memory.add("history", record, data)
        memory.add("accepted", record, data)
    assert memory.prune("accepted", {B[0].id, "f" * 12}) == 1
    whole = logged(A[0], B[0], C[0])
    assert memory_at(place).read("accepted") == [whole[0], whole[2]]
    assert memory.read("history") == [A[0], B[0], C[0]]
    assert memory.fetch(B[0]) == b"b", "the history names it still"


def test_what_is_accepted_now_is_not_pruned(place: str) -> None:
    memory = memory_at(place)
    memory.add("accepted", *A)
    memory.add("accepted", *B)
    with pytest.raises(RankgateError, match=f"{B[0].id} is accepted now; it is not pruned$"):
        memory.prune("accepted", {A[0].id, B[0].id})
    assert memory.read("accepted") == logged(A[0], B[0])


def test_a_run_file_that_nobody_names_goes_when_it_is_a_day_old(tmp_path: Path) -> None:
    """A younger one may belong to a record that is being added just now."""
    memory = memory_at(f"file://{tmp_path}")
    for record, data in (A, B, C):
        memory.add("history", record, data)
    (tmp_path / "runs" / f"run-{'0' * 12}.jsonl.gz").write_bytes(b"what a killed process left")
    (tmp_path / "runs" / "notes.txt").write_bytes(b"somebody's own")
    for file in (tmp_path / "runs").iterdir():
        if file.name != B[0].run:
            os.utime(file, (1_000_000_000, 1_000_000_000))
    assert memory.prune("history", {A[0].id, B[0].id}) == 2
    assert {file.name for file in (tmp_path / "runs").iterdir()} == {B[0].run, C[0].run, "notes.txt"}


def test_on_s3_a_young_run_file_stays_too(bucket: str) -> None:
    memory = memory_at(f"s3://{bucket}/kept")
    memory.add("history", *A)
    memory.prune("history", {A[0].id})
    assert memory.objects.names("runs") == [A[0].run]
    assert memory.read("history") == []


def test_an_old_run_file_that_is_needed_again_is_made_young(tmp_path: Path) -> None:
    memory = memory_at(f"file://{tmp_path}")
    memory.add("history", *A)
    file = tmp_path / "runs" / A[0].run
    os.utime(file, (1_000_000_000, 1_000_000_000))
    memory.add("accepted", *A)
    assert file.stat().st_mtime > 1_000_000_000


# -- damage --


def refused(action: Any) -> str:
    with pytest.raises(RankgateError) as caught:
        action()
    return str(caught.value)


def test_a_damaged_run_file_is_named_and_not_overwritten(place: str) -> None:
    memory = memory_at(place)
    memory.add("accepted", *A)
    memory.objects.replace(f"runs/{A[0].run}", b"a truncated o")
    assert "its digest is not the manifest's" in refused(lambda: memory.fetch(A[0]))
    said = refused(lambda: memory.add("history", *A))
    assert said == (
        f"{place}/runs/{A[0].run}: damaged baseline: other bytes than its digest says; nothing was overwritten. "
        "Delete it and try again"
    )
    assert memory.objects.read([f"runs/{A[0].run}"]) == {f"runs/{A[0].run}": b"a truncated o"}
    assert memory.read("history") == []
    assert refused(lambda: memory.fetch(A[0])).endswith("; restore it, or delete it and accept a run again")
    memory.objects.delete(f"runs/{A[0].run}")
    assert f"the run {A[0].run!r} is not there; restore it or accept a run again" in refused(lambda: memory.fetch(A[0]))
    assert memory.add("accepted", *A)
    assert memory.fetch(A[0]) == b"a"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "damaged record: ", id="empty"),
        pytest.param(b'{"schema_version":2,"run":"run-', "damaged record: ", id="truncated"),
        pytest.param(b'{"schema_version":3}', "baseline schema 3 is newer than this rankgate reads", id="newer"),
        pytest.param(b"another", "damaged record: it is not the one that its name says", id="another's"),
    ],
)
def test_a_damaged_record_is_named(place: str, data: bytes, message: str) -> None:
    memory = memory_at(place)
    memory.add("history", *A)
    (name,) = names_of(memory, "history")
    memory.objects.replace(f"history/{name}", msgspec.json.encode(B[0]) if data == b"another" else data)
    said = refused(lambda: memory.read("history"))
    assert said.startswith(f"{place}/history/{name}: {message}")
    assert said.endswith("; restore it, or delete it and accept a run again") is ("damaged" in message)


def test_a_record_that_somebody_renamed_is_named(place: str) -> None:
    memory = memory_at(place)
    memory.add("accepted", *A)
    memory.objects.replace("accepted/newest.json", b"{}")
    assert refused(lambda: memory.read("accepted")) == (
        f"{place}/accepted/newest.json: is no name of a record; somebody changed this by hand: take it away or name "
        "it as it was"
    )


def test_a_record_names_no_other_file_than_a_run(place: str) -> None:
    memory = memory_at(place)
    memory.objects.replace("secret", b"x")
    sneaky = msgspec.structs.replace(A[0], run="../secret", sha256=hashlib.sha256(b"x").hexdigest())
    assert "the run '../secret' is not there" in refused(lambda: memory.fetch(sneaky))


def test_other_bytes_than_the_record_says_are_not_added(place: str) -> None:
    assert "its digest is not the manifest's" in refused(lambda: memory_at(place).add("accepted", A[0], b"b"))
    assert objects_in(memory_at(place)) == {}


# -- addresses --


@pytest.mark.parametrize(
    ("url", "message"),
    [
        pytest.param(
            "fille://host/x", "fille://host/x: unknown scheme fille://; did you mean 'file'?", id="an unknown scheme"
        ),
        pytest.param(
            "s3://b/x?sig=SECRET", "s3://b/x?…: is no plain address, as s3://bucket/folder", id="with a query"
        ),
        pytest.param("s3://b/*", "s3://b/*: is no plain address, as s3://bucket/folder", id="a pattern"),
        pytest.param("s3://b/../c", "s3://b/../c: is no plain address, as s3://bucket/folder", id="climbs"),
        pytest.param("simplecache::s3://b/x", "…: is no plain address, as s3://bucket/folder", id="chained"),
        pytest.param(
            "file://here", "file://here: a file:// address has an absolute path, as file:///srv/baseline", id="relative"
        ),
    ],
)
def test_an_address_that_is_none(url: str, message: str) -> None:
    assert refused(lambda: memory_at(url)) == message


def test_another_store_of_fsspec_is_used_as_it_is() -> None:
    memory = memory_at("memory://kept/here")
    memory.add("accepted", *A)
    memory.add("accepted", *B)
    assert memory.read("accepted") == logged(A[0], B[0])
    assert memory.fetch(A[0]) == b"a"
    memory.add("accepted", *C)
    memory.prune("accepted", {B[0].id})
    assert [record.id for record in memory.read("accepted")] == [A[0].id, C[0].id]


@pytest.mark.parametrize("call", ["cat", "exists", "pipe_file"])
def test_what_a_store_raises_where_something_is_not_there_is_named(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    objects: Any = memory_at("memory://gone").objects

    def missing(*_: object, **options: object) -> None:
        raise FileNotFoundError("https://signed.example/?sig=SECRET")

    monkeypatch.setattr(objects._files, call, missing)
    calls = {"cat": lambda: objects.read(["a"]), "exists": lambda: objects.holds("a")}
    said = refused(calls.get(call, lambda: objects.replace("a", b"")))
    assert said == "memory://gone/a: there is no such bucket or directory; create it, or correct the address"


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    said = refused(lambda: memory_at("gs://bucket/x"))
    assert said.startswith("gs://bucket/x: gs:// needs a package that is not installed: ")
    assert "gcsfs" in said
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.setitem(sys.modules, "fsspec.implementations.s3", None)
    said = refused(lambda: memory_at("s3a://bucket/x"))
    how = "pip install 'rankgate[cloud]' (in the action: extras: cloud)"
    assert said == f"s3a://bucket/x: s3a:// needs a package that is not installed: {how}"
    monkeypatch.setitem(sys.modules, "fsspec", None)
    said = refused(lambda: memory_at("s3://bucket/x"))
    assert said == f"s3://bucket/x: needs fsspec, which is not installed: {how}"


# -- refusals of a store --


def test_a_bucket_that_is_not_there_is_no_empty_memory(s3: str) -> None:
    memory = memory_at("s3://no-such-bucket/x")
    said = "s3://no-such-bucket/x: there is no such bucket or directory; create it, or correct the address"
    assert refused(lambda: memory.read("accepted")) == said
    assert "there is no such bucket" in refused(lambda: memory.add("accepted", *A))


def test_a_store_that_cannot_be_reached_is_named_and_shows_no_key(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    said = refused(lambda: memory_at("s3://bucket/x").read("accepted"))
    assert said.startswith("s3://bucket/x/accepted: cannot be reached, or answers with an error (")
    assert "SECRET" not in said


def test_without_credentials_it_says_so(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    said = refused(lambda: memory_at("s3://bucket/x").read("accepted"))
    assert (
        said == "s3://bucket/x/accepted: no credentials for it; set them as its own tools read them, as "
        "AWS_ACCESS_KEY_ID"
    )


def test_a_place_where_no_directory_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    memory = memory_at(f"file://{tmp_path}/kept")
    assert refused(lambda: memory.read("accepted")) == f"{memory.spec}/accepted: cannot be used: Not a directory"
    assert "cannot be written: " in refused(lambda: memory.objects.create("runs/x", b""))


class Forbidding(BaseHTTPRequestHandler):
    """A store in which these credentials may do nothing."""

    def answer(self) -> None:
        body = b"<Error><Code>AccessDenied</Code><Message>AKIATESTKEY may not</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = answer  # noqa: N815 -- as the base class names them

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """The test says enough."""


def test_without_permission_it_says_so_and_shows_no_key(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Forbidding) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        memory = memory_at("s3://bucket/x")
        denied = "permission denied; look at the credentials that this job has, and at what they may do there"
        assert refused(lambda: memory.read("accepted")) == f"s3://bucket/x/accepted: {denied}"
        assert refused(lambda: memory.objects.create("runs/x", b"x")) == f"s3://bucket/x/runs/x: {denied}"
        server.shutdown()
        serving.join()


@pytest.mark.full
def test_a_run_of_parquet_parts_is_read_from_a_bucket(bucket: str, tmp_path: Path) -> None:
    """As Spark leaves it there: by its folder and by a pattern; a folder without parts is named."""
    import s3fs

    duckdb = pytest.importorskip("duckdb")
    files = s3fs.S3FileSystem(skip_instance_cache=True)
    for part, rows in enumerate(("('q1', 'a', 2.0), ('q2', 'c', 1.0)", "('q1', 'b', 3.0)")):
        local = tmp_path / f"part-{part:05}.snappy.parquet"
        with duckdb.connect() as connection:
            values = f"SELECT * FROM (VALUES {rows}) t(query_id, doc_id, score)"  # noqa: S608 -- our own
            connection.execute(f"COPY ({values}) TO '{local}' (FORMAT parquet)")
        files.put(str(local), f"{bucket}/run.parquet/{local.name}")
    files.pipe(f"{bucket}/run.parquet/_SUCCESS", b"")
    for place in ("run.parquet/", "run.parquet", "run.parquet/part-*.parquet"):
        found = {each.query_id: each.ids for each in read_run(f"s3://{bucket}/{place}").rankings}
        assert found == {"q1": ["b", "a"], "q2": ["c"]}
    for wrong in ("nothing/", "run.parquet/x-*.parquet"):
        said = refused(lambda wrong=wrong: list(read_run(f"s3://{bucket}/{wrong}").rankings))
        assert said.startswith(f"s3://{bucket}/{wrong.rstrip('/')}")
