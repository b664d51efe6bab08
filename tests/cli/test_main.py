"""The door of the command line: which command runs, and that whatever happens ends in one line and an exit code."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest

import rankgate
from rankgate.cli import COMMANDS, main

Capture = pytest.CaptureFixture[str]
PYTHONPATH = str(Path(rankgate.__file__).parents[1])

GOLD = '{"id": "q1", "expected_output": ["a"]}\n{"id": "q2", "expected_output": ["b"]}\n'
RUN = '{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n'
CRITERIA = "gates:\n  - {name: mrr, threshold: 0.5, regression_max: 0.1}\n"
PROJECT = {"gold.jsonl": GOLD, "run.jsonl": RUN, "ship-criteria.yaml": CRITERIA}


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


def test_without_a_command_it_explains_itself_and_exits_2(capsys: Capture) -> None:
    assert main([]) == 2
    assert capsys.readouterr().out.startswith("usage: rankgate COMMAND [options]\n")


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_lists_every_command_with_a_line_of_its_own(word: str, capsys: Capture) -> None:
    assert main([word]) == 0
    listed = re.findall(r"^  (\w+)  +\S", capsys.readouterr().out, re.MULTILINE)
    assert listed[: len(COMMANDS)] == list(COMMANDS)


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_version(word: str, capsys: Capture) -> None:
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
def test_an_unknown_command_is_named_with_the_nearest(word: str, message: str, capsys: Capture) -> None:
    assert main([word]) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n")


def help_of(words: list[str], capsys: Capture) -> str:
    with pytest.raises(SystemExit) as left:
        main([*words, "--help", "--all"])
    assert left.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_ends_in_examples_that_its_parser_accepts(command: str, capsys: Capture) -> None:
    examples = help_of([command], capsys).partition("examples:\n")[2].replace("\\\n", " ").splitlines()
    assert any(f"rankgate {command}" in example for example in examples)
    for example in examples:
        words = shlex.split(example.rpartition(" | ")[2].partition(" > ")[0], comments=True)
        assert words[0] == "rankgate"
        import_module(COMMANDS[words[1]][0]).parser().parse_args(words[2:])


ACTIONS = [
    *(f"baseline {name}" for name in ("show", "accept", "record", "history", "prune", "verify")),
    *(f"gold {name}" for name in ("pool", "merge", "anchor", "negatives")),
    *(f"judge {name}" for name in ("sample", "label", "calibrate")),
]


@pytest.mark.parametrize("command", [*COMMANDS, *ACTIONS])
def test_the_help_of_a_command_fits_a_screen_and_names_the_rest(
    command: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    texts = []
    for words in ([], ["--all"]):
        with pytest.raises(SystemExit):
            main([*command.split(), "--help", *words])
        texts.append(capsys.readouterr().out)
    short, whole = texts
    assert len(short.splitlines()) <= 40
    options = [set(re.findall(r"(?<![\w-])--\w[\w-]*", text.partition("options:")[2])) for text in texts]
    assert options[0] <= options[1]
    last = rf"^rankgate {command} --help --all: \d+ more options?(, and more examples)?$"
    more = re.search(last, short, re.MULTILINE)
    assert (short == whole) == (more is None)
    assert "1 more options" not in short
    if more and more[1]:
        examples = [text.partition("examples:\n")[2].count(f"  rankgate {command}") for text in texts]
        assert 0 < examples[0] < examples[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["check", "--nope"], "unrecognized arguments: --nope", id="unknown option"),
        pytest.param(["check", "--critera", "a"], "--critera a; did you mean '--criteria'?", id="a mistyped option"),
        pytest.param(["baseline", "accept", "--ro", "x"], "rankgate baseline accept: error: unrec", id="of an action"),
        pytest.param(["gold", "merg"], "'negatives'); did you mean 'merge'?", id="a mistyped action"),
        pytest.param(["check", "--format", "jsn"], "'badge'); did you mean 'json'?", id="a mistyped choice"),
        pytest.param(["check", "extra"], "unrecognized arguments: extra\n", id="a word too many"),
        pytest.param(["check", "--crit", "a"], "unrecognized arguments: --crit a", id="options are not abbreviated"),
        pytest.param(["check", "--format", "html"], "invalid choice: 'html'", id="unknown format"),
        pytest.param(["check", "--run"], "argument --run: expected one argument", id="no value"),
        pytest.param(["compare", "a.jsonl"], "the following arguments are required: RUN", id="one run of two"),
        pytest.param(["baseline"], "the following arguments are required: ACTION", id="no action"),
        pytest.param(["baseline", "accept", "--depth", "x"], "invalid int value: 'x'", id="not a number"),
    ],
)
def test_wrong_options_exit_2(words: list[str], message: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    written = capsys.readouterr().err
    assert message in written
    *usage, _ = written.splitlines()
    assert 1 <= len(usage) <= 2
    assert usage[0].startswith("usage: rankgate ")


SCORE = ["score", "--gold", "gold.jsonl", "--run", "run.jsonl"]


def test_an_internal_error_is_one_line_to_report_and_exit_2(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise ZeroDivisionError("over\nzero")

    monkeypatch.setattr("rankgate.cli.score.scored", broken)
    assert main(SCORE) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(
        r"error: internal error: ZeroDivisionError: over zero in rankgate\.cli\.score:\d+ "
        r"\(rankgate \S+, Python \S+\); this is our bug, please report this line at \S+\n",
        err,
    )


def test_an_interruption_exits_130(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def interrupted(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("rankgate.cli.score.scored", interrupted)
    assert main(SCORE) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


@pytest.mark.full
@pytest.mark.parametrize(
    "words", [pytest.param(["--version"], id="a line"), pytest.param(["metrics"], id="more than a pipe's first buffer")]
)
def test_a_reader_that_went_away_is_no_reason_to_complain(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-m", "rankgate", *words]
    ended = subprocess.run(command, env=environment, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")


def test_every_problem_of_an_input_is_a_line(project: Path, capsys: Capture) -> None:
    (project / "run.jsonl").write_text('{"query_id": "q1"}\n{"topk": []}\n', encoding="utf-8")
    assert main(SCORE) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: run.jsonl:1: no list of results (found: 'query_id'); write one of topk, retrieved, actual_output",
        "error: run.jsonl:2: no query id; write it as query_id (or id)",
    ]


def test_text_of_an_input_stays_on_its_line_with_nothing_hidden(project: Path, capsys: Capture) -> None:
    (project / "run.json").write_text(r'{"q1\n::add-mask::x\u001b[31m": 5}', encoding="utf-8")
    assert main(["score", "--gold", "gold.jsonl", "--run", "run.json"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "\x1b" not in err


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "utf-8"])
def test_the_verdict_does_not_depend_on_the_encoding_of_the_output(project: Path, encoding: str) -> None:
    """Where Windows pipes a program's output, its encoding is often cp1252, which has no minus sign of ours."""
    (project / "worse.jsonl").write_text(RUN.replace('["b"]', '["x", "b"]'), encoding="utf-8")
    inputs = ("--gold", "gold.jsonl", "--run", "worse.jsonl", "--baseline", "run.jsonl")
    ended = rankgate_process("check", *inputs, PYTHONIOENCODING=encoding)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.startswith("FAIL  Do not merge: ")


