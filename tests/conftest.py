"""Options of the whole suite."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh", action="store_true", help="write the scenarios' expected files anew")


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer's own terminal asks for must not show in what tests compare."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "GITHUB_STEP_SUMMARY", "COLUMNS"):
        if name in os.environ:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def browser() -> str:
    """A Chromium to open pages with. Without one its tests are skipped by name, and fail in CI, which installs it."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is not None:
        return found
    message = f"needs a browser: none of {', '.join(names)} is installed"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
