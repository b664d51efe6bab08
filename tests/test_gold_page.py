"""docs/gold.md: its first gold sets go through the commands that it shows."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankgate.cli import main

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "gold.md").read_text(encoding="utf-8")
Capture = pytest.CaptureFixture[str]
# A search by words over passages as a retriever returns them: some whole, one a sentence of a longer one.
RETRIEVER = """\
TEXTS = {
    "returns#1": "You can return any article within 30 days of delivery.",
    "versand#1": "Bestellungen innerhalb Europas kommen in drei bis fünf Tagen an.",
    "gift-cards#2": "What was paid with a gift card is refunded to the card.",
    "jobs#1": "We are hiring: if you have a heart for shops, send us your application.",
}


def retrieve(question):
    words = set(question.lower().replace("?", "").split())
    shared = {name: len(words & set(text.lower().rstrip(".").split())) for name, text in TEXTS.items()}
    ranked = sorted(TEXTS, key=lambda name: -shared[name])
    return [{"chunk_id": name, "text": TEXTS[name]} for name in ranked if shared[name]]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a package `my_app`, which no later test of this process finds imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("my_app").mkdir()
    Path("my_app/search.py").write_text(RETRIEVER, encoding="utf-8")
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_app"]:
        del sys.modules[name]


def commands(file: str) -> list[list[str]]:
    """What the page tells to type about a gold set."""
    lines = [line for line in PAGE.splitlines() if line.startswith("rankgate ") and f"--gold {file}" in line]
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.full
def test_thirty_questions_from_logs(capsys: Capture) -> None:
    [table] = re.findall(r"```csv title=\"gold.csv\"\n(id,question,document.*?)```", PAGE, re.DOTALL)
    Path("gold.csv").write_text(table, encoding="utf-8")
    starting, _ = commands("gold.csv")
    assert main(starting) == 0
    assert "gates over 3 questions" in capsys.readouterr().out
    assert main(["check", "--record"]) == 0


def test_a_test_set_of_ragas(capsys: Capture) -> None:
    """As its generator writes it, with a question that takes two passages, which it marks."""
    shutil.copy(TESTS / "readers" / "written" / "ragas-0.4.3.testset.jsonl", "testset.jsonl")
    recording, scoring = commands("testset.jsonl")
    assert main(recording) == 0
    capsys.readouterr()
    assert main([*scoring, "--metrics", "hit@1,recall@1,recall@3", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    assert {name: each["value"] for name, each in found.items()} == {
        "hit@1": pytest.approx(2 / 3),
        "recall@1": pytest.approx((0 + 1 + 1 / 2) / 3),
        "recall@3": 1.0,
    }