@pytest.mark.full
def test_python_m_rankgate_is_the_command_line(project: Path) -> None:
    ended = rankgate_process("check", "--gold", "gold.jsonl", "--run", "run.jsonl", "--format", "json")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("{\n")


GIVEN = ("--gold", "gold.jsonl", "--run", "run.jsonl")
EVERY_COMMAND = {
    "demo": ["demo", "directory"],
    "init": ["init", "--gold", "gold.jsonl", "--to", "new.yaml"],
    "record": ["record", "--retriever", "shlex:split", "--gold", "questions.jsonl", "-o", "new.jsonl"],
    "judge": ["judge", "--help"],
    "check": ["check", *GIVEN],
    "explain": ["explain", *GIVEN],
    "validate": ["validate", *GIVEN],
    "score": ["score", *GIVEN],
    "compare": ["compare", "run.jsonl", "run.jsonl", "--gold", "gold.jsonl"],
    "baseline": ["baseline", "accept", *GIVEN, "--to", "baseline"],
    "dashboard": ["dashboard", "site", "--baseline", "stored"],
    "gold": ["gold", "pool", "run.jsonl", "--gold", "gold.jsonl"],
    "comment": ["comment", "--help"],
    "metrics": ["metrics"],
    "schema": ["schema"],
}


@pytest.fixture
def whole_project(project: Path) -> Path:
    (project / "other.jsonl").write_text(RUN, encoding="utf-8")
    (project / "questions.jsonl").write_text('{"id": "q1", "input": "?", "expected_output": ["a"]}\n', encoding="utf-8")
    main(["check", *GIVEN, "-o", "report.json"])
    main(["baseline", "accept", *GIVEN, "--to", "stored"])
    return project


