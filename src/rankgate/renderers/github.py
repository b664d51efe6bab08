"""Log annotations of GitHub Actions: one workflow command a finding, pointing at its line in the criteria."""

from __future__ import annotations

from typing import Literal

from rankgate.model.report import Report
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers.escape import one_line
from rankgate.renderers.findings import Finding, findings_of, path_in_repository

MAX_PER_LEVEL = 10  # GitHub shows no more a step


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
    place = [f"file={_property(file)}"] if file else []
    place += [f"line={finding.line}"] if finding.line else []
    return f"::{finding.level} {','.join([*place, 'title=rankgate'])}::{_data(finding.message)}"


def _data(text: str) -> str:
    # The runner also obeys the old `##[command]` anywhere in a line.
    lines = map(one_line, text.splitlines())
    return "%0A".join(line.replace("%", "%25").replace("##[", "## [") for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
