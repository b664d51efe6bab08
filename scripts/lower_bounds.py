"""Prints the oldest versions that pyproject.toml promises to run with, as constraints for pip.

    python scripts/lower_bounds.py [PYPROJECT] > constraints.txt

They are those of the dependencies and of every extra but `dev` and `recipes`, whose packages no user installs.
"""

import re
import sys
import tomllib
from pathlib import Path

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(\[.*?\])?\s*(?P<bounds>[^;]*?)\s*(?P<marker>;.*)?")
LOWER_BOUND = re.compile(r"(>=|~=|==)\s*(?P<version>[\w.!+-]+)")


def lower_bound(requirement: str) -> str | None:
    """`jinja2==3.1.4` for `jinja2[i18n]>=3.1.4,<4`; None where nothing says which version is the oldest.

    A marker is kept; extras are dropped, for pip takes none in a constraint.
    """
    parts = REQUIREMENT.fullmatch(requirement.strip())
    bound = LOWER_BOUND.search(parts["bounds"]) if parts else None
    if parts is None or bound is None:
        return None
    return f"{parts['name']}=={bound['version']}{parts['marker'] or ''}"


def main(pyproject: Path) -> int:
    """Print the constraints, or name every requirement without a lower bound and return 2."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    groups = [project.get("dependencies", [])]
    extras = project.get("optional-dependencies", {})
    groups += [group for extra, group in extras.items() if extra not in ("dev", "recipes")]
    itself = f"{project['name']}["  # an extra may be a list of other extras
    bounds = {each: lower_bound(each) for group in groups for each in group if not each.startswith(itself)}

    unbounded = [requirement for requirement, bound in bounds.items() if bound is None]
    for requirement in unbounded:
        print(f"{pyproject}: {requirement!r} has no lower bound; write it as name>=version", file=sys.stderr)
    if unbounded:
        return 2
    print("\n".join(sorted({bound for bound in bounds.values() if bound})))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "pyproject.toml")))
