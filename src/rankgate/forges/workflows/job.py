"""What both workflows need to know, and the names that they share with the action."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from rankgate.errors import bad_input

HOME = "rankgate/rankgate"
CHECK = "rankgate/verdict"
ARTIFACT = "rankgate"
LABEL = "rankgate: accept rankings"
APP_KEY = "RANKGATE_APP_KEY"
ENVIRONMENT = "rankgate"  # holds the key, and admits jobs of the default branch alone


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What the workflows need to know; paths are relative to the repository's root.

    `gold_format` is None where the content tells it, `criteria` where the action finds them by itself. `baseline` is as
    the criteria name it. `action` is as `action_of` returns it. With `app`, the id of a GitHub App, the second workflow
    alone judges. Pushes to `branches` are judged for the summary. With `run_shaped` the criteria say how a committed
    run is read, so that its path alone does not. `enterprise` says that the server is GitHub Enterprise Server.
    """

    retriever: str | None
    gold: str
    gold_format: str | None = None
    run: str
    baseline: str = "baseline"
    criteria: str | None
    requirements: Sequence[str]
    branches: Sequence[str]
    version: str
    action: str
    app: int | None = None
    run_shaped: bool = False
    enterprise: bool = False

    @property
    def to_read_baseline(self) -> str | None:
        """The permission without which a token cannot read a baseline of GitHub's; None for one that lies elsewhere."""
        return {"artifact": "actions", "git+branch": "contents"}.get(self.baseline.partition(":")[0])


def action_of(reference: str | None, version: str) -> str:
    """What stands behind `uses:` for our own action: OWNER/NAME@REF, with the version as a comment behind a hash.

    Without a reference it is the tag of this version.
    """
    if reference is None:
        return f"{HOME}@v{version}"
    if not re.fullmatch(r"[\w.-]+/[\w.-]+@[\w.][\w./-]*", reference, re.ASCII):
        raise bad_input(f"--action {reference!r} is not OWNER/NAME@REF; write it as {HOME}@HASH")
    return f"{reference} # v{version}" if pinned(reference) else reference


def pinned(action: str) -> bool:
    """Whether an action is named by the full hash of a commit, which nobody can move."""
    return re.search(r"@[0-9a-f]{40}(?: #|$)", action) is not None


def requirements_commands(files: Mapping[str, bool]) -> list[str]:
    """How to install the project itself, by the files that it has."""
    if files.get("requirements.txt"):
        return ["python -m pip install -r requirements.txt"]
    return ["python -m pip install ."] if files.get("pyproject.toml") else []
