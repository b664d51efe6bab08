"""Files that git keeps elsewhere, in Git LFS: what a pointer stands for, checked against its digest."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from rankgate.files.git import GitError, run_git, said

LONGEST_POINTER = 1024  # bytes, by the specification
PATIENCE = 900.0  # seconds to fetch one file
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.+\n)*?oid sha256:([0-9a-f]{64})\nsize \d+\n")


def fill_pointer(file: Path, root: str, name: str) -> None:
    """Put what a pointer stands for in its place, whoever serves it; a GitError where that cannot be had."""
    if file.stat().st_size > LONGEST_POINTER:
        return
    pointer = file.read_bytes()
    match = _POINTER.match(pointer)
    if match is None:
        return
    if run_git(root, "lfs", "version").returncode:
        raise GitError(f"{name} is kept in Git LFS, and git-lfs is not installed; install it, or keep the file in git")
    with file.open("wb") as target:
        fetched = run_git(root, "lfs", "smudge", given=pointer, to=target, patience=PATIENCE)
    with file.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    if fetched.returncode or digest != match[1].decode():
        raise GitError(f"{name} is kept in Git LFS, which does not give it: {said(fetched)}")
