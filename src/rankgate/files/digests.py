"""Digests of what files hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def digest_of(paths: Iterable[Path]) -> str:
    """One digest of the contents of files, in their order; whatever is no file is passed over."""
    digest = hashlib.sha256()
    for path in filter(Path.is_file, paths):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def digest_below(folder: Path) -> str:
    """One digest of all files below a folder, with their names."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    names = "\0".join(each.relative_to(folder).as_posix() for each in files)
    return hashlib.sha256(f"{names}\0\0{digest_of(files)}".encode("utf-8", "surrogateescape")).hexdigest()
