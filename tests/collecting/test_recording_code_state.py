"""Whether a run is of the code that lies here: real repositories, changed in the ways in which people change them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from tests.baselines.accepting import newest_of

from rankgate.cli import main
from rankgate.collecting.code_state import CodeFiles, is_named

APP = "from lib import best\n\ndef search(question):\n    return best(question)\n"
LIB = "def best(question):\n    return ['d1', 'd2']\n"
PROGRAM = "import json, sys\njson.loads(sys.stdin.readline())\nprint(json.dumps(['d1', 'd2']))\n"
COMMAND = {"command": f"{sys.executable} services/search/ask.py"}
FUNCTION = {"function": "search:search"}


def git(*arguments: str) -> str:
    settings = ["user.name=a", "user.email=a@b.invalid", "commit.gpgsign=false", "init.defaultBranch=main"]
    command = ["git", *(word for each in settings for word in ("-c", each)), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(message: str, *words: str) -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message", message, *words)


def criteria(**retriever: Any) -> None:
    inputs = {"gold": "gold.jsonl", "run": "run.jsonl", "baseline": "baseline"}
    gates = [{"name": "recall@1", "threshold": 0.5}]
    Path("ship-criteria.yaml").write_text(json.dumps({"gates": gates, "inputs": inputs, "retriever": retriever}))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a function, a program of a service beside another one, and everything committed."""
    folder = tmp_path_factory.mktemp("made")
    with chdir(folder):
        for service in ("services/search", "services/billing"):
            Path(service).mkdir(parents=True)
        Path("search.py").write_text(APP)
        Path("lib.py").write_text(LIB)
        Path("services/search/ask.py").write_text(PROGRAM)
        Path("services/billing/pay.py").write_text("PRICE = 1\n")
        Path("README.md").write_text("A search.\n")
        Path(".gitignore").write_text("run.jsonl*\n__pycache__/\n")
        sample = {"id": "q1", "input": {"question": "Where?"}, "expected_output": ["d1"]}
        Path("gold.jsonl").write_text(json.dumps(sample) + "\n")
        criteria(**FUNCTION)
        git("init", "--quiet")
        commit("one")
    return folder


@pytest.fixture(autouse=True)
def _project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A copy of it."""
    monkeypatch.delenv("GITHUB_REF_NAME", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    yield
    for name in ("search", "lib", "of_a_folder", "of_a_file"):
        sys.modules.pop(name, None)


def recorded(**retriever: Any) -> str:
    """Record, by another block where one is given, which is committed; the commit as messages have it."""
    if retriever:
        criteria(**retriever)
        commit("another block")
    for name in ("search", "lib"):
        sys.modules.pop(name, None)
    assert main(["record"]) == 0
    return git("rev-parse", "--short=7", "HEAD")


def said() -> str | None:
    """What the check says of the run's code: its warning, or nothing."""
    assert main(["check", "-o", "../report.json"]) == 0
    report = json.loads(Path("../report.json").read_text())
    other = report["other_code"] is not None
    assert (report["conclusion"]["kind"] == "other_code") == other
    assert report["verdict"] == "warn" if other else True
    assert "recording" not in json.dumps(report["provenance"])
    return str(report["summary"]) if other else None


def edit(path: str, text: str = "# changed\n") -> None:
    Path(path).write_text(Path(path).read_text() + text if Path(path).exists() else text)


def committed() -> None:
    edit("search.py")
    commit("two")


def both() -> None:
    edit("search.py")
    edit("lib.py")


def reverted() -> None:
    edit("search.py")
    commit("a change")
    git("-c", "user.name=a", "-c", "user.email=a@b.invalid", "revert", "--no-edit", "HEAD")


def amended() -> None:
    edit("search.py")
    commit("amended", "--amend")


def rebased() -> None:
    """The branch with the run is rebased on a main whose search has changed."""
    git("checkout", "--quiet", "main")
    edit("lib.py")
    commit("on main")
    git("checkout", "--quiet", "topic")
    git("rebase", "--quiet", "main")


