"""The README's commands on a clean clone: what they set up and do, and that a second time sets up nothing."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.full


def in_the_clone(clone: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """As a developer would, without what the tests' own environment sets."""
    ours = ("PIP_", "PYTEST_", "PYTHON", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment["PIP_NO_COMPILE"] = "0"  # which is how pip spells --no-compile
    return subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)


def test_on_a_clean_clone_they_work_and_a_second_time_have_nothing_to_set_up(tmp_path: Path) -> None:
    clone = tmp_path / "a clean clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    # Of the extras what is used here; .ci/run, whose steps begin on a clean clone, too, installs all of them.
    project = (clone / "pyproject.toml").read_text(encoding="utf-8")
    for extra in ("dev", "recipes"):
        listed = re.search(rf"(?s)^{extra} = \[\n(.*?)^\]", project, re.MULTILINE)
        assert listed is not None
        used = ("hypothesis", "pytest")
        kept = [line for line in listed[1].splitlines(keepends=True) if line.strip().strip('"').startswith(used)]
        project = project.replace(listed[1], "".join(kept))
    (clone / "pyproject.toml").write_text(project, encoding="utf-8")

    stamp = clone / ".venv" / "setup-finished"

    tests = in_the_clone(clone, "scripts/test", "-q", "-n1", "tests/metrics/test_tags.py")
    demo = in_the_clone(clone, "scripts/demo")  # which needs less
    stamp.write_text("".join(stamp.read_text(encoding="utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
    more = in_the_clone(clone, "scripts/test", "--version")  # where the project alone was installed
    again = in_the_clone(clone, "scripts/test", "--version")

    done = [tests, demo, more, again]
    assert [each.returncode for each in done] == [0] * 4, "".join(each.stderr for each in done)
    assert "Making .venv with " in tests.stderr
    assert " passed in " in tests.stdout
    assert "\n(exit code 1)\n" in demo.stdout
    assert more.stderr.startswith("Installing the project (dev,recipes) into .venv.")
    assert [each.stderr.splitlines()[0] for each in (demo, again)] == [".venv is up to date."] * 2


def test_the_npm_packages_are_pinned() -> None:
    text = (ROOT / "tests" / "npm" / "package.json").read_text(encoding="utf-8")
    assert not {"^", "~", "*", ">"} & set(text)
