"""What the sub-commands of `rankgate baseline` share: the place, the commit, and the form in which they print."""

from __future__ import annotations

import argparse
import os
import re

from rankgate.baselines import KINDS
from rankgate.baselines.memory import Memory
from rankgate.baselines.stores import store_for
from rankgate.cli.inputs import criteria_if_any
from rankgate.cli.options import add_criteria
from rankgate.criteria import Criteria
from rankgate.errors import bad_input
from rankgate.files.git import GitError, repository_around
from rankgate.model.base_ref import SHA


def add_place(parser: argparse.ArgumentParser, *others: str) -> None:
    """`--baseline`, under which other names as well."""
    text = f"the store: {KINDS} (default: inputs.baseline)"
    parser.add_argument("--baseline", *others, dest="place", metavar="SPEC", help=text)


def add_format(parser: argparse.ArgumentParser) -> None:
    """`--format`."""
    parser.add_argument("--format", choices=["table", "json"], default="table", help="what to print (default: table)")


def add_store(parser: argparse.ArgumentParser) -> None:
    """`--baseline`, `--criteria` and `--format`."""
    add_place(parser)
    add_criteria(parser)
    add_format(parser)


def place_of(arguments: argparse.Namespace, criteria: Criteria | None) -> str:
    """The store that was named, or that of the criteria."""
    if arguments.place:
        return str(arguments.place)
    if criteria and criteria.inputs.baseline:
        return criteria.inputs.baseline.path
    where = "name a directory with --baseline, or as inputs.baseline in the criteria"
    raise bad_input(f"no place for the baseline; {where}")


def memory_of(place: str) -> Memory:
    """The memory of a place; a run file remembers nothing."""
    memory = store_for(place).memory
    if memory is None:
        raise bad_input("is a file; a baseline is accepted into a directory", file=place)
    return memory


def named_memory(arguments: argparse.Namespace) -> Memory:
    """The memory of the place that the arguments or the criteria name."""
    return memory_of(place_of(arguments, criteria_if_any(arguments)))


def origin_of(arguments: argparse.Namespace) -> tuple[str | None, str | None]:
    """The commit and the branch, as far as they are known."""
    commit, branch = arguments.commit, arguments.branch
    if commit == "none":
        return None, branch
    if commit is not None and not re.match(SHA, commit):
        raise bad_input(f"--commit {commit!r} is no sha; write its hexadecimal digits, or none")
    branch = branch or os.environ.get("GITHUB_REF_NAME")
    try:
        repository = repository_around(".")
        head = repository.commit(commit or "HEAD") if commit or repository.has("HEAD") else None
        return head, branch or repository.branch()
    except GitError:  # no repository, or a commit that a shallow clone lacks: the sha stands for itself
        commit = commit or os.environ.get("GITHUB_SHA")
        if commit and not re.match(SHA, commit):
            raise bad_input(f"GITHUB_SHA is {commit!r}, which is no sha; name the commit with --commit") from None
        return commit, branch
