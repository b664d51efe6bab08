"""Options that several commands share, and how their values become inputs."""

from __future__ import annotations

import argparse
import datetime as dt
import re
from typing import TYPE_CHECKING, Any, NoReturn

from rankgate.criteria import DEFAULT_PATHS
from rankgate.errors import bad_input, did_you_mean, redacted_text
from rankgate.metrics.names import COMPARED_METRICS

if TYPE_CHECKING:
    from rankgate.criteria.retriever_block import Retriever

# Every option and argument that names files or stores, by its attribute: what a command writes, and what it reads.
OUTPUTS = {"output": "-o", "per_query": "--per-query", "store": "--store", "to": "--to", "directory": "DIR"}
OUTPUTS |= {"export": "--export"}
_FLAGS = ("criteria", "gold", "run", "baseline", "baseline_copy", "verdicts", "template", "bm25", "retriever")
_PLACES = {
    "place": "--baseline",
    "report": "--from",
    "runs": "RUN",
    "mined": "--from",
    "labelled": "LABELLED",
    "labels": "LABELS",
    "a": "A",
    "b": "B",
    "sample": "SAMPLE",
    "sheet": "--import",
    "claims_of": "--sample",
}
_PLACES |= {"corpus": "--corpus", "chunks": "--chunks"}
_PLACES |= {"values": "--per-query", "baseline_values": "--baseline-per-query"}
INPUTS = {name: f"--{name.replace('_', '-')}" for name in _FLAGS} | _PLACES
RETRIEVERS = {"retriever": "function", "url": "url", "command": "command"}  # what each option names of the block
_MOST_LINES = 2  # of a usage that stands above an error
_NAMED = "one of {}; else detected from the content"


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What a command or an action does not know is its own error, not that of the group."""
        known, others = super().parse_known_args(args, namespace)
        if others:
            self.error(f"unrecognized arguments: {' '.join(others)}")
        return known, others

    def error(self, message: str) -> NoReturn:
        """End with a usage error; what was written in place of a number or a choice may be an address."""
        usage = self.format_usage()
        if usage.count("\n") > _MOST_LINES:
            words = [str(action.metavar or action.dest) for action in self._get_positional_actions()]
            usage = f"usage: {' '.join([self.prog, *words, '[options]'])}; {self.prog} --help lists them\n"
        self.exit(2, f"{usage}{self.prog}: error: {redacted_text(message)}{self._meant(message)}\n")

    def _meant(self, message: str) -> str:
        """The nearest choice or option."""
        kind, _, written = message.partition("unrecognized arguments: ")
        if written:
            names = [name.removeprefix("--") for name in self._option_string_actions]
            near = did_you_mean(written.split()[0].removeprefix("--"), names) if written.startswith("--") else ""
            return near.replace(" '", " '--", 1)
        choice = re.search(r"invalid choice: '?(.*?)'? \(choose from (.*)\)", kind)
        return did_you_mean(choice[1], re.split(r"'?, '?", choice[2].strip("'"))) if choice else ""


def make_parser(command: str, description: str, *examples: str) -> argparse.ArgumentParser:
    """A parser whose help ends in examples to copy."""
    return _Parser(
        prog=f"rankgate {command}",
        description=description,
        epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_gold(parser: argparse.ArgumentParser) -> None:
    """`--gold` and `--gold-format`."""
    from rankgate.readers.formats import GOLD_FORMATS, listed

    parser.add_argument("--gold", metavar="FILE", help=f"the gold set ({listed(GOLD_FORMATS)}; .gz; - for stdin)")
    parser.add_argument("--gold-format", metavar="NAME", help=_NAMED.format(", ".join(GOLD_FORMATS)))


def add_run(parser: argparse.ArgumentParser) -> None:
    """`--run` and `--run-format`."""
    from rankgate.readers.formats import RUN_FORMATS, listed

    parser.add_argument("--run", metavar="FILE", help=f"the run ({listed(RUN_FORMATS)}; .gz; - for stdin)")
    parser.add_argument("--run-format", metavar="NAME", help=_NAMED.format(", ".join(RUN_FORMATS)))


def add_criteria(parser: argparse.ArgumentParser) -> None:
    """`--criteria`."""
    text = f"ship criteria; default: the first of {', '.join(DEFAULT_PATHS)}"
    parser.add_argument("--criteria", metavar="FILE", help=text)


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """`--metrics` and `--match`."""
    text = f"comma-separated (default: {COMPARED_METRICS})"
    parser.add_argument("--metrics", metavar="LIST", default=COMPARED_METRICS, help=text)
    add_match(parser)


def add_match(parser: argparse.ArgumentParser) -> None:
    """`--match`."""
    match = (
        "what makes a result a document of the gold: equal ids (default, or as the criteria say), the document "
        "of a chunk, a text that lies in a passage of the gold, or offsets that cover a span of it"
    )
    parser.add_argument("--match", choices=["chunk", "doc", "text", "span"], help=match)


def add_date(parser: argparse.ArgumentParser) -> None:
    """`--date`, the only clock."""
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the date to judge by and to record (default: today, UTC)")


def date_of(arguments: argparse.Namespace) -> str:
    """The date given, checked, or today in UTC."""
    if arguments.date is None:
        return today()
    try:
        return dt.date.fromisoformat(arguments.date).isoformat()
    except ValueError as error:
        raise bad_input(f"--date {arguments.date!r} is not a date; write it as 2026-01-31") from error


def today() -> str:
    """Today in UTC."""
    return dt.datetime.now(dt.UTC).date().isoformat()


def add_retriever(options: argparse.ArgumentParser, purpose: str) -> None:
    """The kinds of retrievers, one of which may be named."""
    kinds = options.add_mutually_exclusive_group()
    function = f"{purpose} the function to call, or an object of LangChain, LlamaIndex or Haystack"
    kinds.add_argument("--retriever", metavar="MODULE:FUNCTION", help=function)
    url = f"{purpose} the address to send each question to; {{{{question}}}} is filled in after its `?`"
    kinds.add_argument("--url", metavar="ADDRESS", help=url)
    command = f"{purpose} the command to run for each question, without a shell"
    kinds.add_argument("--command", metavar="WORDS", help=command)


def retriever_of(arguments: argparse.Namespace) -> Retriever | None:
    """What one of these options names."""
    from rankgate.criteria.retriever_block import retriever_named  # pydantic is paid for only here

    given = ((kind, getattr(arguments, option)) for option, kind in RETRIEVERS.items())
    return next((retriever_named(kind, value) for kind, value in given if value is not None), None)
