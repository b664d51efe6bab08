"""`rankgate render`: a report once more, in any form, also through the user's own template. Never scores."""

from __future__ import annotations

import argparse

from rankgate.cli.options import make_parser
from rankgate.cli.output import say, say_report
from rankgate.errors import bad_input
from rankgate.files.writing import write_atomic
from rankgate.model.report_text import decode_report
from rankgate.readers.source import open_source
from rankgate.renderers.base import RENDERERS, format_for
from rankgate.renderers.markdown import user_renderer


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "render",
        "Render a report.json that `rankgate check -o report.json` wrote.",
        "rankgate render report.json                         # the comment as Markdown",
        "rankgate render report.json --template our-comment.md.j2 -o comment.md",
        "rankgate render report.json --format terminal",
        "rankgate render report.json -o report.html          # without the rankings, which only a check has",
        "rankgate render report.json -o junit.xml            # or by any suffix of `check -o`",
    )
    options.add_argument("report", metavar="REPORT", help="the report (- for stdin)")
    forms = ["markdown", "terminal", "json", "github", "html", "junit", "badge"]
    options.add_argument("--format", choices=forms, help="default: markdown, or -o's suffix")
    options.add_argument("--template", metavar="FILE", help="a Jinja template of yours (docs/templates.md)")
    options.add_argument("-o", "--output", metavar="FILE", help="write here instead of printing")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Render and print or write."""
    wanted = arguments.format or "markdown"
    if arguments.output and not arguments.format:
        wanted = "markdown" if arguments.template else format_for(arguments.output)
    if arguments.template and wanted != "markdown":
        raise bad_input(f"--template renders Markdown, not {wanted}")
    with open_source(arguments.report) as source:
        report = decode_report(source.stream.read(), source.name)
    if not (arguments.template or arguments.output):
        say_report(report, wanted)
        return 0
    template = arguments.template
    text = user_renderer(template)(report) if template else RENDERERS[wanted](report)
    if arguments.output:
        write_atomic(arguments.output, text)
    else:
        say(text)
    return 0
