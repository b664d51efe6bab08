"""`rankgate record`: the user's own retriever over the gold questions, and the run that it makes."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rankgate.cli.inputs import (
    RETRIEVERS,
    add_retriever,
    criteria_if_any,
    question_named,
    refuse_overwriting,
    retriever_in,
    retriever_of,
)
from rankgate.cli.options import add_option, add_shared, make_parser
from rankgate.cli.output import bar, say
from rankgate.cli.processes import terminated_as_interrupted
from rankgate.collecting.code_state import FAILED, Making, code_state, now
from rankgate.collecting.lines import Line
from rankgate.collecting.recorder import Recorded, RecordingError, ask_one, first_failures, record
from rankgate.collecting.retriever import MAX_BYTES, Command, HttpService, Retrieve, Service, StopError, load_retriever
from rankgate.collecting.traffic import limited
from rankgate.collecting.workers import Calls, refuse_limits
from rankgate.criteria.inputs import Inputs, gold_of
from rankgate.criteria.retriever_block import VARIABLE, Retriever
from rankgate.criteria.run_code import code_files
from rankgate.errors import Problem, RankgateError, bad_input, on_one_line
from rankgate.files.git import GitError
from rankgate.files.writing import write_atomic
from rankgate.model.traffic_lists import TrafficQuestion
from rankgate.model.values import Gold
from rankgate.model.wording import count_text
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.source import STDIN
from rankgate.readers.traffic import read_traffic

if TYPE_CHECKING:
    from rankgate.criteria import Criteria

_SHORTEST_SECRET = 8  # a shorter one is a word that may stand anywhere
_SECONDS = 60.0  # of a call to what lies outside of this process


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "record",
        "Ask your own retriever each gold question once and write what it returns as a run.\n\n"
        "It is what `retriever:` in the criteria names: a function, an address or a command, with a map of what it\n"
        "answers. It gets the question and returns, best first, ids, (id, score)\n"
        'pairs or items like {"chunk_id": "doc_1#p6", "score": 18.4, "doc_id": "doc_1"}; or a whole run line, a\n'
        "mapping with topk and, where it answers too, answer, citations, context and abstained.\n"
        "A function may be async. Each call is timed into latency_ms. Answers are kept in FILE.partial until all\n"
        "questions are answered: after an interruption or failures the same command asks only what is missing. When\n"
        "ten calls have failed and none has succeeded, nothing more is asked.",
        "rankgate record                                   # what ship-criteria.yaml names, written to inputs.run",
        "rankgate record --only q-001                      # asks one question, prints its list, writes nothing",
        "rankgate record --retriever my_app.search:retrieve --gold gold.yaml -o run.jsonl",
        "rankgate record --retriever my_app.search:index.retrieve --workers 8 --gold gold.yaml -o run.jsonl.gz",
        "rankgate record --set index_version=v7",
        "rankgate record --base origin/main                # in a pull request: main's questions are asked as well",
        "rankgate record --traffic-limit 2000              # of inputs.traffic so many questions",
        "rankgate record --url 'https://host/search?q={{question}}' -o run.jsonl",
        "rankgate record --command 'node search.js' -o run.jsonl   # JSON on stdin, JSON on stdout",
        "rankgate check --record                           # records, and judges",
        exits="0 recorded; 2 not, as where more questions failed than --allow-errors; 130 interrupted",
    )
    add_retriever(options, "in place of the criteria's retriever")
    add_shared(options, "criteria", "gold")
    output = "the run to write (JSONL; gzipped where it ends in .gz; default: inputs.run of the criteria)"
    add_option(options, "-o --output FILE", output, action="write")
    add_option(options, "--only ID", "ask this question alone, print what comes back, and write nothing")
    workers = "how many calls at once: threads, or tasks for an async function (default: 1, or as the criteria say)"
    add_option(options, "--workers N", workers, type=int)
    add_option(options, "--allow-errors N", "how many questions may fail (default: 0)", type=int, default=0)
    timeout = "of a call, which then failed (default: as the criteria say, else 60, for a function none)"
    add_option(options, "--timeout SECONDS", timeout, type=float)
    stamp = (
        "stamp every line, as in index_version=v7; the value is JSON where it reads as JSON, else text; "
        "system is the retriever and code_version the commit that is checked out, unless set; repeats"
    )
    add_option(options, "--set KEY=VALUE", stamp, action="append", default=[], dest="settings")
    base = (
        "the commit that a pull request is to be merged into: the questions of its gold set are asked too, where their "
        "id or text is another, so that `check --base` finds both answered"
    )
    add_option(options, "--base REF", base)
    add_shared(options, "traffic_limit")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Record, say what was done, and return 0 or 130; problems are raised."""
    named = any(getattr(arguments, key) for key in RETRIEVERS)
    complete = named and arguments.gold and (arguments.output or arguments.only)
    criteria = None if complete else criteria_if_any(arguments)
    retriever = retriever_of(arguments) or retriever_in(criteria)
    timeout = retriever.timeout if arguments.timeout is None else arguments.timeout
    if timeout is None and retriever.function is None:
        timeout = _SECONDS
    workers = retriever.workers if arguments.workers is None else arguments.workers
    calls = Calls(workers=workers, timeout=timeout, retries=retriever.retries)
    refuse_limits(calls, arguments.allow_errors)
    gold = gold_of(arguments.gold, criteria)
    if arguments.only is not None:
        only = question_named(arguments.only, gold.samples)
        with _naming(criteria, retriever):
            line = ask_one(gold, only, _opened(retriever, calls), calls, retriever.map)
        say(_listing(gold, line))
        return 0
    return _record(arguments, gold, criteria, retriever, calls)


