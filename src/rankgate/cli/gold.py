"""`rankgate gold pool` and `gold merge`: what to label next, and the labels into the gold set."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rankgate.cli.gold_output import add_output
from rankgate.cli.options import add_criteria, add_gold, add_match, make_parser


def parser() -> argparse.ArgumentParser:
    """The command's options, two sub-commands."""
    made = make_parser(
        "gold",
        "Grow the gold set: pool what several systems find, let people or a judge label it, merge the labels.\n"
        "What no one has judged counts as not relevant, which is unfair to the system that finds something new.",
        [
            "rankgate gold pool run.jsonl baseline/ --gold gold.yaml -o to_label.jsonl",
            "rankgate gold pool run.jsonl other.jsonl --gold gold.yaml --unjudged --depth 10 -o to_label.csv",
            "rankgate gold merge gold.yaml to_label.jsonl -o gold.jsonl",
            "rankgate gold merge gold.jsonl ana.csv ben.csv -o gold.jsonl --force",
            "rankgate gold merge gold.jsonl judged.jsonl --as-judge -o gold.jsonl --force",
        ],
    )
    actions = made.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_pool(actions.add_parser, "write what is to be labelled")
    _add_merge(actions.add_parser, "add labels to the gold set")
    return made


def _add_pool(add: Callable[..., argparse.ArgumentParser], text: str) -> None:
    from rankgate.pooling import DEFAULT_DEPTH

    made = add(
        "pool",
        help=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Write the first results of all runs for every gold query, one line per query and document:\n"
        '{"query_id", "question", "id", "text", "gain", "ranks": {"run.jsonl": 3, "other.jsonl": null}}\n'
        "Unjudged ones (gain null) come first; then, for context, those that the gold judges. Label by writing a\n"
        "number into gain: 0 not relevant, 1 relevant, or your own grades. A null in ranks: not among the first\n"
        "results. In CSV, an id or text that begins like a formula (= + - @) has an apostrophe in front, which\n"
        "merge takes off; let the spreadsheet import ids as text, or 007 becomes 7.",
        allow_abbrev=False,
    )
    made.add_argument("runs", metavar="RUN", nargs="+", help="runs, or baseline directories")
    made.add_argument("--run-format", metavar="NAME", help="format of all runs; else told from the content")
    add_gold(made)
    add_criteria(made)
    add_match(made)
    made.add_argument(
        "--depth", metavar="N", type=int, default=DEFAULT_DEPTH, help=f"results of each list (default: {DEFAULT_DEPTH})"
    )
    made.add_argument("--unjudged", action="store_true", help="leave out what is judged already")
    made.add_argument("--as-judge", action="store_true", help="what a judge has labelled counts as judged, too")
    add_output(made, "the pool: .jsonl, or .csv for a spreadsheet (default: -, JSONL to standard output)")


def _add_merge(add: Callable[..., argparse.ArgumentParser], text: str) -> None:
    made = add(
        "merge",
        help=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Add the labels of pools that came back to the gold set. Pairs without a gain are left out; a\n"
        "label that the gold has already changes nothing. Labels that contradict the gold or each other, and\n"
        "queries that the gold lacks, are listed, and then nothing is written. All else in the gold stays as it is\n"
        "written, except the comments of YAML. Qrels become samples.",
        allow_abbrev=False,
    )
    made.add_argument("gold", metavar="GOLD", help="the gold set")
    made.add_argument("labelled", metavar="LABELLED", nargs="+", help="labelled pools, JSONL or CSV; - for stdin")
    made.add_argument("--gold-format", metavar="NAME", help="of GOLD; else told from the content")
    made.add_argument(
        "--as-judge",
        action="store_true",
        help="the labels are a judge's: they go to judge_labels, beside the gold, and expected_output stays",
    )
    add_output(made, "the new gold set: .jsonl or .json (default: -, JSONL to standard output)")


def run(arguments: argparse.Namespace) -> int:
    """Do the action, write the file and say what is in it."""
    from rankgate.cli.gold_merge import merge_action
    from rankgate.cli.gold_output import deliver
    from rankgate.cli.gold_pool import pool_action

    deliver(arguments.output, *{"pool": pool_action, "merge": merge_action}[arguments.action](arguments))
    return 0
