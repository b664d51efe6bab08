"""The generated parts of docs/metrics.md, from the docstrings and class variables of the metrics.

The values of a metric's example are computed of the two examples in the page's JSON blocks.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import rankgate
from rankgate.cli.metrics import (
    GAINS,
    VIEWS,
    default_text,
    describe,
    describe_gain,
    describe_view,
    needs_text,
    parameters_of,
    range_text,
)
from rankgate.metrics.matching import Matching
from rankgate.metrics.registry import families

PAGE = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"
EXAMPLE = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALONE = {"source_share": "source_share(eu)", "score": "score(cost)"}  # with what they cannot do without
SHARED = ("rel", "quantile")  # parameters that the page's prose explains
UNDEFINED = "Undefined without relevant documents."  # which its prose says of all

Facts = dict[str, Any]
Examples = list[list[Facts]]  # of each the gold set's sample, the run's line, and the baseline's if there is one


def summary() -> str:
    """The metrics by what they need, in display order."""
    names: dict[str, list[str]] = {}
    for facts in map(describe, families()):
        written_names = ", ".join(f"`{name}`" for name in facts["written"])
        names.setdefault(needs_text(facts), []).append(f"[{written_names}](#{facts['name']})")
    rows = [(needs or "nothing else", ", ".join(links)) for needs, links in names.items()]
    return table([("needs", "metric"), *rows])


def sections() -> str:
    """One section a metric, in display order."""
    blocks = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
    examples = [list(map(json.loads, block.splitlines())) for block in blocks]
    explained: dict[tuple[str, str], str] = {}
    return "\n\n".join(section(describe(family), examples, explained) for family in families())


def section(facts: Facts, examples: Examples, explained: dict[tuple[str, str], str]) -> str:
    """One metric; what the page says of all, and a parameter that an earlier metric explains, is not repeated."""
    better = f"{facts['direction']} is better" if facts["direction"] else "better as its user states"
    also = aliases(facts)
    reach = range_text(facts)
    bounds = "" if reach == "0 to 1" else f"{reach}, "  # as the page says before the cards
    values = f"{bounds}{better}"
    lines = [
        f"- Formula: `{facts['formula']}`{example(facts, examples)}",
        f"- {values[0].upper()}{values[1:]}" if values != "higher is better" else "",
        f"- Aliases: {also}" if also else "",
        "- Undefined for an absent query" if facts["absent"] is None and "ndefined" not in facts["description"] else "",
    ]
    known: list[str] = []
    for name, parameter in facts["parameters"].items():
        first = explained.setdefault((name, parameter["meaning"]), facts["name"])
        if name in SHARED:
            continue
        if first != facts["name"]:
            known.append(f"[`{name}`](#{first})")
        else:
            default = default_text(parameter)
            shown = name if default in ("none", "required") else f"{name}={default}"
            lines.append(f"- `{shown}`: {parameter['meaning']}")
    lines.append(f"- Also takes {', '.join(known)}" if known else "")
    return "\n".join([f"### {facts['name']}\n\n{shortened(facts['description'])}\n", *filter(None, lines)])


def shortened(description: str) -> str:
    """Without what the page says of all."""
    paragraphs = [" ".join(paragraph.split()).replace(UNDEFINED, "").strip() for paragraph in description.split("\n\n")]
    wrapped = [textwrap.fill(" ".join(paragraph.split()), 120, break_on_hyphens=False) for paragraph in paragraphs]
    return "\n\n".join(filter(None, wrapped))


def aliases(facts: Facts) -> str:
    """Its other names, and after them those that stand for a parameter of it."""
    named = [f"`{word}`" for word in facts["aliases"] if word not in facts["written"]]
    words_for: dict[str, list[str]] = {}
    for word, name in facts["stands_for"].items():
        words_for.setdefault(name, []).append(f"`{word}`")
    standing_for = [f"{', '.join(words)} for `{name}`" for name, words in words_for.items()]
    return "; ".join(filter(None, [", ".join(named), *standing_for]))


def example(facts: Facts, examples: Examples) -> str:
    """The metric's value of the example that has one."""
    if facts["needs"]["judge"]:
        return ""
    key = str(facts["name"])
    spans = "expected_output[].start" in facts["needs"]["gold"]
    gold, run, *baseline = examples[1 if spans else 0]
    match = "span" if spans else "chunk"
    scores = rankgate.score([gold], [run], metrics=[ALONE.get(key, key)], match=match, baseline=baseline or None)
    [value] = scores.values.values()
    return "" if value is None else f"; example {round(value, 4):g}"


def views() -> str:
    """What the views have in common, and a row each."""
    rows = [("example", "the parameter", "needs")]
    for facts in map(describe_view, VIEWS):
        [parameter] = facts["parameters"].values()
        rows.append((f"`{facts['written'][0]}`", parameter["meaning"], needs_text(facts)))
    return f"{documentation_of(VIEWS, describe_view)}\n\n{table(rows)}"


def gains() -> str:
    """What the gains have in common."""
    return documentation_of(GAINS, describe_gain)


def documentation_of(names: Iterable[str], described: Callable[[str], Facts]) -> str:
    """The description that they share."""
    [description] = {str(described(name)["description"]) for name in names}
    return description


def matching() -> str:
    """The parameters of `match:`."""
    parameters = parameters_of(Matching)
    rows = [("parameter", "default", "meaning")]
    for name, facts in parameters.items():
        if name != "by":
            rows.append((f"`{name}`", f"`{default_text(facts)}`", facts["meaning"]))
    return table(rows)


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head."""
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "|" + ":--|" * len(rows[0]), *body])


PARTS: dict[str, Callable[[], str]] = {
    "table": summary,
    "metrics": sections,
    "views": views,
    "gains": gains,
    "matching": matching,
}
