"""The story of all tests of a base: a pull request whose run loses two of five questions, and fails by the base."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from tests.baselines.accepting import accept_into
from tests.repositories import commit, git

from rankgate.cli import main
from rankgate.model.base_ref import ACCEPT_CHANGE, SetLabel
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Verdict
from rankgate.readers.base import TEXT_KEY, text_digest
from rankgate.readers.formats import read_run
from rankgate.renderers.base_changes import changes

PASS, WARN, FAIL, NOT_JUDGED = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED
EXIT = {PASS: 0, WARN: 0, FAIL: 1, NOT_JUDGED: 2}
COUNTS = SetLabel(name=ACCEPT_CHANGE, by="alice", state="counts")
LIMITS = "threshold: 0.85, regression_max: 0.03"
CRITERIA = f"""\
gates:
  - {{name: found, metric: recall@5, {LIMITS}}}
  - {{name: order, metric: mrr, threshold: 0.5}}
inputs: {{gold: gold.yaml, run: run.jsonl, baseline: baseline}}
"""
MILD = CRITERIA.replace("0.85, regression_max: 0.03", "0.1").replace("mrr, threshold: 0.5", "mrr, threshold: 0.1")
QUERIES = ("q1", "q2", "q3", "q4", "q5")
HARD = ("q4", "q5")
WAIVER = """\
waivers:
  - gate: found
    up_to: 0.5
    expires: 2026-12-31
    issue: https://example.org/1
    reason: the parser loses tables
    by: alice
"""
Act = Callable[[], object]


class Change(NamedTuple):
    """What a pull request does, what becomes of it, words that say why, and what main had before.

    `right` says that its run is as good as main's; `folder` is where the check runs.
    """

    act: Act
    verdict: Verdict
    words: str
    main: Act | None = None
    right: bool = False
    flags: tuple[str, ...] = ()
    folder: str = "."


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose gate is in use, on the branch of a pull request that lost the hard queries."""
    folder = tmp_path / "repository"
    begin(folder)
    monkeypatch.chdir(folder)
    write_run(folder / "run.jsonl", lost=HARD)
    return folder


def begin(folder: Path) -> None:
    """A repository with what main has, and the job's run, on the branch of a pull request."""
    shutil.copytree(template(), folder)


