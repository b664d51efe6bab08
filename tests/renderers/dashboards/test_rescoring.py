"""Metrics that were not recorded, from the rankings that were: what is scored, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.renderers.dashboards.memories import GOLD, made

from rankgate.baselines.directory import DirectoryStore
from rankgate.baselines.memory import Memory
from rankgate.baselines.object_memory import memory_at
from rankgate.baselines.records import Record
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.model.values import Gold
from rankgate.readers.formats import read_gold
from rankgate.renderers.dashboards.collect import rescore


@pytest.fixture
def gold(tmp_path: Path) -> Gold:
    file = tmp_path / "gold.yaml"
    file.write_text(GOLD, encoding="utf-8")
    return read_gold(str(file))


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    found = memory_at((tmp_path / "store").as_uri())
    for day, right in (("2026-01-01", 8), ("2026-01-02", 6)):
        found.add("history", *made(day, right))
    return found


def rescored(memory: Memory, gold: Gold, metrics: str) -> tuple[list[dict[str, float | None]], list[str]]:
    records = list(memory.read("history"))
    found, said = rescore(memory, records, parse_metrics(metrics), gold, Plan(metrics=[]))
    return [dict(found.get(record.id, {})) for record in records], said


def test_what_was_not_recorded_is_scored_and_what_was_stays(memory: Memory, gold: Gold) -> None:
    values, said = rescored(memory, gold, "recall@1,recall@2,mrr")
    assert values == [{"recall@2": 1.0, "mrr": pytest.approx(0.9)}, {"recall@2": 1.0, "mrr": pytest.approx(0.8)}]
    assert said == []


def test_a_run_is_read_once_for_all_metrics(memory: Memory, gold: Gold, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    fetch = memory.fetch

    def noted(record: Record) -> bytes:
        fetched.append(record.id)
        return fetch(record)

    monkeypatch.setattr(memory, "fetch", noted)
    rescored(memory, gold, "recall@2,mrr,ndcg@5,hit@5")
    assert fetched == [record.id for record in memory.read("history")]


def test_what_one_metric_lacks_costs_the_others_nothing(memory: Memory, gold: Gold) -> None:
    values, said = rescored(memory, gold, "recall@2,latency,recall@101")
    assert values == [{"recall@2": 1.0}, {"recall@2": 1.0}]
    assert [line.partition(": ")[0] for line in said] == ["2 values could not be rescored"] * 2
    assert any("reads `latency_ms`, which the run states nowhere" in line for line in said)
    assert any("ranks down to 101" in line for line in said)


def test_a_gold_set_of_other_questions_scores_nothing(memory: Memory, gold: Gold, tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text(GOLD.replace("id: q", "id: p"), encoding="utf-8")
    values, [said] = rescored(memory, read_gold(str(file)), "recall@2")
    assert values == [{}, {}]
    assert "the run has none of the 10 gold queries" in said


def test_a_damaged_run_is_named_and_the_others_are_scored(memory: Memory, gold: Gold, tmp_path: Path) -> None:
    first, _ = memory.read("history")
    (tmp_path / "store" / "runs" / first.run).write_bytes(b"")
    values, [said] = rescored(memory, gold, "recall@2")
    assert values == [{}, {"recall@2": 1.0}]
    assert "damaged baseline" in said


def test_a_directory_keeps_the_rankings_of_what_is_accepted_and_says_so_of_the_rest(tmp_path: Path, gold: Gold) -> None:
    memory = DirectoryStore(str(tmp_path / "baseline")).memory
    memory.add("history", *made("2026-01-01", 8))
    memory.add("history", *made("2026-01-02", 6))
    memory.add("accepted", *made("2026-01-02", 6))
    values, said = rescored(memory, gold, "recall@2")
    assert values == [{}, {"recall@2": 1.0}]
    expected = (
        "1 run could not be rescored: this store keeps the rankings of what is accepted now and of anchors, and of "
        "all others the numbers alone."
    )
    assert said == [expected]
