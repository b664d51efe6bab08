"""`rankgate baseline prune`, `verify` and `anchor`: what keeps a store small and undamaged, and names what stays."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from contextlib import nullcontext

from msgspec import Struct
from msgspec.structs import replace

from rankgate.baselines.base import open_record
from rankgate.baselines.memory import Memory, anchor_named, lookup
from rankgate.baselines.records import LOGS, Record
from rankgate.baselines.tree import NotKeptError, TreeMemory
from rankgate.cli.baseline_look import described
from rankgate.cli.baseline_options import add_store, named_memory
from rankgate.cli.output import as_json, say
from rankgate.criteria.model import ANCHOR_NAME
from rankgate.errors import Problem, RankgateError, bad_input, shown
from rankgate.judge.store import stored_verdicts
from rankgate.model.values import Need
from rankgate.model.wording import count_text
from rankgate.renderers.blocks import Block


class Verified(Struct, frozen=True):
    """How much was looked at, and what is wrong with it."""

    records: int
    runs: int
    problems: list[Problem]


def add_prune(parser: argparse.ArgumentParser) -> None:
    """The options of `prune`."""
    parser.add_argument("--keep", metavar="N", type=int, required=True, help="how many of the newest stay")
    logs, text = ["history", "accepted"], "of which log (default: history)"
    parser.add_argument("--log", choices=logs, default="history", help=text)
    parser.add_argument("--yes", action="store_true", help="do it; else it is only said what would go")
    add_store(parser)


def add_anchor(parser: argparse.ArgumentParser) -> None:
    """The options of `anchor`."""
    parser.add_argument("name", metavar="NAME", help="the anchor's name, such as launch-2026")
    parser.add_argument("--record", metavar="ID", help="which stored run (default: the one that is accepted now)")
    parser.add_argument("--reason", metavar="TEXT", help="why; is recorded")
    parser.add_argument("--by", metavar="NAME", help="who names it; is recorded")
    add_store(parser)


def prune(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Forget all but the newest; what is accepted now and anchors stay."""
    if arguments.keep < 0:
        raise bad_input(f"--keep must be at least 0, not {arguments.keep}")
    memory = named_memory(arguments)
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
    what = f"prune{'d' if arguments.yes else ''} {span} from the {arguments.log} of {memory.spec}"
    return [what if arguments.yes else f"would {what}; with --yes it does"]


def verify(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Check all that is stored, and name each damaged thing."""
    memory = named_memory(arguments)
    result = verified(memory)
    counts = f"{count_text(result.records, 'record')} and {count_text(result.runs, 'run file')}"
    lines: list[Block] = [f"{memory.spec}: {counts} looked at", *([] if result.problems else ["all whole"])]
    summary = as_json(result) if arguments.format == "json" else lines
    if result.problems:
        say(summary)
        raise RankgateError(result.problems)
    return summary


def verified(memory: Memory) -> Verified:
    """Look at everything; nothing is changed and nothing is raised for what is damaged.

    What somebody who writes meanwhile makes look damaged is looked at again while nobody does.
    """
    result = _verified_once(memory)
    if not result.problems:
        return result
    with memory.tree.still() if isinstance(memory, TreeMemory) else nullcontext():
        return _verified_once(memory)


def _verified_once(memory: Memory) -> Verified:
    problems: list[Problem] = []
    records: list[Record] = []
    for log in LOGS:
        try:
            records += memory.read(log)
        except RankgateError as error:
            problems += error.problems
    fetched = 0
    for record in {(record.run, record.sha256): record for record in records}.values():
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
    return Verified(records=len(records), runs=fetched, problems=list(dict.fromkeys(problems)))


def anchor(arguments: argparse.Namespace) -> str:
    """Name a stored run as an anchor, where it has no name yet and the name no run."""
    name = arguments.name
    if not re.fullmatch(ANCHOR_NAME, name):
        raise bad_input(f"an anchor is named by letters, digits, dots and hyphens, at most 40; not {shown(name)}")
    memory = named_memory(arguments)
    chosen = lookup(memory, arguments.record or "accepted")

    def is_taken(anchors: Sequence[Record]) -> bool:
        return anchor_named(anchors, name) is not None

    added = False
    if not is_taken(memory.read("anchors")):
        reason, by = arguments.reason or chosen.reason, arguments.by or chosen.by
        named = replace(chosen, name=name, reason=reason, by=by)
        added = memory.add("anchors", named, memory.fetch(chosen), unless=is_taken)
    first = anchor_named(memory.read("anchors"), name) or chosen
    if (first.sha256, first.commit) != (chosen.sha256, chosen.commit):  # also one that was named at the same moment
        advice = "an anchor that moves hides the drift, choose another name"
        raise bad_input(f"{name} names the run of {first.date} already; {advice}", file=memory.spec)
    if arguments.format == "json":
        return as_json({"added": added, "record": described(first)})
    if not added:
        return f"{name} is the run of {first.date} already\n"
    drift = f"gate the drift by drift_max, and name it by\nbaseline: {{anchor: {name}}}"
    return f"{name} names the run of {chosen.date} from now on; {drift}\n"
