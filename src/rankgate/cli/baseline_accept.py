"""`rankgate baseline accept` and `record`: what adds runs to the store."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankgate.cli.baseline_options import add_format, add_origin, add_place
from rankgate.cli.baseline_run import candidate_of, refuse_later
from rankgate.cli.baseline_told import change_table, told
from rankgate.cli.options import add_criteria, add_date, add_gold, add_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.baselines.records import Record
    from rankgate.renderers.blocks import Block


_NO_GOLD = "no gold set is named, so the run was not judged; name one with --gold, or as inputs.gold in the criteria"


def add_accept(parser: argparse.ArgumentParser) -> None:
    """The options of `accept`."""
    _add_run(parser)
    parser.add_argument(
        "--reason", metavar="TEXT", help="why, where a gate says no or cannot be asked; is then recorded"
    )
    parser.add_argument("--by", metavar="NAME", help="who accepts it; is recorded")


def add_record(parser: argparse.ArgumentParser) -> None:
    """The options of `record`."""
    _add_run(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    add_place(parser, "--to")
    add_gold(parser)
    add_criteria(parser)
    parser.add_argument("--depth", metavar="N", type=int, help="ranks to keep of each list (default: 100)")
    add_origin(parser)
    add_date(parser)
    add_format(parser)


def accept(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Store the run as the accepted one; returns what to tell.

    Raises:
        RankgateError: it violates a gate or cannot be judged and no reason is given, or it cannot be stored. It cannot
            be judged either where there are criteria and no gold set.
    """
    from msgspec.structs import replace

    from rankgate.baselines.memory import amended
    from rankgate.errors import RankgateError, bad_input, redacted_text
    from rankgate.gates.acceptance import private_refusal, refusal
    from rankgate.renderers.blocks import plain_text

    found = candidate_of(arguments)
    unjudged = _NO_GOLD if found.criteria else None  # without criteria nothing is asked of it
    why_not = refusal(found.report) if found.report else unjudged
    why_not = why_not or (private_refusal(found.private) if found.private else None)
    if why_not and not arguments.reason:
        table = plain_text(change_table(found)).rstrip("\n")
        advice = "nothing was accepted; with --reason TEXT it is, and the reason is recorded"
        raise bad_input("\n".join(filter(None, (why_not, advice, table))), file=found.record.source)
    newest: Record | None = None
    try:
        newest = next(reversed(found.memory.read("accepted")), None)
        refuse_later(newest, found.record.date, found.memory.spec)
    except RankgateError:
        if found.unusable is None:
            raise
    repeated = newest is not None and newest.id == found.record.id  # it is judged by itself now
    reason = redacted_text(arguments.reason) if arguments.reason and (why_not or repeated) else None
    by = redacted_text(arguments.by) if arguments.by else None
    record = amended([newest] if newest else [], replace(found.record, reason=reason, by=by))
    added = found.memory.add("accepted", record, found.packed.data)
    return told(arguments, found, record, added=added, moved=True)


def record(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Add the run to the history, and where the criteria say so accept one that passes; returns what to tell.

    Raises:
        RankgateError: the run cannot be read or stored.
    """
    from rankgate.baselines.overtaken import overtaken
    from rankgate.errors import bad_input
    from rankgate.gates.acceptance import is_green, private_refusal

    found = candidate_of(arguments)
    if found.criteria and found.criteria.policy.accepts_green and found.report is None:
        raise bad_input("`baseline: {accept: green}` needs a gold set to judge the run by; name it with --gold")
    refuse_later(next(reversed(found.memory.read("accepted")), None), found.record.date, found.memory.spec)
    added = found.memory.add("history", found.record, found.packed.data)
    green = found.criteria is not None and found.criteria.policy.accepts_green
    moved = green and found.unusable is None and found.report is not None and is_green(found.report)
    whys = list(filter(None, [private_refusal(found.private)])) if moved and found.private else []

    def is_overtaken(accepted: Sequence[Record]) -> bool:
        why = overtaken(accepted, found.record)
        whys.extend([why] if why else [])
        return why is not None

    if moved and not whys:
        found.memory.add("accepted", found.record, found.packed.data, unless=is_overtaken)
    return told(arguments, found, found.record, added=added, moved=moved and not whys, why_not=next(iter(whys), None))
