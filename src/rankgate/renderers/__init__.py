"""A report becomes text. Here is the table of outputs: by name for `--format`, by suffix for `-o`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.errors import bad_input

if TYPE_CHECKING:
    from rankgate.model.report import Report


def _renderer(module: str, function: str) -> Callable[[Report], str]:
    """A function of a module that is imported only when it is called: templates and charts are paid for where used."""

    def render(report: Report) -> str:
        text: str = getattr(import_module(f"rankgate.{module}"), function)(report)
        return text

    return render


RENDERERS: dict[str, Callable[[Report], str]] = {
    "terminal": _renderer("renderers.terminal", "render_terminal"),
    "markdown": _renderer("renderers.markdown", "render_comment"),
    "json": _renderer("model.report_text", "encode_report"),
    "github": _renderer("renderers.github", "render_github"),
    "html": _renderer("renderers.pages.report", "render_report"),
    "junit": _renderer("renderers.junit", "render_junit"),
    "badge": _renderer("renderers.badge", "render_badge"),
}
SUFFIXES = {".json": "json", ".md": "markdown", ".html": "html", ".xml": "junit", ".badge.json": "badge"}


def format_for(path: str) -> str:
    """The output format by the longest suffix that a file has: `badge.json` is a badge too. Another is an error."""
    file = Path(path)
    suffix = max((each for each in SUFFIXES if f".{file.name.lower()}".endswith(each)), key=len, default="")
    if not file.suffix or not suffix:
        raise bad_input(f"the suffix {file.suffix!r} names no output; use one of {', '.join(SUFFIXES)}", file=path)
    return SUFFIXES[suffix]
