"""JUnit XML, as GitLab and Jenkins read it: one suite, a case a row of gates, and one for all that no gate says.

JUnit has no schema. GitLab wants unique names and shows only a failure's text; Jenkins groups by what stands before the
last dot of `classname`. A warning is a case that passed with an output: a failure would turn the build red.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal
from xml.etree import ElementTree as ET

from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import sentences
from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text
from rankgate.renderers import phrases
from rankgate.renderers.blocks import Block, Pairs, plain_text
from rankgate.renderers.escape import one_line, plain
from rankgate.renderers.github import path_in_repository
from rankgate.renderers.phrases import row_name
from rankgate.renderers.terminal import render_terminal
from rankgate.renderers.view.numbers import row_of

SUITE = "rankgate"
BESIDE = "everything beside the gates"  # the case of what fails the check without a gate
LONGEST_NAME = 200  # characters
_ATTACHMENT = "[[ATTACHMENT"  # in an output it makes both readers link a file

Outcome = Literal["passed", "skipped", "failure", "error"]
OUTCOMES: dict[Verdict, Outcome] = {
    Verdict.PASS: "passed",
    Verdict.WARN: "passed",
    Verdict.FAIL: "failure",
    Verdict.NOT_JUDGED: "error",
}


def render_junit(report: Report) -> str:
    """The report as JUnit XML 1.0, whatever characters its texts hold."""
    cases = [_beside_gates(report), *(_gate(gate, report) for gate in report.gates)]
    _make_distinct(cases)
    counts = {
        "name": SUITE,
        "tests": str(len(cases)),
        "failures": _count(cases, "failure"),
        "errors": _count(cases, "error"),
    }
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {**counts, "skipped": _count(cases, "skipped")})
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(report):
        ET.SubElement(properties, "property", {"name": name, "value": one_line(value)})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _unattached(render_terminal(report))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(classname: str, name: str, outcome: Outcome, message: str, body: str, **location: str) -> ET.Element:
    """A row of the suite; message and body are plain text, which may hold text of the inputs."""
    case = ET.Element("testcase", {"classname": classname, "name": name, **location})
    if outcome != "passed":
        ET.SubElement(case, outcome, {"message": _unattached(one_line(message))}).text = _unattached(body)
    elif body:
        ET.SubElement(case, "system-out").text = _unattached(body)
    return case


def _count(cases: Sequence[ET.Element], outcome: Outcome) -> str:
    return str(sum(case.find(outcome) is not None for case in cases))


def _unattached(text: str) -> str:
    return text.replace(_ATTACHMENT, "[ [ATTACHMENT")


def _make_distinct(cases: Sequence[ET.Element]) -> None:
    """Number the names of which only what was cut off differed: GitLab drops the second of two."""
    seen: set[tuple[str, str]] = set()
    for case in cases:
        classname = case.attrib["classname"]
        name = case.attrib["name"]
        number = 1
        while (classname, case.attrib["name"]) in seen:
            number += 1
            case.attrib["name"] = f"{name} ({number})"
        seen.add((classname, case.attrib["name"]))


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    source = report.provenance
    yield from (("verdict", report.verdict.value), ("summary", report.summary))
    yield from (("date", source.date), ("rankgate", source.rankgate))
    for name, given in (("gold", source.gold), ("run", source.run), ("baseline", source.baseline)):
        if given is not None:
            yield name, given.path
    if report.base is not None:
        yield "base", report.base.commit.shown
    if report.origin.untrusted_run:
        yield "run supplied by", "the pull request"


def _gate(gate: GateResult, report: Report) -> ET.Element:
    alone = f"{gate.metric} is {phrases.gate_now(gate)}, judged {phrases.judged_by(gate, report)} alone"
    reasons = [f"{reason}." for reason in sentences(gate) or [alone]]
    lines: list[Block] = [one_line(reason) for reason in reasons]
    outcome: Outcome = "skipped" if gate.evidence.too_small and gate.verdict is Verdict.PASS else OUTCOMES[gate.verdict]
    if outcome == "passed":
        word = phrases.UNPROVEN.upper() if gate.is_unproven else VERDICT_WORDS[gate.verdict]
        lines[0] = f"{word}  {lines[0]}"
    # With no dot but ours: Jenkins takes what stands before the last one for a package.
    classname = f"{SUITE}.{one_line(gate.name, LONGEST_NAME).replace('.', '_')}"
    body = plain_text([*lines, "", Pairs(list(_numbers(gate, report)))])
    file = path_in_repository(report.provenance.criteria)
    location = {"file": file} if file else {}
    location |= {"line": str(gate.line)} if file and gate.line else {}
    name = one_line(row_name(gate, phrases.gate_label(gate, report)), LONGEST_NAME)
    return _case(classname, name, outcome, " ".join(reasons), body, **location)


def _numbers(gate: GateResult, report: Report) -> Iterator[tuple[str, str]]:
    """What was measured, line by line: a label and its text."""
    row = row_of(gate, report, alone=False)
    yield row.metric, one_line(row.meaning)
    yield "before → now" if gate.change.delta is not None else "now", _with(row.values, row.spread)
    if row.counts:
        yield "questions that have all", row.counts
    if gate.change.delta is not None:
        yield "change", _with(plain(row.change), row.interval and f"{row.interval}, {row.level}")
    yield "limit", row.limit or phrases.NOTHING
    pairs = f", {gate.change.n_pairs:,} of them in both runs" if gate.change.baseline is not None else ""
    yield "stands on", f"{count_text(gate.measured.n, 'question')}{pairs}"
    yield from (("note", plain(note)) for note in row.notes)
    if gate.decision.queries:
        yield "must pass and do not", ", ".join(map(one_line, gate.decision.queries))
    if gate.decision.waived is not None:
        yield "waived by", ", ".join(map(one_line, gate.decision.waived.texts))


def _with(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value


def _beside_gates(report: Report) -> ET.Element:
    """Passed unless the check could not judge, or fails for a reason that no gate has."""
    outcome = OUTCOMES[report.verdict]
    reasons = [report.summary]
    if outcome == "error":
        reasons += map(str, report.problems)
    elif report.remarks.failures:
        outcome = "failure"
        reasons = [f"{failure}." for failure in report.remarks.failures]
    elif any(gate.verdict is Verdict.FAIL for gate in report.gates):
        outcome = "passed"  # those gates say why
    lines = [line for text in reasons for line in text.splitlines()]
    warned = [line for warning in report.remarks.warnings for line in f"WARN  {warning}.".splitlines()]
    body = plain_text(warned if outcome == "passed" else [*lines, *warned])
    location = path_in_repository(report.provenance.criteria)
    return _case(f"{SUITE}.check", BESIDE, outcome, reasons[0], body, **({"file": location} if location else {}))
