"""The metrics by tag: what each part of the questions has, and how that changed."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, compare, on_rows, paired_scores
from rankgate.metrics.estimates import attainable, estimate
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.tags import rows_by_tag
from rankgate.model.report import Segment, SegmentValue
from rankgate.model.scores import Scores
from rankgate.model.values import Gold

MAX_INTERVALS = 24  # segments whose changes have one, the largest


def by_tag(
    gold: Gold,
    metrics: Sequence[Metric],
    candidate: Scores,
    baseline: Scores | None,
    leading: Metric | None = None,
) -> list[Segment]:
    """One segment a tag, by dimension in the order of the gold and by value within it.

    Each value has an interval, and in the largest segments the change of the `leading` metric.
    """
    members = rows_by_tag(gold)
    dimensions = dict.fromkeys(dimension for dimension, _ in members)
    position = {dimension: at for at, dimension in enumerate(dimensions)}
    ordered = sorted(members.items(), key=lambda entry: (position[entry[0][0]], entry[0][1]))
    largest = sorted(members, key=lambda key: -len(members[key]))[:MAX_INTERVALS]
    baseline_columns = {metric.name: baseline_column(metric, baseline) for metric in metrics} if baseline else {}

    parts = {key: on_rows(candidate, rows) for key, rows in members.items()}

    def value_of(metric: Metric, rows: Sequence[int], key: tuple[str, str]) -> SegmentValue:
        part = parts[key]
        values = part.values[metric.name]
        old = [baseline_columns[metric.name][row] for row in rows] if baseline else []
        ends = attainable(metric, part, values)
        estimated = estimate(values, metric, part.clusters, ends=ends, baseline=old)
        pairs: Comparison | None = None
        if baseline and metric is leading and key in largest:
            bounded = paired_scores(metric, part, on_rows(baseline, rows))
            pairs = bounded.compared() if bounded else None
        elif baseline:
            pairs = compare(metric, values, old, with_interval=False)
        return SegmentValue(
            value=estimated.value if estimated else None,
            ci=estimated.ci if estimated else None,
            n=estimated.n if estimated else 0,
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
