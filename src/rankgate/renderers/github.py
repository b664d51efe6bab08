"""What GitHub shows beside the comment: annotations and a check run, from the same findings.

A finding is a gate, a warning or a problem; errors and the worst gates stand first. In the log of a workflow each is a
command, which points at its line in the criteria. A check run is plain data: title, summary, annotations, conclusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal

import msgspec

from rankgate.model.gate_result import GateResult
from rankgate.model.headline import short_headline
from rankgate.model.reasons import sentences
from rankgate.model.report import Report
from rankgate.model.values import ReasonKind, Verdict
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import listed, one_line
from rankgate.renderers.phrases import gate_change
from rankgate.renderers.view.numbers import rank

MAX_SEGMENTS = 3
MAX_PER_LEVEL = 10  # GitHub shows no more a step
LONGEST_TITLE = 255  # characters
LONGEST_MESSAGE = 64 * 1024  # bytes
SUPPLIED = " (rankings supplied by the pull request)"


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
    for gate in sorted(report.gates, key=lambda gate: (*rank(gate)[:2], not gate.is_main)):
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
    properties = [f"file={_data(file).replace(':', '%3A').replace(',', '%2C')}"] if file else []
    properties += [f"line={finding.line}"] if finding.line else []
    return f"::{finding.level} {','.join([*properties, 'title=rankgate'])}::{_data(finding.message)}"


def _data(text: str) -> str:
    # The runner also obeys the old `##[command]` anywhere in a line.
    lines = map(one_line, text.splitlines())
    return "%0A".join(line.replace("%", "%25").replace("##[", "## [") for line in lines)


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence at a line of a file, its fields named as GitHub's API names them."""

    path: str
    start_line: int
    end_line: int
    annotation_level: Literal["failure", "warning"]
    message: str
    title: str = "rankgate"


class CheckRunOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a check run shows. GitHub takes 50 annotations a request; all of them are here."""

    title: str
    summary: str
    annotations: Sequence[Annotation]


def check_run_output(report: Report) -> CheckRunOutput:
    """The report as a check run: a title of one line, our comment as its summary, and annotations.

    Each gate that fails or warns is annotated at its line, where the criteria lie within the repository.
    """
    from rankgate.renderers.markdown import SUMMARY_BYTES, render_summary  # noqa: PLC0415 -- paid only by a check run

    return CheckRunOutput(
        title=title_of(report),
        summary=render_summary(report, SUMMARY_BYTES),
        annotations=[each for finding in findings_of(report) if (each := _annotation(finding)) is not None],
    )


def conclusion_of(report: Report) -> Literal["success", "failure", "action_required"]:
    """What the check concludes; a required check counts `neutral` and `skipped` as success, so they are never used.

    A run that passes on rankings which the pull request supplied asks for a maintainer, unless the criteria trust them;
    so does one whose answers are judged only then.
    """
    if report.verdict not in (Verdict.PASS, Verdict.WARN):
        return "failure"
    waits = any(reason.kind is ReasonKind.AWAITS_LABEL for gate in report.gates for reason in gate.decision.reasons)
    untrusted = report.origin.untrusted_run and report.origin.fork_runs != "trusted"
    return "action_required" if waits or untrusted else "success"


def title_of(report: Report) -> str:
    """The verdict and what decided, in one line of at most `LONGEST_TITLE` characters."""
    supplied = SUPPLIED if report.origin.untrusted_run else ""
    title = f"{VERDICT_WORDS[report.verdict].capitalize()}: {short_headline(report).strip().rstrip('.')}"
    return one_line(title, LONGEST_TITLE - len(supplied)) + supplied


def _annotation(finding: Finding) -> Annotation | None:
    """The finding at its place; None where it is none of a gate's, or has no line in a file of the repository."""
    path = path_in_repository(finding.file)
    if not finding.of_gate or path is None or finding.line is None or finding.line < 1:
        return None
    return Annotation(
        path=path,
        start_line=finding.line,
        end_line=finding.line,
        annotation_level="failure" if finding.level == "error" else "warning",
        message=_clipped(one_line(finding.message)),
    )


def _clipped(message: str) -> str:
    """At most `LONGEST_MESSAGE` bytes, whole characters, the last an ellipsis where some were cut."""
    data = message.encode()
    mark = "…"
    if len(data) <= LONGEST_MESSAGE:
        return message
    return data[: LONGEST_MESSAGE - len(mark.encode())].decode(errors="ignore") + mark


def quoted(text: str) -> str:
    """Text of the inputs outside of Markdown: on one line, nothing hidden, in quotation marks."""
    return repr(one_line(text, 60))
