"""What a stored baseline keeps beyond ids, and what a check says of a run, or a baseline, that lacks it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.baselines.accepting import newest_of
from tests.json_lines import read_lines, write_lines

from rankgate.cli import main
from rankgate.readers.yaml_text import load_yaml

SCENARIO = Path(__file__).parent / "scenarios" / "beyond_ids"
DATE = ["--date", "2026-01-31"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(SCENARIO, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("expected"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*words: str) -> tuple[int, dict[str, Any]]:
    code = main(["check", "-o", "report.json", *words, *DATE])
    report: dict[str, Any] = json.loads(Path("report.json").read_text(encoding="utf-8"))
    return code, report


def test_a_stored_baseline_scores_as_the_run_that_was_accepted() -> None:
    _, by_run = check()
    assert main(["baseline", "accept", "--run", "accepted.jsonl", "--to", "stored", *DATE]) == 0
    code, by_store = check("--baseline", "stored")
    assert code == 1
    assert by_store["gates"] == by_run["gates"]
    assert by_store["baseline_metrics"] == by_run["baseline_metrics"]
    kept = newest_of("stored")["kept"]
    assert kept == ["doc_version", "raw_topk", "scores", "source", "text"]


def test_a_baseline_keeps_no_text_that_no_gate_reads() -> None:
    Path("small.yaml").write_text("gates: [{name: recall@5, threshold: 0}]\ninputs: {gold: gold.yaml}\n")
    # The gold names passages, so that by chunk ids nothing can be judged.
    words = ["--criteria", "small.yaml", "--run", "accepted.jsonl", "--to", "stored", "--reason", "what it keeps"]
    assert main(["baseline", "accept", *words, *DATE]) == 0
    assert newest_of("stored")["kept"] == []
    Path("gate.yaml").write_text(
        "gates: [{name: containment@5, threshold: 0.1, regression_max: 0.1}]\n"
        "inputs: {gold: gold.yaml, run: run.jsonl, baseline: stored}\n"
    )
    code, report = check("--criteria", "gate.yaml")
    assert (code, report["verdict"]) == (0, "warn")
    assert [each["text"] for each in report["gates"][0]["reasons"]] == [
        "the baseline states no `text`, which containment@5 reads; accept its run again"
    ]


@pytest.mark.parametrize(
    ("key", "reader"),
    [
        pytest.param("text", "containment@5", id="texts"),
        pytest.param("doc_version", "freshness@5", id="versions"),
        pytest.param("raw_topk", "recall(stage=raw)@5", id="the list before reranking"),
        pytest.param("source", "misroute_rate", id="sources"),
        pytest.param("scores", "score(faithfulness)", id="scores"),
    ],
)
def test_a_run_that_lacks_what_a_gate_reads_is_one_error(
    key: str, reader: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def without(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {name: without(value) for name, value in entry.items() if name != key}
        return [without(each) for each in entry] if isinstance(entry, list) else entry

    write_lines("run.jsonl", [without(line) for line in read_lines("run.jsonl")])
    code, report = check()
    assert (code, report["verdict"]) == (2, "not_judged")
    message = (
        f"the metric {reader} reads `{key}`, which the run states nowhere (not for query 'q1', nor for any other). "
        "Write it into the run, or leave out what reads it"
    )
    assert [problem["message"] for problem in report["problems"]] == [message]
    assert f"run.jsonl: {message}" in capsys.readouterr().out


def test_the_judge_bounds_what_the_gold_says() -> None:
    report = check()[1]
    judged = {name: value["with_judge"] for name, value in report["metrics"].items()}
    assert judged["recall@5"] == {"value": pytest.approx(8 / 9), "n": 3, "bound": None}
    criteria = load_yaml(Path("ship-criteria.yaml").read_text(encoding="utf-8"), "").value
    criteria["gates"] = [{"name": name, "threshold": 0} for name in ("hit@5", "mrr", "precision@5")]
    Path("judged.json").write_text(json.dumps(criteria), encoding="utf-8")
    report = check("--criteria", "judged.json")[1]
    for name, gold_only, upper in (("hit@5", 1, 1), ("mrr", 7 / 9, 5 / 6), ("precision@5", 4 / 15, 1 / 3)):
        found = report["metrics"][name]
        assert found["value"] == pytest.approx(gold_only)
        assert found["with_judge"] == {"value": pytest.approx(upper), "n": 3, "bound": "upper"}
    assert any(note.startswith("mrr lies between 0.778 (gold alone) and 0.833") for note in report["notes"])
