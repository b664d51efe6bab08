"""`--workers`, of the commands that read large runs."""

from __future__ import annotations

import argparse

from rankgate.errors import bad_input

MOST = 256  # more is a slip of the finger


def add_workers(parser: argparse.ArgumentParser) -> None:
    """`--workers`."""
    parser.add_argument(
        "--workers",
        metavar="N",
        help="processes that read the run, if it is an uncompressed JSONL or TREC file (default: 1 below 100 MB, else "
        "one a CPU, at most 8); the result is the same",
    )


def workers_of(arguments: argparse.Namespace) -> int | None:
    """The number given, or None.

    Raises:
        RankgateError: it is no number from 1.
    """
    written: str | None = arguments.workers
    if written is None:
        return None
    if not (written.isascii() and written.isdigit() and len(written) <= len(str(MOST)) and 1 <= int(written) <= MOST):
        raise bad_input(f"--workers {written!r} is not a number from 1 to {MOST}")
    return int(written)
