"""`rankgate check`: where inputs come from, what is printed and written, and what the exit code says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.renderers.pages.exhibits import unpacked

import rankgate
from rankgate.cli import main

Capture = pytest.CaptureFixture[str]
PYTHONPATH = str(Path(rankgate.__file__).parents[1])

GOLD = '{"id": "q1", "expected_output": ["a"]}\n{"id": "q2", "expected_output": ["b"]}\n'
GATES = """\
gates:
  - {name: recall@2, threshold: 0.9}
  - {name: mrr, threshold: 0.9, severity: warning}
"""
INPUTS = "inputs: {gold: gold.jsonl, run: pass.jsonl}\n"
RUNS = {
    "pass.jsonl": '{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n',
    "warn.jsonl": '{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": ["x", "b"]}\n',
    "fail.jsonl": '{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": ["x"]}\n',
    "broken.jsonl": '{"query_id": "q1"}\n',
}
PROJECT = {"gold.jsonl": GOLD, "ship-criteria.yaml": GATES + INPUTS, **RUNS}


def written(path: str = "report.json") -> dict[str, Any]:
    report: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return report


def rankgate_process(*words: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "rankgate", *words],
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        input=stdin,
        capture_output=True,
        check=False,
    )


@pytest.mark.full
def test_a_small_segment_that_certainly_fell_is_listed_and_named_and_changes_no_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Twelve languages of 25 questions, of which Russian lost seven: no rule judges it, and the reader sees it."""
    monkeypatch.chdir(tmp_path)
    queries = {f"q{number}-{lang}": lang for lang in ("ru", *(f"l{n}" for n in range(11))) for number in range(25)}
    gold = [{"id": each, "expected_output": ["a"], "metadata": {"tags": [f"lang:{queries[each]}"]}} for each in queries]
    before = [{"query_id": each, "retrieved": ["a"]} for each in queries]
    lost = {f"q{number}-ru" for number in range(7)}
    now = [{"query_id": each, "retrieved": ["b" if each in lost else "a"]} for each in queries]
    for name, lines in (("gold.jsonl", gold), ("before.jsonl", before), ("now.jsonl", now)):
        Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    rule = "segments: {by: lang, regression_max: 0.05, min_queries: 30}"
    Path("ship-criteria.yaml").write_text(
        f"gates: [{{name: recall@5, regression_max: 0.03, evidence: proven_harm, {rule}}}]\n"
        "inputs: {gold: gold.jsonl, run: now.jsonl, baseline: before.jsonl}\n",
        encoding="utf-8",
    )
    assert main(["check", "--all", "-o", "comment.md", "-o", "report.html"]) == 0
    why = "25 questions, fewer than the 30 that a segment needs to be judged"
    none = f"recall@5 judges none of its 12 segments: at most {why}."
    printed, comment, page = (
        capsys.readouterr().out,
        *(Path(name).read_text(encoding="utf-8") for name in ("comment.md", "report.html")),
    )
    sentence = "recall@5 holds overall (−2.3, allowed), but lang:ru lost 28.0 points: 7 of 25 questions got worse."
    assert printed.startswith(f"WARN  {sentence}")
    assert all(none in text for text in (printed, comment, page))
    assert f"Worse when looked at alone, which does not block: lang:ru −28.0 pp in recall@5 ({why})." in printed
    assert f"Worse when looked at alone, which does not block: `lang:ru` −28.0 pp in recall@5 ({why})." in comment
    assert f"<bdi>lang:ru</bdi></code> −28.0 pp in recall@5 ({why})." in page