def ended_with(stdout: int, stderr: int, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "rankgate", *words]
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "PYTHONUNBUFFERED": ""}
    return subprocess.run(command, env=environment, stdout=stdout, stderr=stderr, check=False, timeout=300)


def test_every_command_has_its_call() -> None:
    assert set(EVERY_COMMAND) == set(COMMANDS)


@pytest.mark.full
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("words", [pytest.param(words, id=name) for name, words in EVERY_COMMAND.items()])
def test_standard_output_that_is_full_is_one_plain_error(
    whole_project: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    capsys.readouterr()
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(words) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "error: standard output: the operating system refuses: No space left on device"


@pytest.mark.full
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
def test_where_standard_error_is_full_too_the_exit_code_is_still_that_of_an_error(whole_project: Path) -> None:
    """Nobody can be told, and it is never the code of a verdict."""
    with Path("/dev/full").open("wb") as full:
        assert ended_with(full.fileno(), full.fileno(), *EVERY_COMMAND["check"]).returncode == 2


@pytest.mark.full
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_so_it_is_however_python_writes(project: Path, unbuffered: str) -> None:
    words = ["sh", "-c", f"{shlex.quote(sys.executable)} -m rankgate check {shlex.join(GIVEN)} >/dev/full"]
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "PYTHONUNBUFFERED": unbuffered}
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (
        2,
        "error: standard output: the operating system refuses: No space left on device\n",
    )


