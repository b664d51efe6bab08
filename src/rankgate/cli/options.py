"""Options that several commands share, and how their values become inputs."""

from __future__ import annotations

import argparse
import datetime as dt
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from rankgate.criteria import DEFAULT_PATHS, InputFile
from rankgate.errors import bad_input, did_you_mean, redacted_text
from rankgate.metrics.names import COMPARED_METRICS
from rankgate.model.wording import count_text
from rankgate.readers.formats import GOLD_FORMATS, RUN_FORMATS, split_format
from rankgate.readers.source import STDIN, STORES

if TYPE_CHECKING:
    from rankgate.criteria.inputs import Inputs

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
    "comment": ("--begin", "--dry-run", "--comment", "--repository", "--pull"),
    "baseline accept": ("--run", "--baseline", "--reason", "--by", "--new-anchor", "--verdicts"),
    "baseline record": ("--run", "--baseline", "--commit", "--branch", "--verdicts"),
    "gold pool": ("--gold", "--depth", "--unjudged", "--judge", "--output", "--force"),
    "gold negatives": ("--run", "--from", "--depth", "--output", "--force"),
    "judge sample": ("--run", "--n", "--output"),
    "judge calibrate": ("--output", "--write", "--format"),
}
_FEW = 4  # examples without --all


class ReadFile(argparse.Action):
    """A file or store that is read, by its path; a name that is empty or not UTF-8 is refused.

    What has a list as its default may be repeated.
    """

    def __call__(self, _parser: Any, namespace: argparse.Namespace, values: Any, _option: str | None = None) -> None:
        """Keep each file by the option's name."""
        files = [self._file(text) for text in values] if isinstance(values, list) else self._file(values)
        if isinstance(self.default, list) and not isinstance(values, list):
            files = [*getattr(namespace, self.dest), files]
        setattr(namespace, self.dest, files)

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.option_strings[0] if self.option_strings else str(self.metavar or self.dest)

    def _file(self, path: str) -> Any:
        if path == "":
            raise bad_input(f"{self.name} is empty; name a file")
        if not path.isprintable() and path != path.encode("utf-8", "replace").decode():
            raise bad_input(f"{self.name}: the file name {path!a} is not UTF-8; rename the file")
        return path


class WriteFile(ReadFile):
    """A file or directory that is written, and so may be none that is read."""

    def _file(self, path: str) -> str:
        return path


class NamedFile(ReadFile):
    """`FORMAT:FILE`, or a file whose format its content tells, as an `InputFile`."""

    def _file(self, path: str) -> InputFile:
        form, path = split_format(path)
        return InputFile(super()._file(path), form)


class NamedPath(NamedTuple):
    """A path, with the attribute that has it and the option that messages name."""

    key: str
    option: str
    path: str


def named_paths(arguments: argparse.Namespace, kind: type[ReadFile]) -> Iterator[NamedPath]:
    """Each path that the arguments name by options of this kind."""
    for key, (name, is_written) in arguments.file_options.items():
        value = getattr(arguments, key, None) or ()
        files = [value] if isinstance(value, str | InputFile) else value
        if is_written == (kind is WriteFile):
            yield from (NamedPath(key, name, each if isinstance(each, str) else each.path) for each in files)


def refuse_two_stdins(arguments: argparse.Namespace) -> None:
    """Standard input can be read once."""
    if [each.path for each in named_paths(arguments, ReadFile)].count(STDIN) > 1:
        raise bad_input("only one input can be read from standard input (-)")


