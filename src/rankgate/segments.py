"""Scores by tag: the same metrics over the queries that share `lang:pt-BR`, `topic:billing` and so on."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.comparison import baseline_column, compare
from rankgate.metrics.base import Metric
from rankgate.model import Gold, Scores
from rankgate.report import BARE_TAG, Segment, SegmentValue


def by_tag(gold: Gold, metrics: Sequence[Metric], candidate: Scores, baseline: Scores | None) -> list[Segment]:
    """One segment a tag, by dimension in the order of the gold and by value within it."""
    members: dict[tuple[str, str], list[int]] = {}
    for index, sample in enumerate(gold.samples.values()):
        for key in dict.fromkeys(map(_split, sample.tags)):
            members.setdefault(key, []).append(index)
    dimensions = list(dict.fromkeys(dimension for dimension, _ in members))
    columns = [
        (metric, candidate.values[metric.name], baseline_column(metric, baseline) if baseline else None)
        for metric in metrics
    ]
    return [
        Segment(
            dimension=dimension,
            value=value,
            queries=len(indices),
            metrics={metric.name: _value(metric, indices, new, old) for metric, new, old in columns},
        )
        for (dimension, value), indices in sorted(
            members.items(), key=lambda entry: (dimensions.index(entry[0][0]), entry[0][1])
        )
    ]


def _split(tag: str) -> tuple[str, str]:
    dimension, colon, value = tag.partition(":")
    return (dimension, value) if colon else (BARE_TAG, tag)


def _value(
    metric: Metric, indices: Sequence[int], new: Sequence[float | None], old: Sequence[float | None] | None
) -> SegmentValue:
    values = [new[index] for index in indices]
    defined = [value for value in values if value is not None]
    pairs = compare(metric, values, [old[index] for index in indices], with_interval=False) if old else None
    return SegmentValue(
        value=metric.aggregate(defined) if defined else None,
        n=len(defined),
        baseline=pairs.baseline if pairs else None,
        delta=pairs.delta if pairs else None,
        n_pairs=pairs.n_pairs if pairs else 0,
        unit=metric.unit,
        direction=metric.direction,
    )
