"""What the sub-commands of `rankgate baseline` share: the place, the commit, and a run packed with its record."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rankgate.baselines import KINDS

if TYPE_CHECKING:
    from rankgate.baselines.memory import Memory
    from rankgate.criteria import Criteria

NONE = "none"


def add_place(parser: argparse.ArgumentParser, *others: str) -> None:
    """`--baseline`, under which other names as well."""
    parser.add_argument(
        "--baseline",
        *others,
        dest="place",
        metavar="SPEC",
        help=f"the store: {KINDS} (default: inputs.baseline)",
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """`--format`."""
    parser.add_argument("--format", choices=["table", "json"], default="table", help="what to print (default: table)")


def add_origin(parser: argparse.ArgumentParser) -> None:
    """`--commit` and `--branch`."""
    parser.add_argument(
        "--commit",
        metavar="SHA",
        help="the commit whose retriever made the run, or none (default: HEAD, else GITHUB_SHA)",
    )
    parser.add_argument(
        "--branch", metavar="NAME", help="its branch (default: GITHUB_REF_NAME, else the one that is checked out)"
    )


def place_of(arguments: argparse.Namespace, criteria: Criteria | None) -> str:
    """The store that was named, or that of the criteria.

    Raises:
        RankgateError: neither names one.
    """
    from rankgate.errors import bad_input

    target: str | None = arguments.place or (
        criteria.inputs.baseline.path if criteria and criteria.inputs.baseline else None
    )
    if target is None:
        raise bad_input(
            "no place for the baseline; name a directory with --baseline, or as inputs.baseline in the criteria"
        )
    return target


def memory_of(spec: str) -> Memory:
    """The memory of a place.

    Raises:
        RankgateError: the place is a run file, which remembers nothing, or no store at all.
    """
    from rankgate.cli.inputs import open_store
    from rankgate.errors import bad_input

    memory = open_store(spec).memory
    if memory is None:
        raise bad_input("is a file; a baseline is accepted into a directory", file=spec)
    return memory


def origin_of(arguments: argparse.Namespace) -> tuple[str | None, str | None]:
    """The commit and the branch, as far as they are known.

    Raises:
        RankgateError: a commit that is no sha.
    """
    import re

    from rankgate.errors import bad_input
    from rankgate.files.git import GitError, repository_around
    from rankgate.model.base_ref import SHA

    if arguments.commit == NONE:
        return None, arguments.branch
    if arguments.commit is not None and not re.match(SHA, arguments.commit):
        raise bad_input(f"--commit {arguments.commit!r} is no sha; write its hexadecimal digits, or none")
    try:
        repository = repository_around(".")
        head = repository.commit(arguments.commit or "HEAD") if arguments.commit or repository.has("HEAD") else None
        return head, arguments.branch or os.environ.get("GITHUB_REF_NAME") or repository.branch()
    except GitError:  # no repository, or a commit that a shallow clone lacks: the sha stands for itself
        commit = arguments.commit or os.environ.get("GITHUB_SHA")
        if commit and not re.match(SHA, commit):
            raise bad_input(f"GITHUB_SHA is {commit!r}, which is no sha; name the commit with --commit") from None
        return commit, arguments.branch or os.environ.get("GITHUB_REF_NAME")