@pytest.mark.full
@pytest.mark.parametrize("name", ["check", "comment", "metrics", "validate"])
def test_a_pipe_that_nobody_reads_ends_a_command_as_it_ends_other_tools(whole_project: Path, name: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = ended_with(writing, subprocess.PIPE, *EVERY_COMMAND[name])
    os.close(writing)
    assert ended.returncode == 128 + signal.SIGPIPE
    assert b"error" not in ended.stderr


@pytest.mark.full
@pytest.mark.parametrize(("closed", "code"), [("0", 0), ("1", 2), ("2", 0)])
def test_a_stream_that_is_closed_is_not_mistaken_for_a_file(project: Path, closed: str, code: int) -> None:
    """The next file that is opened would get its number, and what is printed would go there."""
    words = f"exec {shlex.quote(sys.executable)} -m rankgate check {shlex.join(GIVEN)} -o report.json {closed}>&-"
    ended = subprocess.run(
        ["sh", "-c", words], env={**os.environ, "PYTHONPATH": PYTHONPATH}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == code, ended
    assert (project / "report.json").read_text().startswith("{")
    if closed == "1":
        assert ended.stderr == "error: standard output: the operating system refuses: Bad file descriptor\n"


LONG = "x" * 300
REFUSALS = [
    pytest.param(["score", "--gold", LONG, "--run", "run.jsonl"], "File name too long", id="a gold set's name"),
    pytest.param(["score", "--gold", "gold.jsonl", "--run", LONG], "File name too long", id="a run's name"),
    pytest.param(["check", *GIVEN, "--baseline", LONG], "File name too long", id="a baseline's name"),
    pytest.param(["check", *GIVEN, "--criteria", LONG], "File name too long", id="a criteria file's name"),
    pytest.param(["validate", *GIVEN, "--criteria", LONG], "File name too long", id="validate"),
    pytest.param(["explain", *GIVEN, "--baseline", LONG], "File name too long", id="explain"),
    pytest.param(["compare", LONG, "run.jsonl", "--gold", "gold.jsonl"], "File name too long", id="compare"),
    pytest.param(["check", "--from", LONG], "File name too long", id="a report's name"),
    pytest.param(["check", "-o", "a.md", "--template", LONG], "File name too long", id="a template's name"),
    pytest.param(["check", "-o", "a.md", "--template", "directory"], "Is a directory", id="a directory as template"),
    pytest.param(["dashboard", LONG, "--baseline", "stored"], "File name too long", id="dashboard"),
    pytest.param(["dashboard", "site", "--baseline", LONG], "File name too long", id="a store's name"),
    pytest.param(["dashboard", "gold.jsonl", "--baseline", "stored"], "is a file", id="a file as site"),
    pytest.param(["gold", "pool", LONG, "--gold", "gold.jsonl"], "File name too long", id="gold pool"),
    pytest.param(["gold", "merge", "gold.jsonl", LONG], "File name too long", id="gold merge"),
    pytest.param(["gold", "merge", LONG, "run.jsonl"], "File name too long", id="GOLD"),
    pytest.param(["baseline", "history", "--baseline", LONG], "File name too long", id="baseline history"),
    pytest.param(["baseline", "accept", *GIVEN, "--to", f"{LONG}/a"], "File name too long", id="baseline accept"),
    pytest.param(
        ["compare", LONG, "accepted", "--baseline", "stored", "--gold", "gold.jsonl"],
        "File name too long",
        id="compare with a stored run",
    ),
    pytest.param(["check", *GIVEN, "-o", f"{LONG}.json"], "File name too long", id="an output's name"),
    pytest.param(["check", *GIVEN, "-o", "directory"], "names no output", id="a directory as output"),
    pytest.param(["check", *GIVEN, "-o", "run.jsonl/report.json"], "", id="an output below a file"),
    pytest.param(["score", *GIVEN, "--per-query", "directory"], "Is a directory", id="a directory as scores"),
    pytest.param(["check", "--criteria", "directory"], "is a directory, not a file", id="a directory as criteria"),
    pytest.param(["score", "--gold", "directory", "--run", "run.jsonl"], "is a directory", id="a directory as gold"),
    pytest.param(["demo", f"{LONG}/demo"], "File name too long", id="demo"),
    pytest.param(["init", "--gold", "gold.jsonl", "--to", LONG], "File name too long", id="init"),
    pytest.param(
        ["record", "--retriever", "shlex:split", "--gold", "questions.jsonl", "-o", LONG],
        "File name too long",
        id="record",
    ),
    pytest.param(["score", "--gold", "loop", "--run", "run.jsonl"], "Too many levels of symbolic links", id="a loop"),
    pytest.param(["check", *GIVEN, "--baseline", "loop"], "Too many levels of symbolic links", id="a loop as baseline"),
]


@pytest.mark.parametrize(("words", "reason"), REFUSALS)
def test_what_the_file_system_refuses_is_a_plain_error(
    whole_project: Path, words: list[str], reason: str, capfd: Capture
) -> None:
    (whole_project / "directory").mkdir(exist_ok=True)
    (whole_project / "loop").symlink_to("loop")
    capfd.readouterr()
    assert main(words) == 2
    told = "".join(capfd.readouterr())
    assert reason in told
    assert "internal error" not in told
    assert "Traceback" not in told


# Root may do everything, unless it gives that up.
AS_ANYBODY = [] if os.name == "nt" or os.geteuid() else ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


LOCKED = {
    "gold below it": ["score", "--gold", "locked/deep/gold", "--run", "run.jsonl"],
    "criteria below it": ["check", *GIVEN, "--criteria", "locked/deep/criteria"],
    "as a store": ["check", *GIVEN, "--baseline", "locked"],
    "a store below it": ["check", *GIVEN, "--baseline", "locked/deep/store"],
    "an output below it": ["check", *GIVEN, "-o", "locked/deep/report.json"],
    "a run below it": ["compare", "locked/deep/run", "run.jsonl", "--gold", "gold.jsonl"],
    "a store to verify": ["baseline", "verify", "--baseline", "locked"],
    "a new store below it": ["baseline", "accept", *GIVEN, "--to", "locked/deep/new"],
    "a site below it": ["dashboard", "locked/deep/site", "--baseline", "stored"],
    "a pool below it": ["gold", "pool", "run.jsonl", "--gold", "gold.jsonl", "-o", "locked/deep/a"],
    "a demo below it": ["demo", "locked/deep/demo"],
    "new criteria below it": ["init", "--gold", "gold.jsonl", "--to", "locked/deep/new.yaml"],
    "a comment below it": ["check", "--from", "report.json", "-o", "locked/deep/report.md"],
}
ONE_BY_ONE = """
import contextlib, io, json, sys
from rankgate.cli import main
for name, words in json.load(sys.stdin).items():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(words)
    print(json.dumps([name, code, printed.getvalue()]))
"""


@pytest.mark.full
@pytest.mark.skipif(bool(AS_ANYBODY) and shutil.which("setpriv") is None, reason="root may do everything")
def test_a_directory_that_may_not_be_looked_into_is_a_plain_error(whole_project: Path) -> None:
    (whole_project / "locked").mkdir(mode=0o000)
    command = [*AS_ANYBODY, sys.executable, "-c", ONE_BY_ONE]
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    ended = subprocess.run(
        command, env=environment, input=json.dumps(LOCKED), capture_output=True, text=True, check=True, timeout=300
    )
    outcomes = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [(name, code) for name, code, _ in outcomes] == [(name, 2) for name in LOCKED]
    assert [name for name, _, printed in outcomes if "Permission denied" not in printed] == []
    assert [name for name, _, printed in outcomes if "internal error" in printed] == []


def test_a_mistyped_path_is_named_with_its_neighbour(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    for name in ("gold.json", "runs/new.jsonl"):
        Path(name).write_text('{"q": ["a"]}', encoding="utf-8")
    for words, message in (
        (
            ["score", "--gold", "gold.jsn", "--run", "runs/new.jsonl"],
            "gold.jsn: no such file; did you mean 'gold.json'?",
        ),
        (
            ["compare", "runs/nwe.jsonl", "b", "--gold", "gold.json"],
            "runs/nwe.jsonl: no such file or baseline directory; did you mean 'runs/new.jsonl'?",
        ),
        (["score", "--gold", "none/gold.json", "--run", "x"], "none/gold.json: no such file\n"),
        (["score", "--gold", "qqqq", "--run", "x"], "qqqq: no such file\n"),
    ):
        assert main(words) == 2
        assert message in capsys.readouterr().err


@pytest.mark.full
def test_what_was_registered_for_the_end_runs_though_the_process_leaves_at_once(project: Path) -> None:
    """As a package with metrics may have registered; what it prints is written, and the exit code stays."""
    program = "import atexit, sys; from rankgate.cli import console; atexit.register(print, 'the end')\n"
    program += "sys.argv[1:] = ['check', *sys.argv[1:]]; console()"
    command = [sys.executable, "-c", program, *GIVEN, "-q", "--fail-on", "warn"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stdout.startswith("WARN  Nothing to compare with yet")
    assert ended.stdout.endswith("the end\n")
