"""`rankgate init`: the criteria that it writes load and gate, and the workflow that it writes really runs."""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import rankgate
from rankgate.cli import main
from rankgate.criteria import load_criteria
from rankgate.model import Evidence

PYTHONPATH = str(Path(rankgate.__file__).parents[1])
WORKFLOW = Path(".github/workflows/rankgate.yml")

GOLD = """\
samples:
  - {id: q1, input: {question: "opening hours"}, expected_output: [hours]}
  - {id: q2, input: {question: "gift cards"}, expected_output: [gifts]}
  - {id: q3, input: {question: "refund"}, expected_output: [refunds, returns]}
  - {id: q4, input: {question: "a secret"}, expected_output: [], metadata: {no_answer: true}}
"""
RETRIEVER = """\
ARTICLES = {"opening hours": ["hours", "gifts"], "gift cards": ["hours", "gifts"], "refund": ["refunds", "gifts"]}


def retrieve(question):
    return ARTICLES.get(question, ["hours"])
"""
RUN = """\
{"query_id": "q1", "retrieved": ["hours", "gifts"]}
{"query_id": "q2", "retrieved": ["hours", "gifts"]}
{"query_id": "q3", "retrieved": ["refunds", "gifts"]}
{"query_id": "q4", "retrieved": ["hours"]}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("gold.yaml", GOLD), ("run.jsonl", RUN), ("shop_search.py", RETRIEVER)):
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def search_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path on which `rankgate` is the one under test; as when installed, not from the current directory."""
    directory = tmp_path_factory.mktemp("bin")
    script = f'#!/bin/sh\nPYTHONPATH={shlex.quote(PYTHONPATH)} exec {shlex.quote(sys.executable)} -P -m rankgate "$@"\n'
    (directory / "rankgate").write_text(script, encoding="utf-8")
    (directory / "rankgate").chmod(0o755)
    return f"{directory}{os.pathsep}{os.environ['PATH']}"


