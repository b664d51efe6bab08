"""Pull requests: which are open for a commit, where their heads are, and who may decide about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from rankgate.forges.client import Client, ForgeError
from rankgate.forges.runner import Pull

_MAY_WRITE = ("admin", "write")  # GitHub reports the role `maintain` as write, and `triage` as read


def deciding_pulls(client: Client, repository: str, sha: str, criteria: Sequence[str], *, queued: bool) -> list[Pull]:
    """The open pull requests whose reports decide what a commit's check says, by number.

    Those from this repository's branches whose author may write or is an App; where there is none, and the commit is no
    merge group's (`queued`), all others. Of several those whose base has criteria. Who is not known counts.
    """
    pulls = open_at(client, repository, sha)
    if len(pulls) > 1 or queued:
        trusted = [pull for pull in pulls if _trusted(client, repository, pull)]
        pulls = trusted if trusted or queued else pulls
    if len(pulls) > 1:
        gated = [pull for pull in pulls if not all(_lacks(client, repository, pull, path) for path in criteria)]
        pulls = gated or pulls
    return pulls


def open_at(client: Client, repository: str, head_sha: str) -> list[Pull]:
    """Every open pull request whose head is this commit, in this repository or a fork, by number."""
    # All pages of all: the commit's own list does not name those of forks, nor does the event of a finished workflow.
    pulls = map(_pull, client.pages(f"/repos/{repository}/pulls", {"state": "open"}))
    return sorted((pull for pull in pulls if pull.head_sha == head_sha), key=lambda pull: pull.number)


def of_writer(client: Client, repository: str, pull: Pull) -> bool:
    """Whether a pull request is from a branch of this repository, opened by somebody who may write, or by an App."""
    author = pull.author
    return not pull.from_fork and (pull.by_app or (author is not None and may_write(client, repository, author)))


def _trusted(client: Client, repository: str, pull: Pull) -> bool:
    try:
        return of_writer(client, repository, pull)
    except ForgeError:
        return True


def _lacks(client: Client, repository: str, pull: Pull, path: str) -> bool:
    """Whether a base has no such file. A tag may have the branch's name, so that the whole name is given."""
    try:
        client.get(f"/repos/{repository}/contents/{quote(path)}", {"ref": f"refs/heads/{pull.base_ref}"})
    except ForgeError as error:
        return error.status == 404  # noqa: PLR2004 -- not found
    return False


def pull_of(client: Client, repository: str, number: int) -> Pull:
    """A pull request by its number."""
    return _pull(client.get(f"/repos/{repository}/pulls/{number}"))


def _pull(item: Mapping[str, Any]) -> Pull:
    source = (item["head"].get("repo") or {}).get("id")  # a deleted fork is null
    user = item.get("user") or {}  # a deleted account is null
    return Pull(
        number=item["number"],
        head_sha=item["head"]["sha"],
        base_ref=item["base"]["ref"],
        base_sha=item["base"]["sha"],
        head_repository=source,
        from_fork=source != item["base"]["repo"]["id"],
        author=user.get("login"),
        by_app=user.get("type") == "Bot",
    )


def may_write(client: Client, repository: str, login: str) -> bool:
    """Whether an account may write to the repository; a label can be set by many who may not."""
    if login.endswith("[bot]"):  # no collaborator, and any workflow may set a label as one
        return False
    try:
        answer = client.get(f"/repos/{repository}/collaborators/{login}/permission")
    except ForgeError as error:
        if error.status == 404:  # noqa: PLR2004 -- no collaborator
            return False
        raise
    return answer.get("permission") in _MAY_WRITE
