"""Labels that stand on a pull request, and what each is worth: for one commit and one base, set by a writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from rankgate.forges.client import Client, ForgeError
from rankgate.forges.context import Context, Pull
from rankgate.forges.pulls import may_write
from rankgate.waivers import SetLabel, Standing

# The second is GitHub's own doing: the base branch was merged and deleted.
_OTHER_BASE = ("base_ref_changed", "automatic_base_change_succeeded")


def labels_now(client: Client, context: Context) -> list[SetLabel]:
    """The labels of the pull request as they are now, whatever set the job off; and the event's own, if it is gone.

    A label counts for the head that it was set on: the branch has not been pushed to since, nor has the pull request
    been pointed at another base. The last who set it answers for it. Whether it means anything is for the criteria to
    say. What GitHub does not tell counts for nothing. A fork's are none: the reporting job judges that.
    """
    pull, own = context.pull, context.label
    if pull is None or context.event != "pull_request" or context.read_only:
        return []
    names: list[str] = []
    try:
        names = [item["name"] for item in client.pages(f"/repos/{context.repository}/issues/{pull.number}/labels")]
        gone = [SetLabel(name=own, by=context.sender or "", standing="taken off")] if own and own not in names else []
        return gone + (_judged(client, context, pull, names) if names else [])
    except ForgeError:
        return [SetLabel(name=name, by="", standing="unknown") for name in names or filter(None, [own])]


def _judged(client: Client, context: Context, pull: Pull, names: Sequence[str]) -> list[SetLabel]:
    events = list(client.pages(f"/repos/{context.repository}/issues/{pull.number}/events"))
    head = client.get(f"/repos/{context.repository}/pulls/{pull.number}")["head"]

    @cache
    def writes(login: str) -> bool:
        return may_write(client, context.repository, login)

    @cache
    def last_push() -> Mapping[str, str]:
        where: dict[str, str | int] = {"ref": f"refs/heads/{head['ref']}", "per_page": 1}
        return next(iter(client.get(f"/repos/{context.repository}/activity", where)), {})

    def standing(by: str, name: str, since: Sequence[Mapping[str, Any]]) -> Standing:
        try:
            if not by or not writes(by):
                return "stranger" if by else "unknown"
        except ForgeError:
            return "unknown"
        if head["sha"] != pull.head_sha or any(each["event"] in _OTHER_BASE for each in since):
            return "head moved"
        try:
            pushed = last_push()
        except ForgeError:  # the label's own event names the head too
            return "counts" if (context.label, context.sender) == (name, by) else "unknown"
        older = pushed.get("after") == head["sha"] and pushed["timestamp"] < since[0]["created_at"]
        return "counts" if older else "head moved"

    def judged(name: str) -> SetLabel:
        of_it = [at for at, each in enumerate(events) if each["event"] == "labeled" and each["label"]["name"] == name]
        since = events[of_it[-1] :] if of_it else []
        by = (since[0].get("actor") or {}).get("login", "") if since else ""
        return SetLabel(name=name, by=by, standing=standing(by, name, since))

    return list(map(judged, names))
