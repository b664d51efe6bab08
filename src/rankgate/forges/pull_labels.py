"""Labels of a pull request: who set each, and what it is worth for one commit and one base. One rule for all of them.

A label accepts what its setter could have seen: a report of this very commit had been completed before, and since then
the pull request has neither been pushed to, nor reopened, nor pointed at another base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rankgate.forges.checks import reports
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.context import Context, Pull
from rankgate.forges.publish import Settings, check_of
from rankgate.forges.pulls import may_write
from rankgate.model.waiver_use import SetLabel, Standing

_FORCED = "head_ref_force_pushed"
# The second is GitHub's own doing: the base branch was merged and deleted.
_VOIDING = ("base_ref_changed", "automatic_base_change_succeeded", _FORCED, "reopened")
_NEVER = "~"  # later than every time

_Events = Sequence[Mapping[str, Any]]


def label_events(client: Client, repository: str, number: int) -> _Events:
    """What happened to a pull request's labels, head and base, oldest first."""
    # Of the two lists of events, the one that `pull-requests: read` is enough for.
    listed = client.pages(f"/repos/{repository}/issues/{number}/timeline")
    concerning = (each for each in listed if each["event"] in ("labeled", *_VOIDING))
    return sorted(concerning, key=lambda each: (each["created_at"], each["id"]))


def worth(
    client: Client, repository: str, events: _Events, name: str, reported: Sequence[str], begun: Sequence[str] = ()
) -> SetLabel:
    """What a label that stands on a pull request is worth, by its `label_events`; the last who set it answers for it.

    A first report on what it may accept has to lie before it, and after the last forced push: that may have brought
    back a commit that was reported long ago. No run that is to be reported yet may have begun before it.
    """
    at = max((n for n, each in enumerate(events) if (each.get("label") or {}).get("name") == name), default=None)
    if at is None or not events[at].get("actor"):
        return SetLabel(name=name, by="", standing="unknown")
    by, when = events[at]["actor"]["login"], events[at]["created_at"]
    forced = max((each["created_at"] for each in events if each["event"] == _FORCED), default="")
    standing: Standing = "counts"
    if not may_write(client, repository, by):
        standing = "outsider"
    elif any(each["event"] in _VOIDING for each in events[at:]):
        standing = "head moved"
    elif not any(forced < time < when for time in reported) or any(time < when for time in begun):
        standing = "unreported"
    return SetLabel(name=name, by=by, standing=standing)


def labels_now(client: Client, context: Context, settings: Settings, pull: Pull) -> list[SetLabel]:
    """The labels of a pull request of this repository as they are now, each for its head, whatever set the job off.

    Whether one means anything is for the criteria to say. What GitHub does not tell counts for nothing.
    """
    repository, number, names = context.repository, pull.number, list[str]()
    check = check_of(replace(context, sha=pull.head_sha, pull=pull), settings)
    try:
        names = [item["name"] for item in client.pages(f"/repos/{repository}/issues/{number}/labels")]
        if check is None or not names:
            return []
        own, pushed = (number, check.record.base), _last_push(client, repository, pull)
        times = [time for each, time in reports(client, check) if time and (each.pull, each.base) == own]
        events = label_events(client, repository, number)
        reported = [time for time in times if pushed < time]
        return [worth(client, repository, events, name, reported) for name in names]
    except ForgeError:
        return [SetLabel(name=name, by="", standing="unknown") for name in names]


def _last_push(client: Client, repository: str, pull: Pull) -> str:
    """When the branch was last pushed to; empty where the server keeps no list, `_NEVER` where the head is another."""
    head = client.get(f"/repos/{repository}/pulls/{pull.number}")["head"]
    where: dict[str, str | int] = {"ref": f"refs/heads/{head['ref']}", "per_page": 1}
    try:
        push = next(iter(client.get(f"/repos/{repository}/activity", where)), {"after": ""})
    except ForgeError:
        push = {"after": head["sha"], "timestamp": ""}
    return push["timestamp"] if push["after"] == head["sha"] == pull.head_sha else _NEVER
