"""`rankgate record`: the user's own retriever over the gold questions, and the run that it makes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
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
from rankgate.recording.retriever import code_version, load_retriever


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "record",
        "Call your own retrieve function once per gold question and write what it returns as a run.\n\n"
        "The function gets the question and returns, best first, ids, (id, score) pairs or items like\n"
        '{"chunk_id": "doc_1#p6", "score": 18.4, "doc_id": "doc_1"}; or a whole run line, a mapping with topk\n'
        "and, where it answers too, answer, citations, context and abstained.\n"
        "It may be async. Each call is timed into latency_ms. Answers are kept in FILE.partial until all questions\n"
        "are answered: after an interruption or failures the same command asks only what is missing. When ten calls\n"
        "have failed and none has succeeded, nothing more is asked.\n\n"
        "exit codes: 0 recorded; 2 nothing could be recorded, or more questions failed than --allow-errors\n"
        "(the run is then written without them); 130 interrupted",
        "rankgate record --retriever my_app.search:retrieve --gold gold.yaml -o run.jsonl",
        "rankgate record --retriever my_app.search:index.retrieve --workers 8 --gold gold.yaml -o run.jsonl.gz",
        "rankgate record --retriever app:search --set index_version=v7 --gold gold.yaml -o run.jsonl",
        "rankgate check --gold gold.yaml --run run.jsonl      # then judge it",
    )
    retriever = "the function to call; looked up in the current directory first"
    options.add_argument("--retriever", metavar="MODULE:FUNCTION", required=True, help=retriever)
    add_criteria(options)
    add_gold(options)
    output = "the run to write (JSONL; gzipped where it ends in .gz)"
    options.add_argument("-o", "--output", metavar="FILE", required=True, help=output)
    workers = "how many calls at once: threads, or tasks for an async function (default: 1)"
    options.add_argument("--workers", metavar="N", type=int, default=1, help=workers)
    errors = "how many questions may fail (default: 0)"
    options.add_argument("--allow-errors", metavar="N", type=int, default=0, help=errors)
    timeout = "of one call; it then counts as failed (default: none)"
    options.add_argument("--timeout", metavar="SECONDS", type=float, help=timeout)
    retries = "how often a call that failed is repeated, after 0.5 s, 1 s, 2 s and so on (default: 0)"
    options.add_argument("--retries", metavar="N", type=int, default=0, help=retries)
    stamp = (
        "stamp every line, as in index_version=v7; the value is JSON where it reads as JSON, else text; "
        "system is the retriever and code_version the commit that is checked out, unless set; repeats"
    )
    options.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="settings", help=stamp)
    options.add_argument("--restart", action="store_true", help="begin again, also where FILE.partial could be resumed")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Record, say what was done, and return 0 or 130; problems are raised."""
    provenance = {"system": arguments.retriever, **settings(arguments.settings)}
    own = None if provenance.keys() & {"code_version", "commit"} else code_version(arguments.output)
    gold_file = file_of(arguments, "gold")
    gold = gold_of(gold_file, None if gold_file else criteria_if_any(arguments), part="whole")
    # From here on the user's code runs, and may change the directory.
    path = arguments.output if arguments.output == STDIN else Path(arguments.output).absolute()
    done = [0, 1]
    try:
        with terminated_as_interrupted(), bar(lambda: done[0] / max(1, done[1]), "recording"):
            recorded = record(
                gold,
                load_retriever(arguments.retriever),
                path,
                workers=arguments.workers,
                allow_errors=arguments.allow_errors,
                provenance=provenance,
                code_version=own,
                retriever=arguments.retriever,
                name=arguments.output,
                timeout=arguments.timeout,
                retries=arguments.retries,
                restart=arguments.restart,
                progress=lambda *now: done.__setitem__(slice(2), now),
            )
    except KeyboardInterrupt as stop:
        notes = getattr(stop, "__notes__", [])
        sys.stderr.write(": ".join(["interrupted", *notes]) + "\n")
        return 130
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
    """`recorded 160 of 160 questions in run.jsonl (median 12 ms)`."""
    median = recorded.median_ms or 0.0
    time = f"{median:.0f}" if median >= 10 else f"{median:.2g}"  # noqa: PLR2004 -- two digits tell enough
    return f"recorded {recorded.recorded} of {recorded.total} questions in {recorded.path} (median {time} ms)\n"
