"""A memory of runs: what is remembered, what is forgotten, and what of damage is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.baselines.accepting import logged

from rankgate.baselines.directory import DirectoryPlace, directory_store
from rankgate.baselines.memory import Memory, NotKeptError, lookup
from rankgate.baselines.packing import Packed, pack, recorded
from rankgate.baselines.records import Log, Record
from rankgate.cli.baseline import verified as verify
from rankgate.errors import RankgateError
from rankgate.model.lineage import GoldMark
from rankgate.model.values import Ranking, Verdict


@pytest.fixture
def everything(tmp_path: Path) -> Memory:
    """A memory that keeps every run, as a branch does."""
    return Memory(DirectoryPlace((tmp_path / "everything").as_posix(), every_run=True))


@pytest.fixture
def small(tmp_path: Path) -> Memory:
    """One that keeps what a directory in the repository does."""
    return Memory(DirectoryPlace((tmp_path / "small").as_posix()))


def made(found: str, *, commit: str | None = None, day: int = 1) -> tuple[Record, Packed]:
    packed = pack([Ranking("q1", [found])], source=found)
    record = recorded(packed, source=found, provenance={}, gold=None, date=f"2026-01-{day:02}")
    return replace(record, commit=commit), packed


def add(memory: Memory, log: Log, found: str, **about: object) -> Record:
    record, packed = made(found, **about)  # type: ignore[arg-type]
    assert memory.add(log, record, packed.data)
    return record


def said(caught: pytest.ExceptionInfo[RankgateError]) -> list[str]:
    return [str(problem) for problem in caught.value.problems]


def test_logs_grow_apart_and_in_order(everything: Memory) -> None:
    one, two = add(everything, "history", "one"), add(everything, "history", "two")
    three = add(everything, "accepted", "three")
    assert everything.read("history") == [one, two]
    assert everything.read("accepted") == [three]


def test_a_run_is_recorded_once_for_a_commit(everything: Memory) -> None:
    """A job that is run again finds its entry there."""
    record = add(everything, "history", "one", commit="abcabca")
    add(everything, "history", "two", commit="abcabcd")
    _, packed = made("one", commit="abcabca", day=2)
    assert everything.add("history", replace(record, date="2026-01-02"), packed.data) is False
    assert len(everything.read("history")) == 2


def test_what_was_accepted_before_may_be_accepted_again(everything: Memory) -> None:
    for found in ("one", "two", "one"):
        add(everything, "accepted", found)
    assert [record.source for record in everything.read("accepted")] == ["one", "two", "one"]


def test_no_record_has_the_digest_of_each_gold_query_and_every_acceptance_knows_them(
    everything: Memory, small: Memory, tmp_path: Path
) -> None:
    """Ten thousand times ten thousand of them would be no log that anybody commits."""
    for memory in (everything, small):
        for found, queries in (("one", "q1"), ("two", "q2"), ("three", "q3")):
            mark = GoldMark(
                path="gold",
                queries=1,
                fingerprint=(queries * 6).encode().hex(),
                queries_fingerprint="a5ced",
                judged={queries: found},
            )
            record, packed = made(found)
            memory.add("accepted", replace(record, gold=mark), packed.data)
            assert memory.gold_of(memory.read("accepted")[-1]) == mark
        assert [record.gold and record.gold.judged for record in memory.read("accepted")] == [None, None, None]
    kept = {folder: len(list((tmp_path / folder).glob("rankings/gold-*"))) for folder in ("everything", "small")}
    assert kept == {"everything": 3, "small": 2}, "of the anchor and of what is accepted now"
    for file in (tmp_path / "small").glob("rankings/gold-*"):
        file.write_bytes(b"{")
    assert [problem.message.split(":")[0] for problem in verify(small).problems] == ["damaged digests of a gold set"]


def test_where_all_is_kept_every_run_can_be_fetched(everything: Memory) -> None:
    records = [add(everything, "history", "one"), *(add(everything, "accepted", found) for found in ("two", "three"))]
    assert [everything.fetch(record) for record in records] == [made(f)[1].data for f in ("one", "two", "three")]


def test_a_directory_keeps_the_run_of_what_is_accepted_now_and_of_its_anchor(small: Memory) -> None:
    history = add(small, "history", "zero")
    first = add(small, "accepted", "one")
    second, third = (add(small, "accepted", found) for found in ("two", "three"))
    assert small.fetch(third) == made("three")[1].data
    assert small.fetch(first) == made("one")[1].data, "small losses add up from it"
    for record in (history, second):
        with pytest.raises(NotKeptError, match="is remembered by its numbers alone"):
            small.fetch(record)
    assert verify(small).problems == []


# Pruning


def test_pruning_takes_records_and_the_runs_that_no_other_needs(everything: Memory, tmp_path: Path) -> None:
    old, other, kept = (add(everything, "history", found) for found in ("one", "two", "three"))
    shared = add(everything, "accepted", "one")
    for file in (tmp_path / "everything/rankings").iterdir():
        os.utime(file, (1, 1))
    assert everything.prune("history", [old.id, "unknown"]) == 1
    assert everything.read("history") == [other, kept]
    assert everything.fetch(shared) == made("one")[1].data
    assert everything.prune("history", [other.id]) == 1
    with pytest.raises(RankgateError, match="is not there"):
        everything.fetch(other)


def test_the_newest_of_a_log_stays_for_the_number_of_the_next_follows_on_from_its_own(small: Memory) -> None:
    records = [add(small, "history", found) for found in ("one", "two")]
    assert small.prune("history", [record.id for record in records]) == 1
    assert small.read("history") == records[1:]
    add(small, "history", "three")
    assert small.listing() == ["history/00000002.json", "history/00000003.json"]


def test_what_is_accepted_now_is_never_pruned(everything: Memory) -> None:
    one, two = (add(everything, "accepted", found) for found in ("one", "two"))
    with pytest.raises(RankgateError, match="is accepted now"):
        everything.prune("accepted", [one.id, two.id])
    with pytest.raises(RankgateError, match=f"small losses add up from {one.id}; it is not pruned"):
        everything.prune("accepted", [one.id])
    assert everything.read("accepted") == logged(one, two)


# Damage


def test_every_damaged_record_is_named_and_nothing_is_added_behind(everything: Memory, tmp_path: Path) -> None:
    records = [add(everything, "history", found) for found in ("one", "two", "three")]
    folder = tmp_path / "everything/history"
    (folder / "00000001.json").write_bytes(b"<<<<<<< HEAD\n")
    (folder / "00000003.json").write_bytes(b'{"schema_version": 2}')
    names = [f"{folder.as_posix()}/0000000{number}.json" for number in (1, 3)]
    record, packed = made("four")
    for action in (lambda: everything.read("history"), lambda: everything.add("history", record, packed.data)):
        with pytest.raises(RankgateError, match="; restore it, or delete it and accept a run again") as caught:
            action()
        assert [problem.file for problem in caught.value.problems] == names
    assert [problem.file for problem in verify(everything).problems] == names
    assert len(list(folder.iterdir())) == len(records)


def test_verify_names_each_damaged_thing(small: Memory, tmp_path: Path) -> None:
    one, two = (add(small, "accepted", found) for found in ("one", "two"))
    folder = tmp_path / "small"
    (folder / "rankings" / one.run).write_bytes(b"other bytes")
    (folder / "rankings" / two.run).unlink()
    (folder / "history").mkdir()
    (folder / "history/00000001.json").write_text("no record\n")
    named = {(problem.file or "").removeprefix(f"{folder.as_posix()}") for problem in verify(small).problems}
    assert named == {"/history/00000001.json", f"/rankings/{one.run}", ""}


def test_verify_names_a_run_that_is_not_that_of_its_records_digest(small: Memory, tmp_path: Path) -> None:
    one, other = add(small, "accepted", "one"), made("other")[0]
    file = tmp_path / "small/accepted/00000001.json"
    file.write_text(file.read_text().replace(one.run, other.run))
    assert f"{one.id} names the run {other.run!r}, which is not that of its digest" in [
        problem.message for problem in verify(small).problems
    ]


@pytest.mark.parametrize("times", [1, 3])
def test_records_that_are_gone_are_damage_and_not_the_state_before_the_first(small: Memory, times: int) -> None:
    """A run file says so; accepting a run again mends it."""
    records = [add(small, "accepted", found) for found in ("one", "two", "three")[:times]]
    for name in small.listing():
        Path(small.spec, name).unlink()
    begins = (
        f"{small.spec}/rankings/{min(records[0].run, records[-1].run)}: is the run of no record: that was deleted, or"
    )
    for look in (lambda: small.read("accepted"), lambda: directory_store(small.spec).open(frozenset())):
        with pytest.raises(RankgateError, match="restore it or accept a run again") as caught:
            look()
        assert said(caught)[0].startswith(begins)
    assert str(verify(small).problems[0]).startswith(begins)
    again = add(small, "accepted", "four")
    assert small.read("accepted") == [again]
    assert verify(small).problems == []


def test_where_the_newest_record_is_gone_its_run_says_so_and_the_one_before_has_none(small: Memory) -> None:
    """But for the anchor's, to which it is as if nobody had accepted anything since."""
    for found in ("one", "two", "three"):
        add(small, "accepted", found)
    Path(small.spec, small.listing()[-1]).unlink()
    with pytest.raises(RankgateError, match="is not there; restore it or accept a run again"):
        directory_store(small.spec).open(frozenset())
    assert any("is the run of no record" in problem.message for problem in verify(small).problems)


