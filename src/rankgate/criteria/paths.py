"""Where criteria lie, and where the inputs lie that they name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from rankgate.errors import RankgateError, bad_input, option
from rankgate.readers.base import TABLE
from rankgate.readers.field_map import FieldMap
from rankgate.readers.source import SCHEME, open_source

WAIVERS = "ship-waivers.yaml"  # beside the criteria, unless they name another place
DEFAULT_PATHS = ("config/ship-criteria.yaml", "ship-criteria.yaml", ".github/ship-criteria.yaml")
MAX_BYTES = 1_000_000  # hundreds of gates have a hundredth of it


class InputFile(msgspec.Struct, frozen=True):
    """A path as given on the command line or resolved from the criteria, a forced format, and a run's map.

    Where `held` is there, it is the gold set or the run as Python has it, and `path` is only its name. A run that is
    `stored` lies in a store of accepted runs.
    """

    path: str
    format: str | None = None
    map: FieldMap | None = None
    held: Any = None
    stored: bool = False

    @property
    def is_file(self) -> bool:
        """Whether it is a file, or a directory or a store that is read as one."""
        return self.held is None and not self.stored

    @property
    def is_table(self) -> bool:
        """Whether it has values per query in place of rankings."""
        return self.format == TABLE


def find_criteria() -> str:
    """The first of the default paths that exists.

    Raises:
        RankgateError: none does.
    """
    for path in DEFAULT_PATHS:
        if Path(path).is_file():
            return path
    raise bad_input(
        f"no ship criteria found (looked for {', '.join(DEFAULT_PATHS)}); name the file with {option('criteria')}, "
        "or let `rankgate init --gold GOLD` write one"
    )


def inputs_named(path: str, *, at: str | None = None) -> dict[str, str]:
    """Where the files lie that a criteria file names, by their key, as far as it can be read; no metric is looked for.

    They are relative to `at` where the file is a copy of that.
    """
    from rankgate.readers.yaml_text import load_yaml  # noqa: PLC0415 -- paid only where a file is read

    try:
        with open_source(path) as source:
            value = load_yaml(source.text(MAX_BYTES), source.name).value
    except RankgateError:
        return {}
    written, judge = _mapping(value, "inputs"), _mapping(value, "judge")
    named = {f"inputs.{key}": entry for key, entry in {"waivers": WAIVERS, **written}.items()}
    named |= {f"judge.{key}": judge.get(key) for key in ("calibration", "prompts")}
    paths = (
        (key, each.get("path", each.get("file")) if isinstance(each, dict) else each) for key, each in named.items()
    )
    return {key: location(each, at or path) for key, each in paths if isinstance(each, str)}


def _mapping(value: Any, key: str) -> dict[str, Any]:
    written = value.get(key) if isinstance(value, dict) else None
    return written if isinstance(written, dict) else {}


def location(path: str, criteria_path: str) -> str:
    """Where an input lies: an address as it is, a path as `beside` says."""
    return path if SCHEME.match(path) else beside(criteria_path, path)


def beside(criteria_path: str, path: str) -> str:
    """A path that is written relative to a criteria file, as one would type it."""
    base = "" if criteria_path == "-" else os.path.dirname(criteria_path)  # noqa: PTH120 -- keeps `./a/../b` readable
    return os.path.normpath(os.path.join(base, path))  # noqa: PTH118
