"""Small mistakes in the core of the decision, made one at a time: how many of them no test notices."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rankgate"

pytestmark = pytest.mark.full

# A module, the tests that look at it, and how many mistakes they may miss: comparisons of floating-point numbers at
# exactly the limit plus its tolerance, a branch that is never reached, a check that another one makes superfluous.
CORE = [
    ("gates/decision_rule.py", ["test_evidence.py", "test_gates.py"], 7),
    ("gates/query_rules.py", ["test_hard_checks.py"], 5),
]


@pytest.mark.parametrize(("module", "tests", "unnoticed"), CORE, ids=[module for module, _, _ in CORE])
def test_mistakes_are_noticed(module: str, tests: list[str], unnoticed: int) -> None:
    paths: list[Path | str] = [SOURCE / module, "--", *(ROOT / "tests" / name for name in tests)]
    command = [sys.executable, str(ROOT / "scripts" / "mutate.py"), *(str(path) for path in paths)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    row = re.search(rf"^\| rankgate/{re.escape(module)} \| \d+ \| \d+ \| (\d+) \|$", done.stdout, re.MULTILINE)
    assert row, done.stdout + done.stderr
    assert int(row[1]) <= unnoticed, done.stdout
