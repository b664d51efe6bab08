"""How much a check holds in memory: the gold set, one number a query and metric, and little else."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from tests.baselines.accepting import accept_into

from rankgate.cli import main
from rankgate.diagnosis import listings
from rankgate.metrics import scored_run, scoring
from rankgate.readers import gold_text
from rankgate.readers.formats import read_run

CRITERIA = """
gates:
  - {name: retrieval_recall_at_5, threshold: 0.1, regression_max: 0.0}
  - {name: retrieval_mrr, threshold: 0.1, regression_max: 0.05}
"""
MOST = 560  # bytes a query, so that a million take less than 800 MiB, the interpreter included


def write(folder: Path, queries: int) -> None:
    """A gold set and a run of ten results; one to three documents are relevant, most of them found."""
    folder.mkdir()
    (folder / "ship-criteria.yaml").write_text(CRITERIA)
    with (folder / "gold.jsonl").open("w") as gold, (folder / "run.jsonl").open("w") as run:
        for number in range(queries):
            ids = [f"doc-{number * 7 + place:06d}#c{place}" for place in range(10)]
            relevant = [ids[(number + place) % 10] for place in range(1 + number % 3)] + ["lost"] * (number % 5 == 0)
            topk = [{"rank": rank, "chunk_id": each, "score": 1 / rank} for rank, each in enumerate(ids, start=1)]
            gold.write(json.dumps({"id": f"q{number:07d}", "expected_output": relevant}) + "\n")
            run.write(json.dumps({"query_id": f"q{number:07d}", "topk": topk}) + "\n")


def lose(folder: Path) -> None:
    """Every tenth list has lost its first relevant document, and the gold set has a judgment of 0."""
    lines = (folder / "run.jsonl").read_text().splitlines(keepends=True)
    gone = [line.replace("#c0", "#gone") if number % 10 == 0 else line for number, line in enumerate(lines)]
    (folder / "run.jsonl").write_text("".join(gone))
    with (folder / "gold.jsonl").open("a") as gold:
        gold.write('{"id": "pooled", "expected_output": {"a": 1, "b": 0}}\n')


def held(queries: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, fell: bool) -> int:
    write(folder := tmp_path / str(queries), queries)
    monkeypatch.chdir(folder)
    accept_into("baseline", read_run("run.jsonl").rankings, date="2026-01-01")
    if fell:
        lose(folder)
    tracemalloc.start()
    try:
        code = main(["check", "--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", "baseline"])
        assert code in ((0, 1) if fell else (0,))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("fell", [pytest.param(False, id="unchanged"), pytest.param(True, id="worse, pooled gold")])
@pytest.mark.full
def test_what_a_query_takes_in_a_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, fell: bool) -> None:
    monkeypatch.setattr(scored_run, "MAX_KEPT", 0)
    monkeypatch.setattr(listings, "MAX_QUERIES", 0)  # as for large runs, whose lists are not held
    monkeypatch.setattr(scoring, "MANY", 0)
    monkeypatch.setattr(gold_text, "MANY", 0)
    # The first call loads modules; hash tables of the others are as full as each other.
    _, few, many = (held(queries, monkeypatch, tmp_path, fell=fell) for queries in (10, 500, 2_000))
    assert (many - few) / 1_500 < MOST
