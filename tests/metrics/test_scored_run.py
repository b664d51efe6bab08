"""A side's lists can be read again: from the file, or from memory where they came through a pipe."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from rankgate.baselines.packing import pack, recorded, unpack
from rankgate.baselines.records import Record
from rankgate.criteria import InputFile
from rankgate.criteria.runs import RunFile, lists_of
from rankgate.errors import RankgateError
from rankgate.metrics import scored_run as side
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_baseline import scored_as_baseline
from rankgate.metrics.scored_run import ScoredRun, scored
from rankgate.model.lineage import GoldMark
from rankgate.model.values import Gold, Ranking, RunField, Sample
from rankgate.readers.base import Choose, Run, Values, text_digest
from rankgate.readers.formats import read_run

GOLD = Gold(samples={"q1": Sample(query_id="q1", gains={"a": 1.0})}, name="gold", format="yaml", fingerprint="")
[METRIC] = parse_metrics("recall@5")
PLAN = Plan(metrics=[METRIC], keep_matched=True)
LISTS = [Ranking("q1", ["x", "a"]), Ranking("q2", ["b"])]


class Stored(NamedTuple):
    """A stored run."""

    record: Record
    data: bytes

    def open(self, needs: frozenset[RunField] = frozenset()) -> Run:
        return unpack(self.record, self.data, needs, name="baseline")


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
    assert [list(lists_of(found)) for _ in range(2)] == [LISTS, LISTS]


def test_the_lists_of_few_ids_outlive_their_file(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"query_id": "q1", "retrieved": ["x", "a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n')
    found = scored_file(file)
    file.unlink()
    assert [list(lists_of(found)) for _ in range(2)] == [LISTS, LISTS]


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
    assert list(lists_of(found)) == list(read_run(str(file)).rankings) == wanted


@pytest.mark.usefixtures("nothing_kept")
def test_a_file_that_has_become_wrong_since_it_was_scored_is_named(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n')
    found = scored_file(file)
    file.write_text('{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": 3}\n')
    lists = iter(lists_of(found))
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
    assert (
        [list(lists_of(found)) for _ in range(2)] == [LISTS, LISTS] == [list(opened.open().rankings) for _ in range(2)]
    )
    assert found.run.quick is None


def test_a_stored_run_with_a_query_twice_is_damaged_however_it_was_signed() -> None:
    opened = stored([*LISTS, Ranking("q1", ["z"])])
    with pytest.raises(RankgateError, match=r"baseline:3: query 'q1' stands twice \(first on line 1\)"):
        scored(GOLD, opened.open(), PLAN, opened)


def test_what_came_through_a_pipe_is_kept() -> None:
    found = piped()
    assert found.scores.values == {"recall@5": [1.0]}
    assert [list(lists_of(found)) for _ in range(2)] == [LISTS, LISTS]


def test_too_much_for_memory_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side, "MAX_PIPED", 2)
    found = piped()
    assert found.scores.values == {"recall@5": [1.0]}, "it is scored all the same"
    assert list(lists_of(found)) == []


@pytest.mark.usefixtures("nothing_kept")
def test_a_run_that_is_there_no_more_has_no_lists(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"query_id": "q1", "retrieved": ["a"]}\n')
    assert list(lists_of(scored(GOLD, read_run(str(file)), PLAN, Absent()))) == []


ASKED = Gold(
    samples={name: Sample(query_id=name, question=f"text of {name}", gains={"a": 1.0}) for name in ("q1", "q2", "q3")},
    name="gold",
    format="yaml",
    fingerprint="today's",
)


def mark(*queries: str, fingerprint: str = "of that day", one_by_one: bool = True) -> GoldMark:
    judged = dict.fromkeys(queries, "") if one_by_one else None
    return GoldMark(
        path="gold", queries=len(queries), fingerprint=fingerprint, queries_fingerprint="a5ced", judged=judged
    )


@pytest.mark.parametrize(
    ("lines", "known", "new"),
    [
        pytest.param("q1 q2 q3", None, "", id="it lacks nothing"),
        pytest.param("q1 q2", mark("q1", "q2", "q3"), "", id="it was asked what it lacks"),
        pytest.param("q1 q2", mark("q1", "q2"), "q3", id="its gold set did not have what it lacks"),
        pytest.param("q1", mark("q1", "q2"), "q3", id="one of each kind"),
        pytest.param("q1", mark("q1", "q2", "q9"), "q3", id="a question that is gone since"),
        pytest.param("x", mark("q1", "q2", "q3"), "", id="no list at all for what it was asked"),
        pytest.param("x", mark("x", "y"), "q1 q2 q3", id="other ids"),
        pytest.param(
            "q1 q2", mark("q1", "q2", "q3", fingerprint="today's", one_by_one=False), "", id="the same large gold set"
        ),
        pytest.param("q1 q2", mark("q1", "q2", "q3", one_by_one=False), "q3", id="another large gold set"),
        pytest.param("q1 q2", None, "q3", id="a file, which may be older than the question"),
        pytest.param("x", None, "q1 q2 q3", id="a file of other questions"),
        pytest.param("q1 q2!", mark("q1", "q2", "q3"), "q2", id="a question that was asked in other words"),
        pytest.param("q1 q2! q2", mark("q1", "q2", "q3"), "", id="in both wordings"),
        pytest.param("q1 q2 q3!", None, "q3", id="a file that states another text"),
    ],
)
def test_which_questions_are_new_to_a_baseline(lines: str, known: GoldMark | None, new: str) -> None:
    """Ids with a mark of exclamation are lines of another text than today's."""
    rankings = [
        Ranking(name.rstrip("!"), ["a"], question_digest=text_digest("another") if name.endswith("!") else None)
        for name in lines.split()
    ]
    run = Run(name="run", format="trec", rankings=iter(rankings), gold=known)
    found = scored_as_baseline(ASKED, run, PLAN, Absent()).scores
    assert found.new_queries == set(new.split())
    values = dict(zip(found.query_ids, baseline_column(METRIC, found), strict=True))
    assert values == {name: None if name in new.split() else float(name not in found.missing) for name in values}


def test_a_table_has_a_row_for_every_question_that_it_was_asked() -> None:
    def read(choose: Choose) -> Values:
        choose(["recall@5"], "table")
        return Values({"q1": [1.0], "q2": [0.0]}, frozenset({"q2"}))

    run = Run(name="table", format="per_query", rankings=iter(()), values=read)
    found = scored_as_baseline(ASKED, run, PLAN, Absent()).scores
    assert found.missing == {"q2", "q3"}
    assert found.new_queries == {"q3"}
