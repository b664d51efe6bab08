"""`rankgate record`: the user's own retriever over the gold questions, and the run that it makes."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from rankgate.cli.inputs import criteria_if_any, file_of
from rankgate.cli.options import add_criteria, add_gold, make_parser
from rankgate.cli.output import say
from rankgate.cli.progress import bar
from rankgate.cli.signals import terminated_as_interrupted
from rankgate.criteria.inputs import gold_of
from rankgate.errors import bad_input
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.source import STDIN
from rankgate.recording import Recorded, RecordingError, record
from rankgate.recording.recorder import first_failures
from rankgate.recording.retriever import StopError, code_version, load_retriever
from rankgate.recording.services import MAX_BYTES, Command, HttpService, Send, headers_of

_PATHS = {"--results": "results", "--id": "chunk_id", "--score": "score", "--text": "text", "--doc-id": "doc_id"}
_ASKED = (*_PATHS.values(), "url", "method", "body", "header", "command")


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "record",
        "Ask your own retriever each gold question once and write what it returns as a run.\n\n"
        "It is a function, an address or a command. It gets the question and returns, best first, ids, (id, score)\n"
        'pairs or items like {"chunk_id": "doc_1#p6", "score": 18.4, "doc_id": "doc_1"}; or a whole run line, a\n'
        "mapping with topk and, where it answers too, answer, citations, context and abstained.\n"
        "A function may be async. Each call is timed into latency_ms. Answers are kept in FILE.partial until all\n"
        "questions are answered: after an interruption or failures the same command asks only what is missing. When\n"
        "ten calls have failed and none has succeeded, nothing more is asked.\n\n"
        "exit codes: 0 recorded; 2 nothing could be recorded, or more questions failed than --allow-errors\n"
        "(the run is then written without them); 130 interrupted",
        "rankgate record --retriever my_app.search:retrieve --gold gold.yaml -o run.jsonl",
        "rankgate record --retriever my_app.search:index.retrieve --workers 8 --gold gold.yaml -o run.jsonl.gz",
        "rankgate record --retriever app:search --set index_version=v7 --gold gold.yaml -o run.jsonl",
        "rankgate record --url 'https://host/search?q={{question}}' --results hits --id key -o run.jsonl",
        'rankgate record --url https://host/_search --body \'{"query": {"match": {"body": "{{question}}"}}}\' \\\n'
        "      --header 'Authorization: Bearer env:TOKEN' --results hits.hits --id _id --score _score -o run.jsonl",
        "rankgate record --command 'node search.js' -o run.jsonl   # JSON on stdin, JSON on stdout",
        "rankgate check --gold gold.yaml --run run.jsonl      # then judge it",
    )
    add_services(options)
    add_criteria(options)
    add_gold(options)
    output = "the run to write (JSONL; gzipped where it ends in .gz)"
    options.add_argument("-o", "--output", metavar="FILE", required=True, help=output)
    workers = "how many calls at once: threads, or tasks for an async function (default: 1)"
    options.add_argument("--workers", metavar="N", type=int, default=1, help=workers)
    errors = "how many questions may fail (default: 0)"
    options.add_argument("--allow-errors", metavar="N", type=int, default=0, help=errors)
    timeout = "of a call, which then failed (default: 60, for a function none)"
    options.add_argument("--timeout", metavar="SECONDS", type=float, help=timeout)
    retries = (
        "how often a call that failed is repeated, after 0.5 s, 1 s, 2 s and so on (default: 0); after 4xx it is not, "
        "and a server that asks to wait (429, 503 with Retry-After) is waited for anyway"
    )
    options.add_argument("--retries", metavar="N", type=int, default=0, help=retries)
    stamp = (
        "stamp every line, as in index_version=v7; the value is JSON where it reads as JSON, else text; "
        "system is the retriever and code_version the commit that is checked out, unless set; repeats"
    )
    options.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="settings", help=stamp)
    options.add_argument("--restart", action="store_true", help="begin again, also where FILE.partial could be resumed")
    return options


def add_services(options: argparse.ArgumentParser) -> None:
    """The kinds of retrievers, what is sent to an address, and where answers have what."""
    kinds = options.add_mutually_exclusive_group(required=True)
    function = "the function to call, or an object of LangChain, LlamaIndex or Haystack; current directory first"
    kinds.add_argument("--retriever", metavar="MODULE:FUNCTION", help=function)
    url = "the address to send each question to, which answers in JSON; {{question}} is filled in after its `?`"
    kinds.add_argument("--url", metavar="ADDRESS", help=url)
    command = "the command to run for each question, without a shell: a line of JSON (query_id, question) in, JSON out"
    kinds.add_argument("--command", metavar="WORDS", help=command)
    options.add_argument("--method", choices=["GET", "POST"], help="of --url (default: POST with a --body, else GET)")
    body = "what --url gets: JSON and nothing else; {{question}} and {{query_id}} are filled into its texts"
    options.add_argument("--body", metavar="JSON", help=body)
    header = "what --url gets too, keys as 'Authorization: Bearer env:TOKEN' from the environment alone; repeats"
    options.add_argument("--header", metavar="'NAME: VALUE'", action="append", default=[], help=header)
    results = "where an answer has its list: keys, and positions from 0, joined by dots (default: it is the list)"
    own = "where a result has its id (default: it is one, or has chunk_id or id)"
    others = {f"--{name}": f"where a result has its {name.replace('-', ' ')}" for name in ("score", "text", "doc-id")}
    for option, what in {"--results": results, "--id": own, **others}.items():
        options.add_argument(option, metavar="PATH", dest=_PATHS[option], help=what)


def service_of(arguments: argparse.Namespace) -> HttpService | Command | None:
    """The address or the command that is named, with a timeout; None where it is a function."""
    paths = {name: getattr(arguments, name) for name in _PATHS.values() if getattr(arguments, name)}
    if arguments.url is None and (arguments.body or arguments.method or arguments.header):
        raise bad_input("--method, --body and --header belong to --url")
    if (arguments.retriever and paths) or (paths.keys() - {"results", "chunk_id"} and "chunk_id" not in paths):
        raise bad_input(f"{', '.join(_PATHS)} belong to --url and --command, and those after --id need it")
    if arguments.retriever is not None:
        return None
    if arguments.timeout is None:
        arguments.timeout = 60.0
    if arguments.url is None:
        return Command(arguments.command, paths, arguments.timeout)
    headers, secrets = headers_of(arguments.header)
    send = _sender(headers, arguments.timeout, arguments.workers)
    return HttpService(arguments.url, arguments.method, arguments.body, paths, send, secrets)


def _sender(headers: Mapping[str, str], seconds: float, workers: int) -> Send:
    """Requests by the bot's client without its token, which gives up later than a call."""
    from requests.adapters import HTTPAdapter

    from rankgate.forges.http import CONNECT_SECONDS, Clock, exchange, session_of

    class Patient(HTTPAdapter):
        def send(self, *given: Any, **how: Any) -> Any:
            return super().send(*given, **{**how, "timeout": (CONNECT_SECONDS, seconds + 5)})

    session = session_of(None)
    session.headers.update(headers)
    session.mount("http://", Patient(pool_maxsize=workers))
    session.mount("https://", Patient(pool_maxsize=workers))
    return partial(exchange, session, limit=MAX_BYTES, clock=Clock())


