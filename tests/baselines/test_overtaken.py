"""A job of main that was slow: what was accepted for a later commit stays, whatever the job's clone knows of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.repositories import git, sha_of_commit

from rankgate.baselines.memory import Memory, Place
from rankgate.baselines.packing import pack, recorded
from rankgate.baselines.records import Record
from rankgate.baselines.stores import store_for
from rankgate.cli import main
from rankgate.model.values import Ranking

CRITERIA = "gates: [{name: recall@1, threshold: 0.5}]\nbaseline: {accept: green}\n"


class Team:
    """A remote whose main has three commits, and jobs that each check out one of them as main stood then."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.enter = place, monkeypatch.chdir
        git("init", "--quiet", "--bare", "--initial-branch", "main", "origin.git", at=place)
        git("clone", "--quiet", "origin.git", "team", at=place)
        self.enter(place / "team")
        git("switch", "--quiet", "--create", "main")
        Path("gold.yaml").write_text("- {id: q, expected_output: [d]}\n")
        Path("ship-criteria.yaml").write_text(CRITERIA)
        (place / "run.jsonl").write_text(json.dumps({"query_id": "q", "retrieved": ["d"]}) + "\n")
        self.commits: list[str] = []

    def push(self, *options: str) -> str:
        """One more commit on main."""
        self.enter(self.place / "team")
        Path("step").write_text(str(len(self.commits)))
        self.commits.append(sha_of_commit())
        git("push", "--quiet", *options, "origin", "HEAD:main")
        return self.commits[-1]

    def job(self, name: str, *depth: str) -> None:
        """A clone of main as it is now."""
        origin = (self.place / "origin.git").as_uri()
        git("clone", "--quiet", *depth, origin, name, at=self.place)

    def record(self, job: str, store: str) -> str:
        """The job's run is recorded; what was said last."""
        self.enter(self.place / job)
        run = str(self.place / "run.jsonl")
        words = ["--gold", "gold.yaml", "--run", run, "--baseline", store, "--date", "2026-01-01"]
        assert main(["baseline", "record", *words]) == 0
        return git("rev-parse", "HEAD")


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    for name in ("GITHUB_REF_NAME", "GITHUB_SHA"):
        monkeypatch.delenv(name, raising=False)
    return Team(tmp_path, monkeypatch)


