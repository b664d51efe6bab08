#!/usr/bin/env python3
"""Write what docs pages take from the program: keys of the criteria, what questions see, and lines that install.

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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rankgate import INSTALL
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
    for page in (ROOT / "docs" / "criteria-keys.md", ROOT / "docs" / "questions.md"):
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


PARTS: dict[str, Callable[[], str]] = {"keys": keys, "questions": questions}


if __name__ == "__main__":
    sys.exit(main())
