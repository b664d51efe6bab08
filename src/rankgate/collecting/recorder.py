"""Recording: every gold question through the user's own function, and its answers as a run file."""

from __future__ import annotations

import gzip
import hashlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rankgate.collecting.code_state import PARTIAL, Making, digest_here, why_not_resumed
from rankgate.collecting.lines import Key, Line, PartialRun, checked_provenance, encoded, run_line
from rankgate.collecting.retriever import Retrieve, Service, StopError, failure, name_of
from rankgate.collecting.workers import Calls, Outcome, Question, ask, refuse_limits
from rankgate.errors import Problem, RankgateError, bad_input, did_you_mean, from_python, option, redacted, shown
from rankgate.files.writing import refuse_overwriting, write_atomic
from rankgate.model.lineage import RECORDING
from rankgate.model.traffic_lists import TrafficQuestion
from rankgate.model.values import Gold, RunField
from rankgate.readers.base import ProblemLog, text_digest
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import fingerprint_of, read_gold
from rankgate.readers.mapped import answer_line
from rankgate.readers.mapping import Finder
from rankgate.readers.results import ResultError
from rankgate.readers.source import STDIN
from rankgate.statistics.quantiles import quantile

MAX_FAILURES = 20  # to show
FRUITLESS = 10  # calls that fail before one succeeds: the service is down, or the function is another


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording did with the `total` questions of the gold set and the traffic.

    Attributes:
        path: the run file, as it was named.
        recorded: questions that the run holds; the others failed.
        resumed: those of the recorded that an interrupted recording had left.
        median_ms: median over the recorded of the sum of `latency_ms`; None where no line has one.
        failures: one problem a failing question, in gold order; its key is the query id, file and line are the
            innermost of the user's code.
        unasked: questions that were not asked, since none of the first calls succeeded.
        traffic: how many of the total are of the traffic.
    """

    path: str
    total: int
    recorded: int
    resumed: int
    median_ms: float | None
    failures: tuple[Problem, ...]
    unasked: int = 0
    traffic: int = 0


class RecordingError(RankgateError):
    """More questions failed than were allowed; `recorded` says what was done all the same."""

    def __init__(self, recorded: Recorded, allow_errors: int) -> None:
        failed = len(recorded.failures)
        if recorded.unasked:
            summary = f"none of the first {failed} calls succeeded, so {recorded.unasked:,} questions were not asked"
        elif recorded.recorded:
            allowed = option("allow-errors", str(allow_errors))
            count = f"{failed:,} of {recorded.total:,} questions failed, more than {allowed}"
            summary = f"{count}; {recorded.path} is not written, and the same command asks only them again"
        else:
            summary = f"every question failed; {recorded.path} is not written"
        problems = recorded.failures[:1] if recorded.unasked else first_failures(recorded)
        super().__init__([*problems, Problem(summary)])
        self.recorded = recorded


def first_failures(recorded: Recorded) -> list[Problem]:
    """The failures to show: the first ones, and how many more there are."""
    listed = [*recorded.failures[:MAX_FAILURES]]
    more = len(recorded.failures) - len(listed)
    return [*listed, Problem(f"and {more:,} more")] if more else listed


@from_python
def record(
    gold: str | Path | Gold,
    retrieve: Retrieve,
    path: str | Path,
    *,
    workers: int = 1,
    allow_errors: int = 0,
    provenance: Mapping[str, Any] | None = None,
    making: Making | None = None,
    base_gold: Gold | None = None,
    traffic: Sequence[TrafficQuestion] = (),
    retriever: str | None = None,
    fields: FieldMap | None = None,
    name: str | None = None,
    timeout: float | None = None,
    retries: int = 0,
    restart: bool = False,
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> Recorded:
    """Call `retrieve` once with the text of every gold question and write what it returns as a run.

    The function returns ids, `(id, score)` pairs or items, best first, or a whole run line (see `results`), also one
    with an answer, and may be async. Each call is timed alone, in milliseconds, as `latency_ms: {"retrieve": …}`. The
    run is in gold order, gzipped where its name ends in `.gz`, and replaces an older file in one step at the end.

    Each line states the digest of the text that it answers. Questions of `base_gold` with another id or text are asked
    too, so that the run answers both gold sets. Those of the `traffic` are asked last; their lines are marked
    `traffic: true`, and no gold set sees them.

    Until then the answers are kept in `<path>.partial`, and so they are where too many questions failed. The next
    recording goes on from there: same gold set, retriever, provenance and state of the code, and only questions
    without an answer are asked. Where no commit says which code that is, or has such a file itself, it begins again. A
    question fails when the function raises, takes too long, or returns something else
    than it may; it is then absent from the run. When more than `allow_errors` and at least ten calls have failed and
    none has succeeded, nothing more is asked.

    Args:
        gold: the gold set, or its path.
        retrieve: called with the question as its one positional argument: in this thread, or by several threads at once
            when there are several workers; an async one on an event loop in a thread of its own.
        path: the run file, from the current directory as it is now; missing parent directories are created.
        workers: how many calls may be under way at once.
        allow_errors: how many questions may fail.
        provenance: keys for every line, as `system` or `index_version`.
        base_gold: that of the commit which a pull request is to be merged into.
        traffic: questions without labels, see `inputs.traffic` of the criteria.
        making: which code answers, for the run's first line, and for every line unless the provenance states it.
        retriever: what the partial file calls the function; by default its module and name.
        fields: which keys of what it returns hold what, where that has a shape of its own.
        name: what messages call the run file; by default its path.
        timeout: how many seconds a call may take. Longer ones fail and are left behind: a thread cannot be ended.
        retries: how often a call that failed is repeated, after 0.5 s, 1 s, 2 s and so on.
        restart: ask every question, whatever an interrupted recording has left.
        progress: called after each question with how many are done, and how many there are.
        notice: called with one sentence when a recording is resumed, or cannot be; by default standard error has it.

    Raises:
        RankgateError: the gold set cannot be read or has no questions, the path cannot be written or is that of the
            gold set or of the retriever's module, or a parameter is out of its range.
        RecordingError: more than `allow_errors` questions failed, or not all were asked. An older file stays as it was.
        KeyboardInterrupt, StopError: as it came, with a note that says how far it got; what was answered is kept.
    """
    target = _writable(path)
    _refuse_inputs(target, gold, retrieve)
    called = name or os.fspath(path)
    stamp = checked_provenance(provenance or {})
    calls = Calls(workers=workers, timeout=timeout, retries=retries)
    refuse_limits(calls, allow_errors)
    judged = gold if isinstance(gold, Gold) else read_gold(os.fspath(gold))
    questions = _all_questions(judged, base_gold, traffic)
    state = making.state.digest(making.files) if making else digest_here(str(target))
    binding = {
        "gold set": fingerprint_of(judged),
        # Ids and texts; the judgments have their own digest, the gold's fingerprint.
        "set of questions": hashlib.sha256(json.dumps([*questions]).encode()).hexdigest(),
        "retriever": retriever or name_of(retrieve),
        "provenance": stamp,
        "state of the code": state,
    }
    refused = why_not_resumed(f"{target}{PARTIAL}", state)
    partial = PartialRun(target, binding, questions, name=called, restart=restart, refused=refused)
    if partial.notice and notice:
        notice(partial.notice)
    elif partial.notice:
        sys.stderr.write(f"{partial.notice}\n")
    states_code = making is None or stamp.keys() & {"code_version", "commit"}
    stamped = stamp if making is None or states_code else {**stamp, "code_version": making.state.version}
    finder = _finder_of(fields, retrieve, partial.lines.values())
    recording = _Recording(questions, partial, stamped, finder, allow_errors=allow_errors, progress=progress)
    with partial:
        try:
            recording.report_progress()
            ask(retrieve, recording.left(), calls, recording.take)
            lines = recording.lines()
            if finder and partial.lines and (problems := finder.problems()):  # then each line lacks what the map names
                partial.remove()
                raise RankgateError([replace(each, key=f"retriever.{each.key}") for each in problems])
            if lines and not recording.unasked and not recording.fails:
                data = b"".join([_first(lines[0], making), *(line.data for line in lines[1:])])
                write_atomic(target, gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)
        except (KeyboardInterrupt, StopError) as stop:
            stop.add_note(_how_far(partial, len(questions)))
            raise
        if not lines or not recording.fails:
            partial.remove()
    recorded = recording.recorded(redacted(Path(called).as_posix()))
    if not lines or recording.fails:
        raise RecordingError(recorded, allow_errors)
    return recorded


class _Recording:
    """A recording under way: the lines that there are, in the partial file, and the failures by question."""

    def __init__(
        self,
        questions: Mapping[Key, str],
        partial: PartialRun,
        stamp: Mapping[str, Any],
        finder: Finder | None,
        *,
        allow_errors: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._questions = questions
        self._partial = partial
        self._stamp = stamp
        self._finder = finder
        self._allow_errors = allow_errors
        self._progress = progress
        self._resumed = len(partial.lines)
        self._failures: dict[Key, Problem] = {}

    @property
    def fails(self) -> bool:
        """Whether more questions failed than may."""
        return len(self._failures) > self._allow_errors

    @property
    def unasked(self) -> int:
        """How many questions have neither a line nor a failure."""
        return len(self._questions) - len(self._partial.lines) - len(self._failures)

    def left(self) -> list[Question]:
        """The questions that no earlier recording has answered."""
        return [
            Question(key, text, self._resumed > 0)
            for key, text in self._questions.items()
            if key not in self._partial.lines
        ]

    def lines(self) -> list[Line]:
        """The lines that there are, in the order of the questions."""
        return [*filter(None, map(self._partial.lines.get, self._questions))]

    def report_progress(self) -> None:
        """Say how many questions are done."""
        if self._progress is not None:
            self._progress(len(self._questions) - self.unasked, len(self._questions))

    def take(self, question: Question, outcome: Outcome) -> bool:
        """Keep what came back; False where the first calls have failed and none has succeeded."""
        line = _line_of(question, outcome, self._stamp, self._finder)
        if isinstance(line, Problem):
            self._failures[question.key] = line
        else:
            self._partial.add(line)
        self.report_progress()
        succeeds = len(self._partial.lines) > self._resumed
        return succeeds or len(self._failures) < max(FRUITLESS, self._allow_errors + 1)

    def recorded(self, path: str) -> Recorded:
        """What was done, for a run file that messages call so."""
        lines = self.lines()
        times = [line.ms for line in lines if line.ms is not None]
        return Recorded(
            path=path,
            total=len(self._questions),
            recorded=len(lines),
            resumed=self._resumed,
            median_ms=quantile(times, 0.5) if times else None,
            failures=tuple(filter(None, map(self._failures.get, self._questions))),
            unasked=self.unasked,
            traffic=sum(key.traffic for key in self._questions),
        )


def _questions_of(gold: Gold) -> dict[str, str]:
    """The question of every sample, unanswerable ones included, as the gold has them."""
    texts = {query_id: sample.question or "" for query_id, sample in gold.samples.items()}
    if not any(text.strip() for text in texts.values()):
        hint = "; qrels hold judgments only" if gold.format == "qrels" else ""
        raise bad_input(f"no sample has a question (input.question), so there is nothing to ask{hint}", file=gold.name)
    log = ProblemLog()
    for query_id, text in texts.items():
        if not text.strip():
            line = gold.samples[query_id].line
            log.add(Problem(f"sample {shown(query_id)} has no question; add input.question", gold.name, line))
    log.raise_if_any()
    return texts


def _all_questions(gold: Gold, base: Gold | None, traffic: Iterable[TrafficQuestion]) -> dict[Key, str]:
    """The questions of both gold sets, each text of an id once, of the base's as far as it has texts; then traffic."""
    questions: dict[Key, str] = {}
    for query_id, text in _questions_of(gold).items():
        questions[Key(query_id, text_digest(text))] = text
    for sample in base.samples.values() if base else ():
        if sample.question and sample.question.strip():
            questions[Key(sample.query_id, text_digest(sample.question))] = sample.question
    for each in traffic:
        questions[Key(each.query_id, text_digest(each.question), traffic=True)] = each.question
    return questions