def on_another_branch() -> None:
    git("checkout", "--quiet", "-b", "other", "main~0")
    edit("search.py")
    commit("elsewhere")


BEFORE = "This run was recorded at {}, before the last change of {}."
CHANGES: list[Any] = [
    pytest.param(lambda: None, FUNCTION, None, id="no change"),
    pytest.param(lambda: edit("search.py"), FUNCTION, "search.py", id="an edit without a commit"),
    pytest.param(committed, FUNCTION, "search.py", id="a commit"),
    pytest.param(lambda: edit("lib.py"), FUNCTION, "lib.py", id="what the retriever imports"),
    pytest.param(lambda: Path("lib.py").unlink(), FUNCTION, "lib.py", id="what it imports is gone"),
    pytest.param(lambda: edit("README.md"), FUNCTION, None, id="what it does not import"),
    pytest.param(both, FUNCTION, "lib.py and 1 more file", id="two files"),
    pytest.param(reverted, FUNCTION, None, id="a revert"),
    pytest.param(lambda: commit("the same", "--amend"), FUNCTION, None, id="an amend of the message"),
    pytest.param(amended, FUNCTION, "search.py", id="an amend"),
    pytest.param(rebased, FUNCTION, "lib.py", id="a rebase"),
    pytest.param(lambda: criteria(function="lib:best"), FUNCTION, "ship-criteria.yaml", id="another retriever"),
    pytest.param(lambda: criteria(**FUNCTION, retries=2), FUNCTION, None, id="asked more patiently"),
    pytest.param(lambda: edit("README.md"), COMMAND, "README.md", id="Markdown counts as code of a command"),
    pytest.param(lambda: edit("gold.jsonl", "\n"), COMMAND, None, id="the gold set does not"),
    pytest.param(lambda: edit("ship-waivers.yaml", "waivers: []\n"), COMMAND, None, id="nor do waivers"),
    pytest.param(lambda: edit("notes.txt"), COMMAND, None, id="nor what is new and nobody names"),
    pytest.param(lambda: edit("services/billing/pay.py"), COMMAND, "services/billing/pay.py", id="a monorepo"),
    *(
        pytest.param(lambda path=path: edit(path), {**COMMAND, "files": files}, named, id=f"{files} and {path}")
        for path, files, named in (
            ("services/billing/pay.py", "services/search", None),
            ("services/search/ask.py", "services/search", "services/search/ask.py"),
            ("services/search/new.py", ["services/search"], "services/search/new.py"),
            ("README.md", ["!*.md"], None),
            ("services/search/ask.py", ["**/*.py", "!services/billing/"], "services/search/ask.py"),
        )
    ),
]


@pytest.mark.parametrize(("change", "retriever", "named"), CHANGES)
@pytest.mark.full
def test_a_run_of_other_code_warns_and_names_the_file(
    change: Callable[[], object], retriever: dict[str, Any], named: str | None
) -> None:
    git("checkout", "--quiet", "-b", "topic")
    edit("notes.md")
    commit("on topic")
    at = recorded(**({} if retriever is FUNCTION else retriever))
    assert said() is None
    change()
    assert said() == (BEFORE.format(at, named) if named else None)
    sys.modules.pop("search", None)
    assert main(["record"]) == 0 if Path("lib.py").exists() else True
    assert said() is None if Path("lib.py").exists() else True


