"""The checks at a base without a process for each: the same commands, called where the test runs."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

from rankgate.cli import main


class Ended:
    """A command of rankgate that has run, as `subprocess` hands over one that is running or has ended."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], **how: Any) -> None:
        interpreter, isolated, *words = command
        assert (isolated, words[:2]) == ("-I", ["-m", "rankgate"]), f"{interpreter} runs something else"
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(cwd),
            patch.dict(os.environ, env, clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                self.returncode = main(words[2:])
            except SystemExit as left:  # wrong options
                self.returncode = int(left.code or 0)
        self.stdout = out.getvalue().encode()
        self.stderr = err.getvalue().encode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        return self.stdout, self.stderr


class InProcess:
    """What `rankgate.forges.base_checkout` uses of the module `subprocess`."""

    run = Popen = Ended
    DEVNULL = subprocess.DEVNULL
    PIPE = subprocess.PIPE
    TimeoutExpired = subprocess.TimeoutExpired