@pytest.mark.parametrize(
    ("run", "options", "verdict", "code"),
    [
        pytest.param("pass.jsonl", [], "pass", 0, id="pass"),
        pytest.param("warn.jsonl", [], "warn", 0, id="warn"),
        pytest.param("fail.jsonl", [], "fail", 1, id="fail"),
        pytest.param("broken.jsonl", [], "not_judged", 2, id="not judged"),
        pytest.param("pass.jsonl", ["--fail-on", "warn"], "pass", 0, id="pass where a warning fails"),
        pytest.param("warn.jsonl", ["--fail-on", "warn"], "warn", 1, id="warn where a warning fails"),
        pytest.param("warn.jsonl", ["--fail-on", "fail"], "warn", 0, id="warn where only a failure fails"),
        pytest.param("broken.jsonl", ["--fail-on", "warn"], "not_judged", 2, id="not judged where a warning fails"),
    ],
)
def test_the_exit_code_is_the_verdict(project: Path, run: str, options: list[str], verdict: str, code: int) -> None:
    assert main(["check", "--run", run, "-o", "report.json", *options]) == code
    assert written()["verdict"] == verdict


def test_inputs_named_by_flags_and_in_the_criteria_give_the_same_report(project: Path) -> None:
    (project / "bare.yaml").write_text(GATES, encoding="utf-8")
    flags = ["--criteria", "bare.yaml", "--gold", "gold.jsonl", "--run", "pass.jsonl"]
    assert main(["check", "--date", "2026-01-31", "-o", "named.json"]) == 0
    assert main(["check", "--date", "2026-01-31", "-o", "flags.json", *flags]) == 0
    named, by_flags = written("named.json"), written("flags.json")
    assert named["provenance"]["criteria"] == "ship-criteria.yaml"
    for report in (named, by_flags):
        del report["provenance"]["criteria"], report["provenance"]["command"], report["conclusion"]["next"]
    assert named == by_flags, "but for the commands, which have the options that were given"


@pytest.mark.parametrize("flag", ["--gold", "--run", "--baseline"])
def test_an_empty_flag_is_not_taken_for_none(project: Path, flag: str) -> None:
    """`--run "$RUN"` with a variable that is not set must not judge some other run."""
    assert main(["check", flag, ""]) == 2


def test_paths_in_the_criteria_are_relative_to_the_criteria_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "config").mkdir()
    inputs = "inputs: {gold: ../gold.jsonl, run: {path: ../pass.jsonl, format: jsonl}, baseline: ../warn.jsonl}\n"
    (project / "config" / "gates.yaml").write_text(GATES + inputs, encoding="utf-8")
    (project / "elsewhere").mkdir()
    monkeypatch.chdir(project / "elsewhere")
    assert main(["check", "--criteria", "../config/gates.yaml", "-o", "report.json"]) == 0
    provenance = written()["provenance"]
    assert [provenance[name]["path"] for name in ("gold", "run", "baseline")] == [
        "../gold.jsonl",
        "../pass.jsonl",
        "../warn.jsonl",
    ]


@pytest.mark.parametrize(
    ("format_name", "beginning"),
    [
        pytest.param("terminal", "FAIL  Do not merge: recall@2 ", id="terminal"),
        pytest.param("markdown", "**❌ FAIL. Do not merge: recall@2 ", id="markdown"),
        pytest.param("json", '{\n  "schema_version": 2,\n  "verdict": "fail",\n', id="json"),
        pytest.param("github", "::error file=ship-criteria.yaml,line=2,title=rankgate::recall@2 ", id="github"),
        pytest.param("junit", '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="rankgate" ', id="junit"),
        pytest.param("badge", '{\n  "schemaVersion": 1,\n  "label": "retrieval",\n  "message": "fail · ', id="badge"),
    ],
)
def test_what_is_printed(project: Path, capsys: Capture, format_name: str, beginning: str) -> None:
    assert main(["check", "--run", "fail.jsonl", "--format", format_name]) == 1
    out, err = capsys.readouterr()
    assert out.startswith(beginning)
    assert out.endswith("\n")
    assert err == ""


