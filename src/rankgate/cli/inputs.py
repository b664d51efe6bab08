"""From parsed arguments to the inputs of a check."""

from __future__ import annotations

import argparse

from rankgate.criteria import Criteria, InputFile, find_criteria, load_criteria
from rankgate.errors import RankgateError, bad_input
from rankgate.matching import BY_CHUNK, DEFAULT_K, By, Matching
from rankgate.metrics.base import Metric
from rankgate.metrics.names import UnknownMetricError, parse_metrics
from rankgate.plan import Plan
from rankgate.readers.source import STDIN


def file_of(arguments: argparse.Namespace, flag: str) -> InputFile | None:
    """The file that a flag names, with its forced format.

    Raises:
        RankgateError: the flag names nothing, as with an unset variable in a script, or a name that is no text.
    """
    path = getattr(arguments, flag, None)
    if path == "":
        raise bad_input(f"--{flag} is empty; name a file")
    if path and not path.isprintable() and path != path.encode("utf-8", "replace").decode():
        raise bad_input(f"--{flag}: the file name {path!a} is not UTF-8; rename the file")
    return None if path is None else InputFile(path, getattr(arguments, f"{flag}_format", None))


def refuse_two_stdins(*files: InputFile | None) -> None:
    """Standard input can be read once.

    Raises:
        RankgateError: two inputs are `-`.
    """
    if sum(file is not None and file.path == STDIN for file in files) > 1:
        raise bad_input("only one input can be read from standard input (-)")


def found_criteria() -> str | None:
    """The criteria file in one of the usual places, or None."""
    try:
        return find_criteria()
    except RankgateError:
        return None


def criteria_if_any(arguments: argparse.Namespace) -> Criteria | None:
    """The criteria named or found, or None where there are none.

    Raises:
        RankgateError: the criteria are there and wrong.
    """
    named = file_of(arguments, "criteria")
    path = named.path if named else found_criteria()
    return load_criteria(path) if path else None


def plan_of(arguments: argparse.Namespace, criteria: Criteria | None) -> Plan:
    """What `--metrics` lists, matched as `--match` or the criteria say.

    Raises:
        RankgateError: one of the metrics is none.
    """
    how = Matching(by=By(arguments.match)) if arguments.match else criteria.match if criteria else BY_CHUNK
    return Plan(metrics=_metrics(arguments.metrics), default_k=criteria.default_k if criteria else DEFAULT_K, how=how)


def _metrics(written: str) -> list[Metric]:
    try:
        return parse_metrics(written)
    except UnknownMetricError as error:
        raise bad_input(str(error), key="--metrics") from error
