"""`rankgate baseline accept`, `record` and `anchor`: what adds to the store."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankgate.cli.baseline_options import add_format, add_origin, add_place, memory_of, place_of
from rankgate.cli.baseline_run import Candidate, candidate_of, refuse_later
from rankgate.cli.options import add_criteria, add_date, add_gold, add_run

if TYPE_CHECKING:
    from rankgate.baselines.records import Record


def add_accept(parser: argparse.ArgumentParser) -> None:
    """The options of `accept`."""
    _add_run(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why a run is accepted although a gate says no; is recorded")
    parser.add_argument("--by", metavar="NAME", help="who accepts it; is recorded")


def add_record(parser: argparse.ArgumentParser) -> None:
    """The options of `record`."""
    _add_run(parser)


def add_anchor(parser: argparse.ArgumentParser) -> None:
    """The options of `anchor`."""
    parser.add_argument("name", metavar="NAME", help="the anchor's name, such as launch-2026")
    parser.add_argument("--record", metavar="ID", help="which stored run (default: the one that is accepted now)")
    parser.add_argument("--reason", metavar="TEXT", help="why; is recorded")
    parser.add_argument("--by", metavar="NAME", help="who names it; is recorded")
    add_place(parser)
    add_criteria(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    add_place(parser, "--to")
    add_gold(parser)
    add_criteria(parser)
    parser.add_argument("--depth", metavar="N", type=int, help="ranks to keep of each list (default: 100)")
    add_origin(parser)
    add_date(parser)
    add_format(parser)


def accept(arguments: argparse.Namespace) -> str:
    """Store the run as the accepted one; returns what to tell.

    Raises:
        RankgateError: it violates a gate or cannot be judged and no reason is given, or it cannot be stored.
    """
    from msgspec.structs import replace

    from rankgate.acceptance import refusal
    from rankgate.errors import RankgateError, bad_input

    found = candidate_of(arguments)
    why_not = refusal(found.report) if found.report else None
    if why_not and not arguments.reason:
        table = "".join(f"\n{line}" for line in _changes(found))
        advice = "nothing was accepted; with --reason TEXT it is, and the reason is recorded"
        raise bad_input(f"{why_not}\n{advice}{table}", file=found.record.source)
    try:
        refuse_later(next(reversed(found.memory.read("accepted")), None), found.record.date, found.memory.spec)
    except RankgateError:
        if found.unusable is None:
            raise
    record = replace(found.record, reason=arguments.reason if why_not else None, by=arguments.by)
    added = found.memory.add("accepted", record, found.packed.data)
    return _told(arguments, found, record, added=added, moved=True)


def record(arguments: argparse.Namespace) -> str:
    """Add the run to the history, and where the criteria say so accept one that passes; returns what to tell.

    Raises:
        RankgateError: the run cannot be read or stored.
    """
    from rankgate.acceptance import is_green
    from rankgate.errors import bad_input

    found = candidate_of(arguments)
    if found.criteria and found.criteria.policy.accepts_green and found.report is None:
        raise bad_input("`baseline: {accept: green}` needs a gold set to judge the run by; name it with --gold")
    accepted = next(reversed(found.memory.read("accepted")), None)
    refuse_later(accepted, found.record.date, found.memory.spec)
    added = found.memory.add("history", found.record, found.packed.data)
    green = found.criteria is not None and found.criteria.policy.accepts_green
    judged = found.unusable is None and found.report is not None and is_green(found.report)
    moved = green and judged and not _later(accepted, found.record)
    if moved:
        found.memory.add("accepted", found.record, found.packed.data)
    return _told(arguments, found, found.record, added=added, moved=moved)


def anchor(arguments: argparse.Namespace) -> str:
    """Name a stored run as an anchor; returns what to tell.

    Raises:
        RankgateError: the name is none or taken, or there is no such run.
    """
    import re

    from msgspec.structs import replace

    from rankgate.baselines.lookup import lookup
    from rankgate.cli.inputs import criteria_if_any
    from rankgate.errors import bad_input, shown
    from rankgate.written import ANCHOR_NAME

    if not re.fullmatch(ANCHOR_NAME, arguments.name):
        raise bad_input(
            f"an anchor is named by letters, digits, dots and hyphens, at most 40; not {shown(arguments.name)}"
        )
    memory = memory_of(place_of(arguments, criteria_if_any(arguments)))
    chosen = lookup(memory, arguments.record or "accepted")
    taken = next((each for each in memory.read("anchors") if each.name == arguments.name), None)
    if taken is not None:
        if taken.sha256 == chosen.sha256 and taken.commit == chosen.commit:
            return f"{arguments.name} is the run of {taken.date} already\n"
        message = (
            f"{arguments.name} names the run of {taken.date} already; an anchor that moves hides the drift, choose "
            "another name"
        )
        raise bad_input(message, file=memory.spec)
    named = replace(chosen, name=arguments.name, reason=arguments.reason or chosen.reason, by=arguments.by or chosen.by)
    memory.add("anchors", named, memory.fetch(chosen))
    return (
        f"{arguments.name} names the run of {chosen.date} from now on; gate the drift by drift_max, and name it by\n"
        f"baseline: {{anchor: {arguments.name}}}\n"
    )


def _later(accepted: Record | None, record: Record) -> bool:
    """Whether what is accepted is of a later commit: a job that was slow does not set it back."""
    from rankgate.git import is_ancestor

    if accepted is None or accepted.commit is None or record.commit is None or accepted.commit == record.commit:
        return False
    return is_ancestor(record.commit, accepted.commit)


def _changes(found: Candidate) -> list[str]:
    from rankgate.acceptance import changes_of
    from rankgate.renderers.phrases import NOTHING
    from rankgate.renderers.terminal import table
    from rankgate.wording import VERDICT_WORDS, value_text

    if found.report is None or not found.report.gates:
        return []
    units = {gate.name: gate.unit for gate in found.report.gates}
    rows = [
        (
            change.gate,
            *(
                NOTHING if value is None else value_text(value, units[change.gate])
                for value in (change.before, change.now)
            ),
            VERDICT_WORDS[change.verdict],
        )
        for change in changes_of(found.report)
    ]
    return table([("gate", "accepted", "this run", "verdict"), *rows], right=(1, 2))


def _told(arguments: argparse.Namespace, found: Candidate, record: Record, *, added: bool, moved: bool) -> str:
    import msgspec

    from rankgate.acceptance import changes_of
    from rankgate.wording import VERDICT_WORDS, count_text

    if arguments.format == "json":
        value = {
            "id": record.id,
            "added": added,
            "accepted": moved,
            "record": record,
            "changes": changes_of(found.report) if found.report else [],
        }
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
    cut = f" ({count_text(record.cut, 'list was', 'lists were')} longer and cut)" if record.cut else ""
    what = f"{count_text(record.queries, 'query', 'queries')}, ranks to {record.depth}{cut}"
    if arguments.action == "accept":
        lines = [f"accepted {record.source} as the baseline in {found.memory.spec}: {what}"]
    else:
        lines = [f"{'recorded' if added else 'has already recorded'} {record.source} in {found.memory.spec}: {what}"]
    lines += _changes(found)
    if found.unusable:
        lines.append(f"what was accepted last could not be compared with: {found.unusable}")
    if found.report is None:
        lines.append(
            "no gold set was named, so the manifest does not say which one was current"
            if record.gold is None
            else "there are no criteria, so the run was not judged"
        )
    elif arguments.action == "accept":
        why = (
            f"reason given: {record.reason}"
            if record.reason
            else f"the verdict is {VERDICT_WORDS[found.report.verdict]}"
        )
        lines.append(f"allowed: {why}")
    else:
        verdict = VERDICT_WORDS[found.report.verdict]
        lines.append(f"{verdict}: {'accepted as the baseline' if moved else 'what is accepted stays'}")
    return "\n".join(lines) + "\n"