@pytest.mark.parametrize(
    ("file", "format_name"),
    [
        pytest.param("out/report.json", "json", id="report"),
        pytest.param("out/comment.md", "markdown", id="comment"),
        pytest.param("out/COMMENT.MD", "markdown", id="capitals"),
        pytest.param("out/junit.xml", "junit", id="JUnit"),
        pytest.param("out/rankgate.badge.json", "badge", id="a badge"),
        pytest.param("out/badge.json", "badge", id="a badge of no other name"),
        pytest.param("out/my-badge.json", "json", id="a report that is called a badge"),
    ],
)
def test_the_suffix_of_a_file_says_what_is_written(project: Path, capsys: Capture, file: str, format_name: str) -> None:
    assert main(["check", "--run", "warn.jsonl", "-o", file, "--format", format_name]) == 0
    assert Path(file).read_text(encoding="utf-8") == capsys.readouterr().out


def test_output_repeats(project: Path) -> None:
    assert main(["check", "-o", "a.json", "-o", "b.md", "-o", "c.json"]) == 0
    assert Path("a.json").read_bytes() == Path("c.json").read_bytes()
    assert Path("b.md").read_text(encoding="utf-8").startswith("**✅ PASS. ")


def test_a_page_beside_a_report_changes_nothing_of_it(project: Path) -> None:
    """The page's curves and rankings stay out of the report, which a bot carries about."""
    assert main(["check", "-o", "alone.json"]) == 0
    assert main(["check", "-o", "beside.json", "-o", "report.html"]) == 0
    assert Path("alone.json").read_bytes() == Path("beside.json").read_bytes()
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "a.txt"], "a.txt: the suffix '.txt' names no output; use one of .json, .md, .html, .xml, .badge.json"),
        (["-o", "a"], "a: the suffix '' names no output; use one of .json, .md, .html, .xml, .badge.json"),
        (["--date", "31.1.2026"], "--date '31.1.2026' is not a date; write it as 2026-01-31"),
        (["--date", "2026-02-30"], "--date '2026-02-30' is not a date; write it as 2026-01-31"),
        (["--gold", "-", "--run", "-"], "only one input can be read from standard input (-)"),
        (["--run", "-", "--baseline", "-"], "only one input can be read from standard input (-)"),
        (["--criteria", "-", "--run", "-"], "only one input can be read from standard input (-)"),
    ],
)
def test_a_wrong_option_is_said_before_anything_is_written(
    project: Path, capsys: Capture, words: list[str], message: str
) -> None:
    assert main(["check", "-o", "report.json", *words]) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n")
    assert not Path("report.json").exists()


def test_the_date_is_recorded(project: Path) -> None:
    assert main(["check", "--date", "2026-01-31", "-o", "report.json", "-o", "comment.md"]) == 0
    assert written()["provenance"]["date"] == "2026-01-31"
    assert "judged on `2026-01-31`" in Path("comment.md").read_text(encoding="utf-8")


def test_without_a_date_today_is_recorded(project: Path) -> None:
    assert main(["check", "-o", "report.json"]) == 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", written()["provenance"]["date"])


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "stdin", "code"),
    [
        pytest.param(["--run", "-"], RUNS["pass.jsonl"], 0, id="run that passes"),
        pytest.param(["--run", "-"], RUNS["fail.jsonl"], 1, id="run that fails"),
        pytest.param(["--run", "-"], "", 2, id="nothing"),
        pytest.param(["--gold", "-"], GOLD, 0, id="gold"),
        pytest.param(["--baseline", "-"], RUNS["fail.jsonl"], 0, id="baseline"),
        pytest.param(["--criteria", "-"], GATES + INPUTS, 0, id="criteria"),
    ],
)
def test_one_input_can_come_from_standard_input(project: Path, words: list[str], stdin: str, code: int) -> None:
    ended = rankgate_process("check", *words, "-o", "report.json", stdin=stdin.encode())
    assert (ended.returncode, ended.stderr) == (code, b"")
    assert "standard input" in Path("report.json").read_text(encoding="utf-8")


