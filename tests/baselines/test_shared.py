"""A memory that many write to: on a real S3-compatible server, in fsspec's own store and at a `file://` address."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.baselines.accepting import logged, made
from tests.children import start
from tests.conftest import ROOT

from rankgate import pip_install
from rankgate.baselines.base import MemoryStore
from rankgate.baselines.directory import DirectoryPlace
from rankgate.baselines.memory import FOLDERS, Memory, entry_name
from rankgate.baselines.packing import pack, recorded
from rankgate.baselines.records import LOGS, Log
from rankgate.baselines.stores import remote_memory, store_for
from rankgate.cli.baseline import verified
from rankgate.errors import RankgateError
from rankgate.model.lineage import AnchorMark
from rankgate.model.values import Ranking, Verdict
from rankgate.readers.formats import read_run


def contents(memory: Memory) -> dict[str, bytes]:
    """All that lies there, but for copies."""
    names = [f"{folder}/{name}" for folder in FOLDERS for name in memory.place.names(folder)]
    return dict(memory.place.read(names, exact=True))


def write(memory: Memory, name: str, data: bytes | None) -> None:
    """Somebody writes a file, or deletes it, by hand; nothing copies it any more."""
    place: Any = memory.place
    if isinstance(place, DirectoryPlace):
        file = Path(place.path, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink() if data is None else file.write_bytes(data)
        return
    if data is None:
        place._delete(name)
    else:
        place._put(name, data)
    if name[:4] in ("acce", "hist"):
        place._delete(f"copies/{name[:-7]}.json")


def names_of(memory: Memory, log: Log) -> list[str]:
    return sorted(memory.place.names(log))


A, B, C = made("a"), made("b"), made("c")


def test_a_place_where_nothing_was_ever_added_is_empty(place: str) -> None:
    memory = remote_memory(place)
    assert [memory.read(log) for log in LOGS] == [[], []]
    assert memory.spec == place


@pytest.mark.parametrize("log", LOGS)
def test_what_was_added_is_read_by_others_in_that_order(place: str, log: Log) -> None:
    for record, data in (B, A, C):
        assert remote_memory(place).add(log, record, data)
    memory = remote_memory(f"{place}/")
    assert memory.read(log) == (logged(B[0], A[0], C[0]) if log == "accepted" else [B[0], A[0], C[0]])
    assert [memory.fetch(record) for record in memory.read(log)] == [b"b", b"a", b"c"]
    assert [memory.read(other) for other in LOGS if other != log] == [[]]


def test_the_number_is_the_name(place: str) -> None:
    memory = remote_memory(place)
    memory.add("accepted", *A)
    memory.add("accepted", *B)
    assert names_of(memory, "accepted") == ["00000001.json", "00000002.json"]
    assert set(memory.place.names("rankings")) == {A[0].run, B[0].run}


@pytest.mark.parametrize("log", LOGS)
def test_the_newest_is_not_added_twice(place: str, log: Log) -> None:
    memory = remote_memory(place)
    assert memory.add(log, *A)
    before = contents(memory)
    assert not memory.add(log, *A)
    assert contents(memory) == before


@pytest.mark.parametrize("log", LOGS)
def test_adding_it_again_brings_back_a_run_that_is_gone(place: str, log: Log) -> None:
    """As every message about a run that is not there says."""
    memory = remote_memory(place)
    memory.add(log, *A)
    write(memory, f"rankings/{A[0].run}", None)
    assert memory.add(log, *A)
    assert memory.fetch(A[0]) == b"a"
    assert memory.read(log) == [A[0]]


def test_a_history_has_each_record_once_and_the_accepted_log_each_acceptance(place: str) -> None:
    memory = remote_memory(place)
    for record, data in (A, B, A):
        memory.add("history", record, data)
        memory.add("accepted", record, data)
    assert memory.read("history") == [A[0], B[0]]
    again = replace(A[0], anchor=AnchorMark(id=A[0].id, date=A[0].date))
    assert memory.read("accepted") == [*logged(A[0], B[0]), again]


def test_a_run_accepted_again_for_another_reason_is_accepted_again(place: str) -> None:
    memory = remote_memory(place)
    why = made("a", reason="the old embedder is gone")
    assert why[0].id == A[0].id
    assert memory.add("accepted", *A)
    assert memory.add("accepted", *why)
    assert memory.read("accepted") == [A[0], why[0]]


def test_of_two_that_take_one_number_at_once_one_takes_the_next(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = remote_memory(place)
    create = slow.place.create

    def late(files: Mapping[str, bytes], message: str) -> bool:
        monkeypatch.setattr(slow.place, "create", create)
        assert remote_memory(place).add("history", *A)
        return create(files, message)

    monkeypatch.setattr(slow.place, "create", late)
    assert slow.add("history", *B)
    assert remote_memory(place).read("history") == [A[0], B[0]]


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


# -- copies --


@pytest.fixture
def kept(tmp_path: Path) -> Memory:
    """A bucket of three acceptances."""
    memory = remote_memory(f"memory://copies-{tmp_path.name}")
    for each in (A, B, C):
        memory.add("accepted", *each)
    return memory


COPY = "copies/accepted/000000.json"


def test_a_copy_that_is_behind_damaged_or_gone_changes_nothing(kept: Memory) -> None:
    place: Any = kept.place
    whole = place._get([COPY])[COPY]
    behind = msgspec.json.encode(dict(list(msgspec.json.decode(whole).items())[:1]))
    for copy in (behind, b"", b"{", b"[]", b'{"accepted/00000001.json": 1}', b"\xff"):
        place._put(COPY, copy)
        assert remote_memory(kept.spec).read("accepted") == logged(A[0], B[0], C[0])
    place._delete(COPY)
    assert remote_memory(kept.spec).read("accepted") == logged(A[0], B[0], C[0])


def dies(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_copy_that_is_ahead_is_not_believed_and_its_number_may_be_taken_anew(
    kept: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place: Any = kept.place
    place._delete("accepted/00000003.json")
    assert remote_memory(kept.spec).read("accepted") == logged(A[0], B[0])
    new = made("d")
    place = remote_memory(kept.spec).place
    monkeypatch.setattr(place, "_create", dies)
    with pytest.raises(KeyboardInterrupt):
        Memory(place).add("accepted", *new)
    assert remote_memory(kept.spec).add("accepted", *new)
    assert [each.id for each in remote_memory(kept.spec).read("accepted")] == [A[0].id, B[0].id, new[0].id]


def test_verify_reads_the_records_themselves_whatever_their_copies_say(kept: Memory) -> None:
    place: Any = kept.place
    place._put("accepted/00000002.json", b"{")
    assert len(remote_memory(kept.spec).read("accepted")) == 3
    [problem] = verified(remote_memory(kept.spec)).problems
    assert str(problem).startswith(f"{kept.spec}/accepted/00000002.json: damaged record: ")


@pytest.mark.full
def test_how_many_requests_a_check_and_a_long_history_take(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted where s3fs sends them, by the lists and objects that are asked for."""
    import s3fs

    asked: list[str] = []
    call = s3fs.S3FileSystem._call_s3

    async def noted(files: Any, method: Any, *arguments: Any, **options: Any) -> Any:
        asked.append(method if isinstance(method, str) else method.__name__)
        return await call(files, method, *arguments, **options)

    memory = remote_memory(f"s3://{bucket}/teams/search")
    place: Any = memory.place
    records = {entry_name("history", n): msgspec.json.encode(made(f"h{n}")[0]) for n in range(1, 102)}
    place._files.pipe({place._path(name): data for name, data in records.items()})
    for copy in ("copies/history/000000.json", "copies/history/000001.json"):
        place._renew(copy)
    for number in range(3):
        memory.add("accepted", *made(f"a{number}"))
    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", noted)
    memory = remote_memory(f"s3://{bucket}/teams/search")
    assert MemoryStore(memory).open(frozenset()) is not None
    assert len(memory.recent("history", 12, until="2099-01-01")) == 12
    assert len(memory.recent("accepted", 12, until="2099-01-01")) == 3
    # Earlier releases of s3fs list by another way, which is not counted here.
    assert [each for each in asked if each != "list_objects_v2"] == ["get_object"] * 4, "three copies and a run"
    asked.clear()
    assert len(remote_memory(f"s3://{bucket}/teams/search").read("history")) == 101
    assert [each for each in asked if each != "list_objects_v2"] == ["get_object"] * 2


