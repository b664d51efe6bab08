"""The pages that the scenarios make: each folder's check, run once more with `-o report.html`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rankgate.cli import main
from rankgate.yaml_text import load_yaml

SCENARIOS = Path(__file__).parents[2] / "scenarios"
DATE = "2026-01-31"


def arguments_of(name: str) -> list[str]:
    """What the scenario calls, without what it prints and writes."""
    loaded = load_yaml((SCENARIOS / name / "scenario.yaml").read_text(encoding="utf-8"), name).value
    assert isinstance(loaded, dict)
    words = iter([str(word) for word in loaded["arguments"]])
    kept: list[str] = []
    for word in words:
        if word in ("-o", "--format"):
            next(words)
        else:
            kept.append(word)
    return kept


CHECKS = sorted(
    path.parent.name for path in SCENARIOS.glob("*/scenario.yaml") if arguments_of(path.parent.name)[0] == "check"
)


def inputs_of(name: str, folder: Path) -> Path:
    """The scenario's files in a folder of their own."""
    work = folder / name
    shutil.copytree(SCENARIOS / "_inputs", work)
    shutil.copytree(SCENARIOS / name, work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("expected"))
    return work


def make_page(name: str, folder: Path) -> Path:
    """Run the scenario's check where its files are; its page."""
    work = inputs_of(name, folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(work)
        main([*arguments_of(name), "-o", "report.html", "--date", DATE])
    return work / "report.html"
