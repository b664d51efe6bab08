"""From the records of a memory to a page's values. Pure: what is read comes in, `date` is the only clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

import msgspec

from rankgate.baselines.records import Record
from rankgate.metrics.base import Metric
from rankgate.renderers.dashboards.curves import curve_of
from rankgate.renderers.dashboards.days import NOON, place_of, places_of
from rankgate.renderers.dashboards.values import Acceptance, GateSet, Older, Release, ShownRun, Span, Value

Rescored = Mapping[str, Mapping[str, float | None]]  # by the id of a record and the name of a metric


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a store remembers, each log oldest first."""

    history: Sequence[Record]
    accepted: Sequence[Record] = ()
    anchors: Sequence[Record] = ()

    def until(self, date: str) -> Remembered:
        """Without what is dated later."""
        logs = (self.history, self.accepted, self.anchors)
        history, accepted, anchors = ([each for each in log if each.date <= date] for log in logs)
        return Remembered(history=history, accepted=accepted, anchors=anchors)

    def runs(self) -> list[Record]:
        """Every run once, by its day: those of the history, and what was accepted without being recorded there."""
        recorded = {record.id for record in self.history}
        own = {record.id: record for record in self.accepted if record.id not in recorded}
        return sorted([*self.history, *own.values()], key=lambda record: record.date)


class Tag(msgspec.Struct, frozen=True):
    """A tag of the repository, the commit that it names, and its day."""

    name: str
    commit: str
    date: str


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What a page is asked to show: metrics in their order, those that are gated with their thresholds."""

    metrics: Sequence[Metric]
    limits: Mapping[str, Sequence[float]]
    date: str
    limit: int


def gate_set(
    name: str,
    page: str,
    place: str,
    remembered: Remembered,
    shown: Shown,
    *,
    tags: Sequence[Tag] = (),
    spans: Sequence[Span] = (),
    rescored: Mapping[str, Mapping[str, float | None]] = {},
    unscored: Sequence[str] = (),
) -> GateSet:
    """The values of one page.

    Args:
        name: of the criteria.
        page: the file that the page is written to.
        place: of the store, without secrets.
        remembered: what the store holds up to today.
        shown: what is asked for.
        tags: the repository's releases.
        spans: of waivers.
        rescored: values that were not recorded.
        unscored: what could not be rescored.
    """
    records = remembered.runs()
    listed = records[max(0, len(records) - shown.limit) :]
    dates = [record.date for record in listed]
    places = places_of(dates)
    by_commit = {record.commit: record.id for record in listed if record.commit}
    first = place_of(dates[0]) if dates else place_of(shown.date)
    releases = tuple(
        _release(tag, by_commit, dict(zip((each.id for each in listed), places, strict=True))) for tag in tags
    )
    releases = tuple(each for each in releases if first <= each.at and each.date <= shown.date)
    runs = _runs(listed, places, remembered, releases, shown, rescored)
    acceptances = _acceptances(remembered.accepted, {run.id: run for run in runs}, shown, rescored)
    return GateSet(
        name=name,
        page=page,
        place=place,
        today=place_of(shown.date) + 1,
        runs=runs,
        older=_older(records[: len(records) - len(listed)]),
        curves=tuple(
            curve_of(
                metric,
                runs,
                acceptances,
                date=shown.date,
                gated=metric.name in shown.limits,
                limits=shown.limits.get(metric.name, ()),
            )
            for metric in shown.metrics
        ),
        acceptances=acceptances,
        releases=releases,
        spans=tuple(span for span in spans if span.last > first and (span.since or "") <= shown.date),
        unscored=tuple(unscored),
    )


def _runs(
    listed: Sequence[Record],
    places: Sequence[float],
    remembered: Remembered,
    releases: Sequence[Release],
    shown: Shown,
    rescored: Rescored,
) -> tuple[ShownRun, ...]:
    accepted = {record.id for record in remembered.accepted}
    golds = [record.gold.fingerprint if record.gold else None for record in listed]
    known = [*(None for _ in golds[:1]), *golds[:-1]]
    return tuple(
        ShownRun(
            id=record.id,
            date=record.date,
            at=at,
            commit=record.commit,
            branch=record.branch,
            verdict=record.verdict,
            queries=record.queries,
            accepted=record.id in accepted,
            anchors=tuple(
                anchor.name
                for anchor in remembered.anchors
                if anchor.name and (anchor.sha256, anchor.commit) == (record.sha256, record.commit)
            ),
            releases=tuple(release.tag for release in releases if release.run == record.id),
            new_gold=None not in (gold, before) and gold != before,
            values=_values(record, shown, rescored),
        )
        for record, at, gold, before in zip(listed, places, golds, known, strict=True)
    )


def _values(record: Record, shown: Shown, rescored: Rescored) -> dict[str, Value]:
    found: dict[str, Value] = {}
    scored = rescored.get(record.id, {})
    for metric in shown.metrics:
        if metric.name in record.scores:
            found[metric.name] = Value(value=record.scores[metric.name])
        elif metric.name in scored:
            found[metric.name] = Value(value=scored[metric.name], rescored=True)
    return found


def _acceptances(
    accepted: Sequence[Record], runs: Mapping[str, ShownRun], shown: Shown, rescored: Rescored
) -> tuple[Acceptance, ...]:
    """Those since the first run that is shown, and the one that was accepted when it came."""
    first = min((run.date for run in runs.values()), default="")
    before = [record for record in accepted if record.date < first][-1:]
    told = [*before, *(record for record in accepted if record.date >= first)]
    # What the log has later lies no earlier: who goes back to a run of the same day does so after it.
    places = accumulate((_accepted_at(record, runs.get(record.id)) for record in told), max)
    return tuple(
        Acceptance(
            date=record.date,
            at=at,
            run=record.id if record.id in runs else None,
            commit=record.commit,
            verdict=record.verdict,
            reason=record.reason,
            by=record.by,
            values=_values(record, shown, rescored),
        )
        for record, at in zip(told, places, strict=True)
    )


def _accepted_at(record: Record, run: ShownRun | None) -> float:
    """The place of the run if it was accepted on its own day, else the noon of the day of the acceptance."""
    return run.at if run is not None and run.date == record.date else place_of(record.date) + NOON


def _release(tag: Tag, by_commit: Mapping[str, str], places: Mapping[str, float]) -> Release:
    run = by_commit.get(tag.commit)
    at = places[run] if run else place_of(tag.date) + NOON
    return Release(tag=tag.name, date=tag.date, at=at, commit=tag.commit, run=run)


def _older(records: Sequence[Record]) -> Older | None:
    if not records:
        return None
    verdicts = Counter(record.verdict.value if record.verdict else "" for record in records)
    return Older(
        count=len(records), first=records[0].date, last=records[-1].date, verdicts=dict(sorted(verdicts.items()))
    )
