"""The options of `rankgate explain`, and which go together."""

from __future__ import annotations

import argparse

from rankgate.cli.options import add_criteria, add_date, add_gold, add_run, make_parser
from rankgate.cli.workers import add_workers
from rankgate.errors import bad_input

DEPTH, LIMIT = 10, 20
INPUTS = ("criteria", "gold", "run", "baseline")


def explain_parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = make_parser(
        "explain",
        "Explain a question, a gate, or what is missed, with the inputs of `rankgate check`. It explains and does not\n"
        "gate.\n\nexit codes: 0 explained, whatever the verdict; 2 could not be judged, or nothing of that name",
        [
            "rankgate explain q-17                            # both rankings side by side, the gold marked",
            "rankgate explain recall@5                        # how the verdict came about, number by number",
            "rankgate explain --misses --tag lang:pt-BR       # the triage table, worst first",
            "rankgate explain q-17 --bm25 corpus.jsonl        # beside what the words alone would find",
            "rankgate explain recall@5 --report report.json   # from a report, without the inputs",
        ],
    )
    made.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        help="a gate, by its name or metric, or else the id of a question",
    )
    made.add_argument("--gate", metavar="NAME", help="a gate, also where the name looks like something else")
    made.add_argument("--query", metavar="ID", help="a question, also where a gate has that name")
    made.add_argument("--misses", action="store_true", help="the questions that miss a right document, worst first")
    made.add_argument("--tag", metavar="TAG", help="with --misses: only questions with this tag")
    made.add_argument("--cause", metavar="CAUSE", help="with --misses: only questions of this cause, such as gone")
    made.add_argument("--limit", metavar="N", type=int, help=f"with --misses: how many to list (default: {LIMIT})")
    made.add_argument("--depth", metavar="N", type=int, help=f"results to show of each ranking (default: {DEPTH})")
    made.add_argument(
        "--bm25",
        metavar="CORPUS",
        help="the indexed documents as JSONL (id and text a line, as BEIR's corpus.jsonl): what BM25 finds by the "
        "words alone; needs the extra rankgate[bm25]",
    )
    made.add_argument(
        "--report", metavar="FILE", help="with a gate: a report.json in place of the inputs (- for stdin)"
    )
    made.add_argument("--format", choices=["terminal", "json"], default="terminal", help="what to print")
    add_criteria(made)
    add_gold(made, parts=True)
    add_run(made)
    made.add_argument(
        "--baseline", metavar="SPEC", help="a directory written by `rankgate baseline accept`, or any run file"
    )
    add_workers(made)
    add_date(made)
    return made


def refuse_misfits(arguments: argparse.Namespace) -> None:
    """One thing is explained at a time, with the options that belong to it.

    Raises:
        RankgateError: nothing or several things are named, or an option has nothing to do there.
    """
    named = [arguments.what, arguments.gate, arguments.query, arguments.misses or None]
    if sum(each is not None for each in named) != 1:
        raise bad_input("name one thing to explain: a question's id, a gate (its name or metric), or --misses")
    for flag in ("tag", "cause", "limit"):
        if getattr(arguments, flag) is not None and not arguments.misses:
            raise bad_input(f"--{flag} goes with --misses")
    for flag in ("bm25", "depth"):
        if getattr(arguments, flag) is not None and arguments.gate is not None:
            raise bad_input(f"--{flag} goes with a question or --misses")
    if arguments.report is not None:
        _refuse_beside_a_report(arguments)
    for flag in ("depth", "limit"):
        count = getattr(arguments, flag)
        if count is not None and count < 1:
            raise bad_input(f"--{flag} {count}: at least 1")


def _refuse_beside_a_report(arguments: argparse.Namespace) -> None:
    if arguments.misses or arguments.query is not None or arguments.bm25 is not None or arguments.depth is not None:
        raise bad_input("a report holds no rankings; leave out --report and name the inputs of the check")
    given = [flag for flag in (*INPUTS, "date", "workers") if getattr(arguments, flag) is not None]
    given += [] if arguments.gold_part == "public" else ["gold-part"]
    if given:
        raise bad_input(f"--report stands in place of the inputs; leave out --{given[0]}")
