"""`rankgate baseline prune`, `verify` and `anchor`: what keeps a store small and whole, and names what stays."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from rankgate.cli.baseline_look import as_json, described
from rankgate.cli.baseline_options import add_format, add_place, memory_of, place_of
from rankgate.cli.options import add_criteria

if TYPE_CHECKING:
    from rankgate.baselines.memory import Memory
    from rankgate.baselines.records import Log, Record
    from rankgate.errors import Problem
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
    from rankgate.model.wording import count_text

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
    from rankgate.cli.inputs import criteria_if_any
    from rankgate.cli.output import say
    from rankgate.errors import RankgateError
    from rankgate.model.wording import count_text

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


class Verified(NamedTuple):
    """How much was looked at, and what is wrong with it."""

    records: int
    runs: int
    problems: list[Problem]


def verified(memory: Memory) -> Verified:
    """Look at everything; nothing is changed and nothing is raised for what is damaged.

    What somebody who writes meanwhile makes look damaged is looked at again while nobody does.
    """
    from rankgate.baselines.tree import TreeMemory

    found = _looked_at(memory)
    if not found.problems:
        return found
    with memory.tree.still() if isinstance(memory, TreeMemory) else nullcontext():
        return _looked_at(memory)


def _looked_at(memory: Memory) -> Verified:
    from rankgate.baselines.base import open_record
    from rankgate.baselines.records import LOGS
    from rankgate.baselines.tree import NotKeptError, TreeMemory
    from rankgate.errors import RankgateError
    from rankgate.judge.store import stored_verdicts
    from rankgate.model.values import Need

    problems: list[Problem] = []
    found: dict[Log, list[Record]] = {}
    for log in LOGS:
        try:
            found[log] = list(memory.read(log))
        except RankgateError as error:
            problems += error.problems
    runs = {(record.run, record.sha256): record for records in found.values() for record in records}
    fetched = 0
    for record in runs.values():
        try:
            if record.verdicts:
                stored_verdicts(open_record(memory, record, frozenset({Need.VERDICTS})))
            else:
                memory.fetch(record)
            fetched += 1
        except NotKeptError:
            continue
        except RankgateError as error:
            problems += error.problems
    if isinstance(memory, TreeMemory):
        problems += memory.contradictions()
    count = sum(map(len, found.values()))
    return Verified(records=count, runs=fetched, problems=list(dict.fromkeys(problems)))


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
    from rankgate.criteria.model import ANCHOR_NAME
    from rankgate.errors import bad_input, shown

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
