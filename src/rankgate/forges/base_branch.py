"""The branch that a job of GitHub Actions judges for: what GitHub calls the base is a sha."""

from __future__ import annotations

import re
from collections.abc import Mapping

_QUEUE = re.compile(r"refs/heads/gh-readonly-queue/(?P<base>.+)/pr-[0-9]+-[0-9a-f]+")


def base_branch(environment: Mapping[str, str]) -> str | None:
    """The branch that a pull request or the merge queue is to be merged into; None for any other event."""
    queue = _QUEUE.fullmatch(environment.get("GITHUB_REF", ""))
    return environment.get("GITHUB_BASE_REF") or (queue["base"] if queue else None)
