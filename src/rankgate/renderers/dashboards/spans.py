"""From the versions of a waiver file to the days on which each waiver was in force. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rankgate.criteria.waivers import Waiver
from rankgate.model.values import Unit
from rankgate.readers.dates import days_after
from rankgate.renderers.dashboards.days import place_of
from rankgate.renderers.dashboards.values import Span


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """The waivers from a day on, until the next version; `day` is None where nobody can tell since when."""

    day: str | None
    waivers: tuple[Waiver, ...]


def spans_of(versions: Sequence[Version], units: Mapping[str, Unit]) -> tuple[Span, ...]:
    """The spans in the order in which they begin; of a waiver that never counted there is none.

    Args:
        versions: oldest first; the last is what holds now.
        units: of each gate's metric. A waiver of a gate that is no more has a plain number.
    """
    found: list[Span] = []
    open_since: dict[Waiver, str | None] = {}
    for version in versions:
        now = {waiver.model_copy(update={"line": None}): version.day for waiver in version.waivers}
        for waiver in [each for each in open_since if each not in now]:
            since = open_since.pop(waiver)
            # The day on which it was taken out is not one of its days; nobody knows that day without a version's.
            last = days_after(version.day, -1) if version.day else waiver.expires
            found += _span(waiver, since, min(last, waiver.expires), units)
        open_since = {**now, **open_since}
    for waiver, since in open_since.items():
        found += _span(waiver, since, waiver.expires, units)
    return tuple(sorted(found, key=lambda span: (span.since or "", span.until, span.gate, span.segment or "")))


def _span(waiver: Waiver, since: str | None, until: str, units: Mapping[str, Unit]) -> list[Span]:
    if since is not None and since > until:
        return []
    return [
        Span(
            gate=waiver.gate,
            segment=waiver.segment,
            up_to=waiver.up_to,
            unit=units.get(waiver.gate, Unit.NUMBER),
            since=since,
            until=until,
            expires=waiver.expires,
            issue=waiver.issue,
            reason=waiver.reason,
            by=waiver.by,
            first=place_of(since) if since else None,
            last=place_of(until) + 1,
        )
    ]
