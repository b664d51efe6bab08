"""Counts of a thousand and more are written with separators by every command, in text and in tables."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from rankgate.cli import main

QUESTIONS = 1200


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gold set with two documents a question, of which one is never returned, and a run."""
    monkeypatch.chdir(tmp_path)
    with Path("gold.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "question", "document", "lang"])
        rows.writerows([f"q-{at}", f"question {at}", f"d{at}", "en"] for at in range(QUESTIONS))
        rows.writerows([f"q-{at}", f"question {at}", f"never{at}", "en"] for at in range(QUESTIONS))
    lines = [json.dumps({"query_id": f"q-{at}", "topk": [f"d{at}"]}) for at in range(QUESTIONS)]
    Path("run.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["init", "--gold", "gold.csv", "--run", "run.jsonl"]) == 0
    assert main(["baseline", "accept", "--commit", "none"]) == 0


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        pytest.param(["validate"], ["1,200 of 2,400 relevant ids"], id="validate"),
        pytest.param(["check", "--all"], ["lang:en      1,200"], id="the tags of a check"),
        pytest.param(["check", "--format", "markdown"], ["| `lang:en` | 1,200 |"], id="those of a comment"),
        pytest.param(["score"], ["  1,200   "], id="score"),
        pytest.param(["compare", "run.jsonl", "run.jsonl"], ["0      0  1,200"], id="compare"),
        pytest.param(["baseline", "history", "--accepted"], ["1,200"], id="the history"),
    ],
)
def test_counts_have_separators(words: list[str], counts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(words) == 0
    printed = capsys.readouterr().out
    for count in counts:
        assert count in printed
    assert not re.search(rf"\b({QUESTIONS}|{2 * QUESTIONS})\b", printed)


def test_the_criteria_say_so_too() -> None:
    assert " over 1,200 questions, " in Path("ship-criteria.yaml").read_text(encoding="utf-8")