def _record(
    arguments: argparse.Namespace, gold: Gold, criteria: Criteria | None, retriever: Retriever, calls: Calls
) -> int:
    output = arguments.output = _output(arguments, criteria)
    refuse_overwriting("record", arguments)
    stated = settings(arguments.settings)
    making = _making(arguments, criteria, retriever)
    base = _base_questions(arguments)
    traffic = _traffic(arguments, criteria, base)
    # From here on the user's code runs, and may change the directory.
    path = output if output == STDIN else Path(output).absolute()
    share = 0.0  # of the questions, answered

    def progress(done: int, total: int) -> None:
        nonlocal share
        share = done / max(1, total)

    try:
        with (
            terminated_as_interrupted(),
            bar(lambda: share, "recording"),
            _marked(str(path)),
            _naming(criteria, retriever),
            ExitStack() as ending,
        ):
            retrieve = _opened(retriever, calls)
            if isinstance(retrieve, Command):
                ending.callback(retrieve.close)
            system = retrieve.system if isinstance(retrieve, Service) else retriever.function
            recorded = record(
                gold,
                retrieve,
                path,
                workers=calls.workers,
                allow_errors=arguments.allow_errors,
                provenance={"system": system, **stated},
                making=making,
                base_gold=base[0],
                traffic=traffic,
                retriever=f"{system} {retriever.digest}",
                fields=retriever.map,
                name=output,
                timeout=calls.timeout,
                retries=calls.retries,
                progress=progress,
            )
    except (KeyboardInterrupt, StopError) as stop:
        is_refused = isinstance(stop, StopError)
        what = f"error: {stop}" if is_refused else "interrupted"
        sys.stderr.write(": ".join([what, *getattr(stop, "__notes__", [])]) + "\n")
        return 2 if is_refused else 130
    for problem in first_failures(recorded):
        sys.stderr.write(f"warning: {problem}\n")
    say(summary(recorded))
    return 0


def _output(arguments: argparse.Namespace, criteria: Criteria | None) -> str:
    """The run to write: as an option says, else the one that the criteria name."""
    if arguments.output is not None:
        return str(arguments.output)
    run_file = criteria.inputs.run if criteria else None
    if criteria is None or run_file is None:
        where = f", or add `run: run.jsonl` under `inputs:` in {criteria.name}" if criteria else ""
        raise bad_input(f"no run is named; give it with -o FILE{where}")
    if run_file.map or run_file.format not in (None, "jsonl"):
        what = "is read by a map or in another format, and a recording is JSONL in rankgate's own shape"
        raise bad_input(f"{what}; name the path alone, or -o FILE", file=criteria.name, key="inputs.run")
    return run_file.path


def _base_questions(arguments: argparse.Namespace) -> tuple[Gold | None, Sequence[TrafficQuestion]]:
    """The gold set and the traffic at the base, if one is named; without what cannot be read, as the check says."""
    if not arguments.base:
        return None, ()
    from rankgate.base_ref.commits import base_questions

    inputs = Inputs(date="", criteria=arguments.criteria, gold=arguments.gold)
    try:
        return base_questions(inputs, arguments.base)
    except GitError:
        raise
    except RankgateError as error:
        sys.stderr.writelines(f"warning: the base's questions are not asked: {each}\n" for each in error.problems)
        return None, ()


def _traffic(
    arguments: argparse.Namespace, criteria: Criteria | None, base: tuple[Gold | None, Sequence[TrafficQuestion]]
) -> list[TrafficQuestion]:
    """The questions of the traffic to ask: those that the criteria name, then the base's, each up to the limit."""
    limit = arguments.traffic_limit
    if limit is not None and limit < 0:
        raise bad_input(f"must be at least 0, not {limit}", key="--traffic-limit")
    named = criteria.inputs.traffic if criteria else None
    return [*limited(read_traffic(named) if named else (), limit), *limited(base[1], limit)]


def _making(arguments: argparse.Namespace, criteria: Criteria | None, retriever: Retriever) -> Making | None:
    """What the run will say of its code; None where git knows none."""
    state = code_state(arguments.output)
    if state is None:
        return None
    gold = arguments.gold.path if arguments.gold else None
    return Making(
        state=state,
        files=code_files(criteria, gold, arguments.output, state.root, retriever.files),
        retriever=retriever.digest,
        is_function=retriever.function is not None,
        begin=now(),
    )


