"""All pages for people: links lead somewhere, Python does what stands below it, and shown output is what is printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from rankgate.cli import COMMANDS, main
from rankgate.criteria import load_criteria
from rankgate.model.report import REPORT_PARTS
from rankgate.model.report_text import KEYS

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
NAMES = ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in NAMES), *DOCS]
OURS = "https://github.com/rankgate/rankgate/blob/main/"
BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")


def prose(page: Path) -> str:
    """Without blocks and spans of code."""
    return re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub writes them."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = [heading.replace("`", "") for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """The links to files of this repository that lead nowhere."""
    found: list[str] = []
    for target in (first or second for first, second in LINK.findall(prose(page))):
        path, _, anchor = target.removeprefix(OURS).partition("#")
        if re.match(r"https?:", path):
            continue
        folder = ROOT if target.startswith(OURS) else page.parent
        file = (folder / unquote(path)).resolve() if path else page
        is_there = file.exists() and file.is_relative_to(ROOT)
        if not is_there or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in PAGES])
def test_links_to_files_and_headings_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    right = [f"{OURS}CONTRIBUTING.md#the-map", "https://example.org/none.md"]
    wrong = ["none.md", "#none", f"{OURS}none.md", f"{OURS}CONTRIBUTING.md#none"]
    page.write_text("".join(f"[a]({link}) " for link in [*right, *wrong]), encoding="utf-8")
    assert broken(page) == wrong


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in DOCS])
def test_a_page_of_the_site_links_to_nothing_outside_of_it_by_a_relative_path(page: Path) -> None:
    targets = [target for target, _ in LINK.findall(prose(page)) if not re.match(r"https?:|#", target)]
    outside = [target for target in targets if not (page.parent / target).resolve().is_relative_to(ROOT / "docs")]
    assert outside == []


def test_no_page_of_the_site_names_a_test() -> None:
    named = re.compile(r"`tests/\S+\.(?:py|md)`|`test_\w+`")
    assert [page.name for page in DOCS if named.search(page.read_text(encoding="utf-8"))] == []


def test_every_page_is_in_the_sites_navigation() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    assert sorted(entries(site["nav"])) == [page.relative_to(ROOT / "docs").as_posix() for page in DOCS]


def entries(nav: Any) -> list[str]:
    """The pages below an entry of the navigation."""
    if isinstance(nav, str):
        return [nav]
    below = nav.values() if isinstance(nav, dict) else nav
    return [page for entry in below for page in entries(entry)]


PROGRAM = re.compile(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = [block for page in PAGES for block in PROGRAM.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.full
@pytest.mark.parametrize(("program", "printed"), PROGRAMS)
def test_python_prints_what_the_page_says(program: str, printed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", printed)


def test_all_python_of_its_page_is_run() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert len(PROGRAM.findall(page)) == page.count("```python\n") == 3


def test_the_page_lists_the_keys_of_each_part_of_a_report() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    rows = re.findall(r"^ *\| `report\.(\w+)` \| (.*) \|$", page, re.MULTILINE)
    listed = {part: re.findall(r"`(\w+)`", keys) for part, keys in rows}
    kinds = REPORT_PARTS.items()
    assert listed == {part: [key for key in kind.__struct_fields__ if key in KEYS] for part, kind in kinds}


def commands(page: Path) -> list[str]:
    """What a page shows to be typed, and what its workflows run."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    typed = "\n".join(text for _, language, text in blocks if language in ("sh", "yaml"))
    return re.findall(r"^ *(?:- run: |script: )?rankgate ([a-z].*)$", typed, re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "command"),
    [
        pytest.param(page, command, id=f"{page.name}: {command.partition('#')[0].strip()[:60]}")
        for page in PAGES
        for command in commands(page)
    ],
)
def test_every_command_that_a_page_shows_is_understood(page: Path, command: str) -> None:
    name, *words = shlex.split(command, comments=True)
    if name == "COMMAND":
        return
    import_module(COMMANDS[name][0]).parser().parse_args(words)


def test_the_four_steps_of_the_readme_work_for_somebody_who_types_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    steps = readme.partition("## Use it on your own retriever\n")[2].partition("## On GitHub\n")[0]
    gold, criteria = re.findall(r"^```yaml\n(.*?)^```$", steps, re.MULTILINE | re.DOTALL)
    (tmp_path / "gold.yaml").write_text(gold, encoding="utf-8")
    (tmp_path / "my_app").mkdir()
    (tmp_path / "my_app" / "search.py").write_text("def retrieve(question):\n    return ['doc-9', 'doc-1']\n")
    monkeypatch.chdir(tmp_path)
    typed = re.findall(r"^rankgate .*$", steps, re.MULTILINE)
    for command in typed:
        words = shlex.split(command, comments=True)
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        if command.startswith("rankgate check --record  "):
            assert done.stdout.startswith("WARN ")
    assert [command.split()[1] for command in typed] == ["init", "check", "baseline", "check"]
    assert load_criteria(str(tmp_path / "ship-criteria.yaml")).gates
    (tmp_path / "ship-criteria.yaml").write_text(criteria, encoding="utf-8")
    assert len(load_criteria("ship-criteria.yaml").gates) == 2


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 155


@pytest.mark.full
def test_what_validate_says_of_the_demo_is_what_it_prints(
    demo_left: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^> (.*)$", page, re.MULTILINE)
    [typed] = set(re.findall(r"^rankgate (validate .*)$", page, re.MULTILINE))
    monkeypatch.chdir(demo_left / "rankgate-demo")
    assert main(shlex.split(typed)) == 0
    assert shown in capsys.readouterr().out