def test_a_history_alone_says_nothing_of_what_is_accepted(small: Memory, everything: Memory) -> None:
    for memory in (small, everything):
        add(memory, "history", "one")
        assert memory.read("accepted") == []
        assert verify(memory).problems == []


def test_a_forced_acceptance_that_is_repeated_keeps_its_reason_and_its_day(everything: Memory) -> None:
    """A job that is started again judges the run by itself, which needs no reason any more."""
    forced, packed = made("one", commit="abcabca")
    forced = replace(forced, reason="smaller index", by="ana")
    assert everything.add("accepted", forced, packed.data)
    repeated = replace(forced, reason=None, by=None, date="2026-01-02", verdict=Verdict.PASS)
    assert not everything.add("accepted", repeated, packed.data)
    assert everything.read("accepted") == [forced]
    assert everything.add("accepted", replace(repeated, reason="agreed in #12", by="bo"), packed.data)
    assert everything.read("accepted") == [forced, replace(forced, reason="smaller index; agreed in #12")]
    assert not everything.add("accepted", replace(repeated, reason="agreed in #12"), packed.data)


def test_without_a_commit_another_day_is_another_acceptance(everything: Memory) -> None:
    for day in (1, 2):
        add(everything, "accepted", "one", day=day)
    assert [record.date for record in everything.read("accepted")] == ["2026-01-01", "2026-01-02"]


