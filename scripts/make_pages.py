#!/usr/bin/env python3
"""Write what docs pages take from the program: commands, metrics, keys, what questions see, and lines that install.

What stands between `<!-- generated: NAME -->` and `<!-- end -->` is written anew, the prose around it stays. `--check`
writes nothing and fails if a page differs. `--install SOURCE` puts another source into every line that installs, and
into the package, whose messages and workflows name it: a wheel's path, or `git+https://…@HASH`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import metrics_page
from rankgate import INSTALL
from rankgate.cli import COMMANDS, EXITS
from rankgate.cli.schema import output_schema
from rankgate.criteria import load_criteria
from rankgate.gates.power import detectable
from rankgate.model.values import Evidence

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "config" / "ship-criteria.schema.json"
PART = re.compile(r"(?<=<!-- generated: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)
QUESTIONS = (30, 100, 300, 1000)
# Heading, the schema's name of the object, and what begins its keys. Maps, the judge and match have pages of their own.
OBJECTS = (
    ("The file", "", ""),
    ("A gate", "Gate", "gates[]."),
    ("Segments", "SegmentRule", "segments[]."),
    ("One segment", "Limits", "only.VALUE."),
    ("Inputs", "Inputs", "inputs."),
    ("Baseline", "BaselinePolicy", "baseline."),
    ("Age", "Age", "baseline.max_age."),
    ("Retriever", "Retriever", "retriever."),
    ("Publish", "Publish", "publish."),
)
HEADS = {
    Evidence.ESTIMATE: "`estimate`: a drop of",
    Evidence.PROVEN_HARM: "`proven_harm`: a drop of",
    Evidence.PROVEN_SAFE: "`proven_safe`: has to allow",
}
# Where pages say more.
COMMAND_PAGES = {
    "demo": "getting-started.md",
    "init": "workflows.md",
    "record": "retriever.md",
    "check": "report.md",
    "explain": "explain.md",
    "compare": "report.md#try-it",
    "baseline show": "baselines.md",
    "baseline accept": "baselines.md#accept-and-look",
    "gold pool": "gold.md#label-what-your-systems-find",
    "gold anchor": "gold.md#gold-that-survives-re-chunking",
    "gold negatives": "gold.md#hard-negatives",
    "judge": "judge.md",
    "judge sample": "judge.md#check-the-judge",
    "judge calibrate": "judge.md#what-the-labels-say",
    "comment": "github.md#the-bot",
    "dashboard": "dashboard.md",
    "metrics": "metrics.md",
}
KEY_PAGES = {
    "answers": "judge.md#what-reports-say",
    "base": "base.md",
    "diagnosis": "diagnosis.md",
    "fork_runs": "workflows.md#forks",
    "given_up": "baselines.md#small-losses-add-up",
    "lost_parts": "statistics.md#parts-that-no-gate-names",
    "other_code": "retriever.md#which-code-a-run-is-of",
    "summary": "report.md#the-first-sentence",
    "traffic": "unlabelled.md",
    "waivers": "waivers.md",
}
MANY = 4  # commands that have an option, which then stands in no row
# Keys of the report of which also the own keys or choices are named.
OPENED = ("verdict", "conclusion", "gates", "differences", "base", "fork_runs", "provenance")
Facts = Mapping[str, Any]


def main() -> int:
    """Write the pages, or say whether they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    parser.add_argument("--install", metavar="SOURCE", help="what lines that install name from now on")
    arguments = parser.parse_args()
    if arguments.install:
        install(arguments.install)
    stale = 0
    for page in sorted((ROOT / "docs").rglob("*.md")):
        old = page.read_text(encoding="utf-8")
        new = PART.sub(lambda part: f"{part[1]}{part[2]}{PARTS[part[1]]()}\n", old)
        if not arguments.check:
            page.write_text(new, encoding="utf-8")
        elif new != old:
            print(f"{page} differs from the program; run scripts/make_pages.py", file=sys.stderr)
            stale = 1
    return stale


def install(source: str) -> None:
    """Name another source in every line that installs."""
    named = re.compile(rf"(?:rankgate\[([a-z,]+)\] @ )?{re.escape(INSTALL)}(?:\[([a-z,]+)\])?")

    def with_extras(found: re.Match[str]) -> str:
        extras = found[1] or found[2]
        if not extras:
            return source
        return f"rankgate[{extras}] @ {source}" if "://" in source else f"{source}[{extras}]"

    package = ROOT / "src" / "rankgate" / "__init__.py"
    for page in (package, ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *workflows()):
        page.write_text(named.sub(with_extras, page.read_text(encoding="utf-8")), encoding="utf-8")


def workflows() -> list[Path]:
    """Those of the docs."""
    return sorted((ROOT / "docs").rglob("*.yml"))


