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
from rankgate.renderers.dashboards.build import Tag
from rankgate.renderers.dashboards.spans import Version

MAX_TAGS = 500
MAX_VERSIONS = 200  # of a waiver file; what was in force before is unknown
_REMOTE = re.compile(
    r"(?:(?:https|ssh)://(?:[^@/\s]+@)?github\.com/|(?:[^@/\s]+@)?github\.com:)(?P<name>[\w-]+/[\w.-]+?)(?:\.git)?/?",
    re.ASCII,
)


def releases() -> list[Tag]:
    """The newest tags whose name begins with v and a digit, oldest first; none where there is no repository."""
    asked = "%(refname:strip=2)%00%(objectname)%00%(*objectname)%00%(creatordate:short)"
    found = _said("for-each-ref", "--sort=creatordate", f"--format={asked}", "refs/tags/v[0-9]*")
    tags: list[Tag] = []
    for line in found.splitlines()[-MAX_TAGS:]:
        name, own, peeled, date = line.split("\0")
        if iso_day(date):  # a tag of something that has no day is no release
            tags.append(Tag(name, peeled or own, date))
    return tags


def web_address() -> str | None:
    """The address of the repository on github.com; None where its remote `origin` lies elsewhere or there is none."""
    match = _REMOTE.fullmatch(_said("remote", "get-url", "origin").strip())
    return f"https://github.com/{match['name']}" if match else None


def waiver_versions(criteria: Criteria) -> list[Version]:
    """The waivers of a criteria file as each commit before HEAD had them, and as the working tree has them now.

    A version that cannot be read says nothing: the one before it counts on.

    Raises:
        RankgateError: the working tree's file is malformed, or the criteria name one that is not there.
    """
    now = waivers_of(criteria).entries
    past = _past(criteria.inputs.waivers)
    return [*past, Version(day=None, waivers=now)]  # spans are of entries, whichever line they stand on


def _past(path: str) -> list[Version]:
    try:
        repository = repository_around(".")
        inside = Path(os.path.realpath(path)).relative_to(repository.root).as_posix()
    except (GitError, ValueError):
        return []
    log = _said("log", f"--max-count={MAX_VERSIONS}", "--format=%H %cs", "--", inside, at=repository.root)
    lines = [line.split(" ") for line in reversed(log.splitlines())]
    cut = len(lines) == MAX_VERSIONS or _said("rev-parse", "--is-shallow-repository").strip() == "true"
    versions: list[Version] = []
    for number, (commit, day) in enumerate(lines):
        version = _version(repository, commit, inside, None if cut and number == 0 else day)
        versions += [version] if version else []
    return versions


def _version(repository: Repository, commit: str, inside: str, day: str | None) -> Version | None:
    try:
        entry = repository.entry(commit, inside)
        if entry is None:
            return Version(day=day, waivers=())
        return Version(day=day, waivers=parse_waivers(repository.text(entry.sha), inside).entries)
    except RankgateError:
        return None


def _said(*arguments: str, at: str = ".") -> str:
    """What git prints here; nothing where it fails, is missing, or this is no repository."""
    try:
        found = run_git(at, *arguments)
    except GitError:
        return ""
    return found.stdout.decode("utf-8", "replace") if not found.returncode else ""