def test_verify_names_the_accepted_run_that_is_not_there(small: Memory, tmp_path: Path) -> None:
    now = add(small, "accepted", "two")
    (tmp_path / "small/rankings" / now.run).unlink()
    assert [problem.message for problem in verify(small).problems] == [
        f"damaged baseline: the run {now.run!r} is not there; restore it or accept a run again"
    ]


# Names


def test_a_run_is_found_by_what_people_call_it(everything: Memory) -> None:
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
    everything: Memory, accepted: int, recorded: int, newest: str
) -> None:
    runs = {
        "accepted": add(everything, "accepted", "one", commit="1a2b3c4d", day=accepted),
        "recorded": add(everything, "history", "two", commit="1a2b3c4d", day=recorded),
    }
    assert lookup(everything, "1a2b") == runs[newest]


def test_first_digits_of_several_are_refused_with_their_names(everything: Memory) -> None:
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


def test_a_whole_commit_is_that_commit_also_where_another_begins_so(everything: Memory) -> None:
    short = add(everything, "history", "one", commit="1a2b")
    add(everything, "history", "two", commit="1a2b3c4d")
    assert lookup(everything, "1a2b") == short


@pytest.mark.parametrize("word", ["accepted", "launch", "1a2", "", "0123456789ab"])
def test_what_is_not_there_is_refused(everything: Memory, word: str) -> None:
    with pytest.raises(RankgateError):
        lookup(everything, word)
