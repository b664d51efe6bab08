"""Criteria files, their stores, waivers and releases are read, and become a dashboard."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, count

import msgspec

from rankgate.baselines.base import BaselineStore
from rankgate.baselines.memory import Memory
from rankgate.baselines.stores import store_for
from rankgate.criteria import Criteria, load_criteria
from rankgate.criteria.inputs import gold_of
from rankgate.errors import bad_input, redacted
from rankgate.metrics.base import Metric
from rankgate.model.values import Need
from rankgate.renderers.dashboards.build import Remembered, Rescored, Shown, gate_set
from rankgate.renderers.dashboards.repository import releases, waiver_versions, web_address
from rankgate.renderers.dashboards.rescored import rescore
from rankgate.renderers.dashboards.spans import spans_of
from rankgate.renderers.dashboards.values import Dashboard, GateSet, Tag


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller names: criteria files, a store in place of theirs, further metrics, and how many runs."""

    date: str
    criteria: Sequence[str]
    baseline: str | None = None
    metrics: Sequence[Metric] = ()
    limit: int
    repository: str | None = None
    open_store: Callable[[str], BaselineStore] = store_for


def collect(request: Request) -> Dashboard:
    """Read everything.

    Raises:
        RankgateError: criteria, waivers or a store cannot be read, or a criteria file names no store.
    """
    compared = next((metric.name for metric in request.metrics if Need.BASELINE in metric.needs), None)
    if compared:
        raise bad_input(f"{compared} compares with a baseline, which a run alone has none of", key="--metrics")
    pages = page_names(request.criteria)
    tags = releases()
    sets = tuple(_collected(path, page, request, tags) for path, page in zip(request.criteria, pages, strict=True))
    return Dashboard(date=request.date, repository=request.repository or web_address(), sets=sets)


def page_names(paths: Sequence[str]) -> list[str]:
    """A file name for each criteria file, all different, none of them index.html."""
    names: list[str] = []
    for path in paths:
        stem = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\.ya?ml$", "", path.lower())).strip("-") or "gates"
        stem = "gates" if stem == "index" else stem[:80]
        wanted = chain([f"{stem}.html"], (f"{stem}-{number}.html" for number in count(2)))
        names.append(next(name for name in wanted if name not in names))
    return names


def _collected(path: str, page: str, request: Request, tags: Sequence[Tag]) -> GateSet:
    criteria = load_criteria(path)
    place, memory = _memory(criteria, request)
    logs = Remembered(history=memory.read("history"), accepted=memory.read("accepted"), anchors=memory.read("anchors"))
    remembered = logs.until(request.date)
    limits: dict[str, list[float]] = {metric.name: [] for metric in criteria.metrics()}
    for gate in criteria.gates:
        limits[gate.metric.name] += [] if gate.threshold is None else [gate.threshold]
    metrics = list({metric.name: metric for metric in (*criteria.metrics(), *request.metrics)}.values())
    rescored: Rescored = {}
    unscored: list[str] = []
    records = remembered.runs()[-request.limit :]
    if any(metric.name not in record.scores for metric in request.metrics for record in records):
        rescored, unscored = rescore(memory, records, request.metrics, gold_of(None, criteria), criteria.plan())
    return gate_set(
        criteria.name,
        page,
        redacted(place),
        remembered,
        Shown(metrics=metrics, limits=limits, date=request.date, limit=request.limit),
        tags=tags,
        spans=spans_of(waiver_versions(criteria), {gate.name: gate.metric.unit for gate in criteria.gates}),
        rescored=rescored,
        unscored=unscored,
    )


def _memory(criteria: Criteria, request: Request) -> tuple[str, Memory]:
    place = request.baseline or (criteria.inputs.baseline.path if criteria.inputs.baseline else None)
    if place is None:
        raise bad_input("names no baseline store; add inputs.baseline, or name one with --baseline", file=criteria.name)
    memory = request.open_store(place).memory
    if memory is None:
        raise bad_input("is a run file, which remembers nothing; a dashboard needs a store", file=place)
    return place, memory
