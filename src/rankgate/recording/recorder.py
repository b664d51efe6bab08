"""Recording: every gold question through the user's own function, and its answers as a run file."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rankgate.errors import Problem, bad_input
from rankgate.files import write_atomic
from rankgate.model import Gold
from rankgate.readers.formats import fingerprint_of, read_gold
from rankgate.readers.results import ResultError
from rankgate.readers.run_lines import PER_QUERY_KEYS
from rankgate.readers.source import STDIN
from rankgate.recording.lines import encoded, run_line
from rankgate.recording.partial import PartialRun
from rankgate.recording.questions import digest, questions_of
from rankgate.recording.recorded import Recorded, RecordingError
from rankgate.recording.retriever import Retrieve, failure, name_of
from rankgate.recording.workers import Outcome, ask
from rankgate.redaction import redacted
from rankgate.statistics.quantiles import quantile


def record(
    gold: str | Path | Gold,
    retrieve: Retrieve,
    path: str | Path,
    *,
    workers: int = 1,
    allow_errors: int = 0,
    provenance: Mapping[str, Any] | None = None,
    code_version: str | None = None,
    retriever: str | None = None,
    restart: bool = False,
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> Recorded:
    """Call `retrieve` once with the text of every gold question and write what it returns as a run.

    The function returns ids, `(id, score)` pairs or items, best first, or a whole run line (see `results`), and may be
    async. Each call is timed alone, in milliseconds, as `latency_ms: {"retrieve": …}`. The run is in gold order,
    gzipped where its name ends in `.gz`, and replaces an older file in one step at the end.

    Until then the answers are kept in `<path>.partial`. An interrupted recording goes on from there: same gold set,
    retriever and provenance, and only questions without an answer are asked. A question fails when the function
    raises, or returns something else than it may; it is then absent from the run.

    Args:
        gold: the gold set, or its path.
        retrieve: called with the question as its one positional argument: in this thread, or by several threads at once
            when there are several workers; an async one on an event loop in a thread of its own.
        path: the run file; missing parent directories are made.
        workers: how many calls may be under way at once.
        allow_errors: how many questions may fail.
        provenance: keys for every line, as `system` or `index_version`.
        code_version: which code answers, for every line, unless the provenance states it. A recording goes on where it
            has changed, and each line says its own.
        retriever: what the partial file calls the function; by default its module and name.
        restart: ask every question, whatever an interrupted recording has left.
        progress: told after each question how many are done, and how many there are.
        notice: told in one sentence when a recording is resumed, or cannot be; by default standard error is.

    Raises:
        RankgateError: the gold set cannot be read or has no questions, the path cannot be written, or a parameter is
            out of its range.
        RecordingError: more than `allow_errors` questions failed. The run is written without them, unless all failed:
            then an older file stays as it was.
        KeyboardInterrupt: as it came, with a note that says how far it got; what was answered is kept.
    """
    target = _writable(path)
    stamp = _checked_provenance(provenance or {})
    if workers < 1 or allow_errors < 0:
        raise bad_input(f"workers must be at least 1 and allow_errors at least 0, not {workers} and {allow_errors}")
    judged = gold if isinstance(gold, Gold) else read_gold(os.fspath(gold))
    questions = questions_of(judged)
    binding = {
        "gold set": fingerprint_of(judged),
        "set of questions": digest(questions),
        "retriever": retriever or name_of(retrieve),
        "provenance": stamp,
    }
    partial = PartialRun(target, binding, {question.query_id for question in questions}, restart=restart)
    if partial.notice:
        (notice or _on_standard_error)(partial.notice)
    resumed = len(partial.lines)
    failures: dict[str, Problem] = {}
    stamped = stamp if code_version is None or "code_version" in stamp else {**stamp, "code_version": code_version}

    def tell() -> None:
        if progress is not None:
            progress(len(partial.lines) + len(failures), len(questions))

    def take(outcome: Outcome) -> None:
        problem = _keep(outcome, stamped, partial)
        if problem is not None:
            failures[str(problem.key)] = problem
        tell()

    with partial:
        try:
            tell()
            ask(retrieve, [question for question in questions if question.query_id not in partial.lines], workers, take)
            lines = [partial.lines[question.query_id] for question in questions if question.query_id in partial.lines]
            if lines:
                data = b"".join(line.data for line in lines)
                write_atomic(target, gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)
        except KeyboardInterrupt as stop:
            stop.add_note(_how_far(partial, len(questions)))
            raise
        partial.remove()
    recorded = Recorded(
        path=redacted(target.as_posix()),
        total=len(questions),
        recorded=len(lines),
        resumed=resumed,
        median_ms=quantile([line.ms for line in lines], 0.5) if lines else None,
        failures=tuple(failures[question.query_id] for question in questions if question.query_id in failures),
    )
    if not lines or len(failures) > allow_errors:
        raise RecordingError(recorded, allow_errors)
    return recorded


def _keep(outcome: Outcome, stamp: Mapping[str, Any], partial: PartialRun) -> Problem | None:
    """Add a result to the partial run, or say why it is none."""
    if isinstance(outcome, Problem):
        return outcome
    try:
        line = run_line(outcome.query_id, outcome.result, outcome.ms, stamp)
    except ResultError as error:
        return Problem(str(error), key=outcome.query_id)
    except Exception as error:  # noqa: BLE001 -- an object of the user's that cannot even be looked at
        return failure(outcome.query_id, error)
    partial.add(outcome.query_id, line)
    return None


def _how_far(partial: PartialRun, total: int) -> str:
    kept = partial.kept()
    if not kept:
        partial.remove()
        return f"0 of {total} questions were recorded; nothing is kept"
    return (
        f"{kept} of {total} questions are recorded and kept in {redacted(partial.path.as_posix())}; "
        "the same command resumes there"
    )


def _writable(path: str | Path) -> Path:
    target = Path(path)
    if os.fspath(path) == STDIN:
        raise bad_input("a run cannot be recorded to standard output, because it is resumed from its file; name a file")
    if target.exists() and not target.is_file():
        raise bad_input("is not a regular file; name a file for the run", file=target.as_posix())
    return target


def _checked_provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    for key in provenance:
        if key in PER_QUERY_KEYS:
            raise bad_input(f"{key!r} cannot be set for the whole run: it belongs to each query's result")
    try:
        checked: dict[str, Any] = json.loads(encoded(provenance))
    except ResultError as error:
        raise bad_input(f"the provenance: {error}") from error
    return checked


def _on_standard_error(text: str) -> None:
    sys.stderr.write(f"{text}\n")
