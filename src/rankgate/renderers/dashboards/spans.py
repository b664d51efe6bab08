"""From the versions of a waiver file to the days on which each waiver was in force. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rankgate.criteria.waivers import Waiver
from rankgate.model.values import Unit
from rankgate.readers.dates import days_after
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
    closed: list[tuple[Waiver, str | None, str]] = []
    open_since: dict[Waiver, str | None] = {}
    for version in versions:
        now = {waiver.model_copy(update={"line": None}): version.day for waiver in version.waivers}
        for waiver in [each for each in open_since if each not in now]:
            # The day on which it was taken out is not one of its days; nobody knows that day without a version's.
            last = days_after(version.day, -1) if version.day else waiver.expires
            closed.append((waiver, open_since.pop(waiver), min(last, waiver.expires)))
        open_since = {**now, **open_since}
    closed += [(waiver, since, waiver.expires) for waiver, since in open_since.items()]
    spans = (
        Span(waiver=waiver, unit=units.get(waiver.gate, Unit.NUMBER), since=since, until=until)
        for waiver, since, until in closed
        if since is None or since <= until
    )
    by_begin = sorted(
        spans, key=lambda span: (span.since or "", span.until, span.waiver.gate, span.waiver.segment or "")
    )
    return tuple(by_begin)
