"""`rankgate render`: a report.json once more, in any form, without scoring."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

import rankgate
from rankgate.cli import main

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
    assert main(["render", "report.json", "--format", format_name]) == 0
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_check_that_could_not_judge_renders_too(capsys: Capture, format_name: str) -> None:
    assert main(["check", "--run", "absent.jsonl", "-o", "not-judged.json", "--format", format_name]) == 2
    printed = capsys.readouterr().out
    assert main(["render", "not-judged.json", "--format", format_name]) == 0
    assert capsys.readouterr().out == printed


def test_without_a_format_it_is_the_comment(capsys: Capture) -> None:
    assert main(["render", "report.json"]) == 0
    assert capsys.readouterr().out.startswith("**❌ FAIL. ")


@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        pytest.param(["-o", "out/again.md"], "**❌ FAIL. ", id="comment by suffix"),
        pytest.param(["-o", "out/again.json"], "{", id="report by suffix"),
        pytest.param(["-o", "out/again.html"], "<!doctype html>", id="page by suffix"),
        pytest.param(["-o", "out/again.xml"], "<?xml version=", id="JUnit by suffix"),
        pytest.param(["-o", "out/again.badge.json"], '{\n  "schemaVersion": 1,', id="the longest suffix wins"),
        pytest.param(["-o", "out/again.txt", "--format", "terminal"], "FAIL  ", id="a format for any suffix"),
    ],
)
def test_it_writes_a_file_and_prints_nothing(capsys: Capture, words: list[str], beginning: str) -> None:
    assert main(["render", "report.json", *words]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path(words[1]).read_text(encoding="utf-8").startswith(beginning)


def test_a_report_rendered_as_a_report_is_the_same() -> None:
    assert main(["render", "report.json", "-o", "again.json"]) == 0
    assert Path("again.json").read_bytes() == Path("report.json").read_bytes()


def test_it_never_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr("rankgate.metrics.scoring.score", forbidden)
    monkeypatch.setattr("rankgate.metrics.scored_run.score_run", forbidden)
    monkeypatch.setattr(sys.modules["rankgate.check"], "check", forbidden)
    for name in ("gold.jsonl", "before.jsonl", "after.jsonl", "ship-criteria.yaml"):
        Path(name).unlink()
    assert main(["render", "report.json"]) == 0


def test_a_report_from_standard_input() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "rankgate", "render", "-"],
        env={**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parents[1]), "PYTHONIOENCODING": "utf-8"},
        input=Path("report.json").read_bytes(),
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.decode().startswith("**❌ FAIL. ")


@pytest.mark.parametrize("words", [pytest.param([], id="printed"), pytest.param(["-o", "ours.txt"], id="written")])
def test_a_template_of_a_user(capsys: Capture, words: list[str]) -> None:
    Path("ours.md.j2").write_text("# {{ word(report.verdict) }}\n{{ report.misses[0].question | code }}\n", "utf-8")
    assert main(["render", "report.json", "--template", "ours.md.j2", *words]) == 0
    out = capsys.readouterr().out
    assert (Path("ours.txt").read_text(encoding="utf-8") if words else out) == "# FAIL\n`how?`\n"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        pytest.param("a\n{{ nope }}", "ours.md.j2:2: template error: 'nope' is undefined", id="unknown name"),
        pytest.param("a\n\n{% if %}", "ours.md.j2:3: template error: Expected an expression", id="syntax"),
        pytest.param("{{ report.__class__ }}", "ours.md.j2:1: template error: access to attribute", id="sandbox"),
        pytest.param(None, "ours.md.j2: cannot be read: No such file or directory", id="missing"),
    ],
)
def test_a_wrong_template_is_an_error_with_its_line(capsys: Capture, template: str | None, message: str) -> None:
    if template is not None:
        Path("ours.md.j2").write_text(template, encoding="utf-8")
    assert main(["render", "report.json", "--template", "ours.md.j2", "-o", "comment.md"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert not Path("comment.md").exists()


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
        pytest.param(
            b"{}",
            ["--template", "t.j2", "--format", "terminal"],
            "--template renders Markdown, not terminal",
            id="a template for something else",
        ),
    ],
)
def test_what_cannot_be_rendered_is_an_error(
    capsys: Capture, content: bytes | None, words: list[str], message: str
) -> None:
    if content is not None:
        Path("given.json").write_bytes(content)
    assert main(["render", "given.json", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1
