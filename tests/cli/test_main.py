"""The door of the command line: which command runs, and that whatever happens ends in one line and an exit code."""

import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest

import rankgate
from rankgate.cli import COMMANDS, main

PYTHONPATH = str(Path(rankgate.__file__).parents[1])

GOLD = '{"id": "q1", "expected_output": ["a"]}\n{"id": "q2", "expected_output": ["b"]}\n'
RUN = '{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n'
CRITERIA = "gates:\n  - {name: mrr, threshold: 0.5, regression_max: 0.1}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("gold.jsonl", GOLD), ("run.jsonl", RUN), ("ship-criteria.yaml", CRITERIA)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rankgate_process(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, **variables}
    return subprocess.run(
        [sys.executable, "-m", "rankgate", *words],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def test_without_a_command_it_explains_itself_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().out.startswith("usage: rankgate COMMAND [options]\n")


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_lists_every_command_with_a_line_of_its_own(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    listed = re.findall(r"^  (\w+)  +\S", capsys.readouterr().out, re.MULTILINE)
    assert listed[: len(COMMANDS)] == list(COMMANDS)


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_version(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    assert capsys.readouterr().out == f"rankgate {rankgate.__version__}\n"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param("chek", "no command 'chek'; did you mean 'check'? (rankgate --help lists them)", id="near"),
        pytest.param("xyzzy", "no command 'xyzzy' (rankgate --help lists them)", id="none is near"),
        pytest.param("--run", "no command '--run' (rankgate --help lists them)", id="an option first"),
        pytest.param("a\x1b[31m", r"no command 'a\x1b[31m' (rankgate --help lists them)", id="control characters"),
    ],
)
def test_an_unknown_command_is_named_with_the_nearest(
    word: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n")


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as left:
        main([*words, "--help"])
    assert left.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_ends_in_examples_that_its_parser_accepts(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = help_of([command], capsys).partition("examples:\n")[2].splitlines()
    assert any(f"rankgate {command}" in example for example in examples)
    for example in examples:
        words = shlex.split(example.rpartition(" | ")[2].partition(" > ")[0], comments=True)
        assert words[0] == "rankgate"
        import_module(COMMANDS[words[1]][0]).parser().parse_args(words[2:])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["check", "--nope"], "unrecognized arguments: --nope", id="unknown option"),
        pytest.param(["check", "--crit", "a"], "unrecognized arguments: --crit a", id="options are not abbreviated"),
        pytest.param(["check", "--format", "html"], "invalid choice: 'html'", id="unknown format"),
        pytest.param(["check", "--run"], "argument --run: expected one argument", id="no value"),
        pytest.param(["compare", "a.jsonl"], "the following arguments are required: B", id="one run of two"),
        pytest.param(["baseline"], "the following arguments are required: ACTION", id="no action"),
        pytest.param(["baseline", "accept", "--depth", "x"], "invalid int value: 'x'", id="not a number"),
    ],
)
def test_wrong_options_exit_2(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert message in capsys.readouterr().err


SCORE = ["score", "--gold", "gold.jsonl", "--run", "run.jsonl"]


def test_an_internal_error_is_one_line_to_report_and_exit_2(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise ZeroDivisionError("over\nzero")

    monkeypatch.setattr("rankgate.parallel.score_run", broken)
    assert main(SCORE) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(
        r"error: internal error: ZeroDivisionError: over zero in rankgate\.cli\.score:\d+ "
        r"\(rankgate \S+, Python \S+\); this is our bug, please report this line at \S+\n",
        err,
    )


def test_an_interruption_exits_130(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("rankgate.parallel.score_run", interrupted)
    assert main(SCORE) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--version"], id="a line"),
        pytest.param(["metrics"], id="more than a pipe's first buffer"),
    ],
)
def test_a_reader_that_went_away_is_no_reason_to_complain(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-m", "rankgate", *words]
    ended = subprocess.run(command, env=environment, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (2, b"")


def test_every_problem_of_an_input_is_a_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "run.jsonl").write_text('{"query_id": "q1"}\n{"topk": []}\n', encoding="utf-8")
    assert main(SCORE) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: run.jsonl:1: no list of results; write one of topk, retrieved, actual_output",
        "error: run.jsonl:2: no query id; write it as query_id (or id)",
    ]


def test_text_of_an_input_stays_on_its_line_with_nothing_hidden(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "run.json").write_text(r'{"q1\n::add-mask::x\u001b[31m": 5}', encoding="utf-8")
    assert main(["score", "--gold", "gold.jsonl", "--run", "run.json"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "\x1b" not in err


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "utf-8"])
def test_the_verdict_does_not_depend_on_the_encoding_of_the_output(project: Path, encoding: str) -> None:
    """Where Windows pipes a program's output, its encoding is often cp1252, which has no minus sign of ours."""
    (project / "worse.jsonl").write_text(RUN.replace('["b"]', '["x", "b"]'), encoding="utf-8")
    inputs = ("--gold", "gold.jsonl", "--run", "worse.jsonl", "--baseline", "run.jsonl")
    ended = rankgate_process("check", *inputs, PYTHONIOENCODING=encoding)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.startswith("FAIL  Do not merge: ")


def test_python_m_rankgate_is_the_command_line(project: Path) -> None:
    ended = rankgate_process("check", "--gold", "gold.jsonl", "--run", "run.jsonl", "--format", "json")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("{\n")
