"""A bar for what takes longer than a moment, where somebody may be looking."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

MOMENT = 1.0  # seconds
_LOOK = 0.2


@contextmanager
def bar(share_read: Callable[[], float]) -> Iterator[None]:
    """Show on standard error how much of the run has been read, as long as the block takes.

    Nothing is shown to a file or a pipe, in CI, or in the first second. A thread asks now and then; the reading itself
    knows nothing of it.
    """
    if not sys.stderr.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        yield
        return
    done = Event()
    thread = Thread(target=_show, args=(share_read, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(share_read: Callable[[], float], done: Event) -> None:
    if done.wait(MOMENT):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading the run"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=1.0)
        while not done.wait(_LOOK):
            progress.update(task, completed=share_read(), refresh=True)
