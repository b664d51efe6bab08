"""What `rankgate baseline accept` and `record` tell: what was stored, what changes, and why."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankgate.cli.baseline_look import as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.baselines.records import Record
    from rankgate.cli.baseline_run import Candidate
    from rankgate.renderers.blocks import Block


def told(
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
    if arguments.action == "accept":
        lines: list[Block] = [f"accepted {record.source} as the baseline in {found.memory.spec}: {what}"]
    else:
        lines = [f"{'recorded' if added else 'has already recorded'} {record.source} in {found.memory.spec}: {what}"]
    lines += change_table(found)
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


def change_table(found: Candidate) -> list[Block]:
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
