"""What a run of a workflow annotates: one finding a gate, a warning or a problem, errors and the worst gates first.

In the log of GitHub Actions each is a workflow command, which points at its line in the criteria.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal

import msgspec

from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import sentences
from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import listed, one_line, quoted
from rankgate.renderers.phrases import beyond_limits, gate_change

MAX_SEGMENTS = 3

MAX_PER_LEVEL = 10  # GitHub shows no more a step


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence, which may hold text of the inputs and line breaks, and the file and line (from 1) where it belongs.

    `of_gate` tells the reasons of gates, which stand in the criteria, from the rest.
    """

    level: Literal["error", "warning"]
    message: str
    file: str | None = None
    line: int | None = None
    of_gate: bool = False


def findings_of(report: Report) -> list[Finding]:
    """The gates that fail or warn, each with its segments, the report's own warnings and its problems."""
    gates: dict[str, list[GateResult]] = {}
    for gate in sorted(report.gates, key=_severity):
        if gate.verdict in (Verdict.FAIL, Verdict.WARN):
            gates.setdefault(gate.name, []).append(gate)
    findings = [
        Finding(
            level="error" if rows[0].verdict is Verdict.FAIL else "warning",
            message=_message(rows),
            file=report.provenance.criteria,
            line=rows[0].line,
            of_gate=True,
        )
        for rows in gates.values()
    ]
    findings += [Finding(level="error", message=f"{failure}.") for failure in report.remarks.failures]
    findings += [Finding(level="warning", message=f"{warning}.") for warning in report.remarks.warnings]
    for change in changes(report, quoted):
        if change.weakens:
            file = report.provenance.criteria if change.line else None
            of_gate = change.line is not None
            findings.append(Finding(level="warning", message=change.text, file=file, line=change.line, of_gate=of_gate))
    findings += [Finding(level="error", message=str(each), file=each.file, line=each.line) for each in report.problems]
    return sorted(findings, key=lambda finding: finding.level != "error")


def _severity(gate: GateResult) -> tuple[bool, float, bool]:
    """What fails first, then what lies furthest beyond its limits, then what holds for all questions."""
    return gate.verdict is not Verdict.FAIL, -beyond_limits(gate), gate.segment is not None


def _message(rows: Sequence[GateResult]) -> str:
    """Why a gate fails or warns over all questions, and in which segments, the worst of them first."""
    reasons: list[str] = []
    parts: list[GateResult] = []
    for row in rows:
        if row.segment is not None:
            parts.append(row)
            continue
        for position, reason in enumerate(sentences(row)):
            if row.decision.verdict_of(position) is rows[0].verdict:
                reasons.append(reason)
    if not reasons and parts:
        first, *parts = parts
        reasons = [f"in {first.segment}, {reason}" for reason in sentences(first)]
    also = ""
    if parts:
        also = f"; also in {listed([f'{row.segment} ({gate_change(row)})' for row in parts], MAX_SEGMENTS)}"
    return f"{'; '.join(reasons)}{also}."


def path_in_repository(file: str | None) -> str | None:
    """The path as the repository has it; None for one that leads out of it, or that no reader could recognise."""
    if not file or one_line(file) != file or PureWindowsPath(file).drive:
        return None
    path = PurePosixPath(file)
    return None if path.is_absolute() or not path.name or ".." in path.parts else path.as_posix()


def render_github(report: Report) -> str:
    """Workflow commands, errors first; text is escaped as the runner unescapes it."""
    findings = findings_of(report)
    lines: list[str] = []
    for level in ("error", "warning"):
        lines += [_command(each) for each in findings if each.level == level][:MAX_PER_LEVEL]
    lines.append(annotation("notice", f"{VERDICT_WORDS[report.verdict]}. {report.summary}"))
    return "".join(f"{line}\n" for line in lines)


def annotation(level: Literal["error", "warning", "notice"], message: str) -> str:
    """One workflow command that belongs to no line."""
    return f"::{level} title=rankgate::{_data(message)}"


def _command(finding: Finding) -> str:
    file = path_in_repository(finding.file) or finding.file  # `./a` would be shown at no file
    properties = [f"file={_property(file)}"] if file else []
    properties += [f"line={finding.line}"] if finding.line else []
    return f"::{finding.level} {','.join([*properties, 'title=rankgate'])}::{_data(finding.message)}"


def _data(text: str) -> str:
    # The runner also obeys the old `##[command]` anywhere in a line.
    lines = map(one_line, text.splitlines())
    return "%0A".join(line.replace("%", "%25").replace("##[", "## [") for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