def test_a_run_accepted_again_by_a_job_that_was_started_again_is_once_in_the_log(place: str) -> None:
    record, data = made("one")
    forced = replace(record, commit="abcabca", reason="smaller index")
    memory = remote_memory(place)
    assert memory.add("accepted", forced, data)
    assert not memory.add("accepted", replace(forced, reason=None, verdict=Verdict.PASS), data)
    assert memory.read("accepted") == [forced]
    assert memory.add("accepted", replace(forced, reason="agreed in #12"), data)
    assert memory.read("accepted")[-1] == replace(forced, reason="smaller index; agreed in #12")


def test_what_killed_writes_left_goes_when_it_is_a_day_old(tmp_path: Path) -> None:
    memory = remote_memory(f"file://{tmp_path}")
    for number in range(3):
        memory.add("history", *made(f"h{number}"))
    left = [tmp_path / name for name in (f"rankings/.run-{'0' * 12}.jsonl.gz.b2.tmp", "history/.00000004.json.c3.tmp")]
    for file in left:
        file.write_bytes(b"half")
        os.utime(file, (1, 1))
    young = tmp_path / "history" / ".00000005.json.d4.tmp"
    young.write_bytes(b"half")
    assert len(memory.read("history")) == 3
    assert memory.prune("history", [memory.read("history")[0].id]) == 1
    assert [file.name for file in left if file.exists()] == []
    assert young.exists(), "it may be at work"


