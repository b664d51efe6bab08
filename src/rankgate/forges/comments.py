"""One comment, ours: found by author and marker, updated in place, never doubled, never set back by an older run.

The marker is a hidden first line: which gate the comment belongs to, and which run of which commit wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, Literal

import msgspec

from rankgate.errors import bad_input
from rankgate.forges.client import Client, ForgeError, LostResponseError
from rankgate.forges.pulls import pull_of
from rankgate.model.values import Verdict

ACTIONS_LOGIN = "github-actions[bot]"  # whom the token of a workflow posts as; it may not ask GitHub who it is
DEFAULT_GATE = "default"
BEGINS = "<!-- rankgate "  # no other line of a comment may begin so
ROUNDS = 4  # of listing and writing; jobs that race for one comment agree after two

_HOLDS = (Verdict.PASS, Verdict.WARN)
_GATE = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_LINE = re.compile(
    rf"{BEGINS}gate=({_GATE}) sha=([0-9a-f]{{40}}|[0-9a-f]{{64}}) "
    r"run=([0-9]{1,19}) attempt=([0-9]{1,19}) verdict=([a-z_]{1,16}) -->"
)


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote a comment: the gate's id, the pull request's head, the run and its attempt; and what it said."""

    gate: str
    sha: str
    run: int
    attempt: int
    verdict: Verdict

    def line(self) -> str:
        """The first line of the comment, which nobody sees."""
        written = f"gate={self.gate} sha={self.sha} run={self.run} attempt={self.attempt} verdict={self.verdict.value}"
        return f"{BEGINS}{written} -->"

    def newer_than(self, other: Mark) -> bool:
        """Whether a later run, or a later attempt of the same one, wrote it; both are counted upwards."""
        return (self.run, self.attempt) > (other.run, other.attempt)


def mark_of(body: str) -> Mark | None:
    """The mark of a comment; None unless its first line is exactly one."""
    match = _LINE.fullmatch(body.split("\n", 1)[0].removesuffix("\r"))
    if not match:
        return None
    gate, sha, run, attempt, verdict = match.groups()
    try:
        return Mark(gate=gate, sha=sha, run=int(run), attempt=int(attempt), verdict=Verdict(verdict))
    except ValueError:  # a verdict of another version
        return None


def checked_gate_id(written: str) -> str:
    """An id that may stand in a marker, in a check's name and in a file's; RankgateError for any other."""
    if not re.fullmatch(_GATE, written):
        message = f"{written[:80]!r} is no gate id; use up to 64 letters, digits, dots, dashes and underscores"
        raise bad_input(message, key="gate-id")
    return written


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment of ours."""

    id: int
    mark: Mark
    body: str


Done = Literal["created", "updated", "unchanged", "outdated", "unwanted"]


class PullThread(msgspec.Struct, frozen=True):
    """The comments of a pull request on GitHub, and whom the token posts as."""

    client: Client
    repository: str
    pull: int
    login: str

    def head(self) -> str:
        """The commit that the pull request's branch is at now."""
        return pull_of(self.client, self.repository, self.pull).head_sha

    def bodies(self) -> Iterator[tuple[int, str]]:
        """Number and text of each comment of this login, as the kind of account that it is."""
        kind = "Bot" if self.login.endswith("[bot]") else "User"
        for item in self.client.pages(f"/repos/{self.repository}/issues/{self.pull}/comments"):
            user: dict[str, Any] = item.get("user") or {}  # a deleted account is null
            if user.get("login") == self.login and user.get("type") == kind:
                yield item["id"], item.get("body") or ""

    def ran(self, mark: Mark) -> bool:
        """Whether there is the run that a mark names, as far as GitHub says: whoever may post as us can invent one."""
        try:
            run = self.client.get(f"/repos/{self.repository}/actions/runs/{mark.run}")
        except ForgeError as error:
            return error.status != HTTPStatus.NOT_FOUND
        attempts: int = run["run_attempt"]
        return mark.attempt <= attempts

    def post(self, body: str) -> None:
        """A new comment."""
        self.client.send("POST", f"/repos/{self.repository}/issues/{self.pull}/comments", {"body": body})

    def edit(self, number: int, body: str) -> None:
        """Another text of a comment; where somebody has deleted it, the answer is lost."""
        try:
            self.client.send("PATCH", f"/repos/{self.repository}/issues/comments/{number}", {"body": body})
        except ForgeError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            raise LostResponseError(str(error), error.status) from error

    def delete(self, number: int) -> None:
        """Take a comment away, if it is there."""
        self.client.send("DELETE", f"/repos/{self.repository}/issues/comments/{number}")


def upsert(thread: PullThread, mark: Mark, text: str, *, fresh: bool, first: bool = True) -> Done:
    """Leave exactly one comment of this gate on the pull request, and in it what the newest run said.

    Nothing is written when the pull request's head has moved on, or a newer run has commented: `outdated`. After
    writing, the comments are listed again, since another job may have done the same at the same time; the oldest stays.
    With `fresh` it posts again, and deletes the old one, where the gate held before and does not any more, so that
    people are notified. Without `first` only a comment that is there is updated, and where there is none nothing is
    posted: `unwanted`.
    """
    body = f"{mark.line()}\n{text}"
    done: Done = "unchanged"
    lost: list[LostResponseError] = []
    for _ in range(ROUNDS):
        # The list comes right before the write: what another job does in between is seen only afterwards.
        if done == "unchanged" and thread.head() != mark.sha:
            return "outdated"
        comments = ours(thread, mark.gate)
        if any(comment.mark.newer_than(mark) and thread.ran(comment.mark) for comment in comments):
            _withdraw(thread, comments, mark)
            return "outdated"
        if [comment.body for comment in comments] == [body]:
            return done
        if not comments and not first:
            return "unwanted"
        turns = bool(comments) and comments[0].mark.verdict in _HOLDS and mark.verdict not in _HOLDS
        try:
            done = _step(thread, body, comments, fresh=fresh and turns) or done
        except LostResponseError as error:  # the next round lists, and posts again only if it did not arrive
            done = "created"
            thread.client.pause_after(error, len(lost))
            lost.append(error)
        if thread.client.dry_run:
            break
    if len(lost) == ROUNDS:
        raise lost[-1]
    return done


def ours(thread: PullThread, gate: str) -> list[Comment]:
    """Our comments of a gate, oldest first: those of the token's account with our marker.

    Anybody may post our marker; nobody else can post it as us.
    """
    comments = [
        Comment(id=number, mark=mark, body=body)
        for number, text in thread.bodies()
        if (mark := mark_of(body := text.replace("\r\n", "\n"))) is not None and mark.gate == gate
    ]
    return sorted(comments, key=lambda comment: comment.id)


def _step(thread: PullThread, body: str, comments: Sequence[Comment], *, fresh: bool) -> Done | None:
    """One step towards the one comment; None where only surplus ones were deleted."""
    kept = next((comment for comment in comments if not fresh or comment.body == body), None)
    if kept is None:
        thread.post(body)
        return "created"
    for comment in comments:
        if comment is not kept:
            thread.delete(comment.id)
    if kept.body == body:
        return None
    thread.edit(kept.id, body)
    return "updated"


def _withdraw(thread: PullThread, comments: Sequence[Comment], mark: Mark) -> None:
    """Take back what this run posted while a newer one did; the oldest is the newer one's to update."""
    for comment in comments[1:]:
        if comment.mark == mark:
            thread.delete(comment.id)
