"""The form of pages: what they begin and end with, what is generated of them, how long their sentences are."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.test_pages import BLOCK, DOCS, ROOT

from rankgate import INSTALL


def guide() -> list[str]:
    """The pages of the guide, but for the recipes, which have their own form."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    [pages] = [part["Guide"] for part in site["nav"] if "Guide" in part]
    return [page for page in pages if isinstance(page, str)]


@pytest.mark.parametrize("name", guide())
def test_a_page_begins_with_what_it_lets_you_do_and_ends_with_the_command_that_shows_it(name: str) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert re.match(r"# .+\n\nThis page ", text)
    assert BLOCK.findall(text)[-1][1] == "sh"


GENERATED = ["commands", "criteria-keys", "metrics", "questions", "report-json"]


def make_pages(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    script = folder / "scripts" / "make_pages.py"
    return subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=False)


@pytest.mark.full
def test_generated_pages_are_fresh_and_one_that_differs_is_named_and_written_anew(tmp_path: Path) -> None:
    done = make_pages(ROOT, "--check")
    assert (done.returncode, done.stderr) == (0, "")
    for folder in ("config", "docs", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    pages = [tmp_path / "docs" / f"{name}.md" for name in GENERATED]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r"(?<= -->\n).*\n", "other\n", text, count=1), encoding="utf-8")
    done = make_pages(tmp_path, "--check")
    assert done.returncode == 1
    assert re.findall(r"^(\S+) differs .*; run scripts/make_pages.py$", done.stderr, re.MULTILINE) == list(
        map(str, pages)
    )
    assert make_pages(tmp_path).returncode == 0
    for page in pages:
        assert page.read_text(encoding="utf-8") == (ROOT / "docs" / page.name).read_text(encoding="utf-8")


WITH_LINES = {".md", ".py", ".yml"}


def test_every_line_that_installs_names_one_source() -> None:
    line = re.compile(r"(?:pip install|pipx install|uv tool install|uvx --from) [^`\n]*rankgate[^`\n]*")
    source = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.j2")]
    workflows = [ROOT / "action.yml", *(ROOT / "docs").rglob("*.yml")]
    for page in [ROOT / "README.md", *DOCS, *workflows, *source]:
        text = page.read_text(encoding="utf-8")
        assert [typed for typed in line.findall(text) if INSTALL not in typed] == [], page.name
    assert any(INSTALL in page.read_text(encoding="utf-8") for page in workflows)


@pytest.mark.full
def test_a_release_names_another_source_in_all_of_them(tmp_path: Path) -> None:
    for folder in ("docs", "config", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in ("README.md", "src/rankgate/__init__.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    address = "git+https://example.org/rankgate@0123abcd"
    subprocess.run([sys.executable, tmp_path / "scripts" / "make_pages.py", "--install", address], check=True)
    written = {file: file.read_text(encoding="utf-8") for file in tmp_path.rglob("*") if file.suffix in WITH_LINES}
    assert [file for file, text in written.items() if INSTALL in text] == []
    assert f'INSTALL = "{address}"' in written[tmp_path / "src" / "rankgate" / "__init__.py"]
    assert f"pip install 'rankgate[cloud,parquet] @ {address}'" in written[tmp_path / "docs" / "install.md"]
    assert f"python -m pip install '{address}'" in written[tmp_path / "docs" / "hardened" / "rankgate.yml"]


def sentences(page: Path) -> list[str]:
    """Of paragraphs and lists, without code, tables and headings."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"^(?:\||#|<!--|!\[|>).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`\n]*`", "X", text))
    paragraphs = re.split(r"\n\s*\n|\n *(?:[-*]|\d+\.) ", text)
    found = [each for paragraph in paragraphs for each in re.split(r"(?<=[.?!:])\s+", " ".join(paragraph.split()))]
    return [each for each in found if re.search(r"\w", each)]


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in DOCS])
def test_sentences_are_short(page: Path) -> None:
    lengths = [len(sentence.split()) for sentence in sentences(page)]
    assert statistics.median(lengths) <= 18


def test_no_page_says_a_word_that_only_we_understand() -> None:
    words = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Words\n")[2]
    [listed] = re.findall(r"^> (.*)$", words, re.MULTILINE)
    coined = re.compile(rf"\b(?:{'|'.join(listed.split(', '))})\b", re.IGNORECASE)
    for page in DOCS:
        prose = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text(encoding="utf-8")))
        assert coined.findall(prose) == [], page.name
