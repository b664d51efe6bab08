"""`rankgate baseline`: what gates compare with, what was, and what becomes of it. A module for each kind of action."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from rankgate.cli.baseline_accept import accept, add_accept, add_record, record
from rankgate.cli.baseline_look import add_history, history, show
from rankgate.cli.baseline_options import add_store
from rankgate.cli.baseline_tend import add_prune, prune, verify
from rankgate.cli.options import make_parser
from rankgate.cli.output import say
from rankgate.renderers.blocks import Block

AddOptions = Callable[[argparse.ArgumentParser], None]
Act = Callable[[argparse.Namespace], str | Sequence[Block]]

# Name → its options, what it does and returns to print, and a line of help.
ACTIONS: dict[str, tuple[AddOptions, Act, str]] = {
    "show": (add_store, show, "what is accepted now"),
    "accept": (add_accept, accept, "make a run the one that gates compare with"),
    "record": (add_record, record, "add a run of the main branch to the history; accept it if the policy says so"),
    "history": (add_history, history, "the runs of the main branch, the newest last"),
    "prune": (add_prune, prune, "forget old runs; says what would go unless --yes"),
    "verify": (add_store, verify, "check digests, schemas and logs of all that is stored"),
}


def parser() -> argparse.ArgumentParser:
    """The command's options, one sub-command each."""
    options = make_parser(
        "baseline",
        "Keep the accepted run. What is stored is the ranked ids, so that both runs are scored with today's gold\n"
        "and metrics at every check.",
        "rankgate baseline accept --run run.jsonl --to baseline/",
        "rankgate baseline accept   # paths from inputs:",
        "rankgate baseline accept --reason 'smaller index, agreed in #12' --by ana",
        "rankgate baseline record --run run.jsonl   # on main, after each merge",
    )
    actions = options.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (add, _, text) in ACTIONS.items():
        add(actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}."))
    return options


def run(arguments: argparse.Namespace) -> int:
    """Do it and say so."""
    say(ACTIONS[arguments.action][1](arguments))
    return 0
