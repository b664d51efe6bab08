"""Which store a `--baseline` value names."""

from __future__ import annotations

from pathlib import Path

from rankgate.baselines.base import BaselineStore
from rankgate.baselines.directory import DirectoryStore
from rankgate.baselines.runfile import RunFileStore


def store_for(spec: str, format: str | None = None) -> BaselineStore:  # noqa: A002
    """A directory, or a path that does not exist and has no suffix, is a directory store; all else is a run file."""
    path = Path(spec)
    if path.is_dir() or (not path.exists() and (spec.endswith("/") or not path.suffix) and spec != "-"):
        return DirectoryStore(path.as_posix())
    return RunFileStore(spec, format)