# -- several at once --

ADDS = textwrap.dedent("""
    import sys
    from tests.baselines.accepting import made
    from rankgate.baselines.stores import remote_memory
    memory = remote_memory(sys.argv[1])
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


@pytest.mark.full
def test_of_several_that_add_at_once_nothing_is_lost_and_all_see_one_order(reached: str) -> None:
    processes, rounds = 3, 4
    working = [adding(reached, f"p{number}", rounds) for number in range(processes)]
    assert [process.wait() for process in working] == [0] * processes
    for process in working:
        process.communicate()
    memory = remote_memory(reached)
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
    assert remote_memory(reached).read("accepted")[-1].id == last[0].id
    assert all(memory.fetch(record) for record in memory.read("accepted"))


@pytest.mark.full
def test_killed_at_any_moment_it_holds_what_was_there_and_what_was_whole(reached: str) -> None:
    memory = remote_memory(reached)
    memory.add("accepted", *A)
    for life in range(2):
        process = adding(reached, f"life{life}", 200)
        assert process.stdout is not None
        for _ in range(1 + 4 * life):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        records = remote_memory(reached).read("accepted")
        assert records[0] == A[0]
        for log in LOGS:
            assert all(memory.fetch(record) for record in memory.read(log))
    assert memory.add("accepted", *B)
    assert memory.read("accepted")[-1].id == B[0].id


WRITES = ["rankings/", "accepted/", "copies/"]


@pytest.mark.parametrize("before", WRITES)
def test_ended_between_two_writes_it_is_the_old_or_the_new_and_a_second_try_mends_it(
    tmp_path: Path, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"memory://dies-{tmp_path.name}"
    remote_memory(address).add("accepted", *A)
    dying = remote_memory(address)
    files: Any = dying.place
    pipe = files._files.pipe_file

    def ends(path: str, data: bytes, **options: Any) -> None:
        if f"/{before}" in path:
            raise KeyboardInterrupt
        pipe(path, data, **options)

    with monkeypatch.context() as patched:
        patched.setattr(files._files, "pipe_file", ends)
        with pytest.raises(KeyboardInterrupt):
            dying.add("accepted", *B)
    old_or_new = [A[0]] if before != "copies/" else logged(A[0], B[0])
    assert remote_memory(address).read("accepted") == old_or_new
    remote_memory(address).add("accepted", *B)
    assert remote_memory(address).read("accepted") == logged(A[0], B[0])
    assert remote_memory(address).fetch(B[0]) == b"b"


# -- prune --


def test_prune_takes_records_out_of_one_log(place: str) -> None:
    memory = remote_memory(place)
    for record, data in (A, B, C):
        memory.add("history", record, data)
        memory.add("accepted", record, data)
    assert memory.prune("accepted", {B[0].id, "f" * 12}) == 1
    whole = logged(A[0], B[0], C[0])
    assert remote_memory(place).read("accepted") == [whole[0], whole[2]]
    assert memory.read("history") == [A[0], B[0], C[0]]
    assert memory.fetch(B[0]) == b"b", "the history names it still"


def test_what_is_accepted_now_is_not_pruned(place: str) -> None:
    memory = remote_memory(place)
    memory.add("accepted", *A)
    memory.add("accepted", *B)
    with pytest.raises(RankgateError, match=f"{B[0].id} is accepted now; it is not pruned$"):
        memory.prune("accepted", {A[0].id, B[0].id})
    assert memory.read("accepted") == logged(A[0], B[0])


def test_a_run_file_that_nobody_names_goes_when_it_is_a_day_old(tmp_path: Path) -> None:
    """A younger one may belong to a record that is being added just now."""
    memory = remote_memory(f"file://{tmp_path}")
    for record, data in (A, B, C):
        memory.add("history", record, data)
    (tmp_path / "rankings" / f"run-{'0' * 12}.jsonl.gz").write_bytes(b"what a killed process left")
    (tmp_path / "rankings" / "notes.txt").write_bytes(b"somebody's own")
    for file in (tmp_path / "rankings").iterdir():
        if file.name != B[0].run:
            os.utime(file, (1_000_000_000, 1_000_000_000))
    assert memory.prune("history", {A[0].id, B[0].id}) == 2
    assert {file.name for file in (tmp_path / "rankings").iterdir()} == {B[0].run, C[0].run, "notes.txt"}


def test_on_s3_a_young_run_file_stays_too(bucket: str) -> None:
    memory = remote_memory(f"s3://{bucket}/kept")
    for each in (A, B):
        memory.add("history", *each)
    assert memory.prune("history", {A[0].id, B[0].id}) == 1
    assert set(memory.place.names("rankings")) == {A[0].run, B[0].run}
    assert memory.read("history") == [B[0]], "the newest stays: the next one's number follows on from its own"


def test_an_old_run_file_that_is_needed_again_is_made_young(tmp_path: Path) -> None:
    memory = remote_memory(f"file://{tmp_path}")
    memory.add("history", *A)
    file = tmp_path / "rankings" / A[0].run
    os.utime(file, (1_000_000_000, 1_000_000_000))
    memory.add("accepted", *A)
    assert file.stat().st_mtime > 1_000_000_000


# -- damage --


def refused(action: Any) -> str:
    with pytest.raises(RankgateError) as caught:
        action()
    return str(caught.value)


def test_a_damaged_run_file_is_named_and_mended_by_whoever_adds_it_again(place: str) -> None:
    memory = remote_memory(place)
    memory.add("accepted", *A)
    file, advice = f"rankings/{A[0].run}", "restore it or accept a run again"
    write(memory, file, b"a truncated o")
    assert refused(lambda: memory.fetch(A[0])) == (
        f"{place}/{file}: damaged baseline: its digest is not its record's; {advice}"
    )
    assert memory.add("accepted", *A)
    assert (memory.fetch(A[0]), memory.read("accepted")) == (b"a", [A[0]])
    write(memory, file, None)
    assert f"the run {A[0].run!r} is not there; {advice}" in refused(lambda: memory.fetch(A[0]))
    assert memory.add("accepted", *A)
    assert (memory.fetch(A[0]), memory.read("accepted")) == (b"a", [A[0]])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "damaged record: ", id="empty"),
        pytest.param(b'{"schema_version":2,"run":"run-', "damaged record: ", id="truncated"),
        pytest.param(b'{"schema_version":3}', "baseline schema 3 is newer than this rankgate reads", id="newer"),
    ],
)
def test_a_damaged_record_is_named(place: str, data: bytes, message: str) -> None:
    memory = remote_memory(place)
    memory.add("history", *A)
    (name,) = names_of(memory, "history")
    write(memory, f"history/{name}", data)
    said = refused(lambda: remote_memory(place).read("history"))
    assert said.startswith(f"{place}/history/{name}: {message}")
    assert said.endswith("; restore it, or delete it and accept a run again") is ("damaged" in message)


def test_a_record_that_somebody_renamed_is_named(place: str) -> None:
    memory = remote_memory(place)
    memory.add("accepted", *A)
    write(memory, "accepted/newest.json", b"{}")
    assert refused(lambda: memory.read("accepted")) == (
        f"{place}/accepted/newest.json: is no name of a record; somebody changed this by hand: take it away or name "
        "it as it was"
    )


def test_a_record_names_no_other_file_than_a_run(place: str) -> None:
    memory = remote_memory(place)
    write(memory, "secret", b"x")
    sneaky = msgspec.structs.replace(A[0], run="../secret", sha256=hashlib.sha256(b"x").hexdigest())
    assert "the run '../secret' is not there" in refused(lambda: memory.fetch(sneaky))


def test_other_bytes_than_the_record_says_are_not_added(place: str) -> None:
    assert "its digest is not its record's" in refused(lambda: remote_memory(place).add("accepted", A[0], b"b"))
    assert contents(remote_memory(place)) == {}


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
    assert refused(lambda: remote_memory(url)) == message


def test_another_store_of_fsspec_is_used_as_it_is() -> None:
    memory = remote_memory("memory://kept/here")
    memory.add("accepted", *A)
    memory.add("accepted", *B)
    assert memory.read("accepted") == logged(A[0], B[0])
    assert memory.fetch(A[0]) == b"a"
    memory.add("accepted", *C)
    memory.prune("accepted", {B[0].id})
    assert [record.id for record in memory.read("accepted")] == [A[0].id, C[0].id]


@pytest.mark.parametrize("call", ["cat", "exists", "pipe_file"])
def test_what_a_store_raises_where_something_is_not_there_is_named(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket: Any = remote_memory("memory://gone").place

    def missing(*_: object, **options: object) -> None:
        raise FileNotFoundError("https://signed.example/?sig=SECRET")

    monkeypatch.setattr(bucket._files, call, missing)
    calls = {"cat": lambda: bucket._get(["a"]), "exists": lambda: bucket._holds("a")}
    said = refused(calls.get(call, lambda: bucket._put("a", b"")))
    assert said == "memory://gone/a: there is no such bucket or directory; create it, or correct the address"


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    said = refused(lambda: remote_memory("gs://bucket/x"))
    assert said.startswith("gs://bucket/x: gs:// needs a package that is not installed: ")
    assert "gcsfs" in said
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.setitem(sys.modules, "fsspec.implementations.s3", None)
    said = refused(lambda: remote_memory("s3a://bucket/x"))
    how = f"{pip_install('cloud')} (in the action: extras: cloud)"
    assert said == f"s3a://bucket/x: s3a:// needs a package that is not installed: {how}"
    monkeypatch.setitem(sys.modules, "fsspec", None)
    said = refused(lambda: remote_memory("s3://bucket/x"))
    assert said == f"s3://bucket/x: needs fsspec, which is not installed: {how}"


# -- refusals of a store --


def test_a_bucket_that_is_not_there_is_no_empty_memory(s3: str) -> None:
    memory = remote_memory("s3://no-such-bucket/x")
    said = "s3://no-such-bucket/x: there is no such bucket or directory; create it, or correct the address"
    assert refused(lambda: memory.read("accepted")) == said
    assert "there is no such bucket" in refused(lambda: memory.add("accepted", *A))


def test_a_store_that_cannot_be_reached_is_named_and_shows_no_key(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    said = refused(lambda: remote_memory("s3://bucket/x").read("accepted"))
    assert said.startswith("s3://bucket/x/accepted: cannot be reached, or answers with an error (")
    assert "SECRET" not in said


def test_without_credentials_it_says_so(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    said = refused(lambda: remote_memory("s3://bucket/x").read("accepted"))
    assert (
        said == "s3://bucket/x/accepted: no credentials for it; set them as its own tools read them, as "
        "AWS_ACCESS_KEY_ID"
    )


def test_a_place_where_no_directory_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    memory = remote_memory(f"file://{tmp_path}/kept")
    assert refused(lambda: memory.read("accepted")) == f"{memory.spec}/accepted: cannot be read: Not a directory"
    assert "cannot be written: " in refused(lambda: memory.place.create({"rankings/x": b""}, ""))


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
        memory = remote_memory("s3://bucket/x")
        denied = "permission denied; look at the credentials that this job has, and at what they may do there"
        assert refused(lambda: memory.read("accepted")) == f"s3://bucket/x/accepted: {denied}"
        assert refused(lambda: memory.place.create({"rankings/x": b"x"}, "")) == f"s3://bucket/x/rankings/x: {denied}"
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
