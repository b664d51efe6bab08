"""The command line: one table of commands, one module each, imported only when that command runs.

Exit codes: 0 done (check: pass or warn), 1 the gate failed, 2 problems. Never Python's own 1.
"""

from __future__ import annotations

import atexit
import codecs
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn, TextIO

from rankgate import __version__

# Group, then name → module and one line of help, in the order in which a newcomer meets them.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "every day": {
        "demo": ("rankgate.cli.demo", "run the gate on the embedded example, in a directory to explore"),
        "init": ("rankgate.cli.init", "write ship criteria and workflows for your gold set"),
        "record": ("rankgate.cli.record", "run your retriever over the gold questions and write the run"),
        "check": ("rankgate.cli.check", "judge a run: pass, warn or fail"),
        "explain": ("rankgate.cli.explain", "explain a question, or what is missed"),
        "compare": ("rankgate.cli.compare", "compare runs, question by question, without a gate"),
        "baseline": ("rankgate.cli.baseline", "accept a run as the baseline"),
    },
    "gold": {
        "gold": ("rankgate.cli.gold", "pool results for labelling, merge the labels into the gold set"),
        "validate": ("rankgate.cli.validate", "list what is wrong or odd in criteria, gold set and run"),
    },
    "answers": {
        "judge": ("rankgate.cli.judge", "let a model judge the answers of a run, for gates such as faithfulness"),
    },
    "CI": {
        "comment": ("rankgate.cli.comment", "publish a report on GitHub: a comment, and the check rankgate/verdict"),
        "dashboard": ("rankgate.cli.dashboard", "write a site of how retrieval went, from the history of runs"),
    },
    "reference": {
        "score": ("rankgate.cli.score", "compute metrics without a gate"),
        "metrics": ("rankgate.cli.metrics", "list the metrics with formula, direction and needs"),
        "schema": ("rankgate.cli.schema", "print the JSON Schema of the ship criteria"),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
EXITS = "0 done (check: pass or warn); 1 the gate failed; 2 a problem; 130 interrupted"
_GENERAL = ("-h", "--help", "help", "-V", "--version")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            if not words or words[0] in _GENERAL:
                return _say_about_all(words)
            from rankgate.errors import from_python

            return from_python(_dispatch, python=False)(words)
        finally:  # also after --help, which ends by an exception
            _flush(sys.stdout)
    except KeyboardInterrupt:
        with suppress(OSError):
            print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader went away: nothing to say, as where SIGPIPE ends a tool
        return 128 + 13
    except Exception as error:  # noqa: BLE001 -- the boundary: a user never sees a traceback
        from rankgate.cli.output import complain
        from rankgate.gates.not_judged import problems_of

        with suppress(OSError):  # where nobody can be told, the exit code still says it
            for problem in problems_of(error):
                complain(f"error: {problem}")
        return 2


def _flush(stream: TextIO) -> None:
    """Write what is left; where that fails, the interpreter's own flush at exit must not change the exit code."""
    try:
        if not stream.closed:
            stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """What an encoding lacks, in ASCII: our own signs as they are typed, other characters as their code points."""
    signs = {"−": "-", "–": "-", "→": "->", "±": "+/-", "…": "...", "≥": ">=", "≤": "<=", "×": "x", "─": "-"}
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(signs.get(char) or char.encode("ascii", "backslashreplace").decode() for char in text), error.end


def console() -> int:
    """The installed command: `main` in a process of its own.

    Such a process ends before cyclic garbage could matter, so nothing looks for it; except while the user's own
    retriever runs. Whatever becomes of its streams, it ends with the exit code of `main`.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed by whoever started us: no file that is opened later may take its place
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, None if name == "stdin" else open(number, "w", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            codecs.register_error("rankgate", _spelled)
            stream.reconfigure(errors="rankgate")  # a log that cannot show a minus sign of ours changes no verdict
    if sys.argv[1:2] != ["record"]:
        import gc

        gc.disable()
    code = main()
    recording = sys.modules.get("rankgate.collecting.workers")
    if recording is None:
        _leave(code)
    with suppress(OSError):
        _flush(sys.stderr)
    if recording.busy:  # calls that hang, for which the interpreter might wait
        os._exit(code)
    return code


def _leave(code: int) -> NoReturn:
    """End the process at once: to take the interpreter apart piece by piece is a seventh of a check's time.

    What was registered for the end runs, and all streams are flushed; skipped are the join of threads, of which none
    is left, and destructors, of which none of ours writes. A user's retriever may have both: after `record` Python
    ends as usual.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 -- what the interpreter itself runs; it has no public name
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            _flush(stream)
    os._exit(code)


def _say_about_all(words: Sequence[str]) -> int:
    """The version, or the usage; quick, for next to nothing else is imported."""
    if words and words[0] in ("-V", "--version"):
        print(f"rankgate {__version__}")
        return 0
    print(_usage(), end="")
    return 0 if words else 2


def _usage() -> str:
    """How to call rankgate, its commands and their exit codes."""
    width = max(map(len, COMMANDS))
    groups: list[str] = []
    for title, commands in GROUPS.items():
        lines = [f"  {name.ljust(width)}  {text}\n" for name, (_, text) in commands.items()]
        groups.append("".join([f"{title}:\n", *lines]))
    return (
        "usage: rankgate COMMAND [options]\n\n"
        "The merge gate for retrieval: a run, a gold set and a baseline in; pass, warn or fail out.\n\n"
        + "\n".join(groups)
        + f"\nexit codes: {EXITS}\n\n"
        "  rankgate COMMAND --help explains one; rankgate --version prints the version\n\n"
        "start here:\n"
        "  rankgate demo                           see all three verdicts on an example\n"
        "  rankgate init --gold gold.yaml          write criteria for your own gold set\n"
        "  rankgate check -o report.json -o comment.md\n"
    )


def _dispatch(words: list[str]) -> int:
    if words[0] not in COMMANDS:
        from rankgate.errors import bad_input, did_you_mean

        raise bad_input(f"no command {words[0]!r}{did_you_mean(words[0], COMMANDS)} (rankgate --help lists them)")
    command = import_module(COMMANDS[words[0]][0])
    arguments = command.parser().parse_args(words[1:])
    from rankgate.cli.options import WriteFile, named_paths, refuse_two_stdins

    refuse_two_stdins(arguments)
    if any(named_paths(arguments, WriteFile)):
        from rankgate.cli.inputs import refuse_overwriting

        refuse_overwriting(words[0], arguments)
    code: int = command.run(arguments)
    return code
