"""The table of outputs: by name for `--format`, by suffix for `-o`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rankgate.errors import bad_input
from rankgate.report import Report
from rankgate.report_text import encode_report


def _markdown(report: Report) -> str:
    from rankgate.renderers.fitting import COMMENT_LIMIT  # noqa: PLC0415
    from rankgate.renderers.markdown import render_markdown  # noqa: PLC0415 -- Jinja is paid for only where used

    return render_markdown(report, limit=COMMENT_LIMIT)


def _terminal(report: Report) -> str:
    from rankgate.renderers.terminal import render_terminal  # noqa: PLC0415

    return render_terminal(report)


def _github(report: Report) -> str:
    from rankgate.renderers.github import render_github  # noqa: PLC0415

    return render_github(report)


def _html(report: Report) -> str:
    from rankgate.renderers.pages.report import render_report  # noqa: PLC0415 -- templates and charts are paid for late

    return render_report(report)


RENDERERS: dict[str, Callable[[Report], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": encode_report,
    "github": _github,
    "html": _html,
}
SUFFIXES = {".json": "json", ".md": "markdown", ".html": "html"}


def format_for(path: str) -> str:
    """The output format that a file's suffix asks for.

    Raises:
        RankgateError: no format has that suffix.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        *others, last = SUFFIXES
        raise bad_input(f"the suffix {suffix!r} names no output; use {', '.join(others)} or {last}", file=path)
    return SUFFIXES[suffix]
