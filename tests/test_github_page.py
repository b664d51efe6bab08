"""Every test that tests/README.md names is there, and docs/github.md shows every input and output of the action."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "github.md").read_text(encoding="utf-8")
GUARANTEES = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
ROWS = [
    row.split(" | ")
    for row in GUARANTEES.partition("| requirement | tests |\n|:--|:--|\n")[2].splitlines()
    if row.startswith("| ")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("| *")[:60])
def test_the_tests_of_a_requirement_are_there(row: list[str]) -> None:
    found = re.findall(r"`(tests/[a-z_/]+\.py)`: ((?:`test_\w+`(?:, )?)+)", row[1])
    assert found
    for file, names in found:
        assert set(re.findall(r"`(\w+)`", names)) <= defined_in(file), file


@cache
def defined_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_requirement_has_its_row() -> None:
    """The themes of what the bot must hold; a theme without a row would be a promise that nobody tests."""
    themes = re.findall(r"\*\*([A-Za-z ,]+)\.?\*\*", "\n".join(row[0] for row in ROWS))
    assert themes == [
        *("Rate limits", "One comment", "Finding the pull request", "Always reported", "Limits"),
        *("Untrusted text", "Parsing", "Token", "Required checks", "Forks", "Side doors"),
    ]


@pytest.mark.parametrize("kind", ["inputs", "outputs"])
def test_the_page_lists_what_the_action_takes_and_gives(kind: str) -> None:
    shown = set(re.findall(r"`([a-z-]+)`", "\n".join(row for row in PAGE.splitlines() if row.startswith("| `"))))
    assert set(ACTION[kind]) <= shown


def test_no_input_reaches_a_script_but_through_the_environment() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
