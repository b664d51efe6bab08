"""Prints what the changelog says of the version to be released; refuses if tag, version and changelog do not agree.

    python scripts/release_notes.py [TAG] > notes.md

The version is pyproject.toml's and the package's own. Without a tag, or with an empty one, it is a rehearsal.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def problems_and_notes(root: Path, tag: str) -> tuple[list[str], str]:
    """Everything that speaks against a release, and the changelog's section of this version without its heading."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    package = (root / "src" / "rankgate" / "__init__.py").read_text(encoding="utf-8")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    problems = []
    if tag and tag != f"v{version}":
        problems.append(f"the tag is {tag}, but pyproject.toml has the version {version}")
    if f'\n__version__ = "{version}"\n' not in package:
        problems.append(f"src/rankgate/__init__.py has another version than pyproject.toml, which has {version}")
    found = re.search(rf"^## {re.escape(version)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    notes = found[1].strip() if found else ""
    if not notes:
        problems.append(f"CHANGELOG.md says nothing under `## {version}`")
    return problems, notes


def main(words: list[str]) -> int:
    """Print the notes, or what speaks against a release and return 2."""
    problems, notes = problems_and_notes(ROOT, words[0] if words else "")
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(notes)
    return 2 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
