#!/usr/bin/env python3
"""Write the generated parts of docs/metrics.md from the docstrings and class variables of the metrics.

The page is its own template: what stands between `<!-- generated: NAME -->` and `<!-- end -->` is written anew, the
prose around it stays. `--check` writes nothing and fails if the page differs from what would be written.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rankgate.cli.metrics import (
    GAINS,
    VIEWS,
    WITHOUT_NUMBER,
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
PART = re.compile(r"(?<=<!-- generated: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)

Facts = dict[str, Any]


def main() -> int:
    """Write the page, or say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", metavar="PAGE", nargs="?", type=Path, default=PAGE, help="default: docs/metrics.md")
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    arguments = parser.parse_args()
    old = arguments.page.read_text(encoding="utf-8")
    new = generated(old)
    if not arguments.check:
        arguments.page.write_text(new, encoding="utf-8")
    elif new != old:
        print(f"{arguments.page} differs from the docstrings; run scripts/make_metrics_page.py", file=sys.stderr)
        return 1
    return 0


def generated(page: str) -> str:
    """The page with its generated parts written anew."""
    return PART.sub(lambda part: f"{part[1]}{part[2]}{PARTS[part[1]]()}\n", page)


def summary() -> str:
    """One row a metric, then the views and the gains."""
    rows = [("metric", "meaning", "range", "better", "needs")]
    for facts in map(describe, families()):
        names = ", ".join(f"[`{name}`](#{facts['name']})" for name in facts["written"])
        better = facts["direction"] or "as stated"
        rows.append((names, facts["meaning"], range_text(facts), better, needs_text(facts)))
    for facts in (*map(describe_view, VIEWS), *map(describe_gain, GAINS)):
        anchor = "other-lists-and-some-of-the-queries" if facts["kind"] == "view" else "what-a-step-adds"
        range_ = "the metric's" if facts["kind"] == "view" else "−1 to 1"
        name = f"[`{facts['written'][0]}`](#{anchor})"
        rows.append((name, facts["meaning"], range_, "the metric's", needs_text(facts)))
    return table(rows)


def sections() -> str:
    """One section a metric, in display order."""
    return "\n\n".join("\n\n".join(section(describe(family))) for family in families())


def section(facts: Facts) -> Iterator[str]:
    """The paragraphs of one metric."""
    yield f"### {facts['name']}"
    yield facts["description"]
    written = " or ".join(f"`{name}`" for name in facts["written"])
    also = [f"`{word}`" for word in facts["aliases"] if word not in facts["written"]]
    also += [f"`{word}` for `{name}`" for word, name in facts["stands_for"].items()]
    absent = "undefined" if facts["absent"] is None else f"scores {facts['absent']:g}"
    better = f"{facts['direction']} is better" if facts["direction"] else "better as its user states"
    points = [
        f"Formula: `{facts['formula']}`",
        f"Written {written}; {WITHOUT_NUMBER[facts['cutoff']]}",
        f"Also written {', '.join(also)}" if also else "",
        f"{range_text(facts)}, {better}".capitalize(),
        f"Absent query: {absent}",
        f"Needs: {needs_text(facts)}" if needs_text(facts) else "",
        "With judge labels: an upper bound; the gold set alone is the lower one" if facts["judge_bounds"] else "",
    ]
    yield "\n".join(f"- {point}" for point in points if point)
    if facts["parameters"]:
        yield parameter_table(facts["parameters"])


def views() -> str:
    """What the views have in common, and a row each."""
    rows = [("parameter", "example", "default", "", "needs")]
    for facts in map(describe_view, VIEWS):
        [(name, parameter)] = facts["parameters"].items()
        example = f"`{facts['written'][0]}`"
        rows.append((f"`{name}`", example, default_text(parameter), parameter["meaning"], needs_text(facts)))
    return f"{documentation_of(VIEWS, describe_view)}\n\n{table(rows)}"


def gains() -> str:
    """What the gains have in common, and a row each."""
    found = [describe_gain(name) for name in GAINS]
    rows = [(f"`{facts['written'][0]}`", facts["meaning"], needs_text(facts)) for facts in found]
    rows.insert(0, ("example", "meaning", "needs"))
    return f"{documentation_of(GAINS, describe_gain)}\n\n{table(rows)}"


def documentation_of(names: Iterable[str], described: Callable[[str], Facts]) -> str:
    """The description that they share."""
    [description] = {str(described(name)["description"]) for name in names}
    return description


def matching() -> str:
    """The parameters of `match:`."""
    parameters = parameters_of(Matching)
    return parameter_table({name: facts for name, facts in parameters.items() if name != "by"})


def parameter_table(parameters: Mapping[str, Facts]) -> str:
    """One row a parameter: name, default, meaning."""
    rows = [("parameter", "default", "")]
    for name, facts in parameters.items():
        default = default_text(facts)
        shown = default if default in ("none", "required") else f"`{default}`"
        rows.append((f"`{name}`", shown, facts["meaning"]))
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

if __name__ == "__main__":
    sys.exit(main())
