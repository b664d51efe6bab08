"""Workflow commands for the Actions log: where they point, what the runner reads back, and that text stays text."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import ABSENT, LOW, RECALL
from tests.scenario_calls import CHECKS, inputs_of, report_of

from rankgate.errors import Problem
from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import sentences
from rankgate.model.report import Provenance, Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Ruling, Unit, Verdict
from rankgate.renderers.github import path_in_repository, render_github

GATE = changed(
    RECALL,
    name="retrieval_mrr",
    metric="mrr",
    unit=Unit.SCORE,
    value=0.5,
    ci=None,
    threshold=0.6,
    baseline=None,
    paired_value=None,
    delta=None,
    delta_ci=None,
    regression_max=None,
    reasons=[LOW],
    n_pairs=0,
)
WARNS = changed(GATE, name="map", metric="map", verdict=Verdict.WARN, reasons=[LOW], line=7)
PASSES = changed(GATE, verdict=Verdict.PASS, value=0.7, reasons=[replace(LOW, ruling=Ruling.HOLDS)])
REPORT = Report(
    verdict=Verdict.FAIL,
    summary="Do not merge: mrr is low.",
    gates=[GATE],
    provenance=Provenance(rankgate="0.1.0", date="2026-01-31", criteria="ship-criteria.yaml"),
)

COMMAND = re.compile(r"::(?P<level>error|warning|notice)(?: (?P<properties>[^:]*))?::(?P<data>.*)")


def read_as_the_runner_does(line: str) -> tuple[str, dict[str, str], str]:
    """Level, properties and message of a workflow command, unescaped in the runner's order."""
    match = COMMAND.fullmatch(line)
    assert match, line
    properties = dict(pair.split("=", 1) for pair in match["properties"].split(","))
    return match["level"], {key: unescaped(value) for key, value in properties.items()}, unescaped(match["data"])


def unescaped(text: str) -> str:
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


def lines_of(report: Report) -> list[str]:
    """Lines as the runner splits them: at CR and LF only."""
    text = render_github(report)
    assert text.endswith("\n")
    return re.split(r"\r\n|\r|\n", text.removesuffix("\n"))


def test_a_failed_gate_points_at_its_line_in_the_criteria() -> None:
    assert lines_of(REPORT) == [
        "::error file=ship-criteria.yaml,line=2,title=rankgate::mrr is 0.500, below the floor of 0.600.",
        "::notice title=rankgate::FAIL. Do not merge: mrr is low.",
    ]


def test_errors_come_first_and_the_verdict_last() -> None:
    report = replace(REPORT, gates=[WARNS, GATE, PASSES])
    assert [line.split(" ")[0] for line in lines_of(report)] == ["::error", "::warning", "::notice"]


def test_a_pass_says_only_that() -> None:
    report = replace(REPORT, verdict=Verdict.PASS, summary="Retrieval holds: the gate passes.", gates=[PASSES])
    assert lines_of(report) == ["::notice title=rankgate::PASS. Retrieval holds: the gate passes."]


def test_a_gate_has_one_annotation_with_all_its_reasons() -> None:
    report = replace(REPORT, gates=[changed(GATE, reasons=[LOW, ABSENT])])
    assert [read_as_the_runner_does(line)[2] for line in lines_of(report)[:-1]] == [
        "mrr is 0.500, below the floor of 0.600; 3 questions are absent from the run and not counted in mrr."
    ]


def names(gate: GateResult, message: str) -> bool:
    """Whether an annotation is of this gate, or of the gate of which this is a segment."""
    return sentences(gate)[0] in message or (gate.segment is not None and gate.segment in message)


@pytest.mark.parametrize("name", CHECKS)
def test_each_violated_gate_of_a_scenario_is_annotated_where_it_stands(name: str, tmp_path: Path) -> None:
    report = decode_report(report_of(name), name)
    criteria = inputs_of(name, tmp_path) / "ship-criteria.yaml"
    lines = criteria.read_text(encoding="utf-8").splitlines()
    told = [read_as_the_runner_does(line) for line in lines_of(report)]
    level = {Verdict.FAIL: "error", Verdict.WARN: "warning"}
    for gate in report.gates:
        if gate.verdict in level:
            assert gate.line is not None
            [stated] = re.findall(r"name: ([^,}]+)", lines[gate.line - 1])
            assert gate.name == stated
            place = {"file": "ship-criteria.yaml", "line": str(gate.line), "title": "rankgate"}
            levels = [found[0] for found in told if found[1] == place and names(gate, found[2])]
            assert level[gate.verdict] in levels or "error" in levels


