"""scripts/check_quality_gates.py is `rankgate check` for pipelines that call scripts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rankgate
from rankgate.cli import main

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_quality_gates.py"

CRITERIA = """\
gates:
  - {name: recall@2, threshold: 0.9}
  - {name: mrr, threshold: 0.9, severity: warning}
inputs: {gold: gold.jsonl, run: pass.jsonl}
"""
FILES = {
    "ship-criteria.yaml": CRITERIA,
    "gold.jsonl": '{"id": "q1", "expected_output": ["a"]}\n',
    "pass.jsonl": '{"query_id": "q1", "retrieved": ["a"]}\n',
    "warn.jsonl": '{"query_id": "q1", "retrieved": ["x", "a"]}\n',
    "fail.jsonl": '{"query_id": "q1", "retrieved": ["x"]}\n',
    "broken.jsonl": "not json\n",
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")


def script(*words: str) -> subprocess.CompletedProcess[str]:
    variables = {"PYTHONPATH": str(Path(rankgate.__file__).parents[1]), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, SCRIPT, *words],
        env={**os.environ, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["--run", "warn.jsonl"], 0, id="warn"),
        pytest.param(["--run", "fail.jsonl", "--format", "github"], 1, id="fail"),
        pytest.param(["--run", "broken.jsonl", "--format", "markdown"], 2, id="not judged"),
    ],
)
def test_it_prints_and_exits_as_rankgate_check_does(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int
) -> None:
    date = ["--date", "2026-01-31"]
    assert main(["check", *words, *date]) == code
    ended = script(*words, *date)
    assert (ended.stdout, ended.stderr) == capsys.readouterr()
    assert ended.returncode == code
