"""Pages of the guide, typed line by line from an empty directory: each command does what stands beside it."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.test_pages import BLOCK, DOCS, ROOT

from rankgate import INSTALL
from rankgate.cli import main

BIN = Path(sys.executable).parent
GUIDE = [
    "getting-started",
    "report",
    "failed",
    "questions",
    "commit",
    "criteria",
    "gold",
    "baselines",
    "waivers",
    "other-tools",
]
EXIT = {"PASS": 0, "WARN": 0, "FAIL": 1, "NOT JUDGED": 2}
RETRIEVER = "def retrieve(question):\n    return ['doc-3', 'doc-1']\n"
GOLD = """\
samples:
  - {id: q-1, input: {question: refunds?}, expected_output: [doc-3], metadata: {tags: ["lang:pt-BR"]}}
"""
RUN = '{"query_id": "q-1", "topk": ["doc-3"]}\n'
TEXTS = {
    "returns#1": "You can return any article within 30 days of delivery.",
    "versand#1": "Bestellungen innerhalb Europas kommen in drei bis fünf Tagen an.",
    "gift-cards#2": "What was paid with a gift card is refunded to the card.",
}
ITEMS = [{"chunk_id": name, "text": text} for name, text in TEXTS.items()]
CORPUS = "".join(json.dumps({"id": name.partition("#")[0], "text": text}) + "\n" for name, text in TEXTS.items())
OTHERS = json.dumps({"query_id": "q-3", "topk": ["returns#1", "versand#1"]}) + "\n"
WAIVED = """\
gates:
  - name: retrieval_recall_at_5
    regression_max: 0.03
    segments: {by: lang, regression_max: 0.1, min_queries: 1}
inputs: {gold: gold.yaml, run: run.jsonl, baseline: baseline}
"""
# What lies in the directory before a page begins, beside my_app/search.py.
THERE = {
    "commit": {"gold.yaml": GOLD},
    "criteria": {"gold.yaml": GOLD, "run.jsonl": RUN},
    "waivers": {
        "gold.yaml": GOLD,
        "run.jsonl": RUN,
        "ship-criteria.yaml": WAIVED,
    },
    "gold": {
        "my_app/search.py": f"def retrieve(question):\n    return {ITEMS!r}\n",
        "testset.jsonl": (ROOT / "tests/readers/written/ragas-0.4.3.testset.jsonl").read_text(encoding="utf-8"),
        "docs/handbook.jsonl": CORPUS,
        "bm25.jsonl": OTHERS,
    },
}
NEEDS_A_MODEL = re.compile(r"judge")
# A command that needs no shell; a retriever is called in a process of its own.
ALONE = re.compile(r"rankgate (?!record)[^|&;<>$*`(]*")
STEP = re.compile(r"^```(\w+)(?: title=\"(\S+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Reader:
    """Types what a page shows, in its order, and writes the files that it names."""

    def __init__(self, directory: Path, demo: Path) -> None:
        self.directory = directory
        self.demo = demo  # what `rankgate demo demo` leaves
        self.typed = 0
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        for who in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@b.example"}

    def follow(self, page: str) -> None:
        for language, title, text in STEP.findall(page):
            if title:
                (self.directory / title).write_text(text, encoding="utf-8")
            elif language == "sh":
                for line in text.splitlines():
                    self.type(line)

    def type(self, line: str) -> None:
        if line.startswith("pip install") or NEEDS_A_MODEL.search(line):
            return
        self.typed += 1
        if line.startswith("cd "):
            self.directory /= line.split()[1]
            return
        command = line.partition("  #")[0]
        if command == "rankgate demo demo":
            shutil.copytree(self.demo, self.directory / "demo")
            return
        code, out, err = self.rankgate(command) if ALONE.fullmatch(command) else self.bash(line)
        verdict = re.search(r"# (PASS|WARN|FAIL|NOT JUDGED)\b", line)
        assert code == (EXIT[verdict[1]] if verdict else 0), (line, out, err)
        if verdict:
            assert out.startswith(f"{verdict[1]}  "), (line, out)

    def bash(self, line: str) -> tuple[int, str, str]:
        command = ["bash", "-euo", "pipefail", "-c", line]
        done = subprocess.run(
            command, cwd=self.directory, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def rankgate(self, line: str) -> tuple[int, str, str]:
        """In this process, which afterwards knows nothing of the directory's modules."""
        out, err, path = io.StringIO(), io.StringIO(), list(sys.path)
        with (
            chdir(self.directory),
            patch.dict(os.environ, self.environment, clear=True),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main(shlex.split(line)[1:])
        sys.path[:] = path
        for name in [name for name in sys.modules if name.partition(".")[0] == "my_app"]:
            del sys.modules[name]
        return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    with chdir(folder), redirect_stdout(io.StringIO()):
        assert main(["demo", "demo"]) == 0
    return folder / "demo"


@pytest.mark.full
@pytest.mark.parametrize("name", GUIDE)
def test_a_page_does_what_it_says_from_an_empty_directory(name: str, tmp_path: Path, demo: Path) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    there = {"my_app/search.py": RETRIEVER, **THERE.get(name, {})}
    if name == "waivers":
        there["ship-waivers.yaml"] = page.partition("```yaml\n")[2].partition("```")[0]
    for file, text in there.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    reader = Reader(tmp_path, demo)
    reader.follow(page)
    assert reader.typed > 0


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


def test_a_release_names_another_source_in_all_of_them(tmp_path: Path) -> None:
    for folder in ("docs", "config"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in ("README.md", "scripts/make_pages.py", "src/rankgate/__init__.py"):
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
