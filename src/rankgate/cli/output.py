"""Printing: laid out for a terminal, plain everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from rankgate.cli.progress import forces_colour

if TYPE_CHECKING:
    from rankgate.model.report import Report
    from rankgate.renderers.blocks import Block


def say(content: str | Sequence[Block]) -> None:
    """Print to standard output: a text as it is, lines and tables to fit the terminal if it is one."""
    if sys.stdout.closed:  # by a retriever; what is left to say is no data
        sys.stdout = sys.stderr
    if isinstance(content, str):
        sys.stdout.write(content)
    elif sys.stdout.isatty():
        from rankgate.cli.terminal import show

        show(content)
    else:
        from rankgate.renderers.blocks import plain_text

        text = plain_text(content)
        if forces_colour():
            from rankgate.cli.terminal import show_lines

            show_lines(text)
        else:
            sys.stdout.write(text)


def complain(text: object) -> None:
    """Print to standard error what is wrong: it may hold text of the inputs, which the runner of Actions obeys."""
    from rankgate.renderers.escape import log_line

    print(*map(log_line, str(text).split("\n")), sep="\n", file=sys.stderr)


def as_json(value: object) -> str:
    """Indented JSON, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def say_report(report: Report, form: str, *, everything: bool = False, quiet: bool = False) -> None:
    """Print a report in one of the forms of `RENDERERS`; at a terminal all of it, or the conclusion alone."""
    from rankgate.renderers.base import RENDERERS
    from rankgate.renderers.terminal import terminal_blocks, verdict_line

    if form != "terminal":
        say(RENDERERS[form](report))
    else:
        say([verdict_line(report)] if quiet else terminal_blocks(report, everything=everything))
