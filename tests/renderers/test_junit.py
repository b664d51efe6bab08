"""JUnit XML as its readers take it: GitLab's rules, Jenkins' rules, a parser of its own, and any text at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from junitparser import TestCase as ParsedCase
from junitparser import TestSuite as ParsedSuite
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import ABSENT, FELL, HOLDS, LATENCY, LOW, NOT_JUDGED, RECALL, REPORT, TOO_SMALL
from tests.report_keys import with_keys
from tests.rows import each_row
from tests.scenario_calls import CHECKS, report_of

from rankgate.errors import Problem
from rankgate.model.base_ref import BaseSide
from rankgate.model.gate_result import GateResult, Waived
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Reason, ReasonKind, Verdict
from rankgate.renderers.escape import one_line
from rankgate.renderers.junit import render_junit
from rankgate.renderers.terminal import render_terminal

DROPPED = "recall@5 dropped from 90.0% to 80.0% (−10.0 pp; allowed drop: 3.0 pp)"
FEW = "25 questions, fewer than the 30 that a segment needs to be judged"
SEGMENT = changed(RECALL, segment="lang:en", reasons=[FELL])
SMALL = changed(HOLDS, segment="lang:pt-BR", too_small=True, reasons=[TOO_SMALL])
REFUSED = changed(RECALL, verdict=Verdict.NOT_JUDGED, value=None, reasons=[Reason(ReasonKind.NOT_FINITE)])
OTHER_WAYS = with_keys(REPORT, gates=[HOLDS], failures=["the baseline is 90 days old"], verdict=Verdict.FAIL)


def elements(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 -- what we wrote ourselves


class Case(NamedTuple):
    """What GitLab makes of a case: `data` is what its page shows of it."""

    classname: str
    name: str
    file: str | None
    status: str
    data: str | None


def as_gitlab_reads(text: str) -> list[Case]:
    """Attributes and children of a case count alike; the first of failure, error and skipped is its status.

    A result's own text is shown, its message only where it has no text; of two cases of one class and name the first
    counts; a `type` that names a type of data would be converted.
    """
    found: dict[tuple[str, str], Case] = {}
    for case in elements(text).iterfind("testsuite/testcase"):
        status = next((name for name in ("failure", "error", "skipped") if case.find(name) is not None), "success")
        result = case.find(status)
        assert result is None or result.get("type") is None
        shown = None if result is None else result.text
        key = case.attrib["classname"], case.attrib["name"]
        found.setdefault(key, Case(*key, case.get("file"), status, shown))
    return list(found.values())


# Jenkins' strictest reader takes this and nothing else: children, attributes that have to be there, further ones.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"testsuite"}, set(), {"name", "tests", "failures", "errors", "time"}),
    "testsuite": (
        {"properties", "testcase", "system-out", "system-err", "testsuite"},
        {"name", "tests", "failures", "errors"},
        {"skipped", "time", "timestamp", "hostname", "id", "package", "group", "file", "log", "url"},
    ),
    "properties": ({"property"}, set(), set()),
    "property": (set(), {"name", "value"}, set()),
    "testcase": ({"skipped", "error", "failure", "system-out", "system-err"}, {"name"}, {"classname", "time", "group"}),
    **{result: (set(), set(), {"type", "message"}) for result in ("failure", "error", "skipped")},
    "system-out": (set(), set(), set()),
}
BEYOND = {"file", "line"}  # of a case: for GitLab and others; Jenkins' own step passes them over


def assert_keeps_the_schema(text: str) -> None:
    for element in elements(text).iter():
        children, required, further = SCHEMA[element.tag]
        assert {child.tag for child in element} <= children
        names = set(element.attrib) - (BEYOND if element.tag == "testcase" else set())
        assert required <= names <= required | further


def parsed(text: str) -> ParsedSuite:
    """The one suite, as junitparser has it; its counts, and those of the whole, are those of its cases."""
    read = JUnitXml.fromstring(text.encode())
    [suite] = list(read)
    results = [result for case in suite for result in case.result or ()]
    counts = [
        len(list(suite)),
        *(sum(isinstance(each, kind) for each in results) for kind in (Failure, Error, Skipped)),
    ]
    assert counts == [suite.tests, suite.failures, suite.errors, suite.skipped]
    assert counts[:3] == [read.tests, read.failures, read.errors]
    return suite


def case_of(report: Report, name: str) -> ParsedCase:
    return next(case for case in parsed(render_junit(report)) if case.name == name)


def test_a_case_a_row_of_gates_and_one_for_everything_beside_them() -> None:
    found = as_gitlab_reads(render_junit(replace(REPORT, gates=[RECALL, SEGMENT, SMALL, LATENCY])))
    assert [case[:4] for case in found] == [
        ("rankgate.check", "everything beside the gates", "ship-criteria.yaml", "success"),
        ("rankgate.retrieval_recall_at_5", "recall@5", "ship-criteria.yaml", "failure"),
        ("rankgate.retrieval_recall_at_5", "recall@5 in lang:en", "ship-criteria.yaml", "failure"),
        ("rankgate.retrieval_recall_at_5", "hit@5 in lang:pt-BR", "ship-criteria.yaml", "skipped"),
        ("rankgate.fast enough", "latency", "ship-criteria.yaml", "success"),
    ]


def test_a_failure_says_the_sentence_as_its_message_and_again_above_the_numbers() -> None:
    [failure] = case_of(REPORT, "recall@5").result
    assert isinstance(failure, Failure)
    assert failure.message == f"{DROPPED}. recall@5 is 80.0%, below the floor of 85.0%."
    assert failure.text == (
        f"{DROPPED}.\n"
        "recall@5 is 80.0%, below the floor of 85.0%.\n"
        "\n"
        "  recall@5      share of the relevant documents found in the first 5 results\n"
        "  before → now  90.0% → 80.0% (75.0 to 85.0%)\n"
        "  change        −10.0 pp (−12.0 to −8.0, 95%)\n"
        "  limit         ≥ 85.0%, −3.0 pp\n"
        "  stands on     40 questions, 40 of them in both runs\n"
    )


def test_a_warning_has_passed_and_says_so_in_its_output() -> None:
    case = case_of(replace(REPORT, gates=[LATENCY], verdict=Verdict.WARN), "latency")
    assert case.is_passed
    assert (case.system_out or "").startswith("WARN  no baseline: whether latency got worse could not be checked.\n")


def test_a_segment_with_too_few_queries_is_skipped_and_says_why() -> None:
    [skipped] = case_of(replace(REPORT, gates=[SMALL]), "hit@5 in lang:pt-BR").result
    assert isinstance(skipped, Skipped)
    assert skipped.message == f"{FEW}."
    assert (skipped.text or "").startswith(f"{FEW}.\n")


def test_a_gate_that_could_not_be_judged_is_an_error() -> None:
    [error] = case_of(replace(REPORT, gates=[REFUSED], verdict=Verdict.NOT_JUDGED), "recall@5").result
    assert isinstance(error, Error)
    assert error.message == "recall@5 is not a finite number for every question."


def test_a_check_that_could_not_judge_is_an_error_with_its_problems() -> None:
    report = replace(NOT_JUDGED, problems=[*NOT_JUDGED.problems, Problem("add these lines:\ninputs:\n  run: a")])
    [case] = list(parsed(render_junit(report)))
    [error] = case.result
    assert isinstance(error, Error)
    assert error.message == "run.jsonl:3: broken JSON."
    assert (error.text or "").splitlines()[1:] == [
        "run.jsonl:3: broken JSON",
        "add these lines:",
        "inputs:",
        "  run: a",
    ]


@pytest.mark.parametrize(
    ("report", "message"),
    [
        pytest.param(OTHER_WAYS, "the baseline is 90 days old.", id="what no gate has"),
        pytest.param(with_keys(OTHER_WAYS, failures=[]), REPORT.summary, id="for no reason that is told"),
        pytest.param(replace(OTHER_WAYS, gates=[RECALL]), "the baseline is 90 days old.", id="beside a gate"),
    ],
)
def test_a_failure_without_a_gate_is_a_failed_case(report: Report, message: str) -> None:
    [failure] = case_of(report, "everything beside the gates").result
    assert isinstance(failure, Failure)
    assert failure.message == message


def test_who_waives_a_violation_and_which_queries_must_pass_stand_with_the_numbers() -> None:
    waived = Waived(by="alice", reason="the new chunker", issue=None, expires="2026-06-30", up_to=0.3)
    gate = changed(RECALL, verdict=Verdict.WARN, waived=waived, queries=["q-1", "q-2"])
    output = case_of(replace(REPORT, gates=[gate]), "recall@5").system_out or ""
    assert "  must pass and do not  q-1, q-2\n" in output
    assert "  waived by             alice, the new chunker\n" in output


def test_the_line_of_a_gate_stands_beside_the_file() -> None:
    assert 'name="recall@5" file="ship-criteria.yaml" line="2"' in render_junit(REPORT)
    assert " line=" not in render_junit(replace(REPORT, gates=[replace(RECALL, line=None)]))


@pytest.mark.parametrize("criteria", [None, "../ship-criteria.yaml", "/etc/ship-criteria.yaml"])
def test_a_file_outside_the_repository_is_not_named(criteria: str | None) -> None:
    found = render_junit(replace(REPORT, provenance=replace(REPORT.provenance, criteria=criteria)))
    assert " file=" not in found
    assert " line=" not in found


def properties(text: str) -> dict[str | None, str | None]:
    return {each.get("name"): each.get("value") for each in elements(text).iter("property")}


def test_the_suite_says_what_was_judged_and_its_output_is_the_summary() -> None:
    found = render_junit(REPORT)
    assert properties(found) == {
        "verdict": "fail",
        "summary": "Do not merge: recall@5 lost 10.0 points: 90.0% → 80.0%, 3.0 allowed.",
        "date": "2026-01-31",
        "rankgate": "0.1.0",
        "gold": "gold.yaml",
        "run": "run.jsonl",
        "baseline": "baseline",
    }
    assert elements(found).findtext("testsuite/system-out") == render_terminal(REPORT)


def test_the_commit_that_judges_too_is_named() -> None:
    base = BaseSide(ref="origin/main", sha="a" * 40, head_verdict=Verdict.FAIL)
    report = replace(REPORT, base=base)
    assert properties(render_junit(report))["base"] == "origin/main (aaaaaaa)"


def test_a_run_that_the_pull_request_supplied_is_named() -> None:
    assert properties(render_junit(with_keys(REPORT, untrusted_run=True)))["run supplied by"] == "the pull request"


def test_jenkins_finds_one_package_whatever_a_gate_is_called() -> None:
    gates = [replace(RECALL, name=name) for name in ("a.b", "org.example", "...", "x")]
    classes = [case.classname for case in as_gitlab_reads(render_junit(replace(REPORT, gates=gates)))]
    assert {name.rpartition(".")[0] for name in classes} == {"rankgate"}
    assert len(set(classes)) == 5


def test_rows_that_differ_only_in_what_is_cut_off_are_all_kept() -> None:
    gates = [replace(SEGMENT, segment="x" * 60 + end) for end in ("a", "b", "c")]
    names = [case.name for case in as_gitlab_reads(render_junit(replace(REPORT, gates=gates)))][1:]
    assert names == [names[0], f"{names[0]} (2)", f"{names[0]} (3)"]


def test_an_attachment_in_a_text_is_none() -> None:
    tag = "[[ATTACHMENT|/etc/passwd]]"
    gates = [changed(RECALL, queries=[tag]), changed(LATENCY, metric=tag), replace(SEGMENT, segment=tag)]
    found = render_junit(with_keys(REPORT, gates=gates, notes=[tag], problems=[Problem(tag)]))
    outputs = [element.text or "" for element in elements(found).iter() if element.tag != "property"]
    assert not any(re.search(r"\[\[ATTACHMENT\|.+?\]\]", text) for text in outputs)
    assert any("[ [ATTACHMENT|/etc/passwd]]" in text for text in outputs)


@each_row("name", CHECKS)
def test_what_scenarios_give_is_read_by_all_of_them(name: str) -> None:
    report = decode_report(report_of(name), name)
    found = render_junit(report)
    assert_keeps_the_schema(found)
    assert len(as_gitlab_reads(found)) == len(list(parsed(found))) == 1 + len(report.gates)


PIECES = [
    "\x00",
    "\x0b",
    "\ud800",
    "\ufffe",
    "\uffff",
    "]]>",
    "<!--",
    "&amp;",
    "&#0;",
    '"',
    "'",
    "<a>",
    "\r\n",
    "é",
    "👩",
]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(st.characters(), max_size=3), max_size=6).map("".join)
VERDICTS = st.sampled_from(list(Verdict))


@st.composite
def gates_with(draw: st.DrawFn) -> GateResult:
    return changed(
        RECALL,
        name=draw(TEXT),
        metric=draw(TEXT),
        meaning=draw(TEXT),
        segment=draw(st.none() | TEXT),
        reasons=draw(st.lists(st.sampled_from([FELL, LOW, ABSENT]), max_size=2)),
        queries=draw(st.lists(TEXT, max_size=2)),
        verdict=draw(VERDICTS),
        too_small=draw(st.booleans()),
    )


@pytest.mark.full
@given(st.lists(gates_with(), max_size=3), TEXT, VERDICTS, st.lists(TEXT, max_size=2))
@example([], "\ud800\x00", Verdict.NOT_JUDGED, ["\x01"])
@example([changed(RECALL, metric="\ufffe]]>")], "", Verdict.PASS, [])
def test_whatever_the_texts_every_reader_reads_every_case(
    gates: Sequence[GateResult], text: str, verdict: Verdict, failures: list[str]
) -> None:
    about = replace(REPORT.provenance, criteria=text, run=replace(REPORT.provenance.run, path=text))  # type: ignore[type-var]
    report = with_keys(
        REPORT,
        verdict=verdict,
        gates=list(gates),
        summary=text,
        failures=failures,
        notes=[text],
        problems=[Problem(text, text)],
        provenance=about,
    )
    found = render_junit(report)
    assert_keeps_the_schema(found)
    assert len(as_gitlab_reads(found)) == len(list(parsed(found))) == 1 + len(gates)
    assert properties(found)["summary"] == one_line(text)


@pytest.mark.full
@given(st.lists(VERDICTS, max_size=4), st.lists(st.just("the baseline is old"), max_size=1))
def test_something_is_red_exactly_where_the_check_fails_or_could_not_judge(
    verdicts: list[Verdict], failures: list[str]
) -> None:
    order = [Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED]
    worst = max([*verdicts, *(Verdict.FAIL for _ in failures)], key=order.index, default=Verdict.PASS)
    gates = [changed(RECALL, verdict=verdict) for verdict in verdicts]
    suite = parsed(render_junit(with_keys(REPORT, verdict=worst, gates=gates, failures=failures)))
    assert (suite.failures + suite.errors > 0) is (worst in (Verdict.FAIL, Verdict.NOT_JUDGED))
    assert (suite.errors > 0) is (worst is Verdict.NOT_JUDGED)
