"""Pages of the site, typed line by line from an empty directory: each command does what stands beside it.

What a page names and does not write lies there before: a gold set, a run, a repository. Forges, models and buckets
are servers on loopback.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest
import requests
from tests.baselines.conftest import AWS
from tests.baselines.s3_server import s3_server
from tests.forges.description import Description
from tests.forges.faults import Answer
from tests.forges.github import GitHub
from tests.forges.loopback_server import Handler, LoopbackServer, serving
from tests.judge.hash_judge import KEY, judging

from rankgate.cli import main

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
EXIT = {"PASS": 0, "WARN": 0, "FAIL": 1, "NOT JUDGED": 2}
# Block by block: its language, the file that it is, if any, and its text.
STEP = re.compile(r"^```(\w+)(?: title=\"(\S+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```sh\n[^`]*```\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A command that needs no shell; a retriever is called, and a bucket opened, in a process of its own.
ALONE = re.compile(r"rankgate (?!record)(?!.*s3:)[^|&;<>$*`(]*")
ELSEWHERE = ("pip install", "gh ")  # what is there already, and what GitHub alone can do
IDENTITY = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

RETRIEVER = "def retrieve(question):\n    return ['doc-3', 'doc-1']\n"
GOLD = """\
samples:
  - {id: q-1, input: {question: refunds?}, expected_output: [doc-3], metadata: {tags: ["lang:pt-BR"]}}
"""
RUN = '{"query_id": "q-1", "topk": ["doc-3"]}\n'
WAIVED = """\
gates:
  - name: retrieval_recall_at_5
    regression_max: 0.03
    segments: {by: lang, regression_max: 0.1, min_queries: 1}
inputs: {gold: gold.yaml, run: run.jsonl, baseline: baseline}
"""
INIT = "rankgate init --gold gold.yaml --retriever my_app.search:retrieve"
RECORDED = (INIT, "rankgate record")
ACCEPTED = (*RECORDED, "rankgate baseline accept")
COMMITTED = ("git init -q -b main", "git add -A", "git commit -q -m first")
PUSHED = (*COMMITTED, "git init -q --bare .git/shared", "git remote add origin .git/shared", "git push -q origin main")

TEXTS = {
    "returns#1": "You can return any article within 30 days of delivery.",
    "versand#1": "Bestellungen innerhalb Europas kommen in drei bis fünf Tagen an.",
    "gift-cards#2": "What was paid with a gift card is refunded to the card.",
}
ITEMS = [{"chunk_id": name, "text": text} for name, text in TEXTS.items()]
CORPUS = "".join(json.dumps({"id": name.partition("#")[0], "text": text}) + "\n" for name, text in TEXTS.items())
OTHERS = json.dumps({"query_id": "q-3", "topk": ["returns#1", "versand#1"]}) + "\n"

SHOP = """\
from pathlib import Path
from unittest.mock import patch

def retrieve(question):
    lost = Path("lost.txt")
    if lost.exists() and lost.read_text(encoding="utf-8") in question:
        return []
    return [f"d{(len(question) + at) % 9}" for at in range(6)]
"""
SHOP_GOLD = [{"id": f"q{n}", "input": f"what is article {n}", "expected_output": ["d0"]} for n in range(10)]
SHOP_CRITERIA = """\
retriever: {function: my_app.search:retrieve}
gates:
  - {name: precision@5, regression_max: 0.03}
inputs:
  gold: gold.yaml
  run: run.jsonl
  baseline: baseline
"""
RAG = """\
TEXTS = {f"What of {n}?": f"Fact {n} holds." for n in range(45)}

def answer(question):
    text = TEXTS[question]
    return {"topk": [{"chunk_id": text, "text": text}], "answer": text}
"""
RAG_GOLD = [
    {"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"Fact {n} holds."], "metadata": {"claims": ["x"]}}
    for n in range(45)
]
VALUES = """\
import rankgate
for name in ("now", "accepted"):
    rankgate.score("gold.yaml", "run.jsonl", metrics="recall@5").to_frame().to_parquet(f"{name}.parquet")
