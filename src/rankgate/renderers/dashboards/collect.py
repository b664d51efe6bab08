"""Criteria files, their stores, waivers and releases are read, and become a dashboard.

Metrics that no gate recorded are scored from the stored rankings with today's gold set, as far as these are kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, count

import msgspec
from msgspec.structs import replace

from rankgate.baselines.base import BaselineStore, open_record
from rankgate.baselines.memory import Memory
from rankgate.baselines.records import Record
from rankgate.baselines.stores import store_for
from rankgate.baselines.tree import NotKeptError
from rankgate.criteria import Criteria, load_criteria
from rankgate.criteria.inputs import deepest_cutoff, gold_of
from rankgate.errors import RankgateError, bad_input, redacted
from rankgate.metrics.base import Metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import require_fields, require_gold_queries, score
from rankgate.model.values import Gold, Need
from rankgate.model.wording import count_text
from rankgate.renderers.dashboards.build import Remembered, Rescored, Shown, gate_set, spans_of
from rankgate.renderers.dashboards.repository import releases, waiver_versions, web_address
from rankgate.renderers.dashboards.values import Dashboard, GateSet, Tag

_Values = dict[str, float | None]


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
    """Read everything; a criteria file that names no store is an error, as is whatever cannot be read."""
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


def rescore(
    memory: Memory, records: Sequence[Record], metrics: Sequence[Metric], gold: Gold, plan: Plan
) -> tuple[Rescored, list[str]]:
    """The values that the records lack, by record and metric, and sentences on what could not be scored."""
    values: dict[str, _Values] = {}
    others: Counter[str] = Counter()
    not_kept = 0
    for record in records:
        wanted = [metric for metric in metrics if metric.name not in record.scores]
        try:
            values[record.id] = _as_far_as_possible(memory, record, wanted, gold, plan, others) if wanted else {}
        except NotKeptError:
            not_kept += 1
    reasons = [f"{count_text(count, 'value')} could not be rescored: {why}" for why, count in sorted(others.items())]
    if not_kept:
        kept = "the rankings of what is accepted now and of anchors, and of all others the numbers alone"
        reasons.insert(0, f"{count_text(not_kept, 'run')} could not be rescored: this store keeps {kept}.")
    return values, reasons


def _as_far_as_possible(
    memory: Memory, record: Record, wanted: Sequence[Metric], gold: Gold, plan: Plan, others: Counter[str]
) -> _Values:
    """All metrics at once; where one of them cannot be scored, each by itself. `others` counts why some cannot."""
    try:
        return _values(memory, record, wanted, gold, plan)
    except NotKeptError:
        raise
    except RankgateError as error:
        if len(wanted) == 1:
            others[str(error)] += 1
            return {}
    parts = (_as_far_as_possible(memory, record, [metric], gold, plan, others) for metric in wanted)
    return {name: value for part in parts for name, value in part.items()}


def _values(memory: Memory, record: Record, metrics: Sequence[Metric], gold: Gold, plan: Plan) -> _Values:
    own_plan = replace(plan, metrics=metrics, keep_matched=False, depth=record.depth)
    run = open_record(memory, record, own_plan.needs, deepest=deepest_cutoff(own_plan, gold))
    scores = score(gold, run.rankings, own_plan)
    require_gold_queries(scores, run.name, gold)
    require_fields(scores, own_plan, run.name)
    values: _Values = {}
    for metric in metrics:
        defined = [value for value in scores.values[metric.name] if value is not None]
        values[metric.name] = metric.aggregate(defined) if defined else None
    return values
