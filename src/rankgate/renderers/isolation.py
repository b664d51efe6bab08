"""Templates of users in a process of their own: Jinja's sandbox alone does not stop `'a' * 10**8` or an endless loop.

A bare interpreter with limits on computing, memory, files and time gives Markdown, or one sentence on what is wrong.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, cast

import msgspec

from rankgate.errors import RankgateError, bad_input
from rankgate.model.report import Report
from rankgate.model.report_text import with_texts
from rankgate.renderers.escape import one_line
from rankgate.renderers.sandboxed import MISTAKE, Limits, Mistake, Task

MARKER = "<!-- rankgate"
USUAL = Limits()

_START = "import sys; sys.path += sys.argv[1:]; from rankgate.renderers.sandboxed import main; main()"
_PACKAGES = ("rankgate", "jinja2", "markupsafe", "msgspec")
# What an interpreter may need to find its own libraries; nothing else of the environment is passed on.
LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
_MARKED = re.compile(r"^[ \t]*<!--\s*rankgate", re.IGNORECASE | re.MULTILINE)
_LONGEST_MESSAGE = 500  # characters


class Template(msgspec.Struct, frozen=True):
    """A template of the user: the name by which errors call it, and its text."""

    name: str
    text: str


def render_isolated(report: Report, template: Template, limits: Limits = USUAL) -> str:
    """The Markdown that a user's template makes of a report, ending in one newline.

    Raises:
        RankgateError: the template does not render within its limits, or its text holds our hidden marker.
    """
    task = Task(template=template.text, report=msgspec.Raw(msgspec.json.encode(with_texts(report))), limits=limits)
    code, output, late = _run(msgspec.json.encode(task), limits)
    if len(output) > limits.output:
        raise _wrong(template, f"its text is longer than {limits.output:,} bytes")
    if code == MISTAKE:
        raise _wrong_by(template, output)
    if late or code != 0:
        raise _wrong(template, f"it took longer than {limits.waiting:g} s" if late else _why_ended(code, limits))
    text = output.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").strip() + "\n"
    if _MARKED.search(text):
        raise _wrong(template, f"a line of its text begins with `{MARKER}`, by which the bot knows its own comment")
    return text


def _run(task: bytes, limits: Limits) -> tuple[int, bytes, bool]:
    """The exit code of an interpreter, its output up to one byte too many, and whether it took too long."""
    # -I: neither the current directory nor the environment says what is imported. -S: no .pth file does.
    command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _START, *_roots()]
    late = threading.Event()
    with subprocess.Popen(  # noqa: S603 -- our own interpreter and our own words
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in LOADER if name in os.environ},
        cwd=Path(sys.executable).anchor,
        start_new_session=True,
    ) as process:
        clock = threading.Timer(limits.waiting, _end_late, (process, late))
        clock.start()
        try:
            stdin = cast("IO[bytes]", process.stdin)
            for hand_over in (lambda: stdin.write(task), stdin.close):
                with contextlib.suppress(BrokenPipeError):  # it ended before it had read all; how it ended tells why
                    hand_over()
            output = cast("IO[bytes]", process.stdout).read(limits.output + 1)
            if len(output) > limits.output:
                _end(process)
            code = process.wait()
        finally:
            _end(process)
            clock.cancel()
    return code, output, late.is_set()


def _roots() -> list[str]:
    """Where the packages that the process needs were found: absolute, whatever this process's own path says."""
    origins = (spec.origin for spec in map(importlib.util.find_spec, _PACKAGES) if spec and spec.origin)
    return list(dict.fromkeys(str(Path(origin).resolve().parents[1]) for origin in origins))


def _end_late(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it may have started, if it still runs; its group has its own id."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _why_ended(code: int, limits: Limits) -> str:
    if sys.platform != "win32" and code == -signal.SIGXCPU:
        return f"it computed longer than {limits.computing} s"
    return f"its process ended with {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"


def _wrong_by(template: Template, output: bytes) -> RankgateError:
    try:
        mistake = msgspec.json.decode(output, type=Mistake)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _wrong(template, "its process did not say what is wrong")
    return _wrong(template, one_line(mistake.message, _LONGEST_MESSAGE), mistake.line)


def _wrong(template: Template, message: str, line: int | None = None) -> RankgateError:
    return bad_input(f"template error: {message}", file=template.name, line=line)
