"""A memory of runs as files: what is remembered, what is forgotten, and what nothing can contradict unseen."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.baselines.accepting import logged

from rankgate.baselines.directory import DirectoryStore, DirectoryTree
from rankgate.baselines.memory import lookup
from rankgate.baselines.packing import Packed, pack, recorded
from rankgate.baselines.records import Log, Record
from rankgate.baselines.tree import NotKeptError, TreeMemory
from rankgate.cli.baseline_tend import verified as verify
from rankgate.errors import RankgateError
from rankgate.model.gold_changes import GoldMark
from rankgate.model.values import Ranking, Verdict


@pytest.fixture
def everything(tmp_path: Path) -> TreeMemory:
    """A memory that keeps every run, as a branch does."""
    return TreeMemory(DirectoryTree((tmp_path / "everything").as_posix()))


@pytest.fixture
def small(tmp_path: Path) -> TreeMemory:
    """One that keeps what a directory in the repository does."""
    return TreeMemory(DirectoryTree((tmp_path / "small").as_posix()), every_run=False)


def made(found: str, *, commit: str | None = None, day: int = 1) -> tuple[Record, Packed]:
    packed = pack([Ranking("q1", [found])], source=found)
    record = recorded(packed, source=found, provenance={}, gold=None, date=f"2026-01-{day:02}")
    return replace(record, commit=commit), packed


def add(memory: TreeMemory, log: Log, found: str, **about: object) -> Record:
    record, packed = made(found, **about)  # type: ignore[arg-type]
    assert memory.add(log, record, packed.data)
    return record


def said(caught: pytest.ExceptionInfo[RankgateError]) -> list[str]:
    return [str(problem) for problem in caught.value.problems]


def test_logs_grow_apart_and_in_order(everything: TreeMemory) -> None:
    one, two = add(everything, "history", "one"), add(everything, "history", "two")
    three = add(everything, "accepted", "three")
    assert everything.read("history") == [one, two]
    assert everything.read("accepted") == [three]
    assert everything.accepted() == three


def test_a_run_is_recorded_once_for_a_commit(everything: TreeMemory) -> None:
    """A job that is run again finds its entry there."""
    record = add(everything, "history", "one", commit="abcabca")
    add(everything, "history", "two", commit="abcabcd")
    _, packed = made("one", commit="abcabca", day=2)
    assert everything.add("history", replace(record, date="2026-01-02"), packed.data) is False
    assert len(everything.read("history")) == 2


def test_what_was_accepted_before_may_be_accepted_again(everything: TreeMemory) -> None:
    for found in ("one", "two", "one"):
        add(everything, "accepted", found)
    assert [record.source for record in everything.read("accepted")] == ["one", "two", "one"]


def test_only_the_manifest_has_the_digest_of_each_gold_query(everything: TreeMemory) -> None:
    """Ten thousand times ten thousand of them would be no log that anybody commits."""
    mark = GoldMark(path="gold", queries=1, fingerprint="f", judged={"q1": "digest"})
    for found in ("one", "two"):
        record, packed = made(found)
        everything.add("accepted", replace(record, gold=mark), packed.data)
    assert [record.gold and record.gold.judged for record in everything.read("accepted")] == [None, {"q1": "digest"}]


def test_where_all_is_kept_every_run_can_be_fetched(everything: TreeMemory) -> None:
    records = [add(everything, "history", "one"), *(add(everything, "accepted", found) for found in ("two", "three"))]
    assert [everything.fetch(record) for record in records] == [made(f)[1].data for f in ("one", "two", "three")]


def test_a_directory_keeps_the_run_of_what_is_accepted_now_and_of_its_anchor(small: TreeMemory) -> None:
    history = add(small, "history", "zero")
    first = add(small, "accepted", "one")
    second, third = (add(small, "accepted", found) for found in ("two", "three"))
    assert small.fetch(third) == made("three")[1].data
    assert small.fetch(first) == made("one")[1].data, "small losses add up from it"
    for record in (history, second):
        with pytest.raises(NotKeptError, match="is remembered by its numbers alone"):
            small.fetch(record)
    assert verify(small).problems == []


def test_a_record_after_the_manifests_was_left_by_a_killed_acceptance(everything: TreeMemory, tmp_path: Path) -> None:
    one = add(everything, "accepted", "one")
    manifest = (tmp_path / "everything" / "manifest.json").read_bytes()
    add(everything, "accepted", "two")
    (tmp_path / "everything" / "manifest.json").write_bytes(manifest)
    assert everything.read("accepted") == [one]
    three = add(everything, "accepted", "three")
    assert everything.read("accepted") == logged(one, three)
    assert verify(everything).problems == []


@pytest.mark.parametrize("log", ["accepted", "history"])
def test_a_manifest_that_somebody_set_back_loses_no_record(small: TreeMemory, tmp_path: Path, log: Log) -> None:
    """A killed acceptance leaves one record behind the manifest's. Two are not its doing."""
    folder, records, manifests = tmp_path / "small", [], []
    for found in ("one", "two", "three"):
        records.append(add(small, "accepted", found))
        manifests.append((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_bytes(manifests[0])
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    record, packed = made("four")
    with pytest.raises(RankgateError) as caught:
        small.add(log, record, packed.data)
    first, _, last = [each.id for each in records]
    expected = (
        f"{folder.as_posix()}/manifest.json: accepted.jsonl has 2 accepted after {first}, which this says is accepted, "
        f"the last {last} of 2026-01-01: somebody changed "
        "one of the two. Restore it from version control, or take what is not accepted out of accepted.jsonl"
    )
    assert said(caught) == [expected]
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert [str(problem) for problem in verify(small).problems] == said(caught)


def test_a_manifest_set_back_by_one_erases_no_acceptance_whose_run_took_the_others_place(
    small: TreeMemory, tmp_path: Path
) -> None:
    """The run of what was accepted before goes last, so that this is no acceptance that was killed.

    Only the anchor's own stays.
    """
    add(small, "accepted", "anchor")
    one, manifest = add(small, "accepted", "one"), tmp_path / "small" / "manifest.json"
    before = manifest.read_bytes()
    two = add(small, "accepted", "two")
    manifest.write_bytes(before)
    for look in (lambda: small.read("accepted"), lambda: add(small, "accepted", "one")):
        with pytest.raises(RankgateError, match=f"after {one.id}, which this says is accepted, the last {two.id}"):
            look()


def test_what_follows_the_manifest_may_be_taken_out_by_hand(small: TreeMemory, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    one = add(small, "accepted", "one")
    manifest = (folder / "manifest.json").read_bytes()
    for found in ("two", "three"):
        add(small, "accepted", found)
    (folder / "manifest.json").write_bytes(manifest)
    log = folder / "accepted.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    four = add(small, "accepted", "four")
    assert small.read("accepted") == logged(one, four)


def test_where_all_files_change_at_once_nothing_follows_the_manifest(tmp_path: Path) -> None:
    """As on a branch: a commit is whole, so a record behind the manifest's was put there by hand."""
    whole = TreeMemory(DirectoryTree((tmp_path / "whole").as_posix()), left_over=0)
    add(whole, "accepted", "one")
    manifest = (tmp_path / "whole" / "manifest.json").read_bytes()
    add(whole, "accepted", "two")
    (tmp_path / "whole" / "manifest.json").write_bytes(manifest)
    with pytest.raises(RankgateError, match="has 1 accepted after"):
        whole.read("accepted")


# Pruning


def test_pruning_takes_records_and_the_runs_that_no_other_needs(everything: TreeMemory) -> None:
    old, kept = add(everything, "history", "one"), add(everything, "history", "two")
    shared = add(everything, "accepted", "one")
    assert everything.prune("history", [old.id, "unknown"]) == 1
    assert everything.read("history") == [kept]
    assert everything.fetch(shared) == made("one")[1].data
    other = add(everything, "history", "three")
    assert everything.prune("history", [other.id]) == 1
    with pytest.raises(RankgateError, match="is not there"):
        everything.fetch(other)


def test_what_is_accepted_now_is_never_pruned(everything: TreeMemory) -> None:
    one, two = (add(everything, "accepted", found) for found in ("one", "two"))
    with pytest.raises(RankgateError, match="is accepted now"):
        everything.prune("accepted", [one.id, two.id])
    with pytest.raises(RankgateError, match=f"small losses add up from {one.id}; it is not pruned"):
        everything.prune("accepted", [one.id])
    assert everything.read("accepted") == logged(one, two)


# Damage


def test_every_damaged_line_is_named(everything: TreeMemory, tmp_path: Path) -> None:
    for found in ("one", "two", "three"):
        add(everything, "history", found)
    log = tmp_path / "everything" / "history.jsonl"
    lines = log.read_bytes().splitlines()
    log.write_bytes(b"\n".join([b"<<<<<<< HEAD", lines[1], b'{"schema_version": 2}']))
    with pytest.raises(RankgateError) as caught:
        everything.read("history")
    assert [problem.line for problem in caught.value.problems] == [1, 3]
    before = log.read_bytes()
    record, packed = made("four")
    with pytest.raises(RankgateError, match=r"damaged log of history.*; restore it from version control$"):
        everything.add("history", record, packed.data)
    assert log.read_bytes() == before


def test_verify_names_each_damaged_thing(everything: TreeMemory, tmp_path: Path) -> None:
    one, two = (add(everything, "accepted", found) for found in ("one", "two"))
    folder = tmp_path / "everything"
    (folder / one.run).write_bytes(b"other bytes")
    (folder / two.run).unlink()
    (folder / "history.jsonl").write_text("no record\n")
    (folder / "accepted.jsonl").write_bytes((folder / "accepted.jsonl").read_bytes().splitlines()[0])
    named = {(problem.file or "").removeprefix(f"{folder.as_posix()}") for problem in verify(everything).problems}
    assert named == {"/history.jsonl", f"/{one.run}", "", "/accepted.jsonl"}


@pytest.mark.parametrize("gone", [["manifest.json"], ["manifest.json", "accepted.jsonl"], ["manifest.json", "runs"]])
@pytest.mark.parametrize("times", [1, 3])
def test_a_manifest_that_is_gone_is_damage_and_not_the_state_before_the_first(
    tmp_path: Path, gone: list[str], times: int
) -> None:
    """By a log or a run file alone; accepting a run again mends it, and loses nothing of the log."""
    memory = DirectoryStore((tmp_path / "kept").as_posix()).memory
    records = [add(memory, "accepted", found) for found in ("one", "two", "three")[:times]]
    for name in gone:
        for file in (tmp_path / "kept").glob("run-*" if name == "runs" else name):
            file.unlink()
    log, first = "accepted.jsonl" not in gone, min(records[0].run, records[-1].run)
    witness = f"accepted.jsonl has {times} record{'s' * (times > 1)}" if log else f"{first} is the run of no"
    begins = f"is not there, and {witness}"
    for look in (memory.accepted, lambda: memory.read("accepted"), lambda: add(memory, "history", "new")):
        with pytest.raises(RankgateError) as caught:
            look()
        assert [each.message.startswith(begins) for each in caught.value.problems] == [True]
    assert [each.message.startswith(begins) for each in verify(memory).problems] == [True]
    with pytest.raises(RankgateError, match=r"restore it from version control or accept a run again"):
        DirectoryStore(memory.spec).open(frozenset())
    again = add(memory, "accepted", "four")
    assert memory.accepted() == memory.read("accepted")[-1]
    assert [each.id for each in memory.read("accepted")] == [*(each.id for each in records if log), again.id]
    anchor_is_gone = times > 1 and "runs" in gone
    assert [records[0].run in problem.message for problem in verify(memory).problems] == [True] * anchor_is_gone


def test_a_history_alone_says_nothing_of_what_is_accepted(small: TreeMemory, everything: TreeMemory) -> None:
    for memory in (small, everything):
        add(memory, "history", "one")
        assert memory.accepted() is None
        assert verify(memory).problems == []


def test_verify_compares_the_manifest_with_its_own_line_of_the_log(small: TreeMemory, tmp_path: Path) -> None:
    record, manifest = add(small, "accepted", "one"), tmp_path / "small" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"depth": 100', '"depth": 5').replace('"one"', '"other"'))
    assert [problem.message for problem in verify(small).problems] == [
        f"says otherwise of {record.id} than manifest.json: depth, source; somebody edited one of the two"
    ]


def test_verify_knows_a_log_that_is_gone_unless_the_manifest_is_older_than_logs(
    small: TreeMemory, tmp_path: Path
) -> None:
    record, manifest = add(small, "accepted", "one"), tmp_path / "small" / "manifest.json"
    (tmp_path / "small" / "accepted.jsonl").unlink()
    assert [problem.message for problem in verify(small).problems] == [
        f"is empty or not there, and manifest.json says that {record.id} is accepted; restore it from version control"
    ]
    text = manifest.read_text().replace('"schema_version": 2', '"schema_version": 1').replace('"date"', '"accepted"')
    manifest.write_text(text)
    assert verify(small).problems == []


def test_a_forced_acceptance_that_is_repeated_keeps_its_reason_and_its_day(everything: TreeMemory) -> None:
    """A job that is started again judges the run by itself, which needs no reason any more."""
    forced, packed = made("one", commit="abcabca")
    forced = replace(forced, reason="smaller index", by="ana")
    assert everything.add("accepted", forced, packed.data)
    repeated = replace(forced, reason=None, by=None, date="2026-01-02", verdict=Verdict.PASS)
    assert not everything.add("accepted", repeated, packed.data)
    assert everything.read("accepted") == [forced]
    assert everything.add("accepted", replace(repeated, reason="agreed in #12", by="bo"), packed.data)
    assert everything.read("accepted") == [replace(forced, reason="smaller index; agreed in #12")]
    assert not everything.add("accepted", replace(repeated, reason="agreed in #12"), packed.data)


def test_without_a_commit_another_day_is_another_acceptance(everything: TreeMemory) -> None:
    for day in (1, 2):
        add(everything, "accepted", "one", day=day)
    assert [record.date for record in everything.read("accepted")] == ["2026-01-02"]


def test_verify_names_the_accepted_run_that_is_not_there(small: TreeMemory, tmp_path: Path) -> None:
    now = add(small, "accepted", "two")
    (tmp_path / "small" / now.run).unlink()
    assert [problem.message for problem in verify(small).problems] == [
        f"damaged baseline: the run {now.run!r} is not there; restore it from version control or accept a run again"
    ]


# Names


def test_a_run_is_found_by_what_people_call_it(everything: TreeMemory) -> None:
    first = add(everything, "history", "one", commit="1a2b3c4d")
    again = add(everything, "history", "two", commit="1a2b3c4d")
    now = add(everything, "accepted", "three", commit="ffff0000")
    for word, record in (
        ("accepted", now),
        (first.id, first),
        (again.id[:6], again),
        ("ffff", now),
    ):
        assert lookup(everything, word) == record, word


@pytest.mark.parametrize(
    ("accepted", "recorded", "newest"),
    [
        pytest.param(1, 2, "recorded", id="recorded after it was accepted"),
        pytest.param(2, 1, "accepted", id="accepted after it was recorded"),
        pytest.param(1, 1, "accepted", id="on one day"),
    ],
)
def test_of_several_runs_of_one_commit_the_newest_is_meant(
    everything: TreeMemory, accepted: int, recorded: int, newest: str
) -> None:
    runs = {
        "accepted": add(everything, "accepted", "one", commit="1a2b3c4d", day=accepted),
        "recorded": add(everything, "history", "two", commit="1a2b3c4d", day=recorded),
    }
    assert lookup(everything, "1a2b") == runs[newest]


def test_first_digits_of_several_are_refused_with_their_names(everything: TreeMemory) -> None:
    """Whoever compares with a run has to know which."""
    first = add(everything, "history", "one", commit="1a2b3c4d5e6f708192a3")
    second = add(everything, "accepted", "two", commit="1a2bffff00001111222", day=2)
    with pytest.raises(RankgateError) as caught:
        lookup(everything, "1a2b")
    expected = (
        f"{everything.spec}: '1a2b' are the first digits of 1a2b3c4d5e6f of 2026-01-01, 1a2bffff0000 of 2026-01-02; "
        "write more of them"
    )
    assert said(caught) == [expected]
    assert [lookup(everything, word) for word in ("1a2b3", "1a2bf")] == [first, second]


def test_a_whole_commit_is_that_commit_also_where_another_begins_so(everything: TreeMemory) -> None:
    short = add(everything, "history", "one", commit="1a2b")
    add(everything, "history", "two", commit="1a2b3c4d")
    assert lookup(everything, "1a2b") == short


@pytest.mark.parametrize("word", ["accepted", "launch", "1a2", "", "0123456789ab"])
def test_what_is_not_there_is_refused(everything: TreeMemory, word: str) -> None:
    with pytest.raises(RankgateError):
        lookup(everything, word)
