"""JUnit XML, as GitLab and Jenkins read it: one suite, a case a row of gates, and one for all that no gate says.

JUnit has no schema. GitLab wants unique names and shows only a failure's text; Jenkins groups by what stands before the
last dot of `classname`. A warning is a case that passed with an output: a failure would turn the build red.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal
from xml.etree import ElementTree as ET

import msgspec

from rankgate.model.base_ref import BaseSide
from rankgate.model.reasons import sentences
from rankgate.model.report import GateResult, Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text
from rankgate.renderers import phrases
from rankgate.renderers.blocks import Block, Pairs, plain_text
from rankgate.renderers.escape import one_line, visible
from rankgate.renderers.findings import path_in_repository
from rankgate.renderers.phrases import row_name
from rankgate.renderers.terminal import render_terminal

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


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the suite; `message` and `body` are plain text, which may hold text of the inputs."""

    classname: str
    name: str
    outcome: Outcome
    message: str = ""
    body: str = ""
    line: int | None = None


def render_junit(report: Report) -> str:
    """The report as JUnit XML 1.0, whatever characters its texts hold."""
    cases = list(_distinct([_beside_gates(report), *(_gate(gate, report.base) for gate in report.gates)]))
    failures, errors, skipped = (
        str(sum(case.outcome == outcome for case in cases)) for outcome in ("failure", "error", "skipped")
    )
    counts = {"name": SUITE, "tests": str(len(cases)), "failures": failures, "errors": errors}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {**counts, "skipped": skipped})
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(report):
        ET.SubElement(properties, "property", {"name": name, "value": visible(value)})
    for case in cases:
        suite.append(_element(case, path_in_repository(report.provenance.criteria)))
    ET.SubElement(suite, "system-out").text = _harmless(render_terminal(report))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _element(case: _Case, file: str | None) -> ET.Element:
    place = {"file": file} if file else {}
    place |= {"line": str(case.line)} if file and case.line else {}
    element = ET.Element("testcase", {"classname": case.classname, "name": case.name, **place})
    if case.outcome != "passed":
        message = {"message": _harmless(visible(case.message))}
        ET.SubElement(element, case.outcome, message).text = _harmless(case.body)
    elif case.body:
        ET.SubElement(element, "system-out").text = _harmless(case.body)
    return element


def _harmless(text: str) -> str:
    return text.replace(_ATTACHMENT, "[ [ATTACHMENT")


def _distinct(cases: list[_Case]) -> Iterator[_Case]:
    """The cases with names that differ also where only what was cut off did: GitLab drops the second of two."""
    seen: set[tuple[str, str]] = set()
    for case in cases:
        name, number = case.name, 1
        while (case.classname, name) in seen:
            number += 1
            name = f"{case.name} ({number})"
        seen.add((case.classname, name))
        yield msgspec.structs.replace(case, name=name)


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    source = report.provenance
    yield from (("verdict", report.verdict.value), ("summary", report.summary))
    yield from (("date", source.date), ("rankgate", source.rankgate))
    for name, given in (("gold", source.gold), ("run", source.run), ("baseline", source.baseline)):
        if given is not None:
            yield name, given.path
    if report.base is not None:
        yield "base", report.base.commit.shown
    if report.untrusted_run:
        yield "run supplied by", "the pull request"


def _gate(gate: GateResult, base: BaseSide | None) -> _Case:
    reasons = [f"{reason}." for reason in sentences(gate, base)] or [f"{phrases.gate_status(gate)}."]
    lines: list[Block] = [visible(reason) for reason in reasons]
    outcome: Outcome = "skipped" if gate.too_small and gate.verdict is Verdict.PASS else OUTCOMES[gate.verdict]
    if outcome == "passed":
        lines[0] = f"{VERDICT_WORDS[gate.verdict]}  {lines[0]}"
    return _Case(
        # With no dot but ours: Jenkins takes what stands before the last one for a package.
        classname=f"{SUITE}.{one_line(gate.name, LONGEST_NAME).replace('.', '_')}",
        name=one_line(row_name(gate), LONGEST_NAME),
        outcome=outcome,
        message=" ".join(reasons),
        body=plain_text([*lines, "", Pairs(list(_numbers(gate)))]),
        line=gate.line,
    )


def _numbers(gate: GateResult) -> Iterator[tuple[str, str]]:
    yield gate.metric, visible(gate.meaning)
    yield "baseline", phrases.gate_baseline(gate)
    yield "now", _with(phrases.gate_now(gate), phrases.gate_now_interval(gate))
    yield "change", _with(phrases.gate_change(gate), phrases.gate_change_interval(gate))
    yield "limit", phrases.gate_limit(gate) or phrases.NOTHING
    pairs = f", {gate.n_pairs:,} of them in both runs" if gate.baseline is not None else ""
    yield "stands on", f"{count_text(gate.n, 'question')}{pairs}"
    if gate.queries:
        yield "must pass and do not", ", ".join(map(visible, gate.queries))
    if gate.waived is not None:
        yield "waived by", ", ".join(map(visible, gate.waived.texts))


def _with(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value


def _beside_gates(report: Report) -> _Case:
    """Passed unless the check could not judge, or fails for a reason that no gate has."""
    outcome, reasons = OUTCOMES[report.verdict], [report.summary]
    if outcome == "error":
        reasons += map(str, report.problems)
    elif report.failures:
        outcome, reasons = "failure", [f"{failure}." for failure in report.failures]
    elif any(gate.verdict is Verdict.FAIL for gate in report.gates):
        outcome = "passed"  # those gates say why
    lines = [line for text in reasons for line in text.splitlines()]
    warned = [line for warning in report.warnings for line in f"WARN  {warning}.".splitlines()]
    body = plain_text(warned if outcome == "passed" else [*lines, *warned])
    return _Case(classname=f"{SUITE}.check", name=BESIDE, outcome=outcome, message=reasons[0], body=body)
