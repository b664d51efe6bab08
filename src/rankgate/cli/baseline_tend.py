"""`rankgate baseline prune` and `verify`: what keeps a store small and whole."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.cli.baseline_look import as_json, described
from rankgate.cli.baseline_options import add_format, add_place, memory_of, place_of
from rankgate.cli.options import add_criteria

if TYPE_CHECKING:
    from rankgate.renderers.blocks import Block


def add_prune(parser: argparse.ArgumentParser) -> None:
    """The options of `prune`."""
    parser.add_argument("--keep", metavar="N", type=int, required=True, help="how many of the newest stay")
    parser.add_argument(
        "--log", choices=["history", "accepted"], default="history", help="of which log (default: history)"
    )
    parser.add_argument("--yes", action="store_true", help="do it; else it is only said what would go")
    add_place(parser)
    add_criteria(parser)
    add_format(parser)


def add_verify(parser: argparse.ArgumentParser) -> None:
    """The options of `verify`."""
    add_place(parser)
    add_criteria(parser)
    add_format(parser)


def prune(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Forget all but the newest; what is accepted now and anchors stay.

    Raises:
        RankgateError: fewer than none are to stay, or the store cannot be written.
    """
    from rankgate.cli.inputs import criteria_if_any
    from rankgate.errors import bad_input
    from rankgate.wording import count_text

    if arguments.keep < 0:
        raise bad_input(f"--keep must be at least 0, not {arguments.keep}")
    memory = memory_of(place_of(arguments, criteria_if_any(arguments)))
    records = memory.read(arguments.log)
    first_kept = max(0, len(records) - arguments.keep)
    # What was accepted again stands twice under one id: a store forgets by id, so the older one stays as well.
    kept = {record.id for record in (*records[first_kept:], *memory.read("accepted")[-1:])}
    going = [record for record in records[:first_kept] if record.id not in kept]
    gone = memory.prune(arguments.log, [record.id for record in going]) if arguments.yes and going else 0
    if arguments.format == "json":
        return as_json({"log": arguments.log, "pruned": bool(gone), "records": [described(each) for each in going]})
    if not going:
        return [f"nothing to prune: {memory.spec} has {count_text(len(records), 'record')} in {arguments.log}"]
    span = f"{count_text(len(going), 'record')} of {going[0].date} to {going[-1].date}"
    if arguments.yes:
        return [f"pruned {span} from the {arguments.log} of {memory.spec}"]
    return [f"would prune {span} from the {arguments.log} of {memory.spec}; with --yes it does"]


def verify(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Check all that is stored.

    Raises:
        RankgateError: each damaged thing, by name.
    """
    from rankgate.baselines.verification import verify as verified
    from rankgate.cli.inputs import criteria_if_any
    from rankgate.cli.output import say
    from rankgate.errors import RankgateError
    from rankgate.wording import count_text

    memory = memory_of(place_of(arguments, criteria_if_any(arguments)))
    found = verified(memory)
    counts = f"{count_text(found.records, 'record')} and {count_text(found.runs, 'run file')}"
    told: str | list[Block] = (
        as_json({"records": found.records, "runs": found.runs, "problems": found.problems})
        if arguments.format == "json"
        else [f"{memory.spec}: {counts} looked at", *([] if found.problems else ["all whole"])]
    )
    if found.problems:
        say(told)
        raise RankgateError(found.problems)
    return told
