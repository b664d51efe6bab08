"""The commit that a recording is stamped with: real repositories, and none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.repositories import git, sha_of_commit

from rankgate.cli import main
from rankgate.collecting.code_state import code_state
from rankgate.readers.formats import read_run

APP = "def search(question):\n    return ['doc-1']\n"
GOLD = {"id": "q1", "input": {"question": "Where?"}, "expected_output": ["doc-1"]}


def code_version(output: str) -> str | None:
    state = code_state(output)
    return None if state is None else state.version


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The current directory, with everything committed; gives the commit as a run names it."""
    root = tmp_path / "app"
    root.mkdir()
    monkeypatch.chdir(root)
    Path("search.py").write_text(APP)
    Path("run.jsonl").write_text("{}\n")
    git("init", "--quiet")
    return sha_of_commit()[:12]


def test_the_commit(repository: str) -> None:
    assert code_version("run.jsonl") == repository


def test_a_changed_file_is_a_change_whether_staged_or_not(repository: str) -> None:
    Path("search.py").write_text(APP + "\n")
    assert code_version("run.jsonl") == f"{repository}+changes"
    git("add", "search.py")
    assert code_version("run.jsonl") == f"{repository}+changes"


def test_the_run_itself_and_files_that_git_does_not_know_are_none(repository: str) -> None:
    Path("run.jsonl").write_text("another run\n")
    Path("run.jsonl.partial").write_text("begun\n")
    assert code_version("run.jsonl") == repository
    assert code_version("other.jsonl") == f"{repository}+changes"


def test_the_repository_around_a_folder_counts(repository: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    Path("../run.jsonl").write_text("another run\n")
    assert code_version("../run.jsonl") == repository


def test_a_file_that_was_only_touched_is_no_change(repository: str) -> None:
    Path("search.py").write_text(APP)
    assert code_version("run.jsonl") == repository


def test_where_git_cannot_tell_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert code_version("run.jsonl") is None
    git("init", "--quiet")
    assert code_version("run.jsonl") is None  # nothing is committed yet
    monkeypatch.setenv("PATH", str(tmp_path))
    assert code_version("run.jsonl") is None


def recorded(*arguments: str) -> dict[str, object]:
    Path("gold.jsonl").write_text(json.dumps(GOLD) + "\n")
    assert main(["record", "--retriever", "search:search", "--gold", "gold.jsonl", "-o", "run.jsonl", *arguments]) == 0
    return {key: value for key, value in read_run("run.jsonl").provenance.items() if key != "recording"}


@pytest.mark.full
def test_record_stamps_it(repository: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert recorded() == {"system": "search:search", "code_version": repository}
    assert capsys.readouterr().out.startswith("recorded 1 of 1 question")


@pytest.mark.full
@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        pytest.param("code_version=2.4.1", {"code_version": "2.4.1"}, id="its own key"),
        pytest.param("commit=abc", {"commit": "abc"}, id="the other key that states the code"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_is_set_wins(setting: str, expected: dict[str, str]) -> None:
    assert recorded("--set", setting) == {"system": "search:search", **expected}
