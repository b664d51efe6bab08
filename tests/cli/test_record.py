"""`rankgate record` as it is typed: files, exit codes, and what is printed where."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.json_lines import read_lines
from tests.repositories import commit, git

import rankgate
from rankgate.cli import main
from rankgate.cli.record import settings, summary
from rankgate.collecting.recorder import Recorded
from rankgate.errors import RankgateError
from rankgate.readers.base import TEXT_KEY, text_digest

SEARCH = """\
import asyncio

def retrieve(question):
    return [(question, 2.5), ("d", 1)]

async def aretrieve(question):
    await asyncio.sleep(0)
    return retrieve(question)

def fail(question):
    if question == "question 2":
        raise LookupError("no index for it")
    return retrieve(question)

def nothing(question):
    return None
"""
COMMAND = ["record", "--gold", "gold.jsonl", "-o", "run.jsonl", "--retriever"]


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A directory with a package `my_app` and a gold set of three questions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("my_app").mkdir()
    Path("my_app", "__init__.py").touch()
    Path("my_app", "search.py").write_text(SEARCH)
    samples = [{"id": f"q{n}", "input": f"question {n}", "expected_output": ["d"]} for n in (1, 2, 3)]
    Path("gold.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "my_app"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["my_app.search:retrieve"], id="sync"),
        pytest.param(["my_app.search:retrieve", "--workers", "3"], id="threads"),
        pytest.param(["my_app.search:aretrieve", "--workers", "2"], id="async"),
    ],
)
def test_a_run_is_written_and_counted(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, *words]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("recorded 3 of 3 questions in run.jsonl (median ")
    assert printed.out.endswith(" ms)\n")
    assert printed.err == ""
    assert [line["query_id"] for line in read_lines()] == ["q1", "q2", "q3"]
    assert read_lines()[0]["topk"] == [
        {"rank": 1, "chunk_id": "question 1", "score": 2.5},
        {"rank": 2, "chunk_id": "d", "score": 1},
    ]


def test_every_line_says_what_made_it() -> None:
    assert main([*COMMAND, "my_app.search:retrieve", "--set", "index_version=v7", "--set", "k_raw=50"]) == 0
    assert list(read_lines()[2].items())[:5] == [
        ("query_id", "q3"),
        (TEXT_KEY, text_digest("question 3")),
        ("system", "my_app.search:retrieve"),
        ("index_version", "v7"),
        ("k_raw", 50),
    ]


def test_the_system_may_be_named() -> None:
    assert main([*COMMAND, "my_app.search:retrieve", "--set", "system=hybrid"]) == 0
    assert {line["system"] for line in read_lines()} == {"hybrid"}


def test_too_many_failures_exit_2_and_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "my_app.search:fail"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "error: my_app/search.py:12: q2: LookupError: no index for it\n"
        "error: 1 of 3 questions failed, more than --allow-errors 0; run.jsonl is not written, "
        "and the same command asks only them again\n"
    )
    assert not Path("run.jsonl").exists()


def test_allowed_failures_exit_0_and_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "my_app.search:fail", "--allow-errors", "1"]) == 0
    assert capsys.readouterr().err == "warning: my_app/search.py:12: q2: LookupError: no index for it\n"


def test_when_nothing_is_recorded_nothing_is_claimed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "my_app.search:nothing", "--allow-errors", "3"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("error: every question failed; run.jsonl is not written\n")
    assert not Path("run.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(["my_app.search:retreive"], "did you mean 'retrieve'?", id="no such function"),
        pytest.param(["my_app.search:retrieve", "-o", "-"], "cannot be recorded to standard output", id="no file"),
        pytest.param(["my_app.search:retrieve", "--set", "topk=1"], "'topk' cannot be set", id="the contract's key"),
        pytest.param(["my_app.search:retrieve", "--set", "v7"], "--set: 'v7' is not KEY=VALUE", id="no value"),
        pytest.param(["my_app.search:retrieve", "--gold", "none.jsonl"], "none.jsonl: no such file", id="no gold"),
        pytest.param(["my_app.search:retrieve", "--workers", "0"], "--workers 0: must be at least 1", id="no worker"),
    ],
)
def test_a_wrong_word_is_one_error(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, *words]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert error in printed
    assert printed.count("\n") == 1
    assert not Path("run.jsonl").exists()


def test_the_gold_set_may_stand_in_the_criteria() -> None:
    gates = "gates:\n  - {name: recall@5, threshold: 0.5}\n"
    Path("ship-criteria.yaml").write_text(f"inputs:\n  gold: gold.jsonl\n{gates}")
    assert main(["record", "-o", "run.jsonl", "--retriever", "my_app.search:retrieve"]) == 0
    assert len(read_lines()) == 3


CRITERIA = "gates: [{name: recall@5, threshold: 0.5}]\ninputs: {gold: gold.jsonl, run: out/run.jsonl}\n"


def test_without_arguments_it_asks_what_the_criteria_name(capsys: pytest.CaptureFixture[str]) -> None:
    block = "retriever: {function: 'my_app.search:fail', workers: 2, retries: 1}\n"
    Path("config").mkdir()
    Path("config", "ship-criteria.yaml").write_text(CRITERIA.replace("gold.jsonl", "../gold.jsonl") + block)
    assert main(["record", "--allow-errors", "1"]) == 0
    assert capsys.readouterr().out.startswith("recorded 2 of 3 questions in config/out/run.jsonl")
    assert main(["record", "--retriever", "my_app.search:retrieve", "-o", "other.jsonl"]) == 0
    assert capsys.readouterr().out.startswith("recorded 3 of 3 questions in other.jsonl")


def test_a_function_is_mapped_as_an_answer_is() -> None:
    Path("my_app", "search.py").write_text("def search(question):\n    return {'docs': [{'key': question, 'n': 2}]}\n")
    block = "retriever: {function: 'my_app.search:search', map: {items: docs, chunk_id: key, score: n}}\n"
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("out/", "") + block)
    assert main(["record"]) == 0
    assert read_lines()[0]["topk"] == [{"rank": 1, "chunk_id": "question 1", "score": 2}]


@pytest.mark.parametrize(
    ("criteria", "error"),
    [
        pytest.param(
            None, "there are no criteria that say what to record; `rankgate init --gold GOLD", id="no criteria"
        ),
        pytest.param(
            CRITERIA,
            "ship-criteria.yaml: retriever: says what to record, and is missing; `rankgate init",
            id="no block",
        ),
        pytest.param(
            CRITERIA.replace(", run: out/run.jsonl", "") + "retriever: {function: 'a:b'}\n",
            "no run is named; give it with -o FILE",
            id="no run",
        ),
        pytest.param(
            CRITERIA.replace("out/run.jsonl", "{path: run.csv, format: csv}") + "retriever: {function: 'a:b'}\n",
            "ship-criteria.yaml: inputs.run: is read by a map or in another format",
            id="a run of another format",
        ),
        pytest.param(
            CRITERIA.replace("out/run.jsonl", "gold.jsonl") + "retriever: {function: 'a:b'}\n",
            "gold.jsonl: -o would write over what inputs.gold of ship-criteria.yaml names",
            id="over the gold set",
        ),
        pytest.param(
            CRITERIA + "retriever: {function: 'my_app.search:retreive'}\n",
            "ship-criteria.yaml:3: retriever.function: my_app.search has no attribute 'retreive'",
            id="a slip",
        ),
        pytest.param(
            CRITERIA + "retriever: {function: 'my_app.search:retrieve', files: 5}\n",
            "ship-criteria.yaml:3: retriever.files: expected text or a list",
            id="another kind of value",
        ),
    ],
)
def test_what_is_lacking_is_named(criteria: str | None, error: str, capsys: pytest.CaptureFixture[str]) -> None:
    if criteria:
        Path("ship-criteria.yaml").write_text(criteria)
    assert main(["record", *([] if criteria else ["--gold", "gold.jsonl", "-o", "run.jsonl"])]) == 2
    assert error in capsys.readouterr().err
    assert len(Path("gold.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        pytest.param(
            "retrieve", (0, "q2: question 2\n   1  question 2  2.5\n   2  d  1\n", ""), id="a list with scores"
        ),
        pytest.param("fail", (2, "", "error: my_app/search.py:12: q2: LookupError: no index for it\n"), id="it raises"),
        pytest.param("empty", (0, "q2: question 2\n  no results\n", ""), id="nothing"),
        pytest.param("answers", (0, "q2: question 2\n   1  d\nanswer: It is so.\n", ""), id="an answer"),
    ],
)
def test_one_question_is_asked_and_nothing_written(
    function: str, expected: tuple[int, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    answers = "def answers(_):\n    return {'topk': ['d'], 'answer': 'It is\\nso.'}\n"
    Path("my_app", "search.py").write_text(f"{SEARCH}\ndef empty(_):\n    return []\n\n{answers}")
    Path("ship-criteria.yaml").write_text(f"{CRITERIA}retriever: {{function: 'my_app.search:{function}'}}\n")
    before = sorted(Path().iterdir())
    code = main(["record", "--only", "q2"])
    printed = capsys.readouterr()
    assert (code, printed.out, printed.err) == expected
    assert sorted(Path().iterdir()) == before
    assert main(["record", "--only", "q22"]) == 2
    assert "gold.jsonl: --only: there is no question 'q22'; did you mean 'q2'?" in capsys.readouterr().err
    assert main(["record", "--only", "refund window"]) == 2
    assert "there is no question 'refund window'; the first is 'q1'" in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["record", "--help"])
    assert "rankgate record --retriever my_app.search:retrieve --gold gold.yaml -o run.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "value"),
    [
        pytest.param("v=v7", "v7", id="text"),
        pytest.param("v=", "", id="empty"),
        pytest.param("v=a=b", "a=b", id="an equals sign"),
        pytest.param("v=50", 50, id="integer"),
        pytest.param("v=0.5", 0.5, id="number"),
        pytest.param("v=true", True, id="truth value"),
        pytest.param('v={"algo": "x"}', {"algo": "x"}, id="mapping"),
        pytest.param('v="50"', "50", id="quoted"),
        pytest.param("v=1.10", "1.10", id="a version is no number"),
        pytest.param("v=12e4567", "12e4567", id="a commit is no number"),
        pytest.param("v=123e4", "123e4", id="a shorter commit neither"),
        pytest.param("v=NaN", "NaN", id="not JSON"),
        pytest.param("v={broken", "{broken", id="broken JSON"),
    ],
)
def test_settings_are_json_where_they_read_as_json(word: str, value: object) -> None:
    assert settings([word]) == {"v": value}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(["v"], "--set: 'v' is not KEY=VALUE, as in index_version=v7", id="no value"),
        pytest.param(["=v"], "--set: '=v' is not KEY=VALUE, as in index_version=v7", id="no key"),
        pytest.param(["v=1", "v=2"], "--set: v is set twice", id="twice"),
    ],
)
def test_settings_that_say_nothing_clear(words: list[str], error: str) -> None:
    with pytest.raises(RankgateError, match=error):
        settings(words)


@pytest.mark.parametrize(
    ("median", "written"),
    [(0.00123, "0.0012"), (0.34, "0.34"), (3.0, "3"), (9.96, "10"), (12.4, "12"), (1234.5, "1234")],
)
def test_the_median_has_two_digits_or_no_fraction(median: float, written: str) -> None:
    recorded = Recorded(path="run.jsonl", total=160, recorded=159, resumed=0, median_ms=median, failures=())
    assert summary(recorded) == f"recorded 159 of 160 questions in run.jsonl (median {written} ms)\n"


@pytest.mark.full
@pytest.mark.parametrize(
    ("ci", "bar"), [pytest.param("", True, id="someone looks"), pytest.param("true", False, id="CI")]
)
def test_a_progress_bar_only_where_someone_looks(ci: str, bar: bool) -> None:  # noqa: FBT001
    """The last question is answered once the bar was seen, or at once where there is none."""
    Path("my_app", "slow.py").write_text(
        "import pathlib, time\n\ndef retrieve(question):\n    print('for the log')\n"
        "    while question == 'question 3' and not pathlib.Path('seen').exists():\n        time.sleep(0.01)\n"
        "    return ['d']\n"
    )
    if not bar:
        Path("seen").touch()
    terminal, end = pty.openpty()
    here = str(Path(rankgate.__file__).parents[1])
    environment = {**os.environ, "CI": ci, "TERM": "xterm", "COLUMNS": "80", "PYTHONPATH": here}
    command = [sys.executable, "-W", "error", "-m", "rankgate", *COMMAND, "my_app.slow:retrieve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, env=environment) as process:
        os.close(end)
        shown = b""
        while bar and b"67%" not in shown:
            shown += os.read(terminal, 1 << 16)
        Path("seen").touch()
        out, _ = process.communicate(timeout=300)
    with contextlib.suppress(OSError):  # nothing is left and the other end is closed
        shown += os.read(terminal, 1 << 16)
    os.close(terminal)
    assert process.returncode == 0
    assert out.startswith(b"for the log\nfor the log\nfor the log\nrecorded 3 of 3 questions in run.jsonl")
    assert (b"recording" in shown) == bar


def begin_on_main(gold: str) -> None:
    """A repository whose main has criteria and this gold set, and a pull request with the one of here."""
    here = Path("gold.jsonl").read_text()
    Path("gold.jsonl").write_text(gold)
    Path("ship-criteria.yaml").write_text(
        "gates: [{name: recall@2, threshold: 0.1}]\ninputs: {gold: gold.jsonl, run: run.jsonl}\n"
        "retriever: {function: 'my_app.search:retrieve'}\n"
    )
    Path(".gitignore").write_text("run.jsonl*\n__pycache__\n")
    git("init", "--quiet", "--initial-branch", "main", ".")
    commit()
    git("switch", "--quiet", "--create", "pull")
    Path("gold.jsonl").write_text(here)
    commit()


@pytest.mark.full
def test_with_a_base_its_questions_are_asked_too(capsys: pytest.CaptureFixture[str]) -> None:
    before = [("q1", "question 1"), ("q2", "another text"), ("q9", "question 9")]
    samples = [{"id": name, "input": text, "expected_output": ["d"]} for name, text in before]
    begin_on_main("".join(json.dumps(sample) + "\n" for sample in samples))
    assert main(["record", "--base", "main"]) == 0
    assert capsys.readouterr().out.startswith("recorded 5 of 5 questions in run.jsonl")
    asked = [(line["query_id"], line["topk"][0]["chunk_id"], line[TEXT_KEY]) for line in read_lines()]
    texts = [*((f"q{n}", f"question {n}") for n in (1, 2, 3)), *before[1:]]
    assert asked == [(name, text, text_digest(text)) for name, text in texts]
    assert main(["check", "--record", "--base", "main", "-o", "report.json"]) == 0
    base = json.loads(Path("report.json").read_text())["base"]
    assert (base["base_verdict"], base["queries"]["removed"], base["queries"]["edited"]) == ("pass", 1, 1)


@pytest.mark.full
def test_a_base_that_cannot_be_read_is_warned_of_and_its_commit_must_be_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    begin_on_main("not a gold set\n")
    assert main(["record", "--base", "main"]) == 0
    assert "warning: the base's questions are not asked: gold.jsonl at main" in capsys.readouterr().err
    assert len(read_lines()) == 3
    assert main(["record", "--base", "nowhere"]) == 2
