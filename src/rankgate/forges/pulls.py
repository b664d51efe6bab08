"""Pull requests: which are open for a commit, where their heads are, and who may decide about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankgate.forges.client import Client, ForgeError
from rankgate.forges.context import Pull

_MAY_WRITE = ("admin", "write")  # GitHub reports the role `maintain` as write, and `triage` as read


def head_of(client: Client, repository: str, number: int) -> str:
    """The commit that a pull request's head is at now.

    Raises:
        ForgeError: it cannot be read.
    """
    sha: str = client.get(f"/repos/{repository}/pulls/{number}")["head"]["sha"]
    return sha


def open_pulls(client: Client, repository: str, head_repository: int | None, head_sha: str) -> list[Pull]:
    """Every open pull request whose head is this commit of this repository, by number.

    The event of a finished workflow names none for a fork, and what the workflow's artifact names is the fork's to say.

    Raises:
        ForgeError: they cannot be listed.
    """
    pulls = map(_pull, client.pages(f"/repos/{repository}/pulls", {"state": "open"}))
    found = [pull for pull in pulls if pull.head_sha == head_sha and pull.head_repository == head_repository]
    return sorted(found, key=lambda pull: pull.number)


def pull_of(client: Client, repository: str, number: int) -> Pull:
    """A pull request by its number.

    Raises:
        ForgeError: it cannot be read.
    """
    return _pull(client.get(f"/repos/{repository}/pulls/{number}"))


def _pull(item: Mapping[str, Any]) -> Pull:
    source = (item["head"].get("repo") or {}).get("id")  # a deleted fork is null
    return Pull(
        number=item["number"],
        head_sha=item["head"]["sha"],
        base_ref=item["base"]["ref"],
        base_sha=item["base"]["sha"],
        head_repository=source,
        from_fork=source != item["base"]["repo"]["id"],
    )


def may_write(client: Client, repository: str, login: str) -> bool:
    """Whether an account may write to the repository; a label can be set by many who may not.

    Raises:
        ForgeError: it cannot be told.
    """
    try:
        answer = client.get(f"/repos/{repository}/collaborators/{login}/permission")
    except ForgeError as error:
        if error.status == 404:  # noqa: PLR2004 -- no collaborator
            return False
        raise
    return answer.get("permission") in _MAY_WRITE


def remove_label(client: Client, repository: str, number: int, label: str) -> None:
    """Take a label off a pull request, if it is there.

    Raises:
        ForgeError: the platform refuses.
    """
    from urllib.parse import quote  # noqa: PLC0415 -- paid only here

    try:
        client.send("DELETE", f"/repos/{repository}/issues/{number}/labels/{quote(label, safe='')}")
    except ForgeError as error:
        if error.status != 404:  # noqa: PLR2004 -- it has no such label
            raise


def has_label(client: Client, repository: str, number: int, label: str) -> bool:
    """Whether a pull request has a label.

    Raises:
        ForgeError: its labels cannot be read.
    """
    return any(item["name"] == label for item in client.pages(f"/repos/{repository}/issues/{number}/labels"))
