"""Writes the locks: what the action installs, as names, versions and hashes, for every system and supported Python.

    python scripts/lock.py            # keeps the versions if all still fit; delete locks/ for the newest
    python scripts/lock.py --check    # writes nothing, and returns 2 where a lock is out of date

`locks/base.lock` has the dependencies and the build back end, each other file what one extra adds. Every file of a
pinned version is in it with its hash, and no address: the index is whatever uv's own settings name.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("cloud", "parquet")  # what a check can need; `extras` of action.yml offers them
HEAD = "# Written by scripts/lock.py: for pip install --require-hashes --only-binary :all: -r base.lock\n"


class NotLockedError(Exception):
    """There is no resolution, or it is none that can be locked; says why."""


def resolved(project: Path, scratch: Path, extras: Sequence[str], constraints: str, *words: str) -> dict[str, str]:
    """Requirement lines by the package's name, for the project, its build back end and these extras.

    Markers stand for systems and Pythons. Nothing is built, so that no code of a package runs.
    """
    known = tomllib.loads(project.read_text(encoding="utf-8"))
    back_end, limits = scratch / "back-end.txt", scratch / "constraints.txt"
    back_end.write_text("\n".join(known["build-system"]["requires"]), encoding="utf-8")
    limits.write_text(constraints, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        "--no-config",
        "--no-progress",
        "--no-build",
        "--universal",
    ]
    command += ["--no-header", "--no-annotate", "--python-version", known["project"]["requires-python"].strip(">= ")]
    command += [word for extra in extras for word in ("--extra", extra)]
    command += ["--constraints", str(limits), *words, str(project), str(back_end)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotLockedError(done.stderr.strip())
    found: dict[str, str] = {}
    for block in re.split(r"^(?=\S)", done.stdout, flags=re.MULTILINE)[1:]:
        name = re.split(r"[^\w.-]", block, maxsplit=1)[0]  # of several blocks where systems need several versions
        found[name] = found.get(name, "") + block
    return found


def locks(project: Path, known: str) -> dict[str, str]:
    """The text of every lock by its file's name; versions of `known`, which is such text, are kept if all still fit.

    Raises:
        NotLockedError: see there; also where a requirement is an address.
    """
    # As a range: a version that was withdrawn satisfies `==`, and no range.
    kept = re.findall(r"^([\w.-]+)==(\S+)((?: ; [^\\\n]+)?)", known, re.MULTILINE)
    ranges = "\n".join(f"{name}>={version},<={version}{marker}" for name, version, marker in kept)
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        try:
            whole = resolved(project, scratch, EXTRAS, ranges, "--generate-hashes")
        except NotLockedError:
            whole = resolved(project, scratch, EXTRAS, "", "--generate-hashes")
        if addresses := [name for name, block in whole.items() if "://" in block or " @ " in block]:
            raise NotLockedError(f"an address cannot be locked; name a release of: {', '.join(addresses)}")
        pins = "".join(whole.values())
        base = resolved(project, scratch, (), pins).keys()
        named = {extra: resolved(project, scratch, (extra,), pins).keys() - base for extra in EXTRAS}
    named["base"] = set(base)
    return {f"{name}.lock": HEAD + "".join(whole[each] for each in sorted(names)) for name, names in named.items()}


def main(words: list[str], root: Path) -> int:
    """Write the locks, or with --check name those out of date; 2 where there are such, or no resolution."""
    folder = root / "locks"
    there = {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*"))}
    try:
        wanted = locks(root / "pyproject.toml", "".join(there.values()))
    except NotLockedError as error:
        print(error, file=sys.stderr)
        return 2
    stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    if words == ["--check"]:
        for name in stale:
            print(f"locks/{name} is out of date; run scripts/lock.py and commit what it writes", file=sys.stderr)
        return 2 if stale else 0
    folder.mkdir(exist_ok=True)
    for name in stale:
        print(f"locks/{name}")
        if name in wanted:
            (folder / name).write_text(wanted[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], ROOT))
