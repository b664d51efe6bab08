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
    gold: Gold, metrics: Sequence[Metric], candidate: Scores, baseline: Scores | None, leading: Metric | None = None
) -> list[Segment]:
    """One segment a tag, by dimension in the order of the gold and by value within it.

    In the largest segments the change of the `leading` metric has an interval.
    """
    members: dict[tuple[str, str], list[int]] = {}
    for index, sample in enumerate(gold.samples.values()):
        for key in dict.fromkeys(map(split_tag, sample.tags)):
            members.setdefault(key, []).append(index)
    dimensions = list(dict.fromkeys(dimension for dimension, _ in members))
    ordered = sorted(members.items(), key=lambda entry: (dimensions.index(entry[0][0]), entry[0][1]))
    largest = sorted(members, key=lambda key: -len(members[key]))[:MAX_INTERVALS]
    before = {metric.name: baseline_column(metric, baseline) for metric in metrics} if baseline else {}

    def value_of(metric: Metric, rows: Sequence[int], key: tuple[str, str]) -> SegmentValue:
        values = [candidate.values[metric.name][row] for row in rows]
        defined = [value for value in values if value is not None]
        pairs: Comparison | None = None
        if baseline and metric is leading and key in largest:
            bounded = paired_scores(metric, on_rows(candidate, rows), on_rows(baseline, rows))
            pairs = bounded.compared() if bounded else None
        elif baseline:
            pairs = compare(metric, values, [before[metric.name][row] for row in rows], with_interval=False)
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

    segments: list[Segment] = []
    for key, rows in ordered:
        shown = {metric.name: value_of(metric, rows, key) for metric in metrics}
        segments.append(Segment(dimension=key[0], value=key[1], queries=len(rows), metrics=shown))
    return segments