def keys() -> str:
    """A list for each object of the criteria."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    described = [(heading, schema["$defs"][name] if name else schema, prefix) for heading, name, prefix in OBJECTS]
    return "\n\n".join(f"## {heading}\n\n{listed(facts, prefix)}" for heading, facts, prefix in described)


def listed(described: Facts, prefix: str) -> str:
    """The keys of one object, required ones marked, others with their default."""
    rows: list[str] = []
    for key, facts in described["properties"].items():
        meaning = facts["description"]
        default = facts.get("default")
        if key in described.get("required", ()):
            meaning = f"Required. {meaning}"
        elif default not in (None, {}, []) and "where absent" not in meaning:
            shown = default if isinstance(default, str) else json.dumps(default)
            meaning = f"{meaning} Default: `{shown}`."
        rows.append(f"- `{prefix}{key}`: {meaning}")
    return "\n".join(rows)


def questions() -> str:
    """What gates on recall@5 detect, by the number of questions."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ship-criteria.yaml"
        file.write_text("gates: [{name: recall@5, regression_max: 0.03}]", encoding="utf-8")
        gate = load_criteria(str(file)).gates[0]
    rows = [
        f"| questions | {' | '.join(HEADS.values())} |",
        "|--:|--:|--:|--:|",
    ]
    for count in QUESTIONS:
        drops: list[str] = []
        for evidence in HEADS:
            found = detectable(gate.model_copy(update={"evidence": evidence}), queries=count)
            if found is None:
                raise ValueError(f"{count} questions: nothing is known of {evidence}")
            drop = found.margin if evidence is Evidence.PROVEN_SAFE else found.detectable
            drops.append(f"{100 * drop:.1f}")
        rows.append(f"| {count:,} | {' | '.join(drops)} |")
    return "\n".join(rows)


class Row(NamedTuple):
    """A command or an action of one: what is typed, what that does, and the options of its own."""

    name: str
    words: str
    meaning: str
    options: list[str]


def commands() -> str:
    """A row for each command and action; options that many have stand below."""
    parsers = {name: import_module(module).parser() for name, (module, _) in COMMANDS.items()}
    rows = [row for name, parser in parsers.items() for row in rows_of(name, COMMANDS[name][1], parser)]
    counts = Counter(option for row in rows for option in row.options)
    shared = [option for option, count in counts.most_common() if count >= MANY]
    lines = ["| command | what it does | options |", "|:--|:--|:--|"]
    for row in rows:
        own = " ".join(f"`{option}`" for option in row.options if option not in shared)
        lines.append(f"| {linked(row.words, COMMAND_PAGES.get(row.name))} | {row.meaning} | {own} |")
    return "\n".join([*lines, "", f"Of many commands: {', '.join(f'`{option}`' for option in shared)}."])


def rows_of(name: str, meaning: str, parser: argparse.ArgumentParser) -> Iterator[Row]:
    """The row of a command, unless it has actions alone, and those of its actions."""
    words = [name]
    options: list[str] = []
    actions: list[Row] = []
    for each in parser._actions:  # noqa: SLF001 -- argparse lists them nowhere else
        if isinstance(each, argparse._SubParsersAction):  # noqa: SLF001
            meanings = {choice.dest: choice.help or "" for choice in each._choices_actions}  # noqa: SLF001
            for action, parsed in each.choices.items():
                actions += rows_of(f"{name} {action}", meanings[action], parsed)
        elif not each.option_strings:
            words.append(str(each.metavar or each.dest).upper())
        elif each.dest != "help" and each.help is not argparse.SUPPRESS:
            options.append(each.option_strings[0])
    if options or not actions:
        yield Row(name, " ".join(words), meaning, options)
    yield from actions


def linked(words: str, page: str | None) -> str:
    """Code, which leads to the page that says more, if one does."""
    return f"[`{words}`]({page})" if page else f"`{words}`"


def exits() -> str:
    """What exit codes mean: of all commands, and of those that have their own."""
    rows = [f"- all: {EXITS}"]
    for name, (module, _) in COMMANDS.items():
        own = getattr(import_module(module).parser(), "exits", "")
        if own:
            rows.append(f"- `{name}`: {' '.join(own.removeprefix('exit codes: ').split())}")
    return "\n".join(rows)


def report() -> str:
    """The keys of report.json, and of some what they hold."""
    schema = output_schema("report")
    rows: list[str] = []
    for key, facts in resolved(schema, schema)["properties"].items():
        meaning = facts["description"]
        if key in OPENED:
            held = resolved(facts, schema)
            meaning += " " + ", ".join(f"`{name}`" for name in held.get("properties", held.get("enum")))
        rows.append(f"- {linked(key, KEY_PAGES.get(key))}: {meaning}")
    return "\n".join(rows)


def resolved(facts: Facts, schema: Facts) -> Facts:
    """The object or choice that a key's value is, or each entry of its value."""
    if "$ref" in facts:
        return resolved(schema["$defs"][facts["$ref"].removeprefix("#/$defs/")], schema)
    if "anyOf" in facts:
        return resolved(facts["anyOf"][0], schema)
    inner = facts.get("items") or facts.get("additionalProperties")
    return resolved(inner, schema) if inner else facts


PARTS: dict[str, Callable[[], str]] = {
    "keys": keys,
    "questions": questions,
    "commands": commands,
    "exits": exits,
    "report": report,
    **metrics_page.PARTS,
}


if __name__ == "__main__":
    sys.exit(main())
