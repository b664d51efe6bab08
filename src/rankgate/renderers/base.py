"""The table of outputs: by name for `--format`, by suffix for `-o`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rankgate.errors import bad_input
from rankgate.model.report import Report
from rankgate.model.report_text import encode_report


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


def _junit(report: Report) -> str:
    from rankgate.renderers.junit import render_junit  # noqa: PLC0415

    return render_junit(report)


def _badge(report: Report) -> str:
    from rankgate.renderers.badge import render_badge  # noqa: PLC0415

    return render_badge(report)


RENDERERS: dict[str, Callable[[Report], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": encode_report,
    "github": _github,
    "html": _html,
    "junit": _junit,
    "badge": _badge,
}
SUFFIXES = {".json": "json", ".md": "markdown", ".html": "html", ".xml": "junit", ".badge.json": "badge"}


def format_for(path: str) -> str:
    """The output format that a file's suffix asks for, the longest that it has: `badge.json` is a badge too.

    Raises:
        RankgateError: no format has that suffix.
    """
    file = Path(path)
    suffix = max((each for each in SUFFIXES if f".{file.name.lower()}".endswith(each)), key=len, default="")
    if not file.suffix or not suffix:
        raise bad_input(f"the suffix {file.suffix!r} names no output; use one of {', '.join(SUFFIXES)}", file=path)
    return SUFFIXES[suffix]
