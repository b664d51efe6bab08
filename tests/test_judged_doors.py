"""Ways to talk a judged gate round: each was one, and none is now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.judge.hash_judge import REFUSAL
from tests.test_judged_answers import Project, address, project, right, wrong_after

from rankgate.judge.runs import verdicts_beside
from rankgate.judge.store import read_verdicts
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Unjudged

pytestmark = pytest.mark.full

__all__ = ["address", "project"]


def without_answers(folder: Path, first: int) -> None:
    """From this question on the run's lines lack the key `answer`."""
    lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    for line in lines[first:]:
        del line["answer"]
    (folder / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_leaving_the_answers_out_of_lines_does_not_help(project: Project) -> None:
    project.run("run.jsonl", wrong_after(66))
    project.judge("run.jsonl", "base.jsonl")
    without_answers(project.folder, 66)
    code, gates, _ = project.check()
    assert code == 2
    assert gates["faithfulness"]["verdict"] == "not_judged", "34 lines lack what it reads"
    assert (gates["answered_rate"]["verdict"], gates["answered_rate"]["value"]) == ("fail", 0.66)


@pytest.mark.parametrize("rule", ["must_pass: [q7]", "max_lost_queries: 0"])
def test_a_question_that_must_pass_is_not_saved_by_staying_unjudged(rule: str, project: Project) -> None:
    project.run("run.jsonl", lambda n: REFUSAL if n == 7 else right(n))
    project.gates(replaced=("threshold: 0.8,", f"threshold: 0.8, {rule},"))
    project.judge("run.jsonl", "base.jsonl")
    assert project.check()[0] == 1, "nor by a refusal"
    project.run("run.jsonl", lambda n: "It is a gift." if n == 7 else right(n))
    project.judge("run.jsonl", "base.jsonl")
    assert project.check()[0] == 1
    known = read_verdicts(verdicts_beside("run.jsonl"))
    gone = [replace(each, verdicts=None, unjudged=Unjudged(UnjudgedKind.SCHEMA)) for each in known.values()]
    bad = {each.slot for each in known.values() if each.task == "entail" and _unsupported(each.verdicts)}
    project.keep([lost if lost.slot in bad else known[lost.slot] for lost in gone])
    code, gates, _ = project.check()
    assert (code, gates["faithfulness"]["verdict"]) == (1, "fail")


def _unsupported(verdicts: Any) -> bool:
    return any(each.verdict.value != "supported" for each in verdicts)


@pytest.mark.parametrize(
    ("task", "forged"),
    [
        pytest.param("entail", {"passages": [99]}, id="a passage that is not there"),
        pytest.param("entail", {"passages": [0]}, id="passage 0"),
        pytest.param("entail", {"passages": [-5]}, id="a negative passage"),
        pytest.param("entail", {"passages": []}, id="supported by nothing"),
        pytest.param("entail", {"n": 77}, id="another number"),
        pytest.param("split", {"claims": []}, id="asserting nothing"),
    ],
)
def test_verdicts_that_no_judge_of_ours_gives_are_none(task: str, forged: dict[str, object], project: Project) -> None:
    project.run("run.jsonl", right)
    project.judge("run.jsonl", "base.jsonl")
    path = Path(verdicts_beside("run.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["task"] == task:
            parts = line["verdicts"] if isinstance(line["verdicts"], list) else [line["verdicts"]]
            for part in parts:
                part.update(forged)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, gates, _ = project.check()
    assert (code, gates["faithfulness"]["verdict"]) == (2, "not_judged")


def test_one_answer_that_stays_unjudged_does_not_hide_a_segment(project: Project) -> None:
    project.run("run.jsonl", lambda n: "It is a gift." if n == 7 else right(n))
    project.gates(replaced=("threshold: 0.8,", "threshold: 0.5, segments: {by: lang, regression_max: 0.005},"))
    project.judge("run.jsonl", "base.jsonl")
    assert project.check()[0] == 1
    known = read_verdicts(verdicts_beside("run.jsonl"))
    bad = {each.slot for each in known.values() if each.task == "entail" and _unsupported(each.verdicts)}
    lost = [replace(each, verdicts=None, unjudged=Unjudged(UnjudgedKind.SCHEMA)) for each in known.values()]
    project.keep([each if each.slot in bad else known[each.slot] for each in lost])
    project.check()
    report = json.loads(Path("r.json").read_text())
    [part] = [gate for gate in report["gates"] if gate.get("segment") == "lang:en"]
    assert part["verdict"] == "fail", "it counts as wrong there, too"
