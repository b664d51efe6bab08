"""A bar for what takes longer than a moment, where somebody may be looking."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankgate.metrics.scored_run import ReadProgress

MOMENT = 1.0  # seconds
_INTERVAL = 0.2


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
    while not done.is_set():
        if _lasts(share, done):
            _show_one(share, what, done)
        else:
            done.wait(_INTERVAL)


def _lasts(share: Callable[[], float | None], done: Event) -> bool:
    """Whether there is something to show for a moment."""
    looks = round(MOMENT / _INTERVAL)
    return all(share() is not None and not done.wait(_INTERVAL) for _ in range(looks)) and share() is not None


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
