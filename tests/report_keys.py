"""Reports by the keys of report.json, and by what their parts have beside these: a test names those that matter."""

from __future__ import annotations

from typing import Any

from rankgate.model.gate_result import to_row
from rankgate.model.report import REPORT_PARTS, Report
from rankgate.model.report_text import report_of


def report_from(**keys: Any) -> Report:
    """A report of these keys."""
    return report_of(keys)


def with_keys(report: Report, **keys: Any) -> Report:
    """The report with other values for these keys."""
    return report_of(to_row(report, REPORT_PARTS) | keys)