@pytest.mark.full
def test_a_run_of_other_code_is_accepted_by_a_reason_alone_and_validate_names_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    commit_of_run = recorded()
    assert main(["validate"]) == 0
    assert "this run was recorded at" not in capsys.readouterr().out
    edit("search.py")
    stale = f"this run was recorded at {commit_of_run}, before the last change of search.py"
    assert main(["validate"]) == 0
    assert f"look at: {stale}; `rankgate check --record` records it again\n" in capsys.readouterr().out

    accept = ["baseline", "accept", "--to", "kept"]
    assert main(accept) == 2
    assert f"the run is not of this code: {stale}\n" in capsys.readouterr().err
    assert not Path("kept").exists()
    assert main([*accept, "--reason", "the change is a comment"]) == 0
    assert f"\nWARN: {stale}.\n" in capsys.readouterr().out
    assert newest_of("kept")["reason"] == "the change is a comment"

    recorded()
    assert main([*accept, "--to", "again"]) == 0
    assert "reason" not in newest_of("again") or newest_of("again")["reason"] is None


@pytest.mark.full
def test_of_the_run_of_another_branch_nothing_is_said() -> None:
    git("checkout", "--quiet", "-b", "topic")
    edit("README.md")
    commit("on topic")
    recorded()
    git("checkout", "--quiet", "main")
    on_another_branch()
    assert said() is None


@pytest.mark.full
def test_a_dirty_tree_that_is_committed_as_it_was_is_the_same_code() -> None:
    edit("search.py")
    at = recorded()
    commit("what was recorded")
    assert said() is None
    edit("search.py")
    assert said() == BEFORE.format(at, "search.py")


@pytest.mark.full
def test_without_git_nothing_is_stated_and_nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded()
    edit("search.py")
    monkeypatch.setenv("PATH", "")
    assert said() is None
    assert main(["record"]) == 0
    assert "recording" not in json.loads(Path("run.jsonl").read_text().splitlines()[0])


HOSTILE = ("/dev/zero", "../outside", "a\n## b", "fifo")


@pytest.mark.full
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(5, id="a number"),
        pytest.param("varies by line: a, b", id="a text"),
        pytest.param({"commit": "HEAD"}, id="half of it"),
        pytest.param({"commit": "--all"}, id="an option of git"),
        pytest.param({"changed": dict.fromkeys(HOSTILE, "")}, id="files outside, and none"),
    ],
)
def test_what_a_run_states_wrongly_says_nothing(value: object) -> None:
    """Nor is anything read that is no regular file of the repository."""
    recorded()
    line = json.loads(Path("run.jsonl").read_text())
    own = (
        {**line["recording"], **value} if isinstance(value, dict) and len(value) == 1 and "changed" in value else value
    )
    Path("run.jsonl").write_text(json.dumps({**line, "recording": own}) + "\n")
    Path("../outside").write_text("x")
    os.mkfifo("fifo")
    if own is value:
        edit("search.py")
    assert said() is None
    assert main(["check", "--untrusted-run"]) == 0


def test_the_name_of_a_file_is_text_in_a_comment() -> None:
    name = "![x](https:e.example) <img src=x> @a #1.py"
    edit(name)
    commit("a file")
    recorded(**COMMAND)
    edit(name)
    assert main(["check", "-o", "../comment.md"]) == 0
    comment = Path("../comment.md").read_text()
    assert "before the last change of" in comment
    assert not [live for live in ("![x](", "<img", " @a") if live in comment]


SAME = "This run is the accepted run, byte by byte: it says nothing of this code."


@pytest.mark.full
def test_the_accepted_run_says_nothing_of_another_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded()
    assert main(["baseline", "accept"]) == 0
    commit("accepted")
    assert said() is None, "on the branch that accepted it"
    git("checkout", "--quiet", "-b", "topic")
    assert said() == SAME
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    assert said() is None
    monkeypatch.delenv("GITHUB_REF_NAME")
    recorded()
    assert said() is None, "recorded again, with the same lists"


@pytest.mark.full
def test_with_a_base_the_heads_block_and_files_count() -> None:
    recorded()
    git("checkout", "--quiet", "-b", "topic")
    criteria(**COMMAND)
    commit("another retriever")
    assert main(["record"]) == 0
    assert main(["check", "--base", "main", "-o", "../report.json"]) == 0
    report = json.loads(Path("../report.json").read_text())
    assert report["other_code"] is None
    assert "retriever.command" in json.dumps(report["base"])
    edit("services/search/ask.py")
    assert main(["check", "--base", "main", "-o", "../report.json"]) == 0
    assert json.loads(Path("../report.json").read_text())["other_code"]["path"] == "services/search/ask.py"


