"""The command under "how to repeat it" runs in a shell and gives the verdict again, whatever the store."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.repositories import commit, git

from rankgate.cli import main

# In place of rankgate on the search path: what the shell makes of a line, for a call of it here.
SHIM = '#!/bin/sh\nprintf "%s\\0" "$@" > ../typed\n'
ODD = 'it\'s $(touch hacked) `touch hacked` & "b"'
DATE = ["--date", "2026-01-31"]
CRITERIA = "gates: [{name: recall@1, regression_max: 0.15}]\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    team = tmp_path / "team"
    team.mkdir()
    monkeypatch.chdir(team)
    Path("gold.jsonl").write_text("".join(f'{{"id": "q{n}", "expected_output": ["d{n}"]}}\n' for n in range(10)))
    for name, right in (("before.jsonl", 10), ("run.jsonl", 5)):
        found = [json.dumps({"query_id": f"q{n}", "topk": [f"d{n}" if n < right else "x"]}) for n in range(10)]
        Path(name).write_text("\n".join(found) + "\n")
    Path("ship-criteria.yaml").write_text(CRITERIA)
    shim = tmp_path / "bin" / "rankgate"
    shim.parent.mkdir()
    shim.write_text(SHIM)
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    return team


def report(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(name).read_text(encoding="utf-8"))
    return found


def printed() -> str:
    """The command as the comment has it."""
    [command] = re.findall(r"^ *```sh\n(.*?)\n *```", Path("comment.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return str(command).strip()


def in_a_shell(line: str) -> tuple[int, str]:
    """The exit code of a line that is typed, and what the shell says where it does not get as far as rankgate."""
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.returncode, done.stderr
    return main(Path("../typed").read_text(encoding="utf-8").split("\0")[:-1]), ""


def repeat(*words: str) -> None:
    """Check, then type what the comment says; both reports are alike."""
    code = main(["check", *words, *DATE, "-o", "report.json", "-o", "comment.md"])
    assert code in {0, 1}
    assert in_a_shell(f"{printed()} {shlex.join([*DATE, '-o', 'again.json'])}") == (code, "")
    again, first = report("again.json"), report("report.json")
    for each in (again, first):
        del each["provenance"]["command"]
    assert again == first
    assert not Path("hacked").exists()


def accept(store: str) -> None:
    assert main(["baseline", "accept", "--run", "before.jsonl", "--baseline", store, *DATE, "--reason", "first"]) == 0


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("folder", ["baseline", ODD, "été/ß"])
@pytest.mark.parametrize("scheme", ["", "file://"], ids=["directory", "file://"])
def test_a_store_on_this_machine(folder: str, scheme: str, tmp_path: Path) -> None:
    store = f"{scheme}{tmp_path}/{folder}" if scheme else folder
    accept(store)
    repeat("--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", store)


@pytest.mark.usefixtures("project")
def test_a_store_wherever_it_is(reached: str) -> None:
    accept(reached)
    repeat("--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", reached)
    assert f"--baseline {reached}" in printed()


@pytest.mark.full
def test_a_branch(project: Path) -> None:
    git("init", "--quiet", "--bare", "--initial-branch", "main", "../origin.git", at=project)
    git("init", "--quiet", "--initial-branch", "main", at=project)
    git("remote", "add", "origin", "../origin.git", at=project)
    commit()
    accept("git+branch:baselines")
    repeat("--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", "git+branch:baselines")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", ["-x", ODD, "ä", "~", "*"])
def test_names_of_files(name: str) -> None:
    for kept in ("run", "gold"):
        Path(f"{kept}.jsonl").rename(f"./{name}.{kept}")
    repeat("--gold", f"./{name}.gold", "--run", f"./{name}.run", "--baseline", "before.jsonl")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("named", "content"),
    [
        pytest.param("{path: own, map: {query_id: q, items: found}}", '{"q": "q0", "found": ["d0"]}\n', id="a map"),
        pytest.param("{path: own, format: dict}", '{"q0": {"d0": 1}}', id="a format that cannot be told"),
    ],
)
@pytest.mark.parametrize("what", ["run", "baseline"])
def test_what_the_criteria_say_of_reading_a_file(what: str, named: str, content: str) -> None:
    Path("own").write_text(content)
    others = {"gold": "gold.jsonl", "run": "run.jsonl", "baseline": "before.jsonl"} | {what: named}
    inputs = "".join(f"  {key}: {value}\n" for key, value in others.items())
    Path("ship-criteria.yaml").write_text(f"{CRITERIA}inputs:\n{inputs}")
    repeat()


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("address", ["s3://key:secret@bucket/team", "git+branch:b@https://me:secret@host/x.git"])
def test_credentials_are_left_out_and_the_shell_says_which_variable_to_set(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", "before.jsonl"]
    assert main(["check", *words, "-o", "report.json"]) == 1
    changed = report("report.json")
    command = changed["provenance"]["command"]
    command[command.index("--baseline") + 1] = address
    Path("report.json").write_text(json.dumps(changed), encoding="utf-8")
    assert main(["check", "--from", "report.json", "-o", "comment.md"]) == 1
    line = printed()
    assert "secret" not in line
    code, said = in_a_shell(line)
    assert code
    assert "BASELINE: set it to the address with its credentials" in said
    monkeypatch.setenv("BASELINE", "before.jsonl")
    assert in_a_shell(line) == (1, "")