@cache
def template() -> Path:
    """The repository that each test has a copy of."""
    folder = Path(tempfile.mkdtemp(prefix="rankgate-story-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / ".gitignore").write_text("*.jsonl\n")
    (folder / "ship-criteria.yaml").write_text(CRITERIA)
    (folder / "gold.yaml").write_text(gold(*QUERIES))
    write_run(folder / "run.jsonl")
    accept(folder / "baseline", folder / "run.jsonl")
    git("init", "--quiet", "--initial-branch", "main", "--template", "", ".", at=folder)
    (folder / ".git" / "info").mkdir()
    commit(folder)
    git("switch", "--quiet", "--create", "pull", at=folder)
    git("gc", "--quiet", at=folder)  # fewer files to copy
    return folder


def gold(*queries: str, **labels: str) -> str:
    """A gold set in which every query has one relevant document, named after it unless said otherwise."""
    lines = (
        f'  - {{id: {query}, input: {{question: "what is {query}?"}}, '
        f"expected_output: [{labels.get(query, f'doc-{query}')}]}}\n"
        for query in queries
    )
    return "samples:\n" + "".join(lines)


def write_run(
    path: Path, lost: tuple[str, ...] = (), queries: tuple[str, ...] = QUERIES, *, texts: bool = True
) -> None:
    """A run that finds the relevant document of every query but the lost ones, where it finds another.

    It states the texts that main has, as `record --base` makes it, unless it is another system's.
    """
    lines = [
        {"query_id": query, "topk": [{"chunk_id": f"other-{query}" if query in lost else f"doc-{query}"}]}
        | ({TEXT_KEY: text_digest(f"what is {query}?")} if texts else {})
        for query in queries
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def accept(folder: Path, run: Path, depth: int = 100) -> None:
    opened = read_run(str(run))
    accept_into(folder, opened.rankings, source=run.name, date="2026-01-01", depth=depth)


def judged(*flags: str, base: str = "main", labels: Iterable[SetLabel] = ()) -> Report:
    """The report of the command, whose exit code goes with its verdict."""
    words = ["check", "--base", base, "--date", "2026-01-31", "-o", "../report.json", "-o", "../comment.md", *flags]
    if named := list(labels):
        Path("../labels.json").write_bytes(msgspec.json.encode(named))
        words += ["--labels", "../labels.json"]
    code = main(words)
    report = decode_report(Path("../report.json").read_bytes(), "report.json")
    assert code == EXIT[report.verdict]
    commands = [report.conclusion.next, report.conclusion.accept, report.provenance.command]
    assert all(command[0] == "rankgate" and " at " not in " ".join(command) for command in commands if command)
    return report


def after(change: Change, monkeypatch: pytest.MonkeyPatch, labels: Iterable[SetLabel] = ()) -> Report:
    """What the check says of a change, which is committed."""
    if change.main:
        on_main(change.main)
    write_run(Path("run.jsonl"), lost=() if change.right else HARD)
    change.act()
    commit()
    monkeypatch.chdir(change.folder)
    return judged(*change.flags, labels=labels)


def told(report: Report) -> str:
    """All that is said."""
    remarks = report.remarks
    lines = [report.summary, *remarks.failures, *remarks.warnings, *remarks.notes, *map(str, report.problems)]
    return "\n".join([*lines, *(change.text for change in changes(report, str))])


def on_main(act: Act) -> None:
    """Commit a change on main, and begin the pull request anew there."""
    git("switch", "--quiet", "main")
    act()
    commit()
    git("switch", "--quiet", "--force-create", "pull")


def all_of(*acts: Act) -> Act:
    def act() -> None:
        for each in acts:
            each()

    return act


def replace_in(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def edit(old: str, new: str, file: str = "ship-criteria.yaml") -> Act:
    return lambda: replace_in(file, old, new)


def write(file: str, text: str) -> Act:
    def act() -> None:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(text)

    return act


def remove(file: str) -> Act:
    def act() -> None:
        path = Path(file)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    return act


def by_git(*words: str) -> Act:
    return lambda: git(*words)


def ignored(file: str, text: str) -> Act:
    """What the job writes: git does not know it."""
    return all_of(write(".git/info/exclude", f"{file}\n"), write(file, text))


def tracked(act: Act, path: str) -> Act:
    return all_of(act, by_git("add", "--force", path))


def run(
    lost: tuple[str, ...] = (), file: str = "run.jsonl", queries: tuple[str, ...] = QUERIES, *, texts: bool = True
) -> Act:
    return lambda: write_run(Path(file), lost=lost, queries=queries, texts=texts)


def lists(items: Mapping[str, list[str]], file: str = "run.jsonl") -> Act:
    lines = ({"query_id": query, "topk": [{"chunk_id": each} for each in ids]} for query, ids in items.items())
    return write(file, "".join(f"{json.dumps(line)}\n" for line in lines))


def link(path: str, aim: str) -> Act:
    return lambda: Path(path).symlink_to(aim)


def baseline_of(lost: tuple[str, ...], folder: str = "baseline", queries: tuple[str, ...] = QUERIES) -> Act:
    """Accept another run in the place of the base's."""

    def act() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        write_run(Path("other.jsonl"), lost=lost, queries=queries)
        accept(Path(folder), Path("other.jsonl"))
        git("add", "--force", folder)

    return act


def accepted(reason: str) -> Act:
    """The run as it is, accepted into the baseline as people do."""

    def act() -> None:
        words = ["baseline", "accept", "--run", "run.jsonl", "--date", "2026-01-20", "--commit", "none"]
        assert main([*words, "--reason", reason, "--by", "alice"]) == 0
        git("add", "--force", "baseline")

    return act


def gate_in(folder: str, text: str = CRITERIA, lost: tuple[str, ...] = ()) -> Act:
    """A folder with a gate of its own and all that it reads."""

    def act() -> None:
        Path(folder).mkdir(parents=True)
        Path(folder, "ship-criteria.yaml").write_text(text)
        Path(folder, "gold.yaml").write_text(gold(*QUERIES))
        write_run(Path(folder, "run.jsonl"))
        accept(Path(folder, "baseline"), Path(folder, "run.jsonl"))
        git("add", "--force", f"{folder}/baseline")
        write_run(Path(folder, "run.jsonl"), lost=lost)

    return act


def submodule(path: str, *files: Act) -> Act:
    """Another repository with these files, in a folder."""

    def act() -> None:
        other = Path("../other").resolve()
        other.mkdir()
        git("init", "--quiet", "--initial-branch", "main", ".", at=other)
        with pytest.MonkeyPatch.context() as there:
            there.chdir(other)
            for file in files:
                file()
        commit(other)
        git("submodule", "--quiet", "add", "--force", str(other), path)

    return act


def up(text: str) -> str:
    """Criteria that name the same from a folder."""
    for name in ("gold: ", "run: ", "baseline: "):
        text = text.replace(name, f"{name}../")
    return text
