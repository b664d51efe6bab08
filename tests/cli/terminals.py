"""A real terminal of any width for a command that runs in the test's own process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import sys
import termios
import threading
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from rankgate.cli import main


def at_a_terminal(words: Sequence[str], columns: int, directory: Path, **environment: str) -> tuple[int, str]:
    """The exit code of a command, and what it prints at a terminal of that many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    chunks: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(ours, chunks))
    reader.start()
    known = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", **environment}
    sys.stdout.flush()
    standard_output = os.dup(1)  # widths are those of the descriptor, whatever sys.stdout is
    os.dup2(theirs, 1)
    try:
        with (
            contextlib.chdir(directory),
            patch.dict(os.environ, known, clear=True),
            open(1, "w", encoding="utf-8", closefd=False) as terminal,
            patch.object(sys, "stdout", terminal),
            patch.object(sys, "__stdout__", terminal),
        ):
            code = main(list(words))
    finally:
        os.dup2(standard_output, 1)
        os.close(standard_output)
        os.close(theirs)
        reader.join()
        os.close(ours)
    return code, b"".join(chunks).decode().replace("\r\n", "\n")


def _read_all(terminal: int, chunks: list[bytes]) -> None:
    """Until the other end is closed, which Linux says by an error."""
    with contextlib.suppress(OSError):
        while data := os.read(terminal, 65536):
            chunks.append(data)
