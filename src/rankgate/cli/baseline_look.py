"""`rankgate baseline show` and `history`: what is stored."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from rankgate.baselines.records import Record
from rankgate.cli.baseline_options import add_store, named_memory
from rankgate.cli.output import as_json
from rankgate.model.base_ref import SHORT_SHA
from rankgate.model.differences import RECORDING
from rankgate.model.wording import count_text
from rankgate.renderers.blocks import Block, Pairs, Table
from rankgate.renderers.escape import shorten, visible

USUAL = 20  # entries of the history
MAX_METRICS = 4
HEADINGS = ("id", "date", "commit", "branch", "verdict", "queries", "reason")


class ListedRecord(Record, frozen=True, kw_only=True):
    """A record with its id, without the digest of each gold query; the history says whether it was accepted."""

    id: str
    accepted: bool | UnsetType = UNSET


def add_history(parser: argparse.ArgumentParser) -> None:
    """The options of `history`."""
    add_store(parser)
    parser.add_argument("--all", action="store_true", help=f"all of it (default: the last {USUAL})")
    parser.add_argument("--accepted", action="store_true", help="what was accepted, in place of every run")


def show(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """What is accepted now."""
    memory = named_memory(arguments)
    accepted = next(reversed(memory.read("accepted")), None)
    if arguments.format == "json":
        return as_json({"spec": memory.spec, "accepted": accepted and described(accepted)})
    if accepted is None:
        return [f"nothing has been accepted in {memory.spec} yet"]
    return [f"accepted in {memory.spec}:", Pairs(_facts(accepted))]


def history(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """The runs of the main branch, or what was accepted, the newest last; `*` marks what was accepted."""
    memory = named_memory(arguments)
    accepted = memory.read("accepted")
    last = None if arguments.all else USUAL + 1  # one more shows whether there are more
    records = accepted if arguments.accepted else memory.read("history", last=last)
    listed = records if arguments.all else records[-USUAL:]
    ids = {record.id for record in accepted}
    if arguments.format == "json":
        return as_json([described(record, accepted=record.id in ids) for record in listed])
    if not listed:
        return [f"nothing has been {'accepted' if arguments.accepted else 'recorded'} in {memory.spec} yet"]
    names = list(dict.fromkeys(name for record in listed for name in record.scores))[:MAX_METRICS]
    rows = [
        ("*" if record.id in ids else "", *_row(record), *(_score(record.scores.get(name)) for name in names))
        for record in listed
    ]
    numbers = range(len(HEADINGS) + 1, len(HEADINGS) + 1 + len(names))
    lines: list[Block] = [Table(rows=[("", *HEADINGS, *names), *rows], right=numbers)]
    if len(records) > len(listed):
        lines.append(f"  the last {len(listed)}; --all lists the older ones too")
    return lines


def described(record: Record, *, accepted: bool | UnsetType = UNSET) -> ListedRecord:
    """A record as JSON shows it."""
    kept = replace(record, gold=record.gold and replace(record.gold, judged=None))
    return ListedRecord(**asdict(kept), id=record.id, accepted=accepted)


def answers_text(record: Record) -> str:
    """How many answers are stored, and how many verdicts on them; nothing where none is."""
    counts = count_text(record.answers or 0, "answer"), count_text(record.verdicts or 0, "verdict")
    return " with ".join(counts) if record.answers else ""


def _row(record: Record) -> tuple[str, ...]:
    return (
        record.id,
        record.date,
        (record.commit or "")[:SHORT_SHA],
        shorten(visible(record.branch or ""), 20),
        record.verdict.value if record.verdict else "",
        str(record.queries),
        shorten(visible(record.reason or ""), 40),
    )


def _facts(record: Record) -> list[tuple[str, str]]:
    facts = {
        "id": record.id,
        "date": record.date,
        "commit": record.commit,
        "branch": record.branch,
        "source": record.source,
        "queries": f"{record.queries:,}, ranks to {record.depth}",
        "kept": ", ".join(record.kept),
        "answers": answers_text(record),
        "gold": record.gold and f"{record.gold.path}, {record.gold.queries:,} queries",
        "verdict": record.verdict and record.verdict.value,
        "reason": record.reason,
        "by": record.by,
        **{name: _score(value) for name, value in record.scores.items()},
        **{key: str(value) for key, value in record.provenance.items() if key != RECORDING},
    }
    return [(key, shorten(visible(str(value)), 100)) for key, value in facts.items() if value]


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
