"""A gold set of questions that nothing answers: judged by what speaks of these, and by nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main

QUESTIONS = ("what is the moon made of?", "who wins tomorrow?")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    samples = [
        {"id": f"q{number}", "input": {"question": question}, "metadata": {"no_answer": True}}
        for number, question in enumerate(QUESTIONS)
    ]
    Path("gold.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in samples))
    lines = [{"query_id": "q0", "topk": []}, {"query_id": "q1", "topk": [{"rank": 1, "chunk_id": "a"}]}]
    Path("run.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))


def check(gate: str, limit: float) -> tuple[int, dict[str, Any]]:
    gates = [{"name": gate, "threshold": limit, "severity": "error"}]
    inputs = {"gold": "gold.jsonl", "run": "run.jsonl"}
    Path("ship-criteria.yaml").write_text(json.dumps({"gates": gates, "inputs": inputs}))
    code = main(["check", "-o", "report.json"])
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return code, report


@pytest.mark.parametrize(("limit", "code", "verdict"), [(0.6, 0, "pass"), (0.4, 1, "fail")])
def test_its_false_evidence_is_judged(
    limit: float, code: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, report = check("false_evidence_rate", limit)
    assert (found, report["verdict"], report["gates"][0]["value"]) == (code, verdict, 0.5)
    assert "scored" not in capsys.readouterr().out, "which says how many have a relevant document"


def test_a_gate_on_relevance_has_nothing_to_judge() -> None:
    code, report = check("recall@5", 0.5)
    assert (code, report["verdict"]) == (2, "not_judged")
    assert [each["message"] for each in report["problems"]] == ["recall@5 is defined for none of the 2 questions"]


def test_first_criteria_are_not_written_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--gold", "gold.jsonl", "--run", "run.jsonl", "--to", "first.yaml"]) == 2
    assert "gold.jsonl: names nothing relevant; write gates on false_evidence_rate or" in capsys.readouterr().err
    assert not Path("first.yaml").exists()