"""


class Reader:
    """Types what a page shows, in its order, and writes the files that it names."""

    def __init__(self, directory: Path, start: Start, environment: Mapping[str, str], named: Mapping[str, str]) -> None:
        self.directory = directory
        self.left: dict[str, Path] = {}  # by its command, what a demo leaves
        self.start = start
        self.named = named
        self.printed: dict[str, str] = {}
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment |= {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **IDENTITY, **environment}

    def prepare(self, page: str) -> None:
        """What is there before the page begins."""
        for file, text in {"my_app/search.py": RETRIEVER, **self.start.files}.items():
            self.write(file, text)
        if self.start.block:
            file, more = self.start.block
            self.write(file, page.partition("```yaml\n")[2].partition("```")[0] + more)
        for line in self.start.typed(page) if callable(self.start.typed) else self.start.typed:
            self.type(line)
        self.printed.clear()

    def follow(self, page: str) -> None:
        for language, title, text in STEP.findall(page):
            if title:
                self.write(title, text)
            elif language in ("sh", "yaml"):
                lines = (
                    text.splitlines()
                    if language == "sh"
                    else re.findall(r"^ *- run: (rankgate .*)$", text, re.MULTILINE)
                )
                for line in lines:
                    self.type(line)

    def write(self, file: str, text: str) -> None:
        for name, meant in self.named.items():
            text = text.replace(name, meant)
        (self.directory / file).parent.mkdir(exist_ok=True)
        (self.directory / file).write_text(text, encoding="utf-8")

    def type(self, line: str) -> None:
        if line.startswith(ELSEWHERE):
            return
        for name, meant in self.named.items():
            line = line.replace(name, meant)
        for begins, act in self.start.before.items():
            if line.startswith(begins) and (words := act(self)):
                line = line.partition(" #")[0] + words
        if line.startswith("cd "):
            self.directory /= line.split()[1]
            return
        command = line.partition("  #")[0].rstrip()
        if command in self.left:
            shutil.copytree(self.left[command], self.directory / "demo")
            return
        code, out, err = self.rankgate(command) if ALONE.fullmatch(command) else self.bash(line)
        self.printed[line] = out
        verdict = re.search(r"# (PASS|WARN|FAIL|NOT JUDGED)\b", line)
        assert code == (EXIT[verdict[1]] if verdict else 0), (line, out, err)
        assert "not published" not in err, (line, err)
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


@dataclass(frozen=True)
class Start:
    """What is there before a page begins, and what somebody does who reads more than its commands.

    `before` is done before the line that begins so, and may add words to it; `shows` is what lines print. Where
    `is_shown`, a block below commands is what they print, with `…` in a line of its own for what it leaves out.
    `block` is the file that the page's first YAML is, and what follows in it.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    typed: Sequence[str] | Callable[[str], Sequence[str]] = ()
    before: Mapping[str, Callable[[Reader], str | None]] = field(default_factory=dict)
    shows: Mapping[str, str] = field(default_factory=dict)
    is_shown: bool = False
    block: tuple[str, str] | None = None


def lose_refunds(reader: Reader) -> None:
    reader.write("lost.txt", "คืน")


def mend_refunds(reader: Reader) -> None:
    (reader.directory / "lost.txt").unlink()
    reader.type("rankgate record")


def name_the_traffic(reader: Reader) -> None:
    with (reader.directory / "ship-criteria.yaml").open("a", encoding="utf-8") as file:
        file.write("  traffic: traffic.jsonl\n")


def gate_the_traffic(reader: Reader) -> None:
    criteria = reader.directory / "ship-criteria.yaml"
    gate = "gates:\n  - {name: precision@5, over: traffic, regression_max: 0.03}\n"
    text = criteria.read_text(encoding="utf-8").replace("gates:\n", gate.replace("name: ", "name: traffic, metric: "))
    criteria.write_text(f"{text}  traffic_labels: traffic-labels.jsonl\n", encoding="utf-8")


def call_all_relevant(reader: Reader) -> None:
    """In the sheet of the traffic."""
    sheet = reader.directory / "sheet.csv"
    head, *rows = csv.reader(sheet.read_text(encoding="utf-8-sig").splitlines())
    column = next(at for at, name in enumerate(head) if name.startswith("relevant"))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *([*row[:column], "1", *row[column + 1 :]] for row in rows)])


