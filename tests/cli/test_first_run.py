"""The first run of what `init --github` writes, from a clean clone: its own lines in bash, with real tools.

The retriever imports a package that only the line that somebody adds installs: without it nothing is recorded.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.forges.composite import Result
from tests.forges.composite import run as run_action
from tests.repositories import commit, git

from rankgate import INSTALL
from rankgate.cli import main

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
GOLD = """\
samples:
  - {id: q1, input: {question: "opening hours"}, expected_output: [hours]}
  - {id: q2, input: {question: "gift cards"}, expected_output: [gifts]}
"""
ARTICLES = 'ARTICLES = {"opening hours": ["hours", "gifts"], "gift cards": ["hours", "gifts"]}\n'
RETRIEVER = "from greeting import ARTICLES\n\n\ndef retrieve(question):\n    return ARTICLES[question]\n"
# Builds a wheel with nothing but Python, so that no tool fetches a build back end.
BACK_END = """\
from zipfile import ZipFile

FILES = {
    "METADATA": "Metadata-Version: 2.1\\nName: greeting\\nVersion: 1.0\\n",
    "WHEEL": "Wheel-Version: 1.0\\nGenerator: a\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    "RECORD": "",
}


def build_wheel(to, config_settings=None, metadata_directory=None):
    with ZipFile(f"{to}/greeting-1.0-py3-none-any.whl", "w") as wheel:
        wheel.write("greeting.py")
        for name, text in FILES.items():
            wheel.writestr(f"greeting-1.0.dist-info/{name}", text)
    return "greeting-1.0-py3-none-any.whl"
"""
PACKAGE = """\
[project]
name = "greeting"
version = "1.0"

[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
NEEDED = {"greeting/greeting.py": ARTICLES, "greeting/backend.py": BACK_END, "greeting/pyproject.toml": PACKAGE}


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the rankgate under test is found as the index has a released one."""
    directory = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return directory


def steps_of(workflow: Path) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]["gate"]["steps"]
    return steps


def first_run(project: Path, place: Path, wheels: Path) -> tuple[Path, Result]:
    """The gate's job after a push, on a runner that has nothing but a fresh Python, in a clone of what is committed."""
    git("init", "-q", at=project)
    commit(at=project)
    clone, action, home = place / "clone", place / "action", place / "home"
    git("clone", "-q", str(project), str(clone))
    subprocess.run([UV, "venv", "-q", "--seed", "--python", sys.executable, place / "python"], check=True)
    steps = [
        step | ({"shell": "bash"} if "run" in step else {})
        for step in steps_of(clone / ".github/workflows/rankgate.yml")
    ]
    for each in (action, home):
        each.mkdir()
    (action / "action.yml").write_text(
        yaml.safe_dump({"runs": {"using": "composite", "steps": steps}}), encoding="utf-8"
    )
    (place / "event.json").write_text("{}", encoding="utf-8")
    around = {
        "PATH": f"{place / 'python' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_EVENT_PATH": str(place / "event.json"),
        "GITHUB_WORKSPACE": str(clone),
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_COMPILE": "0",  # which is how pip spells --no-compile
    }
    return clone, run_action(action, {}, around, clone, timeout=600)


def write(project: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")


def test_the_first_run_comes_to_a_verdict(tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    files = {"gold.yaml": GOLD, ".gitignore": "run.jsonl\n", "requirements.txt": "./greeting\n"}
    write(project, {**files, **NEEDED, "shop/__init__.py": "", "shop/search.py": RETRIEVER})
    monkeypatch.chdir(project)
    assert main(["init", "--gold", "gold.yaml", "--retriever", "shop.search:retrieve"]) == 0
    assert main(["init", "--github"]) == 0
    workflow = project / ".github/workflows/rankgate.yml"
    mark = "# ADD HERE what installs your project, such as: python -m pip install -r requirements.txt"
    before, place, after = workflow.read_text(encoding="utf-8").partition(mark)
    assert place
    workflow.write_text(f"{before}python -m pip install -r requirements.txt{after}", encoding="utf-8")
    shutil.copy(next(wheels.glob("rankgate-*.whl")), project / INSTALL)  # which the hints of `init` say to commit
    clone, ran = first_run(project, tmp_path, wheels)
    assert ran.code == 0, ran.log
    assert "recorded 2 of 2 questions" in ran.log
    monkeypatch.chdir(clone)
    assert main(["check", "-o", "report.json"]) == 0
    assert json.loads((clone / "report.json").read_text(encoding="utf-8"))["verdict"] == "warn"
    assert git("status", "--porcelain", "--untracked-files=no") == "", "nothing of the commit is changed"
