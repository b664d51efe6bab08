"""What the repository around the current directory says: releases, its web address, and what its waivers once were."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rankgate.criteria import Criteria
from rankgate.criteria.waivers import parse_waivers, waivers_of
from rankgate.errors import RankgateError
from rankgate.files.git import GitError, Repository, repository_around, run_git
from rankgate.readers.dates import iso_day
from rankgate.renderers.dashboards.build import Version
from rankgate.renderers.dashboards.values import Tag

MAX_TAGS = 500
MAX_VERSIONS = 200  # of a waiver file; what was in force before is unknown
_REMOTE = re.compile(
    r"(?:(?:https|ssh)://(?:[^@/\s]+@)?github\.com/|(?:[^@/\s]+@)?github\.com:)(?P<name>[\w-]+/[\w.-]+?)(?:\.git)?/?",
    re.ASCII,
)


def releases() -> list[Tag]:
    """The newest tags whose name begins with v and a digit, oldest first; none where there is no repository."""
    fields = "%(refname:strip=2)%00%(objectname)%00%(*objectname)%00%(creatordate:short)"
    lines = _printed("for-each-ref", "--sort=creatordate", f"--format={fields}", "refs/tags/v[0-9]*").splitlines()
    tags = (line.split("\0") for line in lines[-MAX_TAGS:])
    # A tag of something that has no day is no release.
    return [Tag(name, peeled or own, date) for name, own, peeled, date in tags if iso_day(date)]


def web_address() -> str | None:
    """The address of the repository on github.com; None where its remote `origin` lies elsewhere or there is none."""
    match = _REMOTE.fullmatch(_printed("remote", "get-url", "origin").strip())
    return f"https://github.com/{match['name']}" if match else None


def waiver_versions(criteria: Criteria) -> list[Version]:
    """The waivers of a criteria file as each commit before HEAD had them, and as the working tree has them now.

    A version that cannot be read says nothing: the one before it counts on. The working tree's file has to be readable.
    """
    now = Version(day=None, waivers=waivers_of(criteria).entries)
    return [*_past(criteria.inputs.waivers), now]


def _past(path: str) -> list[Version]:
    try:
        repository = repository_around(".")
        inside = Path(os.path.realpath(path)).relative_to(repository.root).as_posix()
    except (GitError, ValueError):
        return []
    log = _printed("log", f"--max-count={MAX_VERSIONS}", "--format=%H %cs", "--", inside, at=repository.root)
    lines = [line.split(" ") for line in reversed(log.splitlines())]
    cut = len(lines) == MAX_VERSIONS or _printed("rev-parse", "--is-shallow-repository").strip() == "true"
    days = [None if cut and number == 0 else day for number, (_, day) in enumerate(lines)]
    versions = (_version(repository, commit, inside, day) for (commit, _), day in zip(lines, days, strict=True))
    return [version for version in versions if version]


def _version(repository: Repository, commit: str, inside: str, day: str | None) -> Version | None:
    try:
        entry = repository.entry(commit, inside)
        waivers = parse_waivers(repository.text(entry.sha), inside).entries if entry else ()
    except RankgateError:
        return None
    return Version(day=day, waivers=waivers)


def _printed(*arguments: str, at: str = ".") -> str:
    """What git prints here; nothing where it fails, is missing, or this is no repository."""
    try:
        done = run_git(at, *arguments)
    except GitError:
        return ""
    return done.stdout.decode("utf-8", "replace") if not done.returncode else ""