def name_the_judge(reader: Reader) -> None:
    """By its address in place of the one that `init` wrote, or with a block of its own."""
    criteria = reader.directory / "ship-criteria.yaml"
    text = criteria.read_text(encoding="utf-8")
    address = reader.environment["JUDGE"]
    if "api.openai.com" in text:
        criteria.write_text(text.replace("https://api.openai.com/v1", address), encoding="utf-8")
    else:
        criteria.write_text(f"{text}judge: {{endpoint: '{address}', model: m-2026-01-01}}\n", encoding="utf-8")


def find_what_nobody_judged(reader: Reader) -> None:
    """A change finds a document more, which the judge of the criteria can label."""
    name_the_judge(reader)
    more = {"chunk_id": "stores#1", "text": "Jackets can be tried on in our stores."}
    reader.write("my_app/search.py", f"def retrieve(question):\n    return {[*ITEMS, more]!r}\n")
    reader.type("rankgate record")


def fill_in_the_sheet(reader: Reader) -> str:
    """Ana's copy of it, which is imported in place of a session at the terminal."""
    head, *rows = csv.reader((reader.directory / "judge/sample.csv").read_text("utf-8-sig").splitlines())
    column = next(at for at, name in enumerate(head) if name.startswith("verdict"))
    with (reader.directory / "ana.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *([*row[:column], "yes", *row[column + 1 :]] for row in rows)])
    return " --import ana.csv"


def label_apart(reader: Reader) -> None:
    """The labels of two people, as the page names their files."""
    shutil.copy(reader.directory / "judge/sample.labels.jsonl", reader.directory / "ana.jsonl")
    shutil.copy(reader.directory / "ana.csv", reader.directory / "ben.csv")


def init_of(page: str) -> list[str]:
    """The line that the page names in its prose."""
    [line] = re.findall(r"`(rankgate init [^`]* --judge)`", page)
    return [line]


STARTS = {
    "getting-started": Start(),
    "report": Start(),
    "failed": Start(),
    "questions": Start(),
    "commit": Start({"gold.yaml": GOLD}),
    "criteria": Start({"gold.yaml": GOLD, "run.jsonl": RUN}),
    "gold": Start(
        {
            "my_app/search.py": f"def retrieve(question):\n    return {ITEMS!r}\n",
            "testset.jsonl": (ROOT / "tests/readers/written/ragas-0.4.3.testset.jsonl").read_text(encoding="utf-8"),
            "docs/handbook.jsonl": CORPUS,
            "bm25.jsonl": OTHERS,
        },
        before={"rankgate gold pool run.jsonl baseline/ --judge --dry-run": find_what_nobody_judged},
    ),
    "baselines": Start(),
    "waivers": Start(
        {"gold.yaml": GOLD, "run.jsonl": RUN, "ship-criteria.yaml": WAIVED}, block=("ship-waivers.yaml", "")
    ),
    "other-tools": Start(),
    "judge": Start(
        {"gold.yaml": json.dumps(RAG_GOLD), "my_app/rag.py": RAG},
        typed=init_of,
        before={
            "rankgate record": name_the_judge,
            "rankgate judge label": fill_in_the_sheet,
            "rankgate judge calibrate judge/sample.jsonl ana.jsonl": label_apart,
        },
        shows={
            "rankgate judge --dry-run": "next: rankgate judge",
            "rankgate judge sample": "next: rankgate judge label",
            "rankgate judge label": "next: rankgate judge calibrate",
            "rankgate judge calibrate": "next: rankgate check",
        },
    ),
    "unlabelled": Start(
        {"gold.yaml": json.dumps(SHOP_GOLD), "my_app/search.py": SHOP, "ship-criteria.yaml": SHOP_CRITERIA},
        before={
            "rankgate record  ": name_the_traffic,
            "rankgate check --record": lose_refunds,
            "rankgate gold pool": gate_the_traffic,
            "rankgate gold merge": call_all_relevant,
            "rankgate check -o comment.md": mend_refunds,
        },
        shows={
            "rankgate check --record": "14.9% of 2 traffic questions get other results, 1 none at all: unlabelled.",
            "rankgate check  ": "precision@5 over traffic fell by 14.9 pp",
        },
    ),
    "workflows": Start({"gold.yaml": GOLD}, shows={"rankgate comment": "POST "}),
    "other-ci": Start({"gold.yaml": GOLD}, typed=(*ACCEPTED, *PUSHED, "git commit -q --allow-empty -m second")),
    "explain": Start(is_shown=True),
    "dashboard": Start(
        {"gold.yaml": GOLD},
        typed=(
            *ACCEPTED,
            *(
                f"mkdir {name}; cp -r gold.yaml run.jsonl baseline ship-criteria.yaml {name}"
                for name in ("search", "faq")
            ),
            *PUSHED,
            "rankgate baseline accept --baseline git+branch:rankgate-baselines",
        ),
    ),
    "templates": Start({"gold.yaml": GOLD}, typed=RECORDED),
    "stores": Start({"gold.yaml": GOLD}, typed=(*RECORDED, *PUSHED)),
    "github": Start({"gold.yaml": GOLD}, typed=(*RECORDED, "rankgate check -o report.json")),
    "python": Start({"gold.yaml": GOLD}, typed=ACCEPTED, shows={"pytest": "4 passed"}),
    "retriever": Start({"gold.yaml": GOLD}, block=("ship-criteria.yaml", WAIVED)),
    "scale": Start(
        {"gold.yaml": GOLD, "run.jsonl": RUN, "ship-criteria.yaml": WAIVED, "values.py": VALUES},
        typed=["python values.py"],
    ),
}


@contextmanager
def around(name: str, request: pytest.FixtureRequest) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """What the page needs beside its directory: the environment, and what stands for names that the page invents."""
    if name in ("workflows", "github"):
        node_modules = request.getfixturevalue("node_modules")
        api = Description(node_modules / "@octokit" / "openapi" / "generated" / "api.github.com.json")
        with GitHub(api).running() as github:
            pull = github.new_pull()
            named = {"acme/rag": github.repository, "--pull 12": f"--pull {pull.number}", "HASH": "0" * 40}
            environment = {"GITHUB_API_URL": github.url, "GITHUB_TOKEN": github.app_token(), "REPORT": "report.json"}
            yield environment, named
            assert len(github.comments(pull.number)) == (name == "github")
    elif name in ("judge", "gold"):
        with judging() as model:
            yield {"RANKGATE_JUDGE_KEY": KEY, "JUDGE": model.address}, {}
            assert model.requests
    elif name == "stores":
        with s3_server() as address:
            requests.put(f"{address}/acme-gate", timeout=300).raise_for_status()
            yield {**AWS, "AWS_ENDPOINT_URL": address}, {}
    elif name == "retriever":
        found = {"hits": {"hits": [{"_id": "doc-3", "_score": 2.5, "_source": {"body": "Refunds take 30 days."}}]}}
        answer = Answer(200, {"Content-Type": "application/json"}, json.dumps(found).encode())
        tokens: list[str | None] = []

        def search(handler: Handler, body: bytes) -> Answer:
            assert json.loads(body) == {"query": {"match": {"body": "refunds?"}}}
            tokens.append(handler.headers["Authorization"])
            return answer

        server = LoopbackServer(search)
        with serving(server):
            yield {"TOKEN": "a-long-token"}, {"https://search.example.com": server.url}
        assert tokens == ["Bearer a-long-token"] * 2
        assert server.errors == []
    else:
        yield {}, {}


@pytest.mark.full
@pytest.mark.parametrize("name", STARTS)
def test_a_page_does_what_it_says_from_an_empty_directory(
    name: str, tmp_path: Path, lists_left: Path, demo_left: Path, request: pytest.FixtureRequest
) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    start = STARTS[name]
    with around(name, request) as (environment, named):
        reader = Reader(tmp_path, start, environment, named)
        reader.left = {
            "rankgate demo demo": lists_left / "some" / "directory of mine",
            "rankgate demo demo --answers": demo_left / "rankgate-demo",
        }
        reader.prepare(page)
        reader.follow(page)
    assert reader.printed
    for block in SHOWN.findall(page) if start.is_shown else ():
        for part in re.split(r"^ *…\n", block, flags=re.MULTILINE):
            assert part in "".join(reader.printed.values())
    for begins, shown in start.shows.items():
        texts = [text for line, text in reader.printed.items() if line.startswith(begins)]
        assert texts
        assert shown in texts[0], begins