def shell(command: str, search_path: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a step of GitHub Actions does."""
    environment = {**os.environ, "PATH": search_path, "GITHUB_STEP_SUMMARY": "summary.md"}
    return subprocess.run(["bash", "-e", "-c", command], env=environment, capture_output=True, text=True, check=False)


def init(*words: str, gold: str = "gold.yaml") -> int:
    return main(["init", "--gold", gold, *words])


FROM_RUN = ["--run", "run.jsonl"]
FROM_RETRIEVER = ["--retriever", "shop_search:retrieve"]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(FROM_RUN, id="with floors"),
        pytest.param([], id="without a run"),
        pytest.param([*FROM_RUN, "--to", "config/ship-criteria.yaml"], id="in another directory"),
    ],
)
def test_the_criteria_load_and_gate(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert init(*words) == 0
    assert main(["check"]) == 0
    assert main(["baseline", "accept"]) == 0
    capsys.readouterr()
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("PASS  ")
    assert main(["validate"]) == 0


def test_floors_are_the_lower_ends_of_the_intervals_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert init(*FROM_RUN) == 0
    gates = load_criteria("ship-criteria.yaml").gates
    capsys.readouterr()
    metrics = ",".join(gate.metric.name for gate in gates)
    assert main(["score", "--gold", "gold.yaml", *FROM_RUN, "--metrics", metrics, "--format", "json"]) == 0
    scored = json.loads(capsys.readouterr().out)["metrics"]
    lows = [scored[gate.metric.name]["ci"][0] for gate in gates]
    assert [gate.threshold for gate in gates] == [math.floor(100 * low) / 100 for low in lows]
    assert all(gate.threshold for gate in gates)


def test_without_a_run_there_are_drops_and_no_floors() -> None:
    assert init() == 0
    gates = load_criteria("ship-criteria.yaml").gates
    assert [(gate.threshold, gate.regression_max is not None) for gate in gates] == [(None, True)] * 3
    assert not WORKFLOW.exists()


def test_a_run_of_one_question_supports_no_floor(project: Path) -> None:
    (project / "one.yaml").write_text('samples: [{id: q1, expected_output: ["hours"]}]\n', encoding="utf-8")
    assert init(*FROM_RUN, gold="one.yaml") == 0
    assert [gate.threshold for gate in load_criteria("ship-criteria.yaml").gates] == [None] * 3


def test_it_says_what_it_wrote_and_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert init(*FROM_RUN) == 0
    assert capsys.readouterr().out == (
        "wrote ship-criteria.yaml: 3 gates over 4 questions\n"
        "wrote .github/workflows/rankgate.yml\n"
        "next:\n"
        "  $ rankgate validate\n"
        "  $ rankgate check\n"
        "  $ rankgate baseline accept\n"
    )


def next_steps(out: str) -> list[str]:
    return [line.removeprefix("  $ ") for line in out.splitlines() if line.startswith("  $ ")]


@pytest.mark.parametrize(
    ("words", "gold"),
    [
        pytest.param(FROM_RUN, "gold.yaml", id="run"),
        pytest.param(FROM_RETRIEVER, "gold.yaml", id="retriever"),
        pytest.param([*FROM_RUN, "--to", "gates/search.yaml"], "gold.yaml", id="criteria elsewhere"),
        pytest.param([*FROM_RUN, "--to", "our gates.yaml"], "gold.yaml", id="criteria with a space in their name"),
        pytest.param(FROM_RETRIEVER, "our gold.yaml", id="gold with a space in its name"),
    ],
)
def test_the_next_steps_work_as_they_are_printed(
    project: Path, capsys: pytest.CaptureFixture[str], search_path: str, words: list[str], gold: str
) -> None:
    if words is FROM_RETRIEVER:
        (project / "run.jsonl").unlink()
    (project / "gold.yaml").rename(gold)
    assert init(*words, gold=gold) == 0
    steps = next_steps(capsys.readouterr().out)
    assert len(steps) >= 3
    for step in steps:
        ended = shell(step, search_path)
        assert ended.returncode == 0, f"{step}\n{ended.stdout}{ended.stderr}"


def test_the_step_that_adds_a_workflow_writes_the_same_criteria(capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--to", "config/ship-criteria.yaml") == 0
    *_, last = next_steps(capsys.readouterr().out)
    words = shlex.split(last.replace("MODULE:FUNCTION", "shop_search:retrieve"), comments=True)
    before = Path("config/ship-criteria.yaml").read_text(encoding="utf-8")
    assert main(words[1:]) == 0
    assert WORKFLOW.exists()
    assert Path("config/ship-criteria.yaml").read_text(encoding="utf-8") == before
    assert not Path("ship-criteria.yaml").exists()


@pytest.mark.parametrize(
    "existing",
    [pytest.param("ship-criteria.yaml", id="criteria"), pytest.param(WORKFLOW.as_posix(), id="workflow")],
)
def test_it_overwrites_nothing_unless_forced(capsys: pytest.CaptureFixture[str], existing: str) -> None:
    Path(existing).parent.mkdir(parents=True, exist_ok=True)
    Path(existing).write_text("mine\n", encoding="utf-8")
    assert init(*FROM_RUN) == 2
    assert capsys.readouterr() == ("", f"error: {existing}: exists already; --force overwrites it\n")
    assert Path(existing).read_text(encoding="utf-8") == "mine\n"
    assert Path("ship-criteria.yaml").exists() == (existing == "ship-criteria.yaml")
    assert init(*FROM_RUN, "--force") == 0
    assert Path(existing).read_text(encoding="utf-8") != "mine\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "init writes paths into the criteria; name the gold set with --gold FILE", id="no gold"),
        pytest.param(["--gold", "-"], "init writes paths into the criteria", id="gold from standard input"),
        pytest.param(
            ["--gold", "gold.yaml", "--run", "-"], "init writes paths into the criteria", id="run from standard input"
        ),
        pytest.param(["--gold", "absent.yaml"], "absent.yaml: no such file", id="no such gold"),
        pytest.param(["--gold", "gold.yaml", "--run", "absent.jsonl"], "absent.jsonl: no such file", id="no such run"),
        pytest.param(
            ["--gold", "gold.yaml", "--run", "others.jsonl"],
            "others.jsonl: the run has none of the 4 gold queries",
            id="a run of other queries",
        ),
    ],
)
def test_a_mistake_writes_nothing(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    Path("others.jsonl").write_text('{"query_id": "z", "retrieved": ["a"]}\n', encoding="utf-8")
    assert main(["init", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert not Path("ship-criteria.yaml").exists()
    assert not WORKFLOW.exists()


WORKFLOW_CASES = pytest.mark.parametrize(
    ("words", "gold"),
    [
        pytest.param(FROM_RUN, "gold.yaml", id="run"),
        pytest.param(FROM_RETRIEVER, "gold.yaml", id="retriever"),
        pytest.param([*FROM_RUN, *FROM_RETRIEVER], "gold.yaml", id="run and retriever"),
        pytest.param([*FROM_RUN, "--to", "config/ship-criteria.yaml"], "gold.yaml", id="criteria in config"),
        pytest.param([*FROM_RUN, "--to", "gates/search.yaml"], "gold.yaml", id="criteria elsewhere"),
        pytest.param(FROM_RETRIEVER, "our gold.yaml", id="a space in a path"),
        pytest.param(FROM_RETRIEVER, "gold #2.yaml", id="a hash in a path"),
        pytest.param(FROM_RETRIEVER, "gold: 2.yaml", id="a colon in a path"),
    ],
)


@WORKFLOW_CASES
def test_the_workflow_is_valid(project: Path, words: list[str], gold: str) -> None:
    pytest.importorskip("check_jsonschema")
    (project / "gold.yaml").rename(gold)
    assert init(*words, gold=gold) == 0
    schema = ["--builtin-schema", "vendor.github-workflows"]
    command = [sys.executable, "-m", "check_jsonschema", *schema, WORKFLOW.as_posix()]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@WORKFLOW_CASES
def test_the_steps_of_the_workflow_run(project: Path, search_path: str, words: list[str], gold: str) -> None:
    (project / "gold.yaml").rename(gold)
    assert init(*words, gold=gold) == 0
    if words is FROM_RETRIEVER:
        (project / "run.jsonl").unlink()
    made: Any = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    commands = [step["run"] for step in made["jobs"]["gate"]["steps"] if "run" in step]
    assert [command for command in commands if re.search(r"\bpip install\b", command)] == commands[:1]
    for command in commands[1:]:
        ended = shell(command, search_path)
        assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
    report = json.loads(Path("rankgate/report.json").read_text(encoding="utf-8"))
    comment = Path("rankgate/comment.md").read_text(encoding="utf-8")
    assert report["verdict"] == "warn"
    assert comment.startswith("**⚠️ WARN. ")
    assert Path("summary.md").read_text(encoding="utf-8") == comment


def test_the_evidence_fits_the_number_of_questions(project: Path) -> None:
    assert init(*FROM_RUN) == 0
    assert {gate.evidence for gate in load_criteria("ship-criteria.yaml").gates} == {Evidence.PROVEN_HARM}
    assert "# Few questions: 3 cannot tell" in Path("ship-criteria.yaml").read_text(encoding="utf-8")
    many = "".join(json.dumps({"id": f"q{number}", "expected_output": ["a"]}) + "\n" for number in range(785))
    Path("many.jsonl").write_text(many, encoding="utf-8")
    assert init("--to", "many.yaml", gold="many.jsonl") == 0
    assert {gate.evidence for gate in load_criteria("many.yaml").gates} == {Evidence.ESTIMATE}


def test_a_workflow_on_a_worse_run_fails_with_both_files(project: Path, search_path: str) -> None:
    ids = [f"q{number}" for number in range(30)]
    gold = "".join(json.dumps({"id": each, "expected_output": ["a"]}) + "\n" for each in ids)
    found, lost = ("".join(json.dumps({"query_id": each, "retrieved": [doc]}) + "\n" for each in ids) for doc in "ax")
    Path("gold.jsonl").write_text(gold, encoding="utf-8")
    Path("run.jsonl").write_text(found, encoding="utf-8")
    assert init(*FROM_RUN, gold="gold.jsonl") == 0
    Path("run.jsonl").write_text(lost.replace("x", "a", 1), encoding="utf-8")
    made: Any = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    codes = {
        step["name"]: shell(step["run"], search_path).returncode
        for step in made["jobs"]["gate"]["steps"]
        if step.get("name") in {"Check", "Summary"}
    }
    assert codes == {"Check": 1, "Summary": 0}
    assert Path("summary.md").read_text(encoding="utf-8").startswith("**❌ FAIL. ")