def run(arguments: argparse.Namespace) -> int:
    """Record, say what was done, and return 0 or 130; problems are raised."""
    service = service_of(arguments)
    system = service.system if service else arguments.retriever
    asked = hashlib.sha256(json.dumps([getattr(arguments, name) for name in _ASKED]).encode()).hexdigest()[:12]
    provenance = {"system": system, **settings(arguments.settings)}
    own = None if provenance.keys() & {"code_version", "commit"} else code_version(arguments.output)
    gold_file = file_of(arguments, "gold")
    gold = gold_of(gold_file, None if gold_file else criteria_if_any(arguments))
    # From here on the user's code runs, and may change the directory.
    path = arguments.output if arguments.output == STDIN else Path(arguments.output).absolute()
    done = [0, 1]
    try:
        with (
            terminated_as_interrupted(),
            bar(lambda: done[0] / max(1, done[1]), "recording"),
            closing(service) if isinstance(service, Command) else nullcontext(),
        ):
            recorded = record(
                gold,
                service or load_retriever(arguments.retriever),
                path,
                workers=arguments.workers,
                allow_errors=arguments.allow_errors,
                provenance=provenance,
                code_version=own,
                retriever=f"{system} {asked}" if service else system,
                name=arguments.output,
                timeout=arguments.timeout,
                retries=arguments.retries,
                restart=arguments.restart,
                progress=lambda *now: done.__setitem__(slice(2), now),
            )
    except (KeyboardInterrupt, StopError) as stop:
        what, code = (f"error: {stop}", 2) if isinstance(stop, StopError) else ("interrupted", 130)
        sys.stderr.write(": ".join([what, *getattr(stop, "__notes__", [])]) + "\n")
        return code
    except RecordingError as error:
        if error.recorded.recorded and not error.recorded.unasked:
            say(summary(error.recorded))
        raise
    for problem in first_failures(recorded):
        sys.stderr.write(f"warning: {problem}\n")
    say(summary(recorded))
    return 0


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
    return f"recorded {recorded.recorded} of {recorded.total} questions in {recorded.path}{timed}\n"
