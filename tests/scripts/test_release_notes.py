"""scripts/release_notes.py, as the release workflow calls it, on small projects."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "release_notes.py"
CHANGELOG = """\
# Changelog

## Unreleased

### Added
- something

## 1.2.3 (2026-03-01)

### Fixed
- that ## is no heading

### Added
- more

## 1.2.2
- older
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "src" / "rankgate").mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "scripts")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "tiny"\nversion = "1.2.3"\n', encoding="utf-8")
    (tmp_path / "src" / "rankgate" / "__init__.py").write_text(
        '"""Tiny."""\n\n__version__ = "1.2.3"\n', encoding="utf-8"
    )
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    return tmp_path


def release_notes(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [sys.executable, project / "scripts" / "release_notes.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [[], [""], ["v1.2.3"]], ids=["no tag", "an empty tag", "the version's tag"])
def test_the_notes_are_the_section_of_this_version_alone(project: Path, words: list[str]) -> None:
    ended = release_notes(project, *words)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "### Fixed\n- that ## is no heading\n\n### Added\n- more\n"


def test_the_last_section_of_the_changelog_is_read_to_its_end(project: Path) -> None:
    changelog = project / "CHANGELOG.md"
    changelog.write_text(CHANGELOG.replace("## 1.2.2", "## 1.2.1").replace("## 1.2.3", "## 1.2.4"), encoding="utf-8")
    with changelog.open("a", encoding="utf-8") as file:
        file.write("\n## 1.2.3\n- oldest\n")
    assert release_notes(project).stdout == "- oldest\n"


@pytest.mark.parametrize("tag", ["v1.2.4", "1.2.3", "v1.2.3rc1"])
def test_a_tag_of_another_version_is_refused(project: Path, tag: str) -> None:
    ended = release_notes(project, tag)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"the tag is {tag}, but pyproject.toml has the version 1.2.3\n"


def test_everything_that_does_not_agree_is_named_at_once(project: Path) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "tiny"\nversion = "1.2"\n', encoding="utf-8")
    ended = release_notes(project, "v1.2.3")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines() == [
        "the tag is v1.2.3, but pyproject.toml has the version 1.2",
        "src/rankgate/__init__.py has another version than pyproject.toml, which has 1.2",
        "CHANGELOG.md says nothing under `## 1.2`",
    ]


def test_an_empty_section_says_nothing(project: Path) -> None:
    (project / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3\n\n## 1.2.2\n- older\n", encoding="utf-8")
    assert release_notes(project).stderr == "CHANGELOG.md says nothing under `## 1.2.3`\n"
