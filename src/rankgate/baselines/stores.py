"""Which store a `--baseline` value names."""

from __future__ import annotations

from pathlib import Path

from rankgate.baselines.base import BaselineStore
from rankgate.baselines.directory import DirectoryStore
from rankgate.baselines.runfile import RunFileStore
from rankgate.errors import bad_input
from rankgate.readers.mapping import FieldMap


def store_for(spec: str, format: str | None = None, map: FieldMap | None = None) -> BaselineStore:  # noqa: A002
    """A directory, or a path that does not exist and has no suffix, is a directory store; all else is a run file.

    Args:
        spec: the path.
        format: forces the format of a run file.
        map: says what holds what in a run file, and that it is one.

    Raises:
        RankgateError: a map for a directory.
    """
    path = Path(spec)
    if map is not None:
        if path.is_dir():
            raise bad_input("is a baseline directory, whose run needs no map; leave out `map:`", file=path.as_posix())
        return RunFileStore(spec, format, map)
    if path.is_dir() or (not path.exists() and (spec.endswith("/") or not path.suffix) and spec != "-"):
        return DirectoryStore(path.as_posix())
    return RunFileStore(spec, format)
