"""Options that several commands share, and how their values become inputs."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Sequence
from typing import NoReturn

from rankgate.errors import bad_input
from rankgate.redaction import redacted_text


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End with a usage error; what was written in place of a number or a choice may be an address."""
        super().error(redacted_text(message))


def make_parser(command: str, description: str, examples: Sequence[str]) -> argparse.ArgumentParser:
    """A parser whose help ends in examples to copy."""
    return _Parser(
        prog=f"rankgate {command}",
        description=description,
        epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_gold(parser: argparse.ArgumentParser, *, parts: bool = False) -> None:
    """`--gold`, `--gold-format` and, where `parts` of it can be asked for, `--gold-part`."""
    parser.add_argument(
        "--gold",
        metavar="FILE",
        help="the gold set (YAML, JSON, JSONL; qrels of TREC, BEIR, ranx, pytrec_eval; Ragas, LlamaIndex; .gz; "
        "- for stdin)",
    )
    parser.add_argument(
        "--gold-format",
        metavar="NAME",
        help="yaml, json, jsonl, qrels, beir, dict, ragas or llama_index; else told from the content",
    )
    if parts:
        what = "which queries count where the criteria keep a share private, `holdout` (default: public)"
        parser.add_argument("--gold-part", choices=["public", "private", "whole"], default="public", help=what)


def add_run(parser: argparse.ArgumentParser) -> None:
    """`--run` and `--run-format`."""
    parser.add_argument(
        "--run",
        metavar="FILE",
        help="the run (JSONL, JSON, CSV, Parquet; runs of TREC, BEIR, ranx, pytrec_eval, MTEB, MS MARCO; Ragas; .gz; "
        "- for stdin)",
    )
    parser.add_argument(
        "--run-format",
        metavar="NAME",
        help="jsonl, json, trec, dict, mteb, ragas, msmarco, csv or parquet; else told from the content",
    )


def add_criteria(parser: argparse.ArgumentParser) -> None:
    """`--criteria`."""
    parser.add_argument(
        "--criteria",
        metavar="FILE",
        help="ship criteria; default: the first of config/ship-criteria.yaml, ship-criteria.yaml, "
        ".github/ship-criteria.yaml",
    )


def add_match(parser: argparse.ArgumentParser) -> None:
    """`--match`."""
    parser.add_argument(
        "--match",
        choices=["chunk", "doc", "text"],
        help="what makes a result a document of the gold: equal ids (default, or as the criteria say), the document "
        "of a chunk, or a text that lies in a passage of the gold",
    )


def add_date(parser: argparse.ArgumentParser) -> None:
    """`--date`, the only clock."""
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the date to judge by and to record (default: today, UTC)")


def date_of(arguments: argparse.Namespace) -> str:
    """The date given, checked, or today in UTC.

    Raises:
        RankgateError: it is not a date.
    """
    if arguments.date is None:
        return today()
    try:
        return dt.date.fromisoformat(arguments.date).isoformat()
    except ValueError as error:
        raise bad_input(f"--date {arguments.date!r} is not a date; write it as 2026-01-31") from error


def today() -> str:
    """Today in UTC."""
    return dt.datetime.now(dt.UTC).date().isoformat()
