"""`rankgate judge drift` and `judge compare` as they are typed, against a judge that moves, errs and fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_judge import write_gold, write_run
from tests.judge.hash_judge import KEY, HashJudge, judging, share, stated, status

from rankgate.cli import main
from rankgate.judge import client

CRITERIA = """\
judge: {{endpoint: {address}, model: hash-2026-01-01, structured: json_schema{more}}}
inputs: {{gold: gold.jsonl, run: run.jsonl{baseline}}}
gates: [{{name: faithfulness, threshold: 0.9}}, {{name: answered_rate, regression_max: 0.05}}]
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HashJudge]:
    """A run of 220 questions that a judge has judged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKGATE_JUDGE_KEY", KEY)
    monkeypatch.setattr(client, "pause", lambda *_: 0.0)
    write_gold(220)
    write_run("run.jsonl", 220)
    with judging() as found:
        criteria(found)
        assert main(["judge"]) == 0
        found.requests.clear()
        yield found


def criteria(server: HashJudge, more: str = "", baseline: str = "", to: str = "ship-criteria.yaml") -> None:
    Path(to).write_text(CRITERIA.format(address=server.address, more=more, baseline=baseline), "utf-8")


def said(capsys: Capture, *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["judge", *words]) == code
    out, err = capsys.readouterr()
    return re.sub(r"\b[0-9a-f]{8}\b", "JUDGE", out + err)


def drift(capsys: Capture, *words: str, code: int = 0) -> Any:
    return json.loads(said(capsys, "drift", "--format", "json", *words, code=code))


def wrong(part: float, what: str = "") -> Any:
    """A truth that is denied of a part of the statements."""
    return lambda statement, passages: 0 if share(what, statement) < part else stated(statement, passages)