def _finder_of(fields: FieldMap | None, retrieve: Retrieve, before: Iterable[Line] = ()) -> Finder | None:
    """What finds the parts of an answer, and knows which were in those before; None where there is nothing to find."""
    if fields is None and not isinstance(retrieve, Service):
        return None
    finder = Finder(fields or FieldMap(query_id=""), frozenset(RunField))
    for line in before:
        known = json.loads(line.data)
        finder.know([*known, *(key for item in known["topk"] for key in item)])
    return finder


def ask_one(gold: Gold, query_id: str, retrieve: Retrieve, calls: Calls, fields: FieldMap | None) -> Line:
    """The run line of one question, which is written nowhere; a RankgateError where it gets none."""
    questions = _questions_of(gold)
    if query_id not in questions:
        hint = did_you_mean(query_id, questions) or f"; the first is {shown(next(iter(questions)))}"
        raise bad_input(f"there is no question {shown(query_id)}{hint}", file=gold.name, key="--only")
    lines: list[Line | Problem] = []
    finder = _finder_of(fields, retrieve)

    def take(question: Question, outcome: Outcome) -> bool:
        lines.append(_line_of(question, outcome, {}, finder))
        return True

    text = questions[query_id]
    ask(retrieve, [Question(Key(query_id, text_digest(text)), text)], calls, take)
    if isinstance(lines[0], Problem):
        raise RankgateError([lines[0]])
    return lines[0]


