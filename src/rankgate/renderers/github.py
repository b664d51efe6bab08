"""Log annotations of GitHub Actions: one workflow command a violated gate, pointing at its line in the criteria."""

from __future__ import annotations

from rankgate.model import Verdict
from rankgate.renderers.escape import visible
from rankgate.report import Report
from rankgate.wording import VERDICT_WORDS

MOST_PER_LEVEL = 10  # GitHub shows no more a step


def render_github(report: Report) -> str:
    """Workflow commands, errors first.

    Text is escaped as the runner unescapes it. The runner also obeys the old `##[command]` anywhere in a line; a space
    takes that meaning away.
    """
    commands: list[tuple[str, str, int | None, str]] = []
    file = report.provenance.criteria
    for gate in report.gates:
        if gate.verdict is Verdict.FAIL or gate.verdict is Verdict.WARN:
            level = "error" if gate.verdict is Verdict.FAIL else "warning"
            where = "" if gate.segment is None else f"in {gate.segment}, "
            commands += [(level, file or "", gate.line, f"{where}{reason}.") for reason in gate.reasons]
    commands += [("warning", "", None, f"{warning}.") for warning in report.warnings]
    commands += [("error", problem.file or "", problem.line, str(problem)) for problem in report.problems]
    lines: list[str] = []
    for level in ("error", "warning"):
        found = [command for command in commands if command[0] == level]
        lines += [_command(*command) for command in found[:MOST_PER_LEVEL]]
    verdict = VERDICT_WORDS[report.verdict]
    lines.append(f"::notice title=rankgate::{_data(f'{verdict}. {report.summary}')}")
    return "\n".join(lines) + "\n"


def _command(level: str, file: str, line: int | None, message: str) -> str:
    place = [f"file={_property(file)}"] if file else []
    place += [f"line={line}"] if line else []
    return f"::{level} {','.join([*place, 'title=rankgate'])}::{_data(message)}"


def _data(text: str) -> str:
    lines = [visible(line) for line in text.splitlines()]
    return "%0A".join(line.replace("%", "%25").replace("##[", "## [") for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
