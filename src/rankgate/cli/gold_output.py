"""Where `rankgate gold` writes: never over an input or, unasked, over labels."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rankgate.errors import bad_input

STDOUT = "-"


def add_output(made: argparse.ArgumentParser, text: str) -> None:
    """`-o` and `--force`."""
    made.add_argument("-o", "--output", metavar="FILE", default=STDOUT, help=text)
    made.add_argument("--force", action="store_true", help="overwrite FILE")


def output_suffix(arguments: argparse.Namespace, forms: Mapping[str, object], what: str, inputs: Sequence[str]) -> str:
    """The suffix of the form that the output's name asks for, once it is clear that nothing is lost by writing there.

    Raises:
        RankgateError: no such form, an input of the command, or a file that exists, without `--force`.
    """
    path = Path(arguments.output)
    suffix = path.suffix.lower() or ".jsonl"
    if arguments.output == STDOUT:
        return ".jsonl"
    if suffix not in forms:
        raise bad_input(f"{what} is written as {' or '.join(forms)}, not as {suffix}", file=arguments.output)
    if any(path.resolve() == Path(name).resolve() for name in inputs):
        raise bad_input("is an input of this command; write to another file", file=arguments.output)
    if path.is_file() and not arguments.force:
        raise bad_input("exists already, maybe with labels in it; --force overwrites it", file=arguments.output)
    return suffix


def deliver(output: str, text: str, told: str) -> None:
    """Write the file and say what is in it, or print the text and say that on standard error."""
    if output == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())  # whatever the terminal's encoding: this is data
        sys.stderr.write(told)
        return
    from rankgate.cli.output import say
    from rankgate.files import write_atomic
    from rankgate.redaction import redacted

    write_atomic(output, text)
    say(f"wrote {redacted(output)}: {told}")
