"""A check at the base of a pull request: what of the job's environment its process sees."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests import repositories

from rankgate.errors import RankgateError
from rankgate.forges.base_checkout import BaseCheckout
from rankgate.forges.context import Pull
from rankgate.renderers.isolation import LOADER


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file into which an interpreter that does nothing else writes its environment."""
    interpreter, told = tmp_path / "python", tmp_path / "seen"
    interpreter.write_text(f"#!/bin/sh\nenv > {told}\n")
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    return told


@pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a shell script")
def test_the_process_gets_what_its_interpreter_needs_to_start_and_neither_token_nor_event(
    seen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the loader's variables a Python of setup-python that was built as a shared library would not start."""
    clone = tmp_path / "clone"
    clone.mkdir()
    repositories.git("init", "--quiet", at=clone)
    base = repositories.commit(clone)
    needed = {name: f"/nowhere/{name}" for name in LOADER}
    kept = needed | {"LANG": "C", "HOME": str(tmp_path)}
    secret = {"GITHUB_TOKEN": "t", "RANKGATE_TOKEN": "t", "GITHUB_EVENT_PATH": "e", "PYTHONPATH": "p"}
    for name, value in (kept | secret).items():
        monkeypatch.setenv(name, value)
    pull = Pull(number=1, head_sha="a" * 40, base_ref="main", base_sha=base, head_repository=2, from_fork=True)
    with pytest.raises(RankgateError, match="left no report"):
        BaseCheckout(repository=clone, date="2026-01-31").judge(pull, b"")
    environment = dict(line.split("=", 1) for line in seen.read_text().splitlines())
    assert kept.items() <= environment.items()
    assert not secret.keys() & environment.keys()
    assert environment["PATH"] == os.environ["PATH"]