class _Parser(argparse.ArgumentParser):
    shows_all = False  # whether --all is there
    exits = ""  # what each exit code means, where a command has codes of its own

    def __init__(self, **settings: Any) -> None:
        settings |= {"add_help": False, "allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter}
        super().__init__(**settings)
        for name, action in (("read", ReadFile), ("named", NamedFile), ("write", WriteFile)):
            self.register("action", name, action)
        self.add_argument("-h", "--help", action="help", help="show this help; --help --all shows every option")

    def format_help(self) -> str:
        """A screen of help, or with `--all` all of it."""
        everyday = EVERYDAY.get(self.prog.removeprefix("rankgate "))
        if everyday is None or self.shows_all:
            return super().format_help()
        kept = {"--help", *everyday}
        options = [each for each in self._get_optional_actions() if kept & {*each.option_strings}]
        rare = len(self._get_optional_actions()) - len(options)
        examples = (self.epilog or "").splitlines(keepends=True)
        formatter = self._get_formatter()
        formatter.add_usage(self._short_usage(), self._actions, [])
        formatter.add_text((self.description or "").partition("\n\n")[0])
        formatter.add_text(self.exits)
        for title, actions in (("positional arguments", self._get_positional_actions()), ("options", options)):
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text("".join(examples[: _FEW + 1]))
        more_examples = ", and more examples" if examples[_FEW + 1 :] else ""
        formatter.add_text(f"{self.prog} --help --all: {count_text(rare, 'more option')}{more_examples}")
        return formatter.format_help()

    def _short_usage(self) -> str:
        words = [str(action.metavar or action.dest) for action in self._get_positional_actions()]
        return " ".join([self.prog, *words, "[options]"])

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What a command or an action does not know is its own error; `file_options` says which options name files."""
        self.shows_all = "--all" in (args or ())
        known, others = super().parse_known_args(args, namespace)
        if others:
            self.error(f"unrecognized arguments: {' '.join(others)}")
        files = {
            each.dest: (each.name, isinstance(each, WriteFile)) for each in self._actions if isinstance(each, ReadFile)
        }
        known.file_options = getattr(known, "file_options", {}) | files
        return known, others

    def error(self, message: str) -> NoReturn:
        """End with a usage error; what was written in place of a number or a choice may be an address."""
        usage = self.format_usage()
        if usage.count("\n") > _MOST_LINES:
            usage = f"usage: {self._short_usage()}; {self.prog} --help lists them\n"
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


_INPUT = "FORMAT:FILE names one; - for stdin"
_MATCH = (
    "what makes a result a document of the gold: equal ids (default, or as the criteria say), the document "
    "of a chunk, a text that lies in a passage of the gold, or offsets that cover a span of it"
)
# Options that several commands share, by name: as help writes each, its text, and how argparse takes it.
SHARED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "baseline": (
        "--baseline SPEC",
        f"what to compare with: {STORES}, or any run file (default: inputs.baseline)",
        {"action": "named"},
    ),
    "criteria": (
        "--criteria FILE",
        f"ship criteria (default: the first of {', '.join(DEFAULT_PATHS)})",
        {"action": "read"},
    ),
    "date": ("--date YYYY-MM-DD", "the date to judge by and to record (default: today, UTC)", {}),
    "depth": ("--depth N", "", {"type": int}),
    "format": ("--format", "what to print", {"choices": ["terminal", "json"], "default": "terminal"}),
    "gold": ("--gold FILE", f"the gold set ({', '.join(GOLD_FORMATS)}; {_INPUT})", {"action": "named"}),
    "match": ("--match", _MATCH, {"choices": ["chunk", "doc", "text", "span"]}),
    "metrics": (
        "--metrics LIST",
        f"comma-separated (default: {COMPARED_METRICS})",
        {"default": COMPARED_METRICS},
    ),
    "run": ("--run FILE", f"the run ({', '.join(RUN_FORMATS)}; {_INPUT})", {"action": "named"}),
    "store": (
        "--baseline SPEC",
        f"the store: {STORES} (default: inputs.baseline)",
        {"dest": "store_named", "action": "read"},
    ),
    "table_or_json": (
        "--format",
        "what to print (default: table)",
        {"choices": ["table", "json"], "default": "table"},
    ),
    "traffic_limit": (
        "--traffic-limit N",
        "of inputs.traffic record so many questions, those first by a hash of their ids (default: all)",
        {"type": int},
    ),
    "verdicts": ("--verdicts FILE", "", {"action": "read"}),
}


def add_shared(parser: argparse.ArgumentParser, *names: str, **texts: str) -> None:
    """Add options of `SHARED`; one that is given by keyword has a help text of the command's."""
    for name in (*names, *texts):
        written, text, settings = SHARED[name]
        add_option(parser, written, texts.get(name, text), **settings)


def add_option(parser: argparse._ActionsContainer, written: str, text: str, **settings: Any) -> None:
    """Add an option as help writes it, such as `-o --output FILE`, or an argument by its key, such as `gold GOLD`.

    An option that takes no value is a switch.
    """
    words = written.split()
    names = [word for word in words if word.startswith("-")] or words[:1]
    if metavar := words[len(names) :]:
        settings["metavar"] = metavar[0]
    elif not settings.keys() & {"action", "choices"}:
        settings["action"] = "store_true"
    parser.add_argument(*names, help=text, **settings)


def date_of(arguments: argparse.Namespace) -> str:
    """The date given, checked, or today in UTC."""
    date = getattr(arguments, "date", None)
    if date is None:
        return today()
    try:
        return dt.date.fromisoformat(date).isoformat()
    except ValueError as error:
        raise bad_input(f"--date {date!r} is not a date; write it as 2026-01-31") from error


def inputs_of(arguments: argparse.Namespace) -> Inputs:
    """What `--criteria`, `--gold`, `--run`, `--baseline` and, if there is one, `--date` name, as a check's inputs."""
    from rankgate.criteria.inputs import Inputs  # paid for only by commands that judge

    return Inputs(
        criteria=arguments.criteria,
        date=date_of(arguments),
        gold=arguments.gold,
        run=arguments.run,
        baseline=arguments.baseline,
    )


def today() -> str:
    """Today in UTC."""
    return dt.datetime.now(dt.UTC).date().isoformat()
