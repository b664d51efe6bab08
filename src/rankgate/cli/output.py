"""What a command prints: laid out for a terminal, plain everywhere else; and a bar where somebody waits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from rankgate.metrics.scored_run import ReadProgress
    from rankgate.model.report import Report
    from rankgate.renderers.blocks import Block

MOMENT = 1.0  # seconds
_INTERVAL = 0.2


def say(content: str | Sequence[Block]) -> None:
    """Print to standard output: a text as it is, lines and tables to fit the terminal if it is one."""
    if sys.stdout.closed:  # by a retriever; what is left to say is no data
        sys.stdout = sys.stderr
    if isinstance(content, str):
        sys.stdout.write(content)
    elif sys.stdout.isatty():
        from rankgate.cli.terminal import show

        show(content, in_colour=forces_colour())
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
    from rankgate.renderers import RENDERERS
    from rankgate.renderers.terminal import terminal_blocks, verdict_line

    if form != "terminal":
        say(RENDERERS[form](report))
    else:
        say([verdict_line(report)] if quiet else terminal_blocks(report, everything=everything))


@contextmanager
def reading_bar() -> Iterator[ReadProgress]:
    """A bar for each run that is read in the block with what this gives."""
    from rankgate.metrics.scored_run import ReadProgress

    progress = ReadProgress()
    with bar(progress.share, "reading the run"):
        yield progress


@contextmanager
def bar(share: Callable[[], float | None], what: str | Callable[[], str]) -> Iterator[None]:
    """Show on standard error how much has been done, as long as the block takes and `share` knows.

    Nothing is shown to a file or a pipe, in CI, or in the first second. A thread asks now and then; the work itself
    knows nothing of it.
    """
    if not sys.stderr.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        yield
        return
    done = Event()
    thread = Thread(target=_show, args=(share, what, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(share: Callable[[], float | None], what: str | Callable[[], str], done: Event) -> None:
    looks = round(MOMENT / _INTERVAL)  # for which there has to be something to show
    while not done.is_set():
        if all(share() is not None and not done.wait(_INTERVAL) for _ in range(looks)) and share() is not None:
            _show_one(share, what, done)
        else:
            done.wait(_INTERVAL)


def _show_one(share: Callable[[], float | None], what: str | Callable[[], str], done: Event) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar_of = Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
        redirect_stdout=sys.stdout.isatty(),  # what a retriever prints that is under way
    )
    with bar_of as progress:
        task = progress.add_task("", total=1.0)
        while not done.wait(_INTERVAL) and (completed := share()) is not None:
            words = what if isinstance(what, str) else what()
            progress.update(task, description=words, completed=completed, refresh=True)


def forces_colour() -> bool:
    """Whether colour is asked for wherever the output goes; NO_COLOR wins over that, and that over TERM=dumb."""
    forced = os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0").removeprefix("0")
    return bool(forced) and not os.environ.get("NO_COLOR")
