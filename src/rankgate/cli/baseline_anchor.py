"""`rankgate baseline anchor`: a stored run gets a name, from which drift is measured."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankgate.cli.baseline_look import as_json, described
from rankgate.cli.baseline_options import add_format, add_place, memory_of, place_of
from rankgate.cli.options import add_criteria

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.baselines.records import Record


def add_anchor(parser: argparse.ArgumentParser) -> None:
    """The options of `anchor`."""
    parser.add_argument("name", metavar="NAME", help="the anchor's name, such as launch-2026")
    parser.add_argument("--record", metavar="ID", help="which stored run (default: the one that is accepted now)")
    parser.add_argument("--reason", metavar="TEXT", help="why; is recorded")
    parser.add_argument("--by", metavar="NAME", help="who names it; is recorded")
    add_place(parser)
    add_criteria(parser)
    add_format(parser)


def anchor(arguments: argparse.Namespace) -> str:
    """Name a stored run as an anchor; returns what to tell.

    Raises:
        RankgateError: the name is none or taken, or there is no such run.
    """
    import re

    from msgspec.structs import replace

    from rankgate.baselines.lookup import anchor_named, lookup
    from rankgate.cli.inputs import criteria_if_any
    from rankgate.errors import bad_input, shown
    from rankgate.written import ANCHOR_NAME

    if not re.fullmatch(ANCHOR_NAME, arguments.name):
        raise bad_input(
            f"an anchor is named by letters, digits, dots and hyphens, at most 40; not {shown(arguments.name)}"
        )
    memory = memory_of(place_of(arguments, criteria_if_any(arguments)))
    chosen = lookup(memory, arguments.record or "accepted")
    added = False
    if anchor_named(memory.read("anchors"), arguments.name) is None:
        named = replace(
            chosen, name=arguments.name, reason=arguments.reason or chosen.reason, by=arguments.by or chosen.by
        )

        def is_taken(anchors: Sequence[Record]) -> bool:
            return anchor_named(anchors, arguments.name) is not None

        added = memory.add("anchors", named, memory.fetch(chosen), unless=is_taken)
    first = anchor_named(memory.read("anchors"), arguments.name) or chosen
    if (first.sha256, first.commit) != (chosen.sha256, chosen.commit):  # also one that was named at the same moment
        message = (
            f"{arguments.name} names the run of {first.date} already; an anchor that moves hides the drift, choose "
            "another name"
        )
        raise bad_input(message, file=memory.spec)
    if arguments.format == "json":
        return as_json({"added": added, "record": described(first)})
    if not added:
        return f"{arguments.name} is the run of {first.date} already\n"
    return (
        f"{arguments.name} names the run of {chosen.date} from now on; gate the drift by drift_max, and name it by\n"
        f"baseline: {{anchor: {arguments.name}}}\n"
    )
