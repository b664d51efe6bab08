"""Metrics that no gate recorded, scored from the stored rankings with today's gold set, as far as these are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from rankgate.baselines.base import open_record
from rankgate.baselines.memory import Memory
from rankgate.baselines.records import Record
from rankgate.baselines.tree import NotKeptError
from rankgate.criteria.inputs import deepest_cutoff
from rankgate.errors import RankgateError
from rankgate.metrics.base import Metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import require_fields, require_gold_queries, score
from rankgate.model.values import Gold
from rankgate.model.wording import count_text
from rankgate.renderers.dashboards.build import Rescored

_Values = dict[str, float | None]


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
        kept = (
            "this store keeps the rankings of what is accepted now and of anchors, and of all others the numbers alone."
        )
        reasons.insert(0, f"{count_text(not_kept, 'run')} could not be rescored: {kept}")
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
