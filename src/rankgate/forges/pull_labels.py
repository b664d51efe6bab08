"""Labels of a pull request: who set each, and what it is worth for one commit and one base. One rule for all of them.

A label accepts what its setter could have seen: a report of this very commit had been completed before, and since then
the pull request has neither been pushed to, nor reopened, nor pointed at another base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from rankgate.forges.checks import reports
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.context import Context, Pull
from rankgate.forges.publish import Settings, check_of
from rankgate.forges.pulls import may_write
from rankgate.waivers import SetLabel, Standing

_FORCED = "head_ref_force_pushed"
# The second is GitHub's own doing: the base branch was merged and deleted.
_VOIDING = ("base_ref_changed", "automatic_base_change_succeeded", _FORCED, "reopened")
_NEVER = "~"  # later than every time

Events = Sequence[Mapping[str, Any]]


def label_events(client: Client, repository: str, number: int) -> Events:
    """What happened to a pull request's labels, head and base, oldest first.

    Raises:
        ForgeError: GitHub does not say.
    """
    # Of the two lists of events, the one that `pull-requests: read` is enough for.
    listed = client.pages(f"/repos/{repository}/issues/{number}/timeline")
    found = [each for each in listed if each["event"] in ("labeled", *_VOIDING)]
    return sorted(found, key=lambda each: (each["created_at"], each["id"]))


def worth(
    client: Client, repository: str, events: Events, name: str, reported: Sequence[str], begun: Sequence[str] = ()
) -> SetLabel:
    """What a label that stands on a pull request is worth. The last who set it answers for it.

    Args:
        client: tells who may write.
        repository: OWNER/NAME.
        events: of `label_events`.
        name: the label's.
        reported: when first reports on what it may accept were completed. One counts if it lies before the label, and
            after the last forced push: that may have brought back a commit that was reported long ago.
        begun: when runs began that are to be reported yet; none may lie before the label.

    Raises:
        ForgeError: it cannot be told who may write.
    """
    at = max((n for n, each in enumerate(events) if (each.get("label") or {}).get("name") == name), default=None)
    if at is None or not events[at].get("actor"):
        return SetLabel(name=name, by="", standing="unknown")
    by, when = events[at]["actor"]["login"], events[at]["created_at"]
    forced = max((each["created_at"] for each in events if each["event"] == _FORCED), default="")
    standing: Standing = "counts"
    if not may_write(client, repository, by):
        standing = "stranger"
    elif any(each["event"] in _VOIDING for each in events[at:]):
        standing = "head moved"
    elif not any(forced < time < when for time in reported) or any(time < when for time in begun):
        standing = "unreported"
    return SetLabel(name=name, by=by, standing=standing)


def labels_now(client: Client, context: Context, settings: Settings, pull: Pull) -> list[SetLabel]:
    """The labels of a pull request of this repository as they are now, and the event's own, if that is gone.

    Each is for the pull request's head, whatever set the job off. Whether it means anything is for the criteria to say.
    What GitHub does not tell counts for nothing.
    """
    own = context.label if context.pull and context.pull.number == pull.number else None
    names: list[str] = []
    try:
        names = [item["name"] for item in client.pages(f"/repos/{context.repository}/issues/{pull.number}/labels")]
        gone = [SetLabel(name=own, by=context.sender or "", standing="taken off")] if own and own not in names else []
        return gone + (_judged(client, context, settings, pull, names) if names else [])
    except ForgeError:
        return [SetLabel(name=name, by="", standing="unknown") for name in names or filter(None, [own])]


def _judged(client: Client, context: Context, settings: Settings, pull: Pull, names: Sequence[str]) -> list[SetLabel]:
    head = client.get(f"/repos/{context.repository}/pulls/{pull.number}")["head"]
    check = check_of(replace(context, sha=pull.head_sha, pull=pull), settings)
    times = [
        time
        for record, time in (reports(client, check) if check else ())
        if check and time and (record.pull, record.base) == (pull.number, check.record.base)
    ]
    pushed = _last_push(client, context.repository, head) if head["sha"] == pull.head_sha else _NEVER
    events = label_events(client, context.repository, pull.number)
    judged = partial(worth, client, context.repository, events, reported=[time for time in times if pushed < time])
    return [judged(name) for name in names]


def _last_push(client: Client, repository: str, head: Mapping[str, Any]) -> str:
    """When a branch was last pushed to; empty where the server keeps no such list, never where that is of elsewhere."""
    where: dict[str, str | int] = {"ref": f"refs/heads/{head['ref']}", "per_page": 1}
    try:
        found: Mapping[str, str] = next(iter(client.get(f"/repos/{repository}/activity", where)), {})
    except ForgeError:
        return ""
    return found["timestamp"] if found.get("after") == head["sha"] else _NEVER