@pytest.mark.full
def test_a_closed_standard_input_is_no_internal_error(project: Path) -> None:
    command = [sys.executable, "-m", "rankgate", "check", "--run", "-"]
    ended = subprocess.run(
        ["bash", "-c", 'exec "$@" <&-', "bash", *command],
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "standard input" in ended.stdout
    assert "internal error" not in ended.stdout


TREC = "q1 Q0 a 1 2.0 bm25\nq2 Q0 b 1 2.0 bm25\n"
QRELS = "q1 0 a 1\nq2 0 b 1\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["--run", "run.trec"], 0, id="run told from its content"),
        pytest.param(["--run", "trec:run.trec"], 0, id="run as it is"),
        pytest.param(["--run", "jsonl:run.trec"], 2, id="run as what it is not"),
        pytest.param(["--run", "nope:run.trec"], 2, id="run as nothing known"),
        pytest.param(["--gold", "qrels.txt"], 0, id="gold told from its content"),
        pytest.param(["--gold", "qrels:qrels.txt"], 0, id="gold as it is"),
        pytest.param(["--gold", "yaml:qrels.txt"], 2, id="gold as what it is not"),
    ],
)
def test_a_format_can_be_forced(project: Path, words: list[str], code: int) -> None:
    (project / "run.trec").write_text(TREC, encoding="utf-8")
    (project / "qrels.txt").write_text(QRELS, encoding="utf-8")
    assert main(["check", *words]) == code


def test_a_forced_format_that_is_none_names_the_nearest(project: Path, capsys: Capture) -> None:
    assert main(["check", "--run", "json1:pass.jsonl"]) == 2
    error = "error: json1:pass.jsonl: no format 'json1'; did you mean 'json'? (known: beir, csv, dict, "
    assert capsys.readouterr().err.startswith(error)


def test_without_any_inputs_it_says_which_lines_to_add(project: Path, capsys: Capture) -> None:
    (project / "ship-criteria.yaml").write_text(GATES, encoding="utf-8")
    assert main(["check", "-o", "report.json"]) == 2
    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines()]
    assert lines.count("inputs:") == 1
    assert [line for line in lines if re.fullmatch(r"(gold|run): \S+", line)] == ["gold: gold.yaml", "run: run.jsonl"]
    assert written()["verdict"] == "not_judged"


def test_the_lines_to_add_are_enough(project: Path, capsys: Capture) -> None:
    (project / "ship-criteria.yaml").write_text(GATES + "inputs:\n  gold: gold.jsonl\n", encoding="utf-8")
    assert main(["check"]) == 2
    assert "no run named; give the run of your retriever" in capsys.readouterr().out
    assert main(["check", "--run", "pass.jsonl"]) == 0


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--run", "broken.jsonl"], id="a broken run"),
        pytest.param(["--run", "absent.jsonl"], id="no such run"),
        pytest.param(["--gold", "absent.yaml"], id="no such gold"),
        pytest.param(["--criteria", "absent.yaml"], id="no such criteria"),
        pytest.param(["--criteria", "gold.jsonl"], id="something else for criteria"),
        pytest.param(["--baseline", "absent"], id="no such baseline"),
        pytest.param(["--baseline", "broken.jsonl"], id="a broken baseline"),
    ],
)
def test_what_could_not_be_judged_is_a_report_and_a_comment_too(
    project: Path, capsys: Capture, words: list[str]
) -> None:
    assert main(["check", "-o", "report.json", "-o", "comment.md", *words]) == 2
    report, comment = written(), Path("comment.md").read_text(encoding="utf-8")
    assert report["verdict"] == "not_judged"
    assert len(report["problems"]) >= 1
    assert comment.startswith("**❔ NOT JUDGED. `")
    assert report["summary"].startswith(report["problems"][0]["file"])
    out, err = capsys.readouterr()
    assert out.startswith("NOT JUDGED  ")
    assert err == ""


def test_without_criteria_an_old_comment_does_not_stay_green(project: Path) -> None:
    assert main(["check", "-o", "report.json", "-o", "comment.md"]) == 0
    (project / "ship-criteria.yaml").unlink()
    assert main(["check", "-o", "report.json", "-o", "comment.md"]) == 2
    assert written()["verdict"] == "not_judged"
    assert "no ship criteria found" in Path("comment.md").read_text(encoding="utf-8")


