"""Scores by tag: the same metrics over the queries that share `lang:pt-BR`, `topic:billing` and so on."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, baseline_column, compare, on_rows, paired_scores
from rankgate.model.report import Segment, SegmentValue
from rankgate.model.tags import split_tag
from rankgate.model.values import Gold, Scores

MAX_INTERVALS = 24  # segments whose changes have one, the largest


def by_tag(
    gold: Gold,
    metrics: Sequence[Metric],
    candidate: Scores,
    baseline: Scores | None,
    leading: Metric | None = None,
) -> list[Segment]:
    """One segment a tag, by dimension in the order of the gold and by value within it.

    Args:
        gold: the judgments, with the tags.
        metrics: what is shown by tag.
        candidate: the run's scores.
        baseline: the baseline's, where there is one.
        leading: the metric whose change has an interval, in the largest segments; None for none.
    """
    members: dict[tuple[str, str], list[int]] = {}
    for index, sample in enumerate(gold.samples.values()):
        for key in dict.fromkeys(map(split_tag, sample.tags)):
            members.setdefault(key, []).append(index)
    dimensions = list(dict.fromkeys(dimension for dimension, _ in members))
    ordered = sorted(members.items(), key=lambda entry: (dimensions.index(entry[0][0]), entry[0][1]))
    largest = sorted(members, key=lambda key: -len(members[key]))[:MAX_INTERVALS]
    columns = [
        (metric, candidate.values[metric.name], baseline_column(metric, baseline) if baseline else None)
        for metric in metrics
    ]

    def change(metric: Metric, indices: Sequence[int], key: tuple[str, str]) -> Comparison | None:
        if baseline is None or metric is not leading or key not in largest:
            return None
        pairs = paired_scores(metric, on_rows(candidate, indices), on_rows(baseline, indices))
        return pairs.compared() if pairs else None

    return [
        Segment(
            dimension=dimension,
            value=value,
            queries=len(indices),
            metrics={
                metric.name: _value(metric, indices, new, old, change(metric, indices, key))
                for metric, new, old in columns
            },
        )
        for key, indices in ordered
        for dimension, value in [key]
    ]


def _value(
    metric: Metric,
    indices: Sequence[int],
    new: Sequence[float | None],
    old: Sequence[float | None] | None,
    bounded: Comparison | None,
) -> SegmentValue:
    values = [new[index] for index in indices]
    defined = [value for value in values if value is not None]
    pairs = bounded or (
        compare(metric, values, [old[index] for index in indices], with_interval=False) if old else None
    )
    return SegmentValue(
        value=metric.aggregate(defined) if defined else None,
        n=len(defined),
        baseline=pairs.baseline if pairs else None,
        delta=pairs.delta if pairs else None,
        delta_ci=pairs.ci if pairs else None,
        n_pairs=pairs.n_pairs if pairs else 0,
        unit=metric.unit,
        direction=metric.direction,
    )
