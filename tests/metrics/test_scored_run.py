"""A side's lists can be read again: from the file, or from memory where they came through a pipe."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from rankgate.baselines.packing import pack, recorded, unpack
from rankgate.baselines.records import Record
from rankgate.criteria import InputFile
from rankgate.criteria.runs import RunFile
from rankgate.errors import RankgateError
from rankgate.metrics import scored_run as side
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ScoredRun, scored
from rankgate.model.values import Gold, Ranking, RunField, Sample
from rankgate.readers.base import Run
from rankgate.readers.formats import read_run

GOLD = Gold(samples={"q1": Sample(query_id="q1", gains={"a": 1.0})}, name="gold", format="yaml", fingerprint="")
PLAN = Plan(metrics=parse_metrics("recall@5"), keep_matched=True)
LISTS = [Ranking("q1", ["x", "a"]), Ranking("q2", ["b"])]


class Stored(NamedTuple):
    """A stored run."""

    record: Record
    data: bytes

    def open(self, needs: frozenset[RunField] = frozenset()) -> Run:
        return unpack(self.record, lambda: self.data, needs, name="baseline")


class Absent:
    """A run that is there no more."""

    def open(self, needs: frozenset[RunField]) -> None:
        del needs


class Pipe:
    """A pipe, which can be opened once."""

    def open(self, needs: frozenset[RunField]) -> Run:
        raise AssertionError(f"a pipe is opened again for {needs}")


def scored_file(path: Path) -> ScoredRun:
    source = RunFile(file=InputFile(str(path)))
    return scored(GOLD, source.open(frozenset()), PLAN, source)


def piped() -> ScoredRun:
    return scored(GOLD, Run(name="standard input", format="jsonl", rankings=iter(LISTS)), PLAN, Pipe())


@pytest.fixture(params=[pytest.param(3, id="few ids, which are kept"), pytest.param(2, id="read again")])
def most_kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side, "MAX_KEPT", request.param)


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side, "MAX_KEPT", 0)


@pytest.mark.usefixtures("most_kept")
def test_the_lists_of_a_file_are_there_each_time_they_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"query_id": "q1", "retrieved": ["x", "a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n')
    found = scored_file(file)
    assert found.scores.values == {"recall@5": [1.0]}
    assert [list(found.lists()) for _ in range(2)] == [LISTS, LISTS]


def test_the_lists_of_few_ids_outlive_their_file(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"query_id": "q1", "retrieved": ["x", "a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n')
    found = scored_file(file)
    file.unlink()
    assert [list(found.lists()) for _ in range(2)] == [LISTS, LISTS]


@pytest.mark.parametrize("most", [0, 9], ids=["read again", "kept"])
@pytest.mark.parametrize(
    ("odd", "ids", "duplicates"),
    [
        pytest.param('{"query_id": "q2", "retrieved": ["b"]}', ["b"], 0, id="none"),
        pytest.param('{"id": "q2", "retrieved": ["b", "b"]}', ["b"], 1, id="a repeated id under another key"),
        pytest.param('{"query_id": "q2", "topk": [{"id": "b", "rank": 1}]}', ["b"], 0, id="items of another shape"),
    ],
)
def test_lists_read_again_are_those_that_were_scored_whatever_lines_are_odd(
    odd: str, ids: list[str], duplicates: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side, "MAX_KEPT", most)
    file, line = tmp_path / "run.jsonl", '{"query_id": "%s", "retrieved": ["x", "a"]}\n'
    file.write_text(line % "q1" + odd + "\n" + line % "q3")
    found = scored_file(file)
    wanted = [Ranking("q1", ["x", "a"]), Ranking("q2", ids, duplicates), Ranking("q3", ["x", "a"])]
    assert list(found.lists()) == list(read_run(str(file)).rankings) == wanted


@pytest.mark.usefixtures("nothing_kept")
def test_a_file_that_has_become_wrong_since_it_was_scored_is_named(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n')
    found = scored_file(file)
    file.write_text('{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": 3}\n')
    lists = iter(found.lists())
    assert next(lists) == Ranking("q1", ["a"])
    with pytest.raises(RankgateError, match=r"run\.jsonl:2: "):
        list(lists)


def stored(lists: list[Ranking]) -> Stored:
    packed = pack(lists, source="run")
    record = recorded(packed, source="run", provenance={}, gold=None, date="2026-01-01")
    return Stored(record, packed.data)


@pytest.mark.usefixtures("most_kept")
def test_a_stored_run_is_read_again_and_held_no_longer_than_that() -> None:
    opened = stored(LISTS)
    found = scored(GOLD, opened.open(), PLAN, opened)
    assert found.scores.values == {"recall@5": [1.0]}
    assert [list(found.lists()) for _ in range(2)] == [LISTS, LISTS] == [list(opened.open().rankings) for _ in range(2)]
    assert found.run.quick is None


def test_a_stored_run_with_a_query_twice_is_damaged_however_it_was_signed() -> None:
    opened = stored([*LISTS, Ranking("q1", ["z"])])
    with pytest.raises(RankgateError, match=r"baseline:3: query 'q1' stands twice \(first on line 1\)"):
        scored(GOLD, opened.open(), PLAN, opened)


def test_what_came_through_a_pipe_is_kept() -> None:
    found = piped()
    assert found.scores.values == {"recall@5": [1.0]}
    assert [list(found.lists()) for _ in range(2)] == [LISTS, LISTS]


def test_too_much_for_memory_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side, "MAX_PIPED", 2)
    found = piped()
    assert found.scores.values == {"recall@5": [1.0]}, "it is scored all the same"
    assert list(found.lists()) == []


@pytest.mark.usefixtures("nothing_kept")
def test_a_run_that_is_there_no_more_has_no_lists(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"query_id": "q1", "retrieved": ["a"]}\n')
    assert list(scored(GOLD, read_run(str(file)), PLAN, Absent()).lists()) == []
