"""The process in which a user's template renders: limits first, then Jinja's sandbox; JSON in, Markdown out."""

from __future__ import annotations

import contextlib
import importlib
import sys

import msgspec

from rankgate.model.report import Report
from rankgate.renderers.environment import environment, mistake
from rankgate.renderers.escape import visible
from rankgate.renderers.fitting import usual_room
from rankgate.renderers.links import documented

MISTAKE = 3  # the exit code with which the output is a Mistake instead of Markdown

# What Jinja imports only when a template first needs it; without open files that would be too late.
_LATE = (
    *("jinja2.constants", "jinja2.debug", "jinja2.sandbox", "pprint", "unicodedata"),
    *("encodings.ascii", "encodings.unicode_escape"),
)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a template may use: seconds of computing and of waiting, bytes of memory and of output."""

    computing: int = 5
    waiting: float = 30.0
    memory: int = 512 * 1024 * 1024
    output: int = 4 * 1024 * 1024


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What the process is told: the template's text, the report as JSON, and the limits."""

    template: str
    report: msgspec.Raw
    limits: Limits


class Mistake(msgspec.Struct, frozen=True):
    """What is wrong with the template, and in which of its lines, where one is to blame."""

    message: str
    line: int | None = None


def main() -> None:
    """Read a task from standard input and write the Markdown, or a mistake with the exit code `MISTAKE`."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    for name in _LATE:
        importlib.import_module(name)
    documented()
    _limit(task.limits)
    try:
        output, code = _render(task).encode()[: task.limits.output + 1], 0
    except MemoryError:
        output, code = _mistake(f"it needs more than {task.limits.memory // 1024**2} MB of memory"), MISTAKE
    except RecursionError:
        output, code = _mistake("it calls itself without end"), MISTAKE
    except Exception as error:  # noqa: BLE001 -- a template can call anything with anything
        output, code = _mistake(*mistake(error)), MISTAKE
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    sys.exit(code)


def _render(task: Task) -> str:
    report = msgspec.json.decode(task.report, type=Report)
    template = environment(sandboxed=True).from_string(task.template)
    return template.render(report=report, room={**usual_room(report), "left_out": ""})


def _mistake(message: str, line: int | None = None) -> bytes:
    return msgspec.json.encode(Mistake(visible(message), line))


def _limit(limits: Limits) -> None:
    """Limits of the operating system; one that has none leaves the time that the parent allows."""
    try:
        import resource  # noqa: PLC0415 -- Windows has none
    except ImportError:
        return
    for name, amount in (
        ("RLIMIT_CPU", limits.computing),
        ("RLIMIT_AS", limits.memory),
        ("RLIMIT_FSIZE", 0),  # no byte is written to a file
        ("RLIMIT_NOFILE", 0),  # and none is opened, nor a socket
        ("RLIMIT_NPROC", 0),
        ("RLIMIT_CORE", 0),
    ):
        with contextlib.suppress(AttributeError, ValueError, OSError):  # not on this system, or already less
            # One more as the hard limit of computing: at that one, the signal would not say which limit it was.
            resource.setrlimit(getattr(resource, name), (amount, amount + (name == "RLIMIT_CPU")))
