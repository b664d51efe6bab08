"""Drift of answers since an anchor, from the judge's command to the check."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.test_judged_answers import Answers, Project, project, right, wrong_after

from rankgate.cli import main

__all__ = ["project"]

LIMITS = "regression_max: 0.2, drift_max: 0.25"
INPUTS = "inputs: {gold: gold.jsonl, run: run.jsonl, baseline: baseline}\nbaseline: {anchor: launch}\n"


def write_criteria(project: Project, model: str = "hash-judge-2026-01-01") -> None:
    project.gates(replaced=("threshold: 0.8, regression_max: 0.03", LIMITS), model=model, more=INPUTS)


def accept(project: Project, answers: Answers, day: int) -> None:
    project.run("run.jsonl", answers)
    assert main(["judge"]) == 0
    assert main(["baseline", "accept", "--date", f"2026-01-0{day}", "--reason", "it is better all in all"]) == 0


def check(project: Project) -> tuple[int, dict[str, tuple[str, float | None]], str]:
    code, gates, out = project.check("--baseline", "baseline")
    return code, {name: (gate["verdict"], gate["delta"]) for name, gate in gates.items()}, out


def test_each_step_is_allowed_and_their_sum_is_not(project: Project) -> None:
    """The anchor's verdicts are stored with it; another judge is asked about it once more, as about the others."""
    write_criteria(project)
    accept(project, right, 1)
    assert main(["baseline", "anchor", "launch"]) == 0
    accept(project, wrong_after(70), 2)
    project.run("run.jsonl", wrong_after(40))
    assert main(["judge"]) == 0
    capsys = project.capsys
    assert "the anchor: 100 answers: 100 judged already" in capsys.readouterr().out
    code, gates, out = check(project)
    found = {
        "recall@2": ("pass", 0.0),
        "recall@2 since launch": ("pass", 0.0),
        "faithfulness": ("pass", pytest.approx(-0.15)),
        "faithfulness since launch": ("fail", pytest.approx(-0.3)),
        "answered_rate": ("pass", 0.0),
        "answered_rate since launch": ("pass", 0.0),
    }
    assert (code, gates) == (1, found)
    assert "since the anchor, faithfulness" in out
    write_criteria(project, "hash-judge-2026-02-02")
    code, gates, _ = check(project)
    assert (code, gates["faithfulness"][0], gates["faithfulness since launch"][0]) == (2, "not_judged", "not_judged")
    assert main(["judge", "--dry-run"]) == 0
    plan = capsys.readouterr().out
    assert "the anchor: 100 answers: 70 judged already or with these, 30 to judge" in plan, plan
    assert main(["judge"]) == 0
    assert check(project)[:2] == (1, found)


def test_where_the_anchor_alone_lacks_verdicts_the_drift_alone_is_not_judged(project: Project) -> None:
    write_criteria(project)
    project.run("run.jsonl", lambda n: f"Long ago: {n}.")
    assert main(["baseline", "accept", "--date", "2026-01-01", "--reason", "before there was a judge"]) == 0
    assert main(["baseline", "anchor", "launch"]) == 0
    accept(project, right, 2)
    project.run("run.jsonl", right)
    Path("run.verdicts.jsonl").unlink()
    code, gates, out = check(project)
    assert gates["faithfulness"] == ("pass", 0.0), "by what is stored"
    assert gates["faithfulness since launch"][0] == "not_judged", out
    assert code == 2
