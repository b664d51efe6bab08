"""A side's lists can be read again: from the file, or from memory where they came through a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rankgate.metrics import scored_run as side
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import Side, scored
from rankgate.model.values import Gold, Ranking, Sample
from rankgate.readers.base import Run
from rankgate.readers.formats import read_run

GOLD = Gold(samples={"q1": Sample(query_id="q1", gains={"a": 1.0})}, name="gold", format="yaml", fingerprint="")
PLAN = Plan(metrics=parse_metrics("recall@5"), keep_matched=True)
LISTS = [Ranking("q1", ["x", "a"]), Ranking("q2", ["b"])]


def piped() -> Side:
    def once() -> Iterator[Ranking]:
        yield from LISTS

    def never() -> Run:
        raise AssertionError("a pipe is opened once")

    return scored(GOLD, Run(name="standard input", format="jsonl", rankings=once()), PLAN, never)


def test_a_file_is_opened_again_each_time_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"query_id": "q1", "retrieved": ["x", "a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n')
    found = scored(GOLD, read_run(str(file)), PLAN, lambda: read_run(str(file)))
    assert found.scores.values == {"recall@5": [1.0]}
    assert [list(found.lists()) for _ in range(2)] == [LISTS, LISTS]


def test_what_came_through_a_pipe_is_kept() -> None:
    found = piped()
    assert found.scores.values == {"recall@5": [1.0]}
    assert [list(found.lists()) for _ in range(2)] == [LISTS, LISTS]


def test_too_much_for_memory_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side, "MOST_KEPT", 1)
    found = piped()
    assert found.scores.values == {"recall@5": [1.0]}, "it is scored all the same"
    assert list(found.lists()) == []


def test_a_run_that_is_there_no_more_has_no_lists(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"query_id": "q1", "retrieved": ["a"]}\n')
    assert list(scored(GOLD, read_run(str(file)), PLAN, lambda: None).lists()) == []
