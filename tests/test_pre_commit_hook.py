"""The hook of pre-commit: which files call it, and what it runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.rows import each_row

from rankgate.cli import COMMANDS

ROOT = Path(__file__).parents[1]
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def test_it_has_the_keys_that_pre_commit_documents() -> None:
    assert {"id", "name", "entry", "language"} <= HOOK.keys()
    assert HOOK.keys() <= {"id", "name", "description", "entry", "language", "files", "pass_filenames"}
    assert HOOK["language"] == "python"  # installed from this repository, whose package has the command


def test_it_runs_a_command_without_names_of_files() -> None:
    """Criteria, waivers and gold set are judged together, whichever of them changed."""
    command, name = HOOK["entry"].split()
    assert (command, name in COMMANDS, HOOK["pass_filenames"]) == ("rankgate", True, False)


@each_row(
    ("path", "calls"),
    [
        ("ship-criteria.yaml", True),
        ("config/ship-criteria.yml", True),
        (".github/ship-criteria.yaml", True),
        ("ship-waivers.yaml", True),
        ("gold.yaml", True),
        ("eval/gold.jsonl", True),
        ("data/gold-set.json", True),
        ("gold/gold.csv.gz", True),
        ("beir/qrels.tsv", True),
        ("golden_retriever.py", False),
        ("marigold.yaml", False),
        ("my-ship-criteria.yaml", False),
        ("ship-criteria.schema.json", False),
        ("ship-criteria.yaml.orig", False),
        ("run.jsonl", False),
        ("README.md", False),
    ],
)
def test_the_files_that_call_it(path: str, *, calls: bool) -> None:
    assert bool(re.search(HOOK["files"], path)) is calls


@pytest.mark.full
def test_pre_commit_takes_the_file() -> None:
    command = Path(sys.executable).with_name("pre-commit")
    subprocess.run([command, "validate-manifest", ROOT / ".pre-commit-hooks.yaml"], check=True)
