"""Payloads of GitHub's events: the few fields that are read, typed, and everything else passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from rankgate.errors import bad_input
from rankgate.readers.json_text import spoken

MAX_BYTES = 25 * 1024 * 1024  # GitHub sends no payload above 25 MB

# `\Z`, since `$` also matches before a line break at the end.
_SHA, _LOGIN = r"\A[0-9a-f]{40}([0-9a-f]{24})?\Z", r"\A[A-Za-z0-9_-]{1,100}(\[bot\])?\Z"
_FORMS = {_SHA: "the 40 or 64 hex digits of a commit", _LOGIN: "a login"}
Sha = Annotated[str, msgspec.Meta(pattern=_SHA)]
Login = Annotated[str, msgspec.Meta(pattern=_LOGIN)]
_LARGEST = 2**53  # what every JSON reader can hold
Number = Annotated[int, msgspec.Meta(ge=1, le=_LARGEST)]


class Repository(msgspec.Struct, frozen=True):
    """A repository; names change, the id does not."""

    id: Number


class User(msgspec.Struct, frozen=True):
    """An account."""

    login: Login


class Head(msgspec.Struct, frozen=True):
    """The tip of what shall be merged; without a repository once that was deleted."""

    sha: Sha
    repo: Repository | None


class Base(msgspec.Struct, frozen=True):
    """The branch that it shall be merged into."""

    ref: str
    sha: Sha
    repo: Repository


class PullRequest(msgspec.Struct, frozen=True):
    """A pull request; without a user once the account was deleted."""

    number: Number
    head: Head
    base: Base
    user: User | None


class PullRequestEvent(msgspec.Struct, frozen=True):
    """Of `pull_request` and `pull_request_target`."""

    action: str
    pull_request: PullRequest


class MergeGroup(msgspec.Struct, frozen=True):
    """What the merge queue would merge next, and onto what."""

    head_sha: Sha
    base_sha: Sha


class MergeGroupEvent(msgspec.Struct, frozen=True):
    """Of `merge_group`."""

    merge_group: MergeGroup


class Run(msgspec.Struct, frozen=True):
    """A run of a workflow; older Enterprise servers do not say whose."""

    id: Number
    run_attempt: Number
    head_sha: Sha
    head_repository: Repository | None
    event: str
    actor: User | None = None
    head_branch: str | None = None


class WorkflowRunEvent(msgspec.Struct, frozen=True):
    """Of `workflow_run`. Which pull requests it lists is not read: a fork's are not among them."""

    workflow_run: Run
    repository: Repository


T = TypeVar("T", bound=msgspec.Struct)


def read_payload(path: str, kind: type[T], event: str) -> T:
    """The payload of an event.

    Args:
        path: of the file, from GITHUB_EVENT_PATH.
        kind: what is expected in it.
        event: its name, for messages.

    Raises:
        RankgateError: no such file, more than `MAX_BYTES` of it, not JSON, or a field that is missing or wrong.
    """
    if not path:
        raise bad_input("is not set; is this running in GitHub Actions?", key="GITHUB_EVENT_PATH")
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else "no file can have this name"
        message = f"the event's payload cannot be read: {reason}; is this running in GitHub Actions?"
        raise bad_input(message, file=path, key="GITHUB_EVENT_PATH") from error
    if len(data) > MAX_BYTES:
        message = f"the event's payload has more than {MAX_BYTES:,} bytes; GitHub sends none so large"
        raise bad_input(message, file=path, key="GITHUB_EVENT_PATH")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = f"not the payload of a {event} event: {spoken(error, _FORMS)}; is this running in GitHub Actions?"
        raise bad_input(message, file=path) from error