@pytest.mark.parametrize(
    ("problem", "place"),
    [
        pytest.param(Problem("broken", "run.jsonl", 3, "topk"), "file=run.jsonl,line=3,title=rankgate", id="all"),
        pytest.param(Problem("broken", "run.jsonl"), "file=run.jsonl,title=rankgate", id="file alone"),
        pytest.param(Problem("broken"), "title=rankgate", id="no place"),
    ],
)
def test_a_problem_points_at_its_own_file(problem: Problem, place: str) -> None:
    report = replace(REPORT, verdict=Verdict.NOT_JUDGED, gates=[], problems=[problem])
    assert lines_of(report)[0] == f"::error {place}::{problem}"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("100%", "100%25", id="percent"),
        pytest.param("a%0Ab", "a%250Ab", id="an escape in the text itself"),
        pytest.param("a\nb", "a%0Ab", id="line breaks"),
        pytest.param("a: b, c", "a: b, c", id="colon and comma stay in a message"),
        pytest.param("::error::x", "::error::x", id="a command within a message is text"),
        pytest.param("a ##[error]x", "a ## [error]x", id="the old syntax is broken up"),
        pytest.param("####[group]", "#### [group]", id="the old syntax after more of its sign"),
        pytest.param("\x1b[31mred\x07", "\\u001b[31mred\\u0007", id="control characters are shown"),
        pytest.param("a\u202eb", "a\\u202eb", id="bidi characters are shown"),
    ],
)
def test_a_message_is_escaped(text: str, written: str) -> None:
    report = replace(REPORT, gates=[], problems=[Problem(text)])
    assert lines_of(report)[0] == f"::error title=rankgate::{written}"


@pytest.mark.parametrize(
    ("file", "written"),
    [
        pytest.param("runs/a.jsonl", "runs/a.jsonl", id="a plain path"),
        pytest.param("./runs//a.jsonl", "runs/a.jsonl", id="as the repository has it"),
        pytest.param("../a.jsonl", "../a.jsonl", id="outside"),
        pytest.param("C:/a,b.jsonl", "C%3A/a%2Cb.jsonl", id="colon and comma"),
        pytest.param("50%.jsonl", "50%25.jsonl", id="percent"),
        pytest.param("a\nb", "a%0Ab", id="line break"),
        pytest.param("##[x]", "## [x]", id="the old syntax"),
        pytest.param("a::error::b", "a%3A%3Aerror%3A%3Ab", id="a command"),
    ],
)
def test_a_file_name_is_escaped(file: str, written: str) -> None:
    report = replace(REPORT, gates=[], problems=[Problem("broken", file, 3)])
    assert lines_of(report)[0].startswith(f"::error file={written},line=3,title=rankgate::")


def eleven(gate: GateResult) -> list[GateResult]:
    return [replace(gate, name=str(number)) for number in range(11)]


@pytest.mark.parametrize(
    ("report", "level"),
    [
        pytest.param(replace(REPORT, gates=eleven(GATE)), "error", id="failed gates"),
        pytest.param(replace(REPORT, gates=eleven(WARNS)), "warning", id="gates that warn"),
        pytest.param(replace(REPORT, gates=[], problems=[Problem("x")] * 11), "error", id="problems"),
        pytest.param(replace(REPORT, problems=[Problem("x")] * 10), "error", id="gates and problems together"),
    ],
)
def test_there_are_at_most_ten_of_a_level(report: Report, level: str) -> None:
    levels = [line.split(" ")[0] for line in lines_of(report)]
    assert levels == [f"::{level}"] * 10 + ["::notice"]


TEXT = st.lists(
    st.sampled_from(["\n", "\r", "\r\n", "%", "%0A", "%25", "::", ":", ",", "##[", "##", "[", "]", "::error::", "\x1b"])
    | st.text(max_size=3),
    max_size=10,
).map("".join)


@given(TEXT, TEXT)
@example("::stop-commands::x\n::add-mask::y", "a\n::error::b")
@example("##\n[", "###[")
def test_whatever_the_text_there_is_one_command_a_line(text: str, file: str) -> None:
    problem = Problem(text or "x", file, 3, text)
    warns = changed(WARNS, metric=text)
    provenance = replace(REPORT.provenance, criteria=file)
    lines = lines_of(replace(REPORT, gates=[warns], problems=[problem, problem], provenance=provenance))
    commands = [read_as_the_runner_does(line) for line in lines]
    assert [level for level, _, _ in commands] == ["error", "error", "warning", "notice"]
    assert all(properties["title"] == "rankgate" for _, properties, _ in commands)
    assert not any("##[" in line for line in lines)


PRINTABLE = st.text(st.characters(codec="latin-1", categories=["L", "N", "P", "S"]), min_size=1)


@given(PRINTABLE.filter(lambda text: "##[" not in text))
@example("100% of a:b,c")
@example("?=")  # as in an address, so that it is redacted
def test_the_runner_reads_back_what_was_said(text: str) -> None:
    problem = Problem(text, text, 3)
    report = replace(REPORT, gates=[], problems=[problem])
    assert read_as_the_runner_does(lines_of(report)[0]) == (
        "error",
        {"file": path_in_repository(str(problem.file)) or problem.file, "line": "3", "title": "rankgate"},
        str(problem),
    )