@pytest.fixture(params=["a branch", "objects"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "git+branch:runs" if request.param == "a branch" else f"file://{tmp_path}/kept"


def accepted_in(store: str) -> list[str | None]:
    memory = store_for(store).memory
    assert memory is not None
    return [record.commit for record in memory.read("accepted")]


WHOLE_OR_NOT = pytest.mark.parametrize("depth", [(), ("--depth=1",)], ids=["whole", "shallow"])


@WHOLE_OR_NOT
@pytest.mark.full
def test_a_slow_job_whose_clone_lacks_the_later_commit_does_not_set_it_back(
    team: Team, store: str, depth: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    team.push()
    team.job("slow", *depth)
    later = team.push()
    team.job("quick", *depth)
    team.record("quick", store)
    capsys.readouterr()
    slow = team.record("slow", store)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith(f": what is accepted stays: it is of a later commit ({later[:7]})")
    assert accepted_in(store) == [later]
    assert git("rev-parse", "--is-shallow-repository") == ("true" if depth else "false"), "the clone stays what it was"
    memory = store_for(store).memory
    assert memory is not None
    assert [record.commit for record in memory.read("history")] == [later, slow]


@WHOLE_OR_NOT
@pytest.mark.full
def test_the_next_commit_is_accepted_also_where_the_clone_lacks_the_one_before(
    team: Team, store: str, depth: Sequence[str]
) -> None:
    first = team.push()
    team.job("one", *depth)
    team.record("one", store)
    second = team.push()
    team.job("two", *depth)
    team.record("two", store)
    assert accepted_in(store) == [first, second]


@WHOLE_OR_NOT
@pytest.mark.full
def test_a_commit_that_is_no_longer_on_main_holds_nothing_up(team: Team, store: str, depth: Sequence[str]) -> None:
    first = team.push()
    dropped = team.push()
    team.job("one", *depth)
    team.record("one", store)
    team.enter(team.place / "team")
    git("reset", "--quiet", "--hard", first)
    Path("other").write_text("instead\n")
    instead = team.push("--force")
    team.job("two", *depth)
    team.record("two", store)
    assert accepted_in(store) == [dropped, instead]


@pytest.mark.full
def test_where_nobody_can_be_asked_what_is_accepted_stays_and_it_says_why(
    team: Team, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = f"file://{tmp_path}/kept"
    team.push()
    team.job("slow", "--depth=1")
    later = team.push()
    team.job("quick")
    team.record("quick", store)
    (tmp_path / "origin.git").rename(tmp_path / "moved.git")
    capsys.readouterr()
    team.record("slow", store)
    said = capsys.readouterr().out.splitlines()[-1]
    why = f"whether it is of a later commit ({later[:7]}) cannot be told: main: cannot be fetched from origin: "
    assert f"what is accepted stays: {why}" in said
    assert accepted_in(store) == [later]


@pytest.mark.full
def test_what_is_of_no_commit_of_this_repository_is_accepted(team: Team, tmp_path: Path) -> None:
    store = f"file://{tmp_path}/kept"
    team.push()
    team.job("one")
    team.record("one", store)
    words = ["--gold", "gold.yaml", "--run", str(tmp_path / "run.jsonl"), "--baseline", store, "--date", "2026-01-01"]
    for sha in ("e" * 40, "d" * 40):
        assert main(["baseline", "record", *words, "--commit", sha]) == 0
    assert accepted_in(store)[1:] == ["e" * 40, "d" * 40]


# Who was quicker meanwhile


def made(text: str) -> tuple[Record, bytes]:
    packed = pack([Ranking("q1", [text])], source=text)
    record = recorded(packed, source=text, provenance={}, gold=None, date="2026-01-01")
    return replace(record, commit=text), packed.data


class Raced:
    """A place in which somebody else accepts a run right before ours is written."""

    def __init__(self, place: Place, *others: tuple[Record, bytes]) -> None:
        self.place, self.others = place, list(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.place, name)

    def create(self, files: Mapping[str, bytes], message: str) -> bool:
        others, self.others = self.others, []
        for record, data in others:
            assert memory_at(self.place.spec).add("accepted", record, data)
        return self.place.create(files, message)


def memory_at(address: str) -> Memory:
    memory = store_for(address).memory
    assert memory is not None
    return memory


PLACES = pytest.mark.parametrize("address", ["./kept", "git+branch:kept@.", "memory://kept-{here}"])


@PLACES
@pytest.mark.parametrize("stays", [True, False], ids=["which ours does not belong behind", "which ours may follow"])
def test_after_a_lost_race_it_is_asked_again_with_what_the_winner_accepted(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stays: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", ".")
    address = address.format(here=tmp_path.name)
    (one, of_one), other, (ours, of_ours) = map(made, ("1111", "2222", "3333"))
    memory_at(address).add("accepted", one, of_one)
    raced: Any = Raced(memory_at(address).place, other)
    asked: list[list[str | None]] = []

    def unless(accepted: Sequence[Record]) -> bool:
        asked.append([record.commit for record in accepted])
        return stays and len(accepted) > 1

    assert Memory(raced).add("accepted", ours, of_ours, unless=unless) is not stays
    assert asked == [["1111"], ["1111", "2222"]]
    left = [record.commit for record in memory_at(address).read("accepted")]
    assert left == ["1111", "2222", *([] if stays else ["3333"])]


# Two jobs that accept the same run at the same moment


@PLACES
def test_a_round_that_was_lost_leaves_nothing_in_the_next(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is overtaken by the same run says so, and its anchor counts the steps of the log as it is then."""
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", ".")
    address = address.format(here=tmp_path.name)
    (one, of_one), other, ours = map(made, ("aaaa", "bbbb", "cccc"))
    assert memory_at(address).add("accepted", one, of_one)
    raced: Any = Raced(memory_at(address).place, other, ours)
    assert not Memory(raced).add("accepted", *ours)
    log = memory_at(address).read("accepted")
    assert [record.source for record in log] == ["aaaa", "bbbb", "cccc"]
    assert [record.anchor.steps for record in log[1:] if record.anchor] == [1, 2]
