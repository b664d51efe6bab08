"""What a label of a pull request is worth: one rule for both labels. Pure.

A label accepts what the newest report before it judged, and counts while that is what is judged.
"""

from __future__ import annotations

import datetime as dt

import msgspec

from rankgate.model.waiver_use import Standing

MINUTE = dt.timedelta(minutes=1)  # what a person needs at least to see a report


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
    """What is judged now, as `Subject` has it, and all reports on it; `moved` is the last forced push, or empty.

    `queued` says that the merge queue judges, whose run is another by nature.
    """

    judged: str
    reports: tuple[Reported, ...]
    moved: str = ""
    author: str | None = None
    accept_own: bool = False
    queued: bool = False


def worth(given: Given | None, seen: Seen) -> Standing:
    """Whether a label counts, or else why it does not; None is one of which GitHub does not say who set it."""
    if given is None:
        return "unknown"
    if not given.writes:
        return "outsider"
    if given.by.casefold() == (seen.author or "").casefold() and not seen.accept_own:
        return "own"
    latest = dt.datetime.fromisoformat(given.at) - MINUTE
    before = [each for each in seen.reports if seen.moved < each.at and dt.datetime.fromisoformat(each.at) <= latest]
    if not before:
        return "unreported"
    then = max(before, key=lambda each: each.at).judged
    now = seen.judged
    if seen.queued:
        then = then.partition(".")[0]
        now = now.partition(".")[0]
    return "counts" if then == now != "" else "changed"
