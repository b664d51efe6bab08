"""The labels of a pull request as GitHub has them now, and what each is worth: one rule for both labels.

A label accepts what the newest report before it judged, and counts while that is what is judged.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from rankgate.forges.checks import reports
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.publish import Settings, check_of
from rankgate.forges.pulls import may_write
from rankgate.forges.runner import Context, Pull
from rankgate.model.base_ref import ACCEPT_CHANGE, ACCEPT_RANKINGS, LabelState, SetLabel

if TYPE_CHECKING:  # as in fork.py
    from rankgate.forges.base_checkout import Subject

_FORCED = "head_ref_force_pushed"

MINUTE = dt.timedelta(minutes=1)  # what a person needs at least to see a report


def labels_now(
    client: Client, context: Context, settings: Settings, pull: Pull, subject: Subject, *, queued: bool = False
) -> list[SetLabel]:
    """Our labels that stand on a pull request, each as it is worth for what is judged now, whatever set the job off.

    What GitHub does not tell counts for nothing.
    """
    repository = context.repository
    number = pull.number
    names: list[str] = []
    check = check_of(replace(context, sha=pull.head_sha, pull=pull), settings)
    try:
        there = {item["name"] for item in client.pages(f"/repos/{repository}/issues/{number}/labels")}
        names = [name for name in (ACCEPT_CHANGE, ACCEPT_RANKINGS) if name in there]
        if check is None or not names:
            return []
        # Of the two lists of events, the one that `pull-requests: read` is enough for.
        events = list(client.pages(f"/repos/{repository}/issues/{number}/timeline"))
        report_key = (number, check.record.job)
        seen = Seen(
            judged=subject.text,
            reports=tuple(
                Reported(time, each.judged)
                for each, time in reports(client, check)
                if time and (each.pull, each.job) == report_key
            ),
            moved=max((each["created_at"] for each in events if each["event"] == _FORCED), default=""),
            author=pull.author,
            accept_own=subject.accept_own,
            queued=queued,
        )
        given = [_given(client, repository, events, name) for name in names]
    except ForgeError:
        return [SetLabel(name=name, by="", state="unknown") for name in names]
    return [
        SetLabel(name=name, by=each.by if each else "", state=worth(each, seen))
        for name, each in zip(names, given, strict=True)
    ]


def _given(client: Client, repository: str, events: Sequence[Mapping[str, Any]], name: str) -> Given | None:
    """Who set a label last, who answers for it; None where that is not known."""
    setting = (each for each in events if each["event"] == "labeled" and each["label"]["name"] == name)
    last = max(setting, key=lambda each: (each["created_at"], each["id"]), default=None)
    if last is None or not last["actor"]:
        return None
    by = last["actor"]["login"]
    return Given(by=by, at=last["created_at"], writes=may_write(client, repository, by))


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Who set a label, and when; `writes` says whether that is a person who may write to the repository."""

    by: str
    at: str
    writes: bool


class Reported(msgspec.Struct, frozen=True):
    """When a report on the pull request's head was completed, and the digest of what it judged."""

    at: str
    judged: str


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What is judged now, as the text of `Subject` has it (`GATE.RUN`, two digests), and all reports on the head.

    `moved` is when it was last pushed by force, or empty. `queued` says that the merge queue judges, whose run is
    another by nature.
    """

    judged: str
    reports: tuple[Reported, ...]
    moved: str = ""
    author: str | None = None
    accept_own: bool = False
    queued: bool = False


def worth(given: Given | None, seen: Seen) -> LabelState:
    """Whether a label counts, or else why it does not; None is one of which GitHub does not say who set it."""
    if given is None:
        return "unknown"
    if not given.writes:
        return "outsider"
    if given.by.casefold() == (seen.author or "").casefold() and not seen.accept_own:
        return "own"
    latest = dt.datetime.fromisoformat(given.at) - MINUTE
    reports = [each for each in seen.reports if seen.moved < each.at and dt.datetime.fromisoformat(each.at) <= latest]
    if not reports:
        return "unreported"
    accepted = max(reports, key=lambda each: each.at).judged
    judged = seen.judged
    if seen.queued:  # only the gate has to be the same
        accepted = accepted.partition(".")[0]
        judged = judged.partition(".")[0]
    return "counts" if judged and judged == accepted else "changed"
