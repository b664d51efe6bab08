"""Options of the whole suite."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
TERMINAL = ("FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS")
JOB = ("GITHUB_", "GH_", "RUNNER_", "RANKGATE_")
TOKEN = re.compile(r"gh[a-z]_[A-Za-z0-9]{10,}")  # as the emulator issues them, and GitHub itself


# What takes long and is the same whichever versions of our dependencies are installed: processes that are killed or
# race, git, environments that are set up anew, other people's programs. CI runs it once, and all the rest with the
# oldest versions too.
ONCE = (
    "tests/scripts/",
    "tests/forges/test_rehearsal.py",
    "tests/forges/test_composite.py",
    "tests/baselines/test_git_branch.py",
    "tests/baselines/test_killed_writes.py",
    "tests/renderers/test_in_a_browser.py",
    "tests/renderers/test_dashboard_pages.py",
    "tests/renderers/pages/test_report_in_a_browser.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.relative_to(ROOT).as_posix().startswith(ONCE):
            item.add_marker(pytest.mark.once)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh", action="store_true", help="write the scenarios' expected files anew")


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer's own terminal asks for, or the job that the tests run in, must not show in the tests."""
    for name in [name for name in os.environ if name in TERMINAL or name.startswith(JOB)]:
        monkeypatch.delenv(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """No test of the suite may print a token, nor show one in a traceback: the log of a job is public."""
    report = yield
    text = "".join(content for _, content in report.sections) + report.longreprtext
    if TOKEN.search(text):
        report.outcome = "failed"
        report.longrepr = "a token stands in what this test printed or in its traceback (not repeated here)"
        report.sections = []
    return report


@pytest.fixture(scope="session")
def browser() -> str:
    """A Chromium to open pages with. Without one its tests are skipped by name, and fail in CI, which installs it."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        lacking(f"needs a browser: none of {', '.join(names)} is installed")
    return found


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Where scripts/test put the packages of tests/npm. Without them, or without node, as without a browser."""
    directory = ROOT / ".node" / "node_modules"
    if shutil.which("node") is None:
        lacking("needs node, which is not installed")
    if not (directory.parent / "setup-finished").is_file():
        lacking(f"needs the npm packages of tests/npm: scripts/test installs them into {directory.parent}")
    return directory


def lacking(message: str) -> NoReturn:
    """Skips where a developer's machine lacks something; CI installs everything, and there it is an error."""
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
