"""What the scenarios' calls make beyond their expected files: each folder's check, run once more."""

from __future__ import annotations

import shutil
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rankgate.cli import main
from rankgate.readers.yaml_text import load_yaml

SCENARIOS = Path(__file__).parent / "scenarios"
DATE = "2026-01-31"


def arguments_of(name: str) -> list[str]:
    """What the scenario calls, without what it prints and writes."""
    loaded = load_yaml((SCENARIOS / name / "scenario.yaml").read_text(encoding="utf-8"), name).value
    assert isinstance(loaded, dict)
    words = iter([str(word) for word in loaded["arguments"]])
    kept: list[str] = []
    for word in words:
        if word in ("-o", "--format", "--template"):
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


def make(name: str, folder: Path, file: str) -> Path:
    """Run the scenario's check where its files are, with one output."""
    work = inputs_of(name, folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(work)
        main([*arguments_of(name), "-o", file, "--date", DATE])
    return work / file


def make_page(name: str, folder: Path) -> Path:
    """The page of the scenario's check."""
    return make(name, folder, "report.html")


@cache
def report_of(name: str) -> bytes:
    """The report.json of the scenario's check."""
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        return make(name, Path(folder), "report.json").read_bytes()
