"""`rankgate baseline prune` and `verify`: what keeps a store small and undamaged."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from msgspec import Struct

from rankgate.baselines.acceptances import anchor_of
from rankgate.baselines.base import open_record
from rankgate.baselines.memory import MAX_ROUNDS, Memory, NotKeptError
from rankgate.cli.baseline_look import described
from rankgate.cli.baseline_options import add_store, named_memory
from rankgate.cli.output import as_json, say
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.judge.store import stored_verdicts
from rankgate.model.values import RunField
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


def prune(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Forget all but the newest; what is accepted now stays, and so does its anchor."""
    if arguments.keep < 0:
        raise bad_input(f"--keep must be at least 0, not {arguments.keep}")
    memory = named_memory(arguments)
    records = memory.read(arguments.log)
    first_kept = max(0, len(records) - max(1, arguments.keep))  # the next one's number follows on from the newest's
    # What was accepted again stands twice under one id: a store forgets by id, so the older one stays as well.
    accepted = memory.read("accepted")
    kept = {record.id for record in (*records[first_kept:], *accepted[-1:])}
    kept |= {mark.id for mark in [anchor_of(accepted, memory.keeps)] if mark}
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

    What somebody who writes meanwhile makes look damaged is looked at again.
    """
    result = _verified_once(memory)
    for _ in range(MAX_ROUNDS):
        if not result.problems:
            break
        before = _listing(memory)
        result = _verified_once(memory)
        if before == _listing(memory):
            break
    return result


def _listing(memory: Memory) -> list[str] | None:
    """What the logs hold; None where they cannot be listed."""
    memory.place.refresh()
    try:
        return memory.listing()
    except RankgateError:
        return None


def _verified_once(memory: Memory) -> Verified:
    examined = memory.examined()
    problems, runs = list(examined.problems), 0
    for record in {(record.run, record.sha256): record for record in examined.records}.values():
        try:
            if record.verdicts:
                stored_verdicts(open_record(memory, record, frozenset({RunField.VERDICTS})))
            else:
                memory.fetch(record)
            runs += 1
        except NotKeptError:
            continue
        except RankgateError as error:
            problems += error.problems
    return Verified(records=len(examined.records), runs=runs, problems=list(dict.fromkeys(problems)))
