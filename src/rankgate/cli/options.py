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
_FLAGS = ("criteria", "gold", "run", "baseline", "baseline_copy", "verdicts", "template", "bm25", "retriever")
_PLACES = {
    "place": "--baseline",
    "report": "--from",
    "runs": "RUN",
    "mined": "--from",
    "labelled": "LABELLED",
    "labels": "LABELS",
    "before": "BASE",
    "sample": "SAMPLE",
    "sheet": "--import",
    "claims_of": "--sample",
}
_PLACES |= {"corpus": "--corpus", "chunks": "--chunks"}
INPUTS = {name: f"--{name.replace('_', '-')}" for name in _FLAGS} | _PLACES
RETRIEVERS = {"retriever": "function", "url": "url", "command": "command"}  # what each option names of the block
_MOST_LINES = 2  # of a usage that stands above an error


# What `--help` of a long command shows; `--help --all` shows all of it.
EVERYDAY = {
    "init": ("--gold", "--map", "--run", "--retriever", "--url", "--command", "--judge", "--to", "--github", "--force"),
    "record": ("--retriever", "--url", "--command", "--output", "--only", "--workers", "--allow-errors", "--base"),
    "judge": ("--run", "--baseline", "--base", "--metric", "--dry-run", "--again", "--output"),
    "check": ("--record", "--run", "--gold", "--baseline", "--base", "--output", "--format", "--fail-on"),
    "explain": ("--metric", "--tag", "--limit", "--depth", "--bm25", "--run", "--baseline"),
    "score": ("--gold", "--run", "--metrics", "--match", "--per-query", "--format"),
    "compare": ("--gold", "--metrics", "--output", "--format"),
    "comment": ("--begin", "--dry-run", "--comment", "--no-check", "--repository", "--pull"),
    "baseline accept": ("--run", "--baseline", "--reason", "--by", "--new-anchor", "--verdicts"),
    "baseline record": ("--run", "--baseline", "--commit", "--branch", "--verdicts"),
    "gold pool": ("--gold", "--depth", "--unjudged", "--judge", "--output", "--force"),
    "gold negatives": ("--run", "--from", "--depth", "--output", "--force"),
    "judge sample": ("--run", "--n", "--output"),
    "judge calibrate": ("--output", "--write", "--format"),
}
_FEW = 4  # examples without --all


class NamedFile(argparse.Action):
    """`FORMAT:FILE`, or a file whose format its content tells; of several each has its own format."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, values: Any, _option: str | None = None) -> None:
        """Keep the file by the option's name, and beside it the format, which the name with `_format` has."""
        from rankgate.readers.formats import split_format

        named = [split_format(text) for text in ([values] if isinstance(values, str) else values)]
        formats, files = [form for form, _ in named], [file for _, file in named]
        one = isinstance(values, str)
        setattr(namespace, self.dest, files[0] if one else files)
        setattr(namespace, f"{self.dest}_format", formats[0] if one else formats)


class _Parser(argparse.ArgumentParser):
    whole_help = False  # whether --all is there
    exits = ""  # what each exit code means, where a command has codes of its own

    def __init__(self, **settings: Any) -> None:
        settings |= {"add_help": False, "allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter}
        super().__init__(**settings)
        self.add_argument("-h", "--help", action="help", help="show this help; --help --all shows every option")

    def format_help(self) -> str:
        """A screen of help, or with `--all` all of it."""
        everyday = EVERYDAY.get(self.prog.removeprefix("rankgate "))
        if everyday is None or self.whole_help:
            return super().format_help()
        rare = [
            each for each in self._actions if each.option_strings and not {"--help", *everyday} & {*each.option_strings}
        ]
        texts = [each.help for each in rare]
        usage, description, epilog = self.usage, self.description or "", self.epilog or ""
        first = description.partition("\n\n")[0]
        examples = epilog.splitlines(keepends=True)[: _FEW + 1]
        words = [str(each.metavar or each.dest) for each in self._get_positional_actions()]
        try:
            for each in rare:
                each.help = argparse.SUPPRESS
            self.usage = " ".join(["%(prog)s", *words, "[options]"])
            self.description = "\n\n".join(filter(None, [first, self.exits]))
            self.epilog = "".join(examples)
            return f"{super().format_help()}\n{self.prog} --help --all: {len(rare)} more options, and more examples\n"
        finally:
            for each, text in zip(rare, texts, strict=True):
                each.help = text
            self.usage, self.description, self.epilog = usage, description, epilog

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What a command or an action does not know is its own error, not that of the group."""
        self.whole_help = "--all" in (args or ())
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


def make_parser(command: str, description: str, *examples: str, exits: str = "") -> argparse.ArgumentParser:
    """A parser whose help says what its exit codes mean, and ends in examples to copy."""
    codes = f"exit codes: {exits}" if exits else ""
    parser = _Parser(
        prog=f"rankgate {command}",
        description="\n\n".join(filter(None, [description, codes])),
        epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
    )
    parser.exits = codes
    return parser


def add_gold(parser: argparse.ArgumentParser) -> None:
    """`--gold`."""
    from rankgate.readers.formats import GOLD_FORMATS

    text = f"the gold set ({', '.join(GOLD_FORMATS)}; FORMAT:FILE names one; - for stdin)"
    parser.add_argument("--gold", metavar="FILE", action=NamedFile, help=text)


def add_run(parser: argparse.ArgumentParser) -> None:
    """`--run`."""
    from rankgate.readers.formats import RUN_FORMATS

    text = f"the run ({', '.join(RUN_FORMATS)}; FORMAT:FILE names one; - for stdin)"
    parser.add_argument("--run", metavar="FILE", action=NamedFile, help=text)


def add_criteria(parser: argparse.ArgumentParser) -> None:
    """`--criteria`."""
    text = f"ship criteria (default: the first of {', '.join(DEFAULT_PATHS)})"
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


def add_traffic_limit(parser: argparse.ArgumentParser) -> None:
    """`--traffic-limit`."""
    text = "of inputs.traffic record so many questions, those first by a hash of their ids (default: all)"
    parser.add_argument("--traffic-limit", metavar="N", type=int, help=text)


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
