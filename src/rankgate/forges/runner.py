"""What GitHub's runner reads of a job: its outputs, its step summary, and the commands in its log."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from rankgate.errors import bad_input
from rankgate.renderers.escape import inert

MAX_SUMMARY_BYTES = 1024 * 1024  # of a step's summary, in UTF-8; the runner drops a larger one whole
_OUTPUT = "GITHUB_OUTPUT"
_SUMMARY = "GITHUB_STEP_SUMMARY"
_ELSEWHERE = "A step's summary holds 1,024 KiB, which are full. The comment is in the artifact of this run.\n"


def set_output(path: str, name: str, value: str) -> None:
    """Set an output of the step, whatever text the value is; `path` is that of GITHUB_OUTPUT.

    The value stands between two lines with a delimiter that nobody can guess: none in it sets other outputs.
    """
    delimiter = secrets.token_hex(16)
    if delimiter in value:
        raise bad_input("the value contains the delimiter that was drawn for it, and is not written", key=name)
    try:
        data = f"{name}<<{delimiter}\n{value}\n{delimiter}\n".encode()
    except UnicodeEncodeError as error:
        raise bad_input("half of a surrogate pair; an output is written as UTF-8", key=name) from error
    _append(path, _OUTPUT, _finished(_content(path, _OUTPUT)) + data)


def add_summary(path: str, markdown: str) -> bool:
    """Add to the step's summary, the file of GITHUB_STEP_SUMMARY; True where it has room for it.

    Where it has not, a line says where the text is, if there is room for that.
    """
    there = _content(path, _SUMMARY)
    start = _finished(there) + (b"\n" if there else b"")  # Markdown right behind a paragraph would belong to it
    bytes_left = MAX_SUMMARY_BYTES - len(there) - len(start)
    texts = [text.encode("utf-8", "replace") for text in (markdown, _ELSEWHERE)]
    fitting = [text for text in texts if len(text) <= bytes_left]
    if fitting:
        _append(path, _SUMMARY, start + fitting[0])
    return fitting[:1] == texts[:1]


def stopped(text: str) -> str:
    """Lines for the log in which the runner finds no command, for output that we did not write; nothing for no text.

    Commands are stopped until a word that nobody can guess; nor does any line look like one, so that the text is
    harmless where the runner does not see the first line.
    """
    if not text:
        return ""
    word = secrets.token_hex(16)
    lines = [inert(line) for line in re.split(r"\r\n|\r|\n", text)]  # where the runner breaks a line, nowhere else
    if not lines[-1]:
        lines.pop()
    return "\n".join([f"::stop-commands::{word}", *lines, f"::{word}::", ""])


def _content(path: str, variable: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return b""
    except (OSError, ValueError) as error:
        raise _unusable(path, variable, error) from error


def _finished(content: bytes) -> bytes:
    """What ends the last line of what somebody else wrote."""
    return b"\n" if content and not content.endswith(b"\n") else b""


def _append(path: str, variable: str, data: bytes) -> None:
    try:
        with Path(path).open("ab") as file:
            file.write(data)
    except OSError as error:
        raise _unusable(path, variable, error) from error


def _unusable(path: str, variable: str, error: Exception) -> Exception:
    if not path:
        return bad_input("is not set; is this running in GitHub Actions?", key=variable)
    reason = error.strerror if isinstance(error, OSError) else "no file can have this name"
    return bad_input(f"cannot be written: {reason}", file=path, key=variable)