@contextmanager
def _marked(run: str) -> Iterator[None]:
    """A mark beside the run from the beginning of its recording to a good end, with what went wrong, for checks."""
    mark = f"{run}{FAILED}"
    with suppress(RankgateError):  # the recording itself will say why nothing can be written there
        write_atomic(mark, "it was ended\n")
    try:
        yield
    except RankgateError as error:
        with suppress(RankgateError):
            write_atomic(mark, "".join(f"{problem}\n" for problem in error.problems))
        raise
    Path(mark).unlink(missing_ok=True)


def _opened(retriever: Retriever, calls: Calls) -> Retrieve:
    """What is called for each question."""
    if retriever.function is not None:
        return load_retriever(retriever.function)
    if retriever.command is not None:
        return Command(retriever.command, calls.timeout or _SECONDS)
    from rankgate.forges.http import Clock, exchange, session_of

    headers, secrets = _headers_of(retriever.headers)
    session = session_of(None, headers, connections=calls.workers)  # the bot's, without its token
    patience = (calls.timeout or _SECONDS) + 5  # a call gives up earlier
    send = partial(exchange, session, limit=MAX_BYTES, clock=Clock(), read_seconds=patience)
    return HttpService(retriever.url or "", retriever.method, retriever.body, send, secrets)


def _headers_of(written: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Headers with what the environment has for their variables, and these secrets; an error where it has none."""
    headers: dict[str, str] = {}
    secrets: list[str] = []
    for name, value in written.items():
        scheme, known = VARIABLE.findall(value)[0]
        secret = os.environ.get(known, "")
        if not re.fullmatch("[!-~]+", secret):
            what = f"{known} of the environment is not set, or holds what no key has"
            raise bad_input(what, key=f"retriever.headers.{name}")
        headers[name] = f"{scheme} {secret}" if scheme else secret
        secrets.append(secret)
    return headers, [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]


@contextmanager
def _naming(criteria: Criteria | None, retriever: Retriever) -> Iterator[None]:
    """Errors about a retriever that the criteria name say so, and not the option in its place."""
    try:
        yield
    except (RecordingError, StopError):
        raise
    except RankgateError as error:
        if criteria is None or retriever is not criteria.retriever:
            raise
        raise RankgateError([_named(each, criteria.name, retriever.line) for each in error.problems]) from error


def _named(problem: Problem, file: str, line: int | None) -> Problem:
    key = {"--retriever": "retriever.function", "--command": "retriever.command"}.get(problem.key or "", problem.key)
    if problem.file or not key or not key.startswith("retriever."):
        return replace(problem, key=key)
    return replace(problem, key=key, file=file, line=line)


def _listing(gold: Gold, line: Line) -> str:
    """What one question got: its list, and the answer if there is one."""
    known = json.loads(line.data)
    rows: list[str] = []
    for item in known["topk"]:
        chunk_id = on_one_line(str(item.get("chunk_id", item.get("id"))))
        score = "" if item.get("score") is None else f"  {item['score']:g}"
        rows.append(f"{item['rank']:>4}  {chunk_id}{score}\n")
    answer = f"answer: {on_one_line(' '.join(known['answer'].split()))}\n" if known.get("answer") else ""
    question = on_one_line(gold.samples[line.key.query_id].question or "")
    return f"{on_one_line(line.key.query_id)}: {question}\n" + ("".join(rows) or "  no results\n") + answer


def settings(written: Sequence[str]) -> dict[str, Any]:
    """Provenance from `KEY=VALUE` words; a value is JSON where it reads as JSON, else text.

    Text too is a number that JSON would write in another way, because `1.10` is a version and `12e4567` a commit.
    """
    provenance: dict[str, Any] = {}
    for word in written:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise bad_input(f"{word!r} is not KEY=VALUE, as in index_version=v7", key="--set")
        if key in provenance:
            raise bad_input(f"{key} is set twice", key="--set")
        provenance[key] = text
        with suppress(JsonError):
            value = strict_json(text)
            if not isinstance(value, float) or json.dumps(value) == text:
                provenance[key] = value
    return provenance


def summary(recorded: Recorded) -> str:
    """`recorded 160 of 160 questions in run.jsonl (median 12 ms)`, without the median where no line has a time."""
    median = recorded.median_ms or 0.0
    time = f"{median:.0f}" if median >= 10 else f"{median:.2g}"  # noqa: PLR2004 -- two digits tell enough
    timed = "" if recorded.median_ms is None else f" (median {time} ms)"
    traffic = f", {recorded.traffic:,} of them traffic," if recorded.traffic else ""
    asked = count_text(recorded.total, "question")
    return f"recorded {recorded.recorded:,} of {asked}{traffic} in {recorded.path}{timed}\n"