@pytest.mark.full
def test_a_run_states_how_it_was_made_and_on_its_first_line_alone() -> None:
    edit("gold.jsonl", json.dumps({"id": "q2", "input": "Who?", "expected_output": ["d2"]}) + "\n")
    recorded()
    first, second = map(json.loads, Path("run.jsonl").read_text().splitlines())
    made = first["recording"]
    assert "recording" not in second
    assert (made["commit"], made["clean"], made["imported"]) == (
        git("rev-parse", "HEAD"),
        False,
        ["lib.py", "search.py"],
    )
    assert made["changed"].keys() == {"gold.jsonl"}
    assert made["begin"] < made["end"]
    assert first["code_version"] == f"{made['commit'][:12]}+changes"


def test_what_is_imported_through_a_link_is_the_file_that_it_leads_to(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A link to a folder and one to a file, both outside of the repository."""
    outside = tmp_path_factory.mktemp("outside")
    Path("linked").mkdir()
    for name in ("of_a_folder", "of_a_file"):
        Path(f"linked/{name}.py").write_text("")
    (outside / "folder").symlink_to(Path("linked").resolve())
    (outside / "of_a_file.py").symlink_to(Path("linked/of_a_file.py").resolve())
    Path("search.py").write_text(f"import sys\nsys.path += [{str(outside)!r}, {str(outside / 'folder')!r}]\n{APP}")
    edit("search.py", "import of_a_file\nimport of_a_folder\n")
    commit("links")
    recorded()
    made = json.loads(Path("run.jsonl").read_text().splitlines()[0])["recording"]
    assert made["imported"] == ["lib.py", "linked/of_a_file.py", "linked/of_a_folder.py", "search.py"]


@pytest.mark.full
def test_a_resumed_recording_is_of_one_state_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    edit("gold.jsonl", json.dumps({"id": "q2", "input": "Who?", "expected_output": ["d2"]}) + "\n")
    edit("lib.py", "\ndef best(question):\n    return ['d1'] if question == 'Where?' else None\n")
    assert main(["record"]) == 2
    edit("lib.py", "\ndef best(question):\n    return ['d2']\n")
    for name in ("search", "lib"):
        sys.modules.pop(name, None)
    assert main(["record"]) == 0
    assert "run.jsonl.partial is of another state of the code; starting over" in capsys.readouterr().err
    assert [json.loads(line)["topk"][0]["chunk_id"] for line in Path("run.jsonl").read_text().splitlines()] == [
        "d2"
    ] * 2


FAILURES: list[Any] = [
    pytest.param("raise LookupError('no index')", [], "search.py:7: q1: LookupError: no index", id="it raises"),
    pytest.param("import time; time.sleep(60)", ["--timeout", "0.2"], "q1: no answer within 0.2 s", id="it hangs"),
    pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", [], "it was ended", id="it is killed"),
    pytest.param("return None", [], "q1: the result is None", id="it returns nothing"),
]


def call(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "rankgate", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize(("body", "words", "why"), FAILURES)
@pytest.mark.full
def test_after_a_recording_that_failed_the_older_run_is_not_judged(
    body: str, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded()
    before = Path("run.jsonl").read_bytes()
    Path("search.py").write_text(f"{APP}\ndef search(question):\n    {body}\n")
    assert call("record", *words).returncode != 0
    assert Path("run.jsonl").read_bytes() == before
    assert main(["check"]) == 2
    assert f"run.jsonl: its last recording failed ({why}" in "".join(capsys.readouterr())
    assert main(["check", "--untrusted-run"]) == 2
    Path("search.py").write_text(APP)
    assert main(["check", "--record"]) == 0
    assert not Path("run.jsonl.failed").exists()
    assert main(["check"]) == 0


@pytest.mark.full
def test_check_records_by_another_process_and_prints_its_own_output_alone() -> None:
    Path("search.py").write_text(f"{APP}\nprint('loading')\n")
    done = call("check", "--record", "--format", "json", "--run", "other.jsonl", "--gold", "gold.jsonl")
    assert done.returncode == 0
    assert json.loads(done.stdout)["other_code"] is None
    assert "loading\nrecorded 1 of 1 question in other.jsonl" in done.stderr
    assert not Path("run.jsonl").exists()


@pytest.mark.full
def test_a_run_that_is_not_recorded_yet_or_could_not_be_is_recorded_next(capsys: pytest.CaptureFixture[str]) -> None:
    recorded()
    Path("run.jsonl").unlink()
    for problem in ("is not recorded yet", "its last recording failed (q1: no answer); record again"):
        capsys.readouterr()
        assert main(["check"]) == 2
        out = capsys.readouterr().out
        assert out.startswith(f"NOT JUDGED  run.jsonl: {problem}.\n")
        assert out.splitlines()[-1] == "Next: rankgate check --record"
        Path("run.jsonl.failed").write_text("q1: no answer\n")


@pytest.mark.full
def test_check_does_not_judge_an_older_run_where_nothing_could_begin(capsys: pytest.CaptureFixture[str]) -> None:
    recorded()
    inputs = json.loads(Path("ship-criteria.yaml").read_text())
    Path("ship-criteria.yaml").write_text(json.dumps({key: inputs[key] for key in ("gates", "inputs")}))
    capsys.readouterr()
    assert main(["check", "--record", "-o", "../report.json"]) == 2
    out = capsys.readouterr().out
    assert out.startswith("NOT JUDGED  ship-criteria.yaml: retriever: says what to record, and is missing; ")
    assert json.loads(Path("../report.json").read_text())["verdict"] == "not_judged"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(["--untrusted-run"], "--untrusted-run is for a run that others made", id="untrusted"),
        pytest.param(
            ["--run", "per_query:x.parquet"], "--record writes JSONL, which per_query:x.parquet is", id="values"
        ),
        pytest.param(["--run", "-"], "name a file with --output", id="standard input"),
        pytest.param(["--from", "report.json"], "--record says what to judge, and --from names", id="a report"),
    ],
)
def test_what_is_not_to_be_recorded_is_refused(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--record", *words]) == 2
    assert error in capsys.readouterr().err
    assert not Path("run.jsonl").exists()


@pytest.mark.parametrize(
    ("patterns", "named", "others"),
    [
        pytest.param(["src"], ["src/a.py", "src/b/c.md"], ["srcs/a.py", "lib/src.py"], id="a folder"),
        pytest.param(["./src/"], ["src/a.py"], ["a.py"], id="written otherwise"),
        pytest.param(["*.py"], ["a.py", "b/c.py"], ["a.pyi"], id="a pattern"),
        pytest.param(["**/*.py"], ["a.py", "b/c.py"], ["a.md"], id="two stars"),
        pytest.param([".", "!docs"], ["a.py"], ["docs/a.md"], id="all but a folder"),
        pytest.param(["!docs", "docs/prompts"], ["a.py", "docs/prompts/p.md"], ["docs/a.md"], id="the last that fits"),
    ],
)
def test_patterns_name_files(patterns: list[str], named: list[str], others: list[str]) -> None:
    assert [path for path in [*named, *others] if is_named(path, patterns)] == named


def test_what_a_recording_writes_and_python_caches_never_counts() -> None:
    files = CodeFiles(run="out/run.jsonl", patterns=(".",))
    names = ["out/run.jsonl", "out/run.jsonl.partial", "out/run.jsonl.failed", "a/__pycache__/b.pyc", "a/b.pyc"]
    assert [name for name in names if files.counts(name)] == []
    assert files.counts("out/other.jsonl")
