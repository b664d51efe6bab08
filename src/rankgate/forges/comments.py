"""One comment, ours: found by author and marker, updated in place, never doubled, never set back by an older run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from rankgate.forges.client import Client, ForgeError, LostResponseError
from rankgate.forges.marker import Mark, mark_of
from rankgate.forges.pulls import pull_of
from rankgate.model.values import Verdict

ACTIONS_LOGIN = "github-actions[bot]"  # whom the token of a workflow posts as; it may not ask GitHub who it is
ROUNDS = 4  # of listing and writing; jobs that race for one comment agree after two

_HOLDS = (Verdict.PASS, Verdict.WARN)


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment of ours."""

    id: int
    mark: Mark
    body: str


Done = Literal["created", "updated", "unchanged", "outdated"]


def upsert(client: Client, repository: str, pull: int, mark: Mark, text: str, *, login: str, fresh: bool) -> Done:
    """Leave exactly one comment of this gate on the pull request, and in it what the newest run said.

    Nothing is written when the pull request's head has moved on, or a newer run has commented: `outdated`. After
    writing, the comments are listed again, since another job may have done the same at the same time; the oldest stays.

    Args:
        client: the API.
        repository: owner/name.
        pull: its number.
        mark: who writes.
        text: the comment below the marker.
        login: whom the token posts as.
        fresh: post again, and delete the old one, where the gate held before and does not any more, so that people
            are notified.

    Raises:
        ForgeError: the platform refuses or cannot be reached.
    """
    body = f"{mark.line()}\n{text}"
    done: Done = "unchanged"
    lost: list[LostResponseError] = []
    for _ in range(ROUNDS):
        # The list comes right before the write: what another job does in between is seen only afterwards.
        if done == "unchanged" and pull_of(client, repository, pull).head_sha != mark.sha:
            return "outdated"
        found = ours(client, repository, pull, mark.gate, login)
        if any(comment.mark.newer_than(mark) for comment in found):
            _withdraw(client, repository, found, mark)
            return "outdated"
        if [comment.body for comment in found] == [body]:
            return done
        try:
            done = _step(client, repository, pull, body, found, fresh=fresh and _turns(found, mark)) or done
        except LostResponseError as error:  # the next round lists, and posts again only if it did not arrive
            done = "created"
            client.rest(error, len(lost))
            lost.append(error)
        if client.dry_run:
            break
    if len(lost) == ROUNDS:
        raise lost[-1]
    return done


def ours(client: Client, repository: str, pull: int, gate: str, login: str) -> list[Comment]:
    """Our comments of a gate, oldest first, from all pages.

    A comment is ours if this login wrote it, as the kind of account that it is, and its first line is our marker.
    Anybody may post our marker; nobody else can post it as us.
    """
    kind = "Bot" if login.endswith("[bot]") else "User"
    found: list[Comment] = []
    for item in client.pages(f"/repos/{repository}/issues/{pull}/comments"):
        user: dict[str, Any] = item.get("user") or {}  # a deleted account is null
        body = (item.get("body") or "").replace("\r\n", "\n")
        mark = mark_of(body)
        if user.get("login") == login and user.get("type") == kind and mark is not None and mark.gate == gate:
            found.append(Comment(id=item["id"], mark=mark, body=body))
    return sorted(found, key=lambda comment: comment.id)


def _step(
    client: Client, repository: str, pull: int, body: str, found: Sequence[Comment], *, fresh: bool
) -> Done | None:
    """One step towards the one comment; None where only surplus ones were deleted."""
    kept = next((comment for comment in found if comment.body == body), None) if fresh else found[0] if found else None
    if kept is None:
        client.send("POST", f"/repos/{repository}/issues/{pull}/comments", {"body": body})
        return "created"
    for comment in found:
        if comment is not kept:
            _delete(client, repository, comment)
    if kept.body == body:
        return None
    client.send("PATCH", _path(repository, kept), {"body": body})
    return "updated"


def _turns(found: Sequence[Comment], mark: Mark) -> bool:
    """Whether the gate held when it was last told of, and does not any more."""
    return bool(found) and found[0].mark.verdict in _HOLDS and mark.verdict not in _HOLDS


def _withdraw(client: Client, repository: str, found: Sequence[Comment], mark: Mark) -> None:
    """Take back what this run posted while a newer one did; the oldest is the newer one's to update."""
    for comment in found[1:]:
        if comment.mark == mark:
            _delete(client, repository, comment)


def _delete(client: Client, repository: str, comment: Comment) -> None:
    try:
        client.send("DELETE", _path(repository, comment))
    except ForgeError as error:
        if error.status != 404:  # noqa: PLR2004 -- another job was quicker
            raise


def _path(repository: str, comment: Comment) -> str:
    return f"/repos/{repository}/issues/comments/{comment.id}"
