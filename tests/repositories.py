"""Real git repositories for tests: the command, and a commit of everything."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(*arguments: str, at: Path | None = None) -> str:
    """What git prints, as somebody whose settings do not matter."""
    who = ("-c", "user.name=A", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
    local = ("-c", "protocol.file.allow=always")
    found = subprocess.run(["git", *who, *local, *arguments], cwd=at, check=True, capture_output=True, text=True)
    return found.stdout.strip()


def commit(at: Path | None = None) -> None:
    """Commit everything that git does not ignore."""
    git("add", "--all", at=at)
    git("commit", "--quiet", "--allow-empty", "--message", "change", at=at)


def sha_of_commit(at: Path | None = None) -> str:
    """Commit the same; the sha."""
    commit(at)
    return git("rev-parse", "HEAD", at=at)
