"""Why a check could not judge: the report that says so, and the one line of an error that nobody expected."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence

from rankgate import __version__
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.errors import Problem, ProblemKind, RankgateError
from rankgate.gates.commands import as_typed
from rankgate.gates.conclude import with_conclusion
from rankgate.model.report import BaselineSource, Call, Provenance, Report, RunOrigin, Source
from rankgate.model.values import Verdict
from rankgate.readers.source import shown_path

ISSUES = "https://github.com/rankgate/rankgate/issues"
_NOT_READ = "not read"  # in place of the format


def not_judged(inputs: Inputs, problems: Sequence[Problem], call: Call | None = None) -> Report:
    """The report of a check that could not judge: it says why, so that no old verdict is left standing.

    `call` is what it was called with, where that is to be typed again.
    """
    named = inputs.baseline
    provenance = Provenance(
        rankgate=__version__,
        date=inputs.date,
        criteria=inputs.criteria,
        gold=_unread(inputs.gold),
        run=_unread(inputs.run),
        baseline=BaselineSource(path=named.path, format=named.format or _NOT_READ) if named else None,
    )
    return with_conclusion(
        Report(
            verdict=Verdict.NOT_JUDGED,
            summary="",
            problems=list(problems),
            origin=RunOrigin(untrusted_run=inputs.untrusted_run),
            provenance=provenance,
            call=call,
        )
    )


def call_again(inputs: Inputs) -> Call:
    """The files that the caller named, of which none was read."""
    options: dict[str, str] = {}
    for option, file in {"gold": inputs.gold, "run": inputs.run, "baseline": inputs.baseline}.items():
        if file and file.is_file and not file.is_table:
            options[option] = as_typed(file, shown_path(file.path))
    return Call(options=options)


def _unread(file: InputFile | None) -> Source | None:
    return Source(path=file.path, format=file.format or _NOT_READ) if file else None


def problems_of(error: Exception) -> Sequence[Problem]:
    """What an error reports; of one that nobody expected, that."""
    return error.problems if isinstance(error, RankgateError) else [internal_error(error)]


# Errors that name no file are those of standard output, which takes no more: an error of a file names it.
_OF_STANDARD_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def internal_error(error: BaseException) -> Problem:
    """An error that nobody expected, on one line: what the operating system refuses, which is no bug, or our bug.

    A bug comes with the versions and the last line of ours in its traceback, as `rankgate.check:35`.
    """
    if isinstance(error, OSError) and error.strerror:
        stream = "standard output" if error.errno in _OF_STANDARD_OUTPUT else None
        return Problem(f"the operating system refuses: {error.strerror}", str(error.filename or "") or stream)
    location = ""
    frame = error.__traceback__
    while frame is not None:
        name = frame.tb_frame.f_globals.get("__name__", "")
        if name.partition(".")[0] == "rankgate":
            location = f" in {name}:{frame.tb_lineno}"
        frame = frame.tb_next
    text = " ".join(str(error).split())[:200]
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    version = ".".join(map(str, sys.version_info[:3]))
    versions = f"rankgate {__version__}, Python {version}"
    bug = f"internal error: {what}{location} ({versions}); this is our bug, please report this line at {ISSUES}"
    return Problem(bug, kind=ProblemKind.INTERNAL)
