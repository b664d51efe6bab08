"""What a run of a workflow annotates: one finding a violated gate's reason, a warning or a problem, errors first."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal

import msgspec

from rankgate.model import Verdict
from rankgate.renderers.base_changes import changes, quoted
from rankgate.renderers.escape import visible
from rankgate.report import Report


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence and where it belongs.

    `message` may hold text from the inputs and line breaks: whoever shows it escapes it. `file` and `line` (from 1) are
    None where no place is known. `of_gate` tells the reasons of gates, which stand in the criteria, from the rest.
    """

    level: Literal["error", "warning"]
    message: str
    file: str | None
    line: int | None
    of_gate: bool = False


def findings_of(report: Report) -> list[Finding]:
    """The reasons of gates that fail or warn, the report's own warnings and its problems."""
    found = [
        Finding(
            level="error" if gate.verdict is Verdict.FAIL else "warning",
            message=f"{'' if gate.segment is None else f'in {gate.segment}, '}{reason}.",
            file=report.provenance.criteria,
            line=gate.line,
            of_gate=True,
        )
        for gate in report.gates
        if gate.verdict in (Verdict.FAIL, Verdict.WARN)
        for reason in gate.reasons
    ]
    found += [Finding(level="error", message=f"{failure}.", file=None, line=None) for failure in report.failures]
    found += [Finding(level="warning", message=f"{warning}.", file=None, line=None) for warning in report.warnings]
    found += [
        Finding(
            level="warning",
            message=change.text,
            file=report.provenance.criteria if change.line else None,
            line=change.line,
            of_gate=change.line is not None,
        )
        for change in changes(report, quoted)
        if change.weakens
    ]
    found += [
        Finding(level="error", message=str(problem), file=problem.file, line=problem.line)
        for problem in report.problems
    ]
    return sorted(found, key=lambda finding: finding.level != "error")


def path_in_repository(file: str | None) -> str | None:
    """The path as the repository has it; None for one that leads out of it, or that no reader could recognise."""
    if not file or visible(file) != file or PureWindowsPath(file).drive:
        return None
    path = PurePosixPath(file)
    return None if path.is_absolute() or not path.name or ".." in path.parts else path.as_posix()