def test_an_internal_error_is_a_report_that_does_not_pass(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise ZeroDivisionError("over zero")

    monkeypatch.setattr("rankgate.gates.judging.decide", broken)
    assert main(["check", "-o", "report.json", "-o", "comment.md"]) == 2
    report = written()
    assert report["verdict"] == "not_judged"
    assert report["problems"][0]["message"].startswith(
        "internal error: ZeroDivisionError: over zero in rankgate.gates.judging:"
    )
    assert "internal error" in Path("comment.md").read_text(encoding="utf-8")


def test_the_command_in_the_report_gives_the_report_again(project: Path) -> None:
    date = ["--date", "2026-01-31"]
    assert main(["check", "--run", "fail.jsonl", "--baseline", "pass.jsonl", *date, "-o", "first.json"]) == 1
    command = written("first.json")["provenance"]["command"]
    assert command[:2] == ["rankgate", "check"]
    assert main([*command[1:], *date, "-o", "second.json"]) == 1
    assert written("first.json") == written("second.json")


def test_the_verdict_is_printed_also_where_a_file_cannot_be_written(project: Path, capsys: Capture) -> None:
    Path("taken").write_text("a file, not a directory", encoding="utf-8")
    assert main(["check", "-o", "taken/report.json", "-o", "comment.md"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("PASS  ")
    assert err.startswith("error: taken/report.json: cannot be written")
    assert Path("comment.md").exists()


def test_a_file_name_that_is_no_text_is_said(capsys: Capture) -> None:
    assert main(["check", "--run", "\udcff.jsonl"]) == 2
    assert capsys.readouterr().err == "error: --run: the file name '\\udcff.jsonl' is not UTF-8; rename the file\n"


def test_a_report_is_the_same_wherever_the_repository_lies(project: Path) -> None:
    """Absolute paths within the current directory, as `$PWD/run.jsonl` or a runner gives them, are shown from there."""
    assert main(["check", "-o", "relative.json", "--run", "pass.jsonl", "--date", "2026-01-31"]) == 0
    absolute = str(project / "pass.jsonl")
    assert main(["check", "-o", "absolute.json", "--run", absolute, "--date", "2026-01-31"]) == 0
    assert Path("absolute.json").read_bytes() == Path("relative.json").read_bytes()


PASSAGES = {
    "gold.jsonl": '{"id": "q1", "input": {"question": "opening hours"}, "expected_output": ["a"]}\n',
    "ship-criteria.yaml": (
        "inputs: {gold: gold.jsonl, run: run.jsonl, baseline: before.jsonl}\ngates: [{name: mrr, threshold: 0.1}]\n"
    ),
    "before.jsonl": '{"query_id": "q1", "topk": [{"id": "a", "text": "old a"}, {"id": "b"}, {"id": "c"}]}\n',
    "run.jsonl": (
        '{"query_id": "q1", "topk": [{"id": "d", "text": "new d"}, {"id": "a", "text": "new a"}, {"id": "b"}]}\n'
    ),
    "corpus.jsonl": '{"id": "b", "title": "Beta", "text": "of the corpus"}\n{"id": "z", "text": "of no list"}\n',
}


def passages(page: str = "report.html") -> list[list[str | None]]:
    """The texts that a page shows of the first question's lists, before and now."""
    lists: list[list[str | None]] = unpacked(Path(page).read_text(encoding="utf-8"))["all_passages"][0]
    return lists


@pytest.fixture
def with_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in PASSAGES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("with_passages")
def test_a_page_has_the_texts_that_each_run_states() -> None:
    assert main(["check", "-o", "report.html"]) == 0
    assert passages() == [["old a", None, None], ["new d", "new a", None]]


def test_a_corpus_has_the_texts_that_no_run_states(with_passages: Path) -> None:
    assert main(["check", "-o", "report.html", "--corpus", "corpus.jsonl"]) == 0
    assert passages() == [["old a", "Beta of the corpus", None], ["new d", "new a", "Beta of the corpus"]]
    assert "of no list" not in str(unpacked((with_passages / "report.html").read_text(encoding="utf-8")))


@pytest.mark.usefixtures("with_passages")
def test_the_command_that_repeats_a_check_names_the_corpus_and_runs() -> None:
    assert main(["check", "-o", "report.html", "-o", "report.json", "--corpus", "corpus.jsonl"]) == 0
    command = json.loads(Path("report.json").read_text())["provenance"]["command"]
    shown = passages()
    Path("report.html").unlink()
    assert main(command[1:]) == 0
    assert passages() == shown


@pytest.mark.usefixtures("with_passages")
def test_a_stored_baseline_that_kept_no_texts_is_shown_with_those_of_the_run() -> None:
    assert main(["baseline", "accept", "--run", "before.jsonl", "--to", "baseline"]) == 0
    assert main(["check", "-o", "report.html", "--baseline", "baseline"]) == 0
    assert passages() == [["new a", None, None], ["new d", "new a", None]]


def test_without_a_baseline_there_is_one_list_with_its_texts(with_passages: Path) -> None:
    criteria = with_passages / "ship-criteria.yaml"
    criteria.write_text(criteria.read_text().replace(", baseline: before.jsonl", ""))
    assert main(["check", "-o", "report.html"]) == 0
    assert passages() == [[], ["new d", "new a", None]]


def test_texts_of_a_run_that_are_no_texts_are_not_shown_and_the_verdict_stands(with_passages: Path) -> None:
    (with_passages / "run.jsonl").write_text('{"query_id": "q1", "topk": [{"id": "a", "text": 7}]}\n')
    assert main(["check", "-o", "report.html"]) == 0
    assert passages() == [["old a", None, None], ["old a"]]


def test_a_report_has_no_texts(with_passages: Path) -> None:
    assert main(["check", "-o", "report.json", "-o", "report.html"]) == 0
    assert "old a" not in (with_passages / "report.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ["--corpus", "corpus.jsonl"], "--corpus goes with -o FILE.html, which shows the texts", id="no page"
        ),
        pytest.param(["--corpus", "", "-o", "report.html"], "--corpus is empty; name a file", id="no name"),
        pytest.param(
            ["--corpus", "-", "--run", "-", "-o", "report.html"],
            "only one input can be read from standard input (-)",
            id="standard input twice",
        ),
    ],
)
@pytest.mark.usefixtures("with_passages")
def test_a_corpus_that_makes_no_sense_is_refused(words: list[str], said: str, capsys: Capture) -> None:
    assert main(["check", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("with_passages")
def test_a_corpus_that_cannot_be_read_is_a_problem_as_any_other_input(capsys: Capture) -> None:
    assert main(["check", "-o", "report.html", "--corpus", "none.jsonl"]) == 2
    assert "none.jsonl: no such file" in "".join(capsys.readouterr())


TEMPLATE = "# {{ word(report.verdict) }}\n{{ report.misses[0].question | code }}\n"


@pytest.fixture
def with_template(with_passages: Path) -> Path:
    """A question lost its document, and its text would notify people."""
    gold, run = with_passages / "gold.jsonl", with_passages / "run.jsonl"
    gold.write_text(gold.read_text().replace("opening hours", "@acme <b>hours"), encoding="utf-8")
    run.write_text('{"query_id": "q1", "retrieved": ["x"]}\n', encoding="utf-8")
    (with_passages / "ours.md.j2").write_text(TEMPLATE, encoding="utf-8")
    return with_passages


@pytest.mark.usefixtures("with_template")
def test_a_template_of_the_user_lays_out_every_markdown_file_and_nothing_else(capsys: Capture) -> None:
    words = ["-o", "a.md", "-o", "b.md", "-o", "report.json", "--format", "markdown"]
    assert main(["check", *words, "--template", "ours.md.j2"]) == 1
    assert {Path(name).read_text(encoding="utf-8") for name in ("a.md", "b.md")} == {"# FAIL\n`@acme <b>hours`\n"}
    assert written()["verdict"] == "fail"
    assert capsys.readouterr().out.startswith("**❌ FAIL. ")


@pytest.mark.parametrize(
    ("template", "words", "said"),
    [
        pytest.param(TEMPLATE, [], "--template goes with -o NAME.md, which it lays out", id="no output"),
        pytest.param(TEMPLATE, ["-o", "a.html"], "--template goes with -o NAME.md, which it lays out", id="another"),
        pytest.param(TEMPLATE, ["-o", "a.md", "--template", ""], "--template is empty; name a file", id="no name"),
        pytest.param(None, ["-o", "a.md"], "ours.md.j2: cannot be read: No such file or directory", id="missing"),
        pytest.param("a\n\n{% if %}", ["-o", "a.md"], "ours.md.j2:3: template error: Expected an", id="syntax"),
    ],
)
def test_a_template_that_is_none_is_refused_before_the_check(
    with_template: Path, capsys: Capture, template: str | None, words: list[str], said: str
) -> None:
    file = with_template / "ours.md.j2"
    if template is None:
        file.unlink()
    else:
        file.write_text(template, encoding="utf-8")
    assert main(["check", "--template", "ours.md.j2", "-o", "report.json", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"error: {said}")
    assert not (with_template / "report.json").exists()


@pytest.mark.parametrize(
    ("template", "said"),
    [
        pytest.param("a\n{{ nope }}", "ours.md.j2:2: template error: 'nope'", id="unknown name"),
        pytest.param("{{ report.__class__ }}", "ours.md.j2:1: template error: ", id="sandbox"),
    ],
)
def test_a_template_that_does_not_render_is_told_beside_the_verdict(
    with_template: Path, capsys: Capture, template: str, said: str
) -> None:
    (with_template / "ours.md.j2").write_text(template, encoding="utf-8")
    assert main(["check", "-o", "a.md", "-o", "report.json", "--template", "ours.md.j2"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("FAIL  ")
    assert err.startswith(f"error: {said}")
    assert not Path("a.md").exists()
    assert written()["verdict"] == "fail"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--run", "absent.jsonl"], "Next: rankgate validate --run absent.jsonl"),
        (["--run", "fail.jsonl"], "If it is meant: a waiver; for its lines: rankgate validate --run fail.jsonl"),
    ],
)
@pytest.mark.usefixtures("project")
def test_what_is_typed_next_reads_the_run_that_was_named(words: list[str], line: str, capsys: Capture) -> None:
    main(["check", *words])
    assert line in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("baseline", "warned"),
    [("pass.jsonl", True), ("jsonl:pass.jsonl", True), ("link.jsonl", True), ("copy.jsonl", False)],
)
@pytest.mark.usefixtures("project")
def test_a_baseline_that_is_the_run_itself_is_named(baseline: str, warned: bool, capsys: Capture) -> None:  # noqa: FBT001 -- a table's column
    Path("link.jsonl").symlink_to("pass.jsonl")
    Path("copy.jsonl").write_text(RUNS["pass.jsonl"], encoding="utf-8")
    assert main(["check", "--baseline", baseline]) == 0
    assert ("WARN  May be merged, with a warning: the baseline is the run itself" in capsys.readouterr().out) == warned


@pytest.mark.usefixtures("project")
def test_two_systems_in_one_file_are_two_runs(capsys: Capture) -> None:
    lines = [json.loads(line) | {"dense": []} for line in RUNS["pass.jsonl"].splitlines()]
    Path("both.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    of_run, of_baseline = (
        f"{{path: both.jsonl, map: {{query_id: query_id, items: {items}, chunk_id: chunk_id}}}}"
        for items in ("retrieved", "dense")
    )
    inputs = f"inputs: {{gold: gold.jsonl, run: {of_run}, baseline: {of_baseline}}}\n"
    Path("ship-criteria.yaml").write_text(GATES + inputs, encoding="utf-8")
    main(["check"])
    printed = capsys.readouterr().out
    assert "the baseline is empty" in printed
    assert "the baseline is the run itself" not in printed
