"""A check run of GitHub from a report: its title, summary and annotations as plain data, and what it concludes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rankgate.model.headline import short_headline
from rankgate.model.report import Report
from rankgate.model.values import ReasonKind, Verdict
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers.escape import one_line
from rankgate.renderers.findings import Finding, findings_of, path_in_repository
from rankgate.renderers.markdown import SUMMARY_BYTES, render_summary

LONGEST_TITLE = 255  # characters
LONGEST_MESSAGE = 64 * 1024  # bytes
SUPPLIED = " (rankings supplied by the pull request)"


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
