"""Checks by spans, end to end: on the scenario's runs, of 120 and of 400 words a chunk, whole, damaged and stored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main

SCENARIO = Path(__file__).parent / "scenarios" / "re_chunked"
Lines = list[dict[str, Any]]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(SCENARIO, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def lines_of(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text().splitlines()]


def change(path: Path, of_item: Callable[[dict[str, Any]], object], *, every: int = 1) -> None:
    """Change every n-th item of a run."""
    lines = lines_of(path)
    for item in [item for line in lines for item in line["topk"]][::every]:
        of_item(item)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def unplaced(item: dict[str, Any]) -> None:
    del item["start"], item["end"]


def check(*more: str) -> tuple[int, dict[str, Any]]:
    code = main(["check", "-o", "report.json", "-o", "comment.md", "--date", "2026-01-31", *more])
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return code, report


def test_the_same_gold_judges_both(work: Path) -> None:
    runs = [{item["chunk_id"] for line in lines_of(work / name) for item in line["topk"]} for name in RUNS]
    code, report = check()
    assert runs[0].isdisjoint(runs[1])
    assert (code, report["verdict"], report["warnings"], report.get("problems", [])) == (0, "pass", [], [])
    assert report["metrics"]["recall@3"]["value"] == report["baseline_metrics"]["recall@3"]["value"] == 1


RUNS = ("accepted.jsonl", "run.jsonl")


def test_a_stored_baseline_keeps_offsets(work: Path) -> None:
    before = check()[1]
    accepting = ["--run", "accepted.jsonl", "--baseline", "store"]
    assert main(["baseline", "accept", *accepting]) == 0
    code, after = check("--baseline", "store")
    assert code == 0
    assert after["baseline_metrics"] == before["baseline_metrics"]
    change(work / "accepted.jsonl", unplaced)
    code, report = check()
    assert (code, report["verdict"]) == (2, "not_judged")
    assert "accepted.jsonl" in str(report["problems"])
    assert "`start` and `end`, or `text`" in str(report["problems"])


def test_some_items_without_offsets_are_counted(work: Path) -> None:
    change(work / "run.jsonl", unplaced, every=6)
    _, report = check()
    text = "10 of 60 items of run.jsonl state no offsets and no text, so that they match nothing"
    assert report["warnings"] == [text]
    assert text in (work / "comment.md").read_text()
    change(work / "run.jsonl", lambda item: "start" in item or item.update(text="something else"))
    _, report = check()
    note = "10 of 60 items of run.jsonl state no offsets; passages are searched in their texts."
    assert report["warnings"] == []
    assert note in report["notes"]
    assert note in (work / "comment.md").read_text()


def test_offsets_and_texts_nowhere(work: Path) -> None:
    change(work / "run.jsonl", unplaced)
    code, report = check()
    assert code == 2
    assert "`match: span` reads `start` and `end`, or `text`, which the run states nowhere" in str(report["problems"])


def test_texts_alone_judge_as_offsets_do(work: Path) -> None:
    gold = json.loads(json.dumps(_gold(work)))
    passages = {span["text"]: span for sample in gold for span in sample["expected_output"]}

    def with_text(item: dict[str, Any]) -> None:
        held = [
            text
            for text, span in passages.items()
            if span["doc"] == item["doc_id"] and item["start"] <= span["start"] and span["end"] <= item["end"]
        ]
        unplaced(item)
        item["text"] = "  ".join(["Before.", *held, "After."]).upper()

    change(work / "run.jsonl", with_text)
    assert check()[1]["metrics"]["mrr"]["value"] == 1


def _gold(work: Path) -> Any:
    from rankgate.readers.yaml_text import load_yaml

    value: Any = load_yaml((work / "gold.yaml").read_text(), "gold").value
    return value["samples"]


def test_other_names_of_documents_are_stale_gold(work: Path) -> None:
    for name in RUNS:
        change(work / name, lambda item: item.update(doc_id=f"docs/{item['doc_id']}.md"))
    code, report = check()  # that the baseline has the same names proves nothing
    assert code == 2
    assert [problem["kind"] for problem in report["problems"]] == ["gold_stale"]


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        pytest.param("match: span", "match: chunk", "ship-criteria.yaml", "as a span; write `match: span`", id="chunk"),
        pytest.param(
            "expected_output:\n      - {", "expected_output: [d#1]\n    x:\n      - {", "gold.yaml", "by id", id="mixed"
        ),
        pytest.param(
            *("expected_output:", "negatives: [d#1]\n    expected_output:", "gold.yaml"),
            "negatives are ids ('d#1'), which `match: span` does not read; remove negatives of the sample",
            id="negatives",
        ),
        pytest.param(
            *("expected_output:", "judge_labels: {d#1: 1}\n    expected_output:", "gold.yaml"),
            "judge_labels are ids ('d#1'), which `match: span` does not read; remove judge_labels of the sample",
            id="labels of a judge",
        ),
    ],
)
def test_ids_and_spans_do_not_mix(work: Path, old: str, new: str, place: str, message: str) -> None:
    (work / place).write_text((work / place).read_text().replace(old, new, 1))
    code, report = check()
    assert code == 2
    assert report["problems"][0]["line"] == 2
    assert report["problems"][0]["file"] == "gold.yaml"
    assert message in report["problems"][0]["message"]


def test_pools_and_labels_name_ids(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gold", "pool", "run.jsonl"]) == 2
    assert "there are none to label" in capsys.readouterr().err
    assert main(["gold", "negatives", "gold.yaml", "--run", "run.jsonl", "-o", "n.jsonl"]) == 2
    assert "negatives are ids, which match: span does not compare" in capsys.readouterr().err
    label = {"query_id": "q1", "id": "handbook#400-1", "gain": 1}
    (work / "labels.jsonl").write_text(json.dumps(label) + "\n")
    assert main(["gold", "merge", "gold.yaml", "labels.jsonl"]) == 2
    assert "the query's gold are spans of documents, and a label names an id" in capsys.readouterr().err
    (work / "labels.jsonl").write_text(json.dumps({**label, "gain": None}) + "\n")
    assert main(["gold", "merge", "gold.yaml", "labels.jsonl", "-o", "merged.json"]) == 0
    assert json.loads((work / "merged.json").read_text())["samples"] == _gold(work)


@pytest.mark.parametrize(
    "call", [["validate"], ["explain"], ["explain", "q1"], ["compare", "accepted.jsonl", "run.jsonl"]]
)
def test_other_commands_read_spans(call: list[str], work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(call)
    printed = capsys.readouterr()
    assert code == 0, printed
    assert "occur in no ranking" not in printed.out


def test_a_baseline_without_texts_is_refused_by_text_too(work: Path) -> None:
    (work / "ship-criteria.yaml").write_text((work / "ship-criteria.yaml").read_text().replace("span", "text", 1))
    (work / "gold.yaml").write_text("- {id: q1, expected_output: [Refunds are paid]}\n")
    change(work / "run.jsonl", lambda item: item.update(text="Refunds"))
    code, report = check()
    assert code == 2
    assert report["problems"][0]["file"] == "accepted.jsonl"
    assert "`match: text` reads `text`" in report["problems"][0]["message"]
