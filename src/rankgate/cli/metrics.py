"""`rankgate metrics`: what can be gated, how it is computed, and what it needs."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from typing import TYPE_CHECKING, Any

from rankgate.cli.options import make_parser

if TYPE_CHECKING:
    from rankgate.metrics.base import BaseMetric


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = make_parser(
        "metrics",
        "List the metrics: formula, direction, cut-off, what they need. With a name, all about that one.",
        ["rankgate metrics", "rankgate metrics ndcg", "rankgate metrics --format json"],
    )
    made.add_argument("name", metavar="NAME", nargs="?", help="a metric, such as recall or ndcg")
    made.add_argument("--format", choices=["terminal", "json"], default="terminal", help="what to print")
    return made


def run(arguments: argparse.Namespace) -> int:
    """Print one metric or all."""
    from rankgate.cli.output import say
    from rankgate.errors import bad_input
    from rankgate.metrics.names import UnknownMetricError, parse_metric
    from rankgate.metrics.registry import FAMILIES, plugins

    families = [*FAMILIES, *plugins()]
    if arguments.name:
        try:
            families = [type(parse_metric(arguments.name))]
        except UnknownMetricError as error:
            raise bad_input(str(error)) from error
    if arguments.format == "json":
        import msgspec

        described = msgspec.json.encode([describe(family) for family in families])
        text = msgspec.json.format(described, indent=2).decode() + "\n"
    else:
        text = "\n".join(_paragraph(family, full=bool(arguments.name)) for family in families)
    say(text)
    return 0


def describe(family: type[BaseMetric]) -> dict[str, Any]:
    """A family as plain values."""
    import msgspec

    parameters = {
        field.name: None if field.default is None else str(field.default)
        for field in msgspec.structs.fields(family)
        if field.name != "cutoff"
    }
    return {
        "name": family.key,
        "aliases": list(family.aliases),
        "formula": family.formula,
        "direction": family.direction.value,
        "cutoff": family.default_cutoff.value,
        "parameters": parameters,
        "needs": ["ids", *sorted(need.value for need in family.reads)],
        "low": family.low,
        "high": family.high,
        "description": inspect.cleandoc(family.__doc__ or ""),
    }


CUTOFFS = {"k": "the sample's k, else 5", "all": "the whole list", "": "takes none"}


def _paragraph(family: type[BaseMetric], *, full: bool) -> str:
    facts = describe(family)
    names = ", ".join([facts["name"], *facts["aliases"]])
    description = facts["description"] if full else facts["description"].split("\n\n")[0]
    lines = [
        names,
        textwrap.indent(description, "  "),
        f"  formula:    {facts['formula']}",
        f"  better:     {facts['direction']}",
        f"  without @k: {CUTOFFS[facts['cutoff']]}",
        f"  needs:      {', '.join(facts['needs'])}",
    ]
    if facts["parameters"]:
        shown = ", ".join(key if value is None else f"{key}={value}" for key, value in facts["parameters"].items())
        lines.append(f"  parameters: {shown}")
    return "\n".join(lines) + "\n"
