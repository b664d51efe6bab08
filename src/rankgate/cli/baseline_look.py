"""`rankgate baseline show` and `history`: what is stored, as tables or JSON."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rankgate.cli.baseline_options import add_format, add_place, memory_of, place_of
from rankgate.cli.options import add_criteria

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.baselines.records import Record
    from rankgate.renderers.blocks import Block

USUAL = 20  # entries of the history
MAX_METRICS = 4


def add_show(parser: argparse.ArgumentParser) -> None:
    """The options of `show`."""
    add_place(parser)
    add_criteria(parser)
    add_format(parser)


def add_history(parser: argparse.ArgumentParser) -> None:
    """The options of `history`."""
    add_place(parser)
    add_criteria(parser)
    add_format(parser)
    parser.add_argument("--all", action="store_true", help=f"all of it (default: the last {USUAL})")
    parser.add_argument("--accepted", action="store_true", help="what was accepted, in place of every run")


def show(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """What is accepted now, and the anchors."""
    from rankgate.cli.inputs import criteria_if_any
    from rankgate.renderers.blocks import Pairs, Table

    memory = memory_of(place_of(arguments, criteria_if_any(arguments)))
    accepted = next(reversed(memory.read("accepted")), None)
    anchors = memory.read("anchors")
    if arguments.format == "json":
        return as_json(
            {
                "spec": memory.spec,
                "accepted": accepted and described(accepted),
                "anchors": [described(each) for each in anchors],
            }
        )
    if accepted is None:
        lines: list[Block] = [f"nothing has been accepted in {memory.spec} yet"]
    else:
        lines = [f"accepted in {memory.spec}:", Pairs(_facts(accepted))]
    if anchors:
        rows = [(each.name or "", *_row(each)) for each in anchors]
        lines += ["", "anchors:", Table(rows=[("name", *HEADINGS), *rows])]
    return lines


def history(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """The runs of the main branch, or what was accepted, the newest last; `*` marks what was accepted."""
    from rankgate.cli.inputs import criteria_if_any
    from rankgate.renderers.blocks import Table

    memory = memory_of(place_of(arguments, criteria_if_any(arguments)))
    accepted = memory.read("accepted")
    last = None if arguments.all else USUAL + 1  # one more tells whether there are more
    records = accepted if arguments.accepted else memory.read("history", last=last)
    shown = records if arguments.all else records[-USUAL:]
    ids = {record.id for record in accepted}
    if arguments.format == "json":
        return as_json([{**described(record), "accepted": record.id in ids} for record in shown])
    what = "accepted" if arguments.accepted else "recorded"
    if not shown:
        return [f"nothing has been {what} in {memory.spec} yet"]
    names = list(dict.fromkeys(name for record in shown for name in record.scores))[:MAX_METRICS]
    rows = [
        ("*" if record.id in ids else "", *_row(record), *(_score(record.scores.get(name)) for name in names))
        for record in shown
    ]
    numbers = range(len(HEADINGS) + 1, len(HEADINGS) + 1 + len(names))
    lines: list[Block] = [Table(rows=[("", *HEADINGS, *names), *rows], right=numbers)]
    if len(records) > len(shown):
        lines.append(f"  the last {len(shown)}; --all lists the older ones too")
    return lines


HEADINGS = ("id", "date", "commit", "branch", "verdict", "queries", "reason")


def described(record: Record) -> dict[str, Any]:
    """A record as JSON shows it: with its id, without the digest of each gold query."""
    import msgspec

    value: dict[str, Any] = {"id": record.id, **msgspec.to_builtins(record)}
    if isinstance(value["gold"], dict):
        value["gold"] = {key: each for key, each in value["gold"].items() if key != "judged"}
    return value


def as_json(value: object) -> str:
    """Indented JSON, ending in a newline."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def answers_text(record: Record) -> str:
    """How many answers are stored, and how many verdicts on them; nothing where none is."""
    from rankgate.model.wording import count_text

    counts = count_text(record.answers or 0, "answer"), count_text(record.verdicts or 0, "verdict")
    return " with ".join(counts) if record.answers else ""


def _row(record: Record) -> tuple[str, ...]:
    from rankgate.model.base_ref import SHORT_SHA
    from rankgate.renderers.escape import shorten, visible

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
    from rankgate.renderers.escape import shorten, visible

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
        **{key: str(value) for key, value in record.provenance.items()},
    }
    return [(key, shorten(visible(str(value)), 100)) for key, value in facts.items() if value]


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