def _line_of(question: Question, outcome: Outcome, stamp: Mapping[str, Any], finder: Finder | None) -> Line | Problem:
    """The run line of what came back, or why there is none."""
    if isinstance(outcome, Problem):
        return outcome
    try:
        result = _mapped(outcome.result, finder) if finder else outcome.result
        return run_line(question.key, result, outcome.ms, stamp)
    except ResultError as error:
        return Problem(str(error), key=question.query_id)
    except Exception as error:  # noqa: BLE001 -- an object of the user's that cannot even be looked at
        return failure(question.query_id, error)


def _first(line: Line, making: Making | None) -> bytes:
    """The first line of the run, which states how it was made."""
    if making is None:
        return line.data
    return encoded({**json.loads(line.data), RECORDING: msgspec.to_builtins(making.ended())})


def _mapped(answer: Any, finder: Finder) -> Any:
    try:
        return answer_line(answer, finder)
    except ValueError as error:
        raise ResultError(str(error)) from error


def _how_far(partial: PartialRun, total: int) -> str:
    kept = partial.kept()
    if not kept:
        partial.remove()
        return f"0 of {total:,} questions were recorded; nothing is kept"
    return f"{kept:,} of {total:,} questions are recorded and kept in {partial.name}; the same command resumes there"


def _writable(path: str | Path) -> Path:
    target = Path(path)
    if os.fspath(path) == STDIN:
        raise bad_input("a run cannot be recorded to standard output, because it is resumed from its file; name a file")
    if target.exists() and not target.is_file():
        raise bad_input("is not a regular file; name a file for the run", file=target.as_posix())
    return target.absolute()  # the retriever may change the directory


def _refuse_inputs(target: Path, gold: str | Path | Gold, retrieve: Retrieve) -> None:
    inputs = [] if isinstance(gold, Gold) else [("gold", os.fspath(gold))]
    if isinstance(retrieve, Service):
        inputs += [("the command", file) for file in retrieve.files]
    with suppress(TypeError):  # built in, or an object
        inputs.append(("retrieve", inspect.getfile(retrieve)))
    refuse_overwriting([("path", str(target)), ("path", f"{target}{PARTIAL}")], inputs)
