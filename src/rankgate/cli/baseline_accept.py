"""`rankgate baseline accept` and `record`: what adds runs to the store."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankgate.cli.baseline_look import answers_text, as_json
from rankgate.cli.baseline_options import add_format, add_origin, add_place
from rankgate.cli.baseline_run import candidate_of, refuse_later
from rankgate.cli.options import add_criteria, add_date, add_gold, add_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.baselines.records import Record
    from rankgate.cli.baseline_run import Candidate
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
    beside = "what a judge said of its answers, kept with them (default: RUN.verdicts.jsonl beside the run)"
    parser.add_argument("--verdicts", metavar="FILE", help=beside)
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
        table = plain_text(_change_table(found)).rstrip("\n")
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
    return _told(arguments, found, record, added=added, moved=True)


def record(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Add the run to the history, and where the criteria say so accept one that passes; returns what to tell.

    Raises:
        RankgateError: the run cannot be read or stored.
    """
    from rankgate.baselines.git_place import overtaken
    from rankgate.errors import bad_input
    from rankgate.gates.acceptance import is_green, private_refusal

    found = candidate_of(arguments)
    if found.criteria and found.criteria.baseline.accept == "green" and found.report is None:
        raise bad_input("`baseline: {accept: green}` needs a gold set to judge the run by; name it with --gold")
    refuse_later(next(reversed(found.memory.read("accepted")), None), found.record.date, found.memory.spec)
    added = found.memory.add("history", found.record, found.packed.data)
    green = found.criteria is not None and found.criteria.baseline.accept == "green"
    moved = green and found.unusable is None and found.report is not None and is_green(found.report)
    whys = list(filter(None, [private_refusal(found.private)])) if moved and found.private else []

    def is_overtaken(accepted: Sequence[Record]) -> bool:
        why = overtaken(accepted, found.record)
        whys.extend([why] if why else [])
        return why is not None

    if moved and not whys:
        found.memory.add("accepted", found.record, found.packed.data, unless=is_overtaken)
    return _told(arguments, found, found.record, added=added, moved=moved and not whys, why_not=next(iter(whys), None))


def _told(
    arguments: argparse.Namespace,
    found: Candidate,
    record: Record,
    *,
    added: bool,
    moved: bool,
    why_not: str | None = None,
) -> str | Sequence[Block]:
    """What was done with a run, in lines and a table or as JSON, and why it was allowed or stays.

    Args:
        arguments: those of `accept` or `record`.
        found: the run.
        record: what was stored of it.
        added: whether it was not there yet.
        moved: whether gates compare with it from now on.
        why_not: why a run that the policy would accept was not.
    """
    from rankgate.gates.acceptance import changes_of
    from rankgate.model.wording import VERDICT_WORDS, count_text

    if arguments.format == "json":
        value = {
            "id": record.id,
            "added": added,
            "accepted": moved,
            "record": record,
            "changes": changes_of(found.report, found.private) if found.report else [],
        }
        return as_json(value)
    cut = f" ({count_text(record.cut, 'list was', 'lists were')} longer and cut)" if record.cut else ""
    what = f"{count_text(record.queries, 'query', 'queries')}, ranks to {record.depth}{cut}"
    what = "; ".join(filter(None, (what, answers_text(record))))
    if arguments.action == "accept":
        lines: list[Block] = [f"accepted {record.source} as the baseline in {found.memory.spec}: {what}"]
    else:
        lines = [f"{'recorded' if added else 'has already recorded'} {record.source} in {found.memory.spec}: {what}"]
    lines += _change_table(found)
    if found.unusable:
        lines += f"what was accepted last could not be compared with: {found.unusable}".splitlines()
    if found.report is None:
        lines.append(
            "no gold set was named, so the manifest does not say which one was current"
            if record.gold is None
            else "there are no criteria, so the run was not judged"
        )
    elif arguments.action == "accept" and not record.reason:
        lines.append(f"allowed: the verdict is {VERDICT_WORDS[found.report.verdict]}")
    if arguments.action == "accept":
        if record.reason:
            lines.append(f"allowed: reason given: {record.reason}")
        elif arguments.reason:
            lines.append("the reason is not recorded, for none was needed")
    elif found.report is not None:
        verdict = VERDICT_WORDS[found.report.verdict]
        stays = f"what is accepted stays{f': {why_not}' if why_not else ''}"
        lines.append(f"{verdict}: {'accepted as the baseline' if moved else stays}")
    return lines


def _change_table(found: Candidate) -> list[Block]:
    """A table of each gate's value before and now; nothing where the run was not judged."""
    from rankgate.gates.acceptance import changes_of
    from rankgate.model.wording import VERDICT_WORDS, count_text, delta_text, interval_text, value_text
    from rankgate.renderers.blocks import Table
    from rankgate.renderers.phrases import NOTHING

    if found.report is None or not found.report.gates:
        return []
    units = {gate.name: gate.unit for gate in found.report.gates}
    rows: list[tuple[str, ...]] = [("gate", "accepted", "this run", "verdict")]
    parts: list[tuple[str, ...]] = [("change", "public", "private", "95% interval of the difference")]
    for each in changes_of(found.report, found.private):
        unit = units[each.gate]
        values = (NOTHING if value is None else value_text(value, unit) for value in (each.before, each.now))
        rows.append((each.gate, *values, VERDICT_WORDS[each.verdict]))
        moved = (NOTHING if value is None else delta_text(value, unit) for value in (each.change, each.private))
        parts.append((each.gate, *moved, interval_text(each.apart, unit, change=True) or NOTHING))
    table: list[Block] = [Table(rows=rows, right=(1, 2))]
    if found.private is None or not found.private.queries:
        return table
    asked = count_text(found.private.queries.total, "private question")
    beside = [Table(rows=parts, right=(1, 2, 3))] if found.report.baseline_metrics else []
    return [*table, f"on {asked}: {VERDICT_WORDS[found.private.verdict]}", *beside]
