"""Log annotations of GitHub Actions: one workflow command a finding, pointing at its line in the criteria."""

from __future__ import annotations

from itertools import islice
from typing import Literal

from rankgate.model.report import Report
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers.escape import visible
from rankgate.renderers.findings import Finding, findings_of, path_in_repository

MAX_PER_LEVEL = 10  # GitHub shows no more a step


def render_github(report: Report) -> str:
    """Workflow commands, errors first.

    Text is escaped as the runner unescapes it. The runner also obeys the old `##[command]` anywhere in a line; a space
    takes that meaning away.
    """
    found = findings_of(report)
    lines: list[str] = []
    for level in ("error", "warning"):
        lines += map(_command, islice((each for each in found if each.level == level), MAX_PER_LEVEL))
    verdict = VERDICT_WORDS[report.verdict]
    lines.append(annotation("notice", f"{verdict}. {report.summary}"))
    return "\n".join(lines) + "\n"


def annotation(level: Literal["error", "warning", "notice"], message: str) -> str:
    """One workflow command that belongs to no line."""
    return f"::{level} title=rankgate::{_data(message)}"


def _command(finding: Finding) -> str:
    file = path_in_repository(finding.file) or finding.file  # `./a` would be shown at no file
    place = [f"file={_property(file)}"] if file else []
    place += [f"line={finding.line}"] if finding.line else []
    return f"::{finding.level} {','.join([*place, 'title=rankgate'])}::{_data(finding.message)}"


def _data(text: str) -> str:
    lines = [visible(line) for line in text.splitlines()]
    return "%0A".join(line.replace("%", "%25").replace("##[", "## [") for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
