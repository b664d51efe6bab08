"""Metrics that were not recorded, from the rankings that were: what is scored, and what is said of the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.renderers.dashboards.memories import GOLD, made

from rankgate.baselines.directory import directory_store
from rankgate.baselines.memory import Memory
from rankgate.baselines.records import Record
from rankgate.baselines.stores import remote_memory
from rankgate.cli import main
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.model.values import Gold
from rankgate.readers.formats import read_gold
from rankgate.renderers.dashboards.build import Rankings
from rankgate.renderers.dashboards.values import Known


@pytest.fixture
def gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gold:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "gold.yaml"
    file.write_text(GOLD, encoding="utf-8")
    return read_gold(str(file))


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    found = remote_memory((tmp_path / "store").as_uri())
    for day, right in (("2026-01-01", 8), ("2026-01-02", 6)):
        found.add("history", *made(day, right))
    return found


def rescored(memory: Memory, gold: Gold, metrics: str) -> tuple[list[dict[str, float | None]], list[str]]:
    records = list(memory.read("history"))
    stored = Rankings(memory, gold, Plan(metrics=parse_metrics(metrics)))
    stored.read(records)
    known = [stored.estimates[record.id] for record in records]
    return [{name: each.value for name, each in values.items()} for values in known], stored.reasons()


def test_all_that_is_stored_is_scored(memory: Memory, gold: Gold) -> None:
    values, said = rescored(memory, gold, "recall@1,recall@2,mrr")
    assert values == [
        {"recall@1": 0.8, "recall@2": 1.0, "mrr": pytest.approx(0.9)},
        {"recall@1": 0.6, "recall@2": 1.0, "mrr": pytest.approx(0.8)},
    ]
    assert said == []


def test_values_question_by_question_are_those_of_the_newest_runs_that_fit(
    memory: Memory, gold: Gold, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = list(memory.read("history"))
    stored = Rankings(memory, gold, Plan(metrics=parse_metrics("recall@1,mrr,latency")))
    stored.read(records)
    old, new = (record.id for record in records)
    found = stored.questions(records)
    assert found.ids == [f"q{number}" for number in range(10)]
    assert found.columns == {
        new: {"recall@1": "3e8" * 6 + "000" * 4, "mrr": "3e8" * 6 + "1f4" * 4},
        old: {"recall@1": "3e8" * 8 + "000" * 2, "mrr": "3e8" * 8 + "1f4" * 2},
    }
    assert (0x3E8, 0x1F4, found.more) == (1000, 500, 0)
    assert found.depths == {new: records[1].depth, old: records[0].depth}
    monkeypatch.setattr("rankgate.renderers.dashboards.build.MAX_EMBEDDED", 119)
    assert (list(stored.questions(records).columns), stored.questions(records).more) == ([new], 1)


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
    assert "the run has none of the 10 gold questions" in said


def test_a_damaged_run_is_named_and_the_others_are_scored(memory: Memory, gold: Gold, tmp_path: Path) -> None:
    first, _ = memory.read("history")
    (tmp_path / "store" / "rankings" / first.run).write_bytes(b"")
    values, [said] = rescored(memory, gold, "recall@2")
    assert values == [{}, {"recall@2": 1.0}]
    assert "damaged baseline" in said


def test_a_directory_keeps_the_rankings_of_what_is_accepted_and_says_so_of_the_rest(tmp_path: Path, gold: Gold) -> None:
    memory = directory_store(str(tmp_path / "baseline")).memory
    memory.add("history", *made("2026-01-01", 8))
    memory.add("history", *made("2026-01-02", 6))
    memory.add("accepted", *made("2026-01-02", 6))
    values, said = rescored(memory, gold, "recall@2")
    assert values == [{}, {"recall@2": 1.0}]
    expected = (
        "1 run could not be rescored or compared: this store keeps the rankings of what is accepted now, "
        "and of all others the numbers alone."
    )
    assert said == [expected]


@pytest.mark.parametrize("depths", [(100, 100), (1, 100)], ids=["as stored", "one was stored less deep"])
def test_changes_are_what_compare_says_of_the_same_two_runs(
    memory: Memory, gold: Gold, tmp_path: Path, capsys: pytest.CaptureFixture[str], depths: tuple[int, int]
) -> None:
    records = [replace(each, depth=depth) for each, depth in zip(memory.read("history"), depths, strict=True)]
    stored = Rankings(memory, gold, Plan(metrics=parse_metrics("recall@1,mrr")))
    stored.read(records)
    for record in records:
        ids = {n: [f"d{n}", "x"] if n < 10 * record.scores["recall@1"] else ["x", f"d{n}"] for n in range(10)}  # type: ignore[operator]
        lists = {f"q{n}": each[: min(depths)] for n, each in ids.items()}
        (tmp_path / f"{record.id}.json").write_text(json.dumps(lists), encoding="utf-8")
    files = [str(tmp_path / f"{record.id}.json") for record in records]
    words = ["--gold", str(tmp_path / "gold.yaml"), "--metrics", "recall@1,mrr", "--format", "json"]
    assert main(["compare", *files, *words]) == 0
    said = json.loads(capsys.readouterr().out)["metrics"]
    found = stored.paired(*records)
    assert {name: each.value for name, each in found.items()} == {name: said[name]["delta"] for name in found}
    assert {name: list(each.ci or ()) for name, each in found.items()} == {name: said[name]["ci"] for name in found}


def test_rankings_that_are_equal_did_not_change_and_verdicts_do_not_compare(memory: Memory, gold: Gold) -> None:
    one, two = memory.read("history")
    stored = Rankings(memory, gold, Plan(metrics=parse_metrics("recall@1,faithfulness")))
    assert stored.paired(one, replace(one, commit=None)) == {"recall@1": Known(0.0, (0.0, 0.0))}
    assert set(stored.paired(one, two)) == {"recall@1"}
