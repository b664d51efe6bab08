"""The retrieval panel: the usual metrics of a run and its baseline, with their intervals, over all or some queries."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.diagnosis.columns import Columns
from rankgate.metrics.base import Cutoff, Metric
from rankgate.metrics.comparison import compare
from rankgate.metrics.contents import DistinctDocs
from rankgate.metrics.estimates import estimate
from rankgate.metrics.gains import NDCG
from rankgate.metrics.lines import Latency
from rankgate.metrics.ranks import ReciprocalRank
from rankgate.metrics.sets import Precision, Recall
from rankgate.model.details import Measure, PanelRow, PanelValue

MEASURES: tuple[Metric, ...] = (
    Recall(cutoff=1),
    Recall(cutoff=3),
    Recall(cutoff=5),
    NDCG(cutoff=5),
    Precision(cutoff=5),
    DistinctDocs(cutoff=5),
    ReciprocalRank(cutoff=Cutoff.WHOLE),
    Latency(quantile=0.5),
    Latency(quantile=0.9),
)


def panel_row(tag: str | None, rows: Sequence[int], columns: Columns, clusters: Sequence[str]) -> PanelRow:
    """The panel over some rows of the gold.

    Args:
        tag: what they share; None for all of them.
        rows: which.
        columns: the metrics' values.
        clusters: of each query of the gold; none where it names none.
    """
    return PanelRow(
        tag=tag,
        queries=len(rows),
        values={metric.name: _value(metric, rows, columns, clusters) for metric in columns.metrics},
    )


def described(metrics: Sequence[Metric]) -> tuple[Measure, ...]:
    """Metrics for readers."""
    return tuple(
        Measure(name=metric.name, meaning=metric.meaning, unit=metric.unit, direction=metric.direction)
        for metric in metrics
    )


def _value(metric: Metric, rows: Sequence[int], columns: Columns, clusters: Sequence[str]) -> PanelValue:
    labels = [clusters[row] for row in rows] if clusters else []
    column, old = columns.now[metric.name], columns.before[metric.name] if columns.before else None
    now = [column[row] for row in rows]
    found = estimate(now, metric, clusters=labels)
    before = [old[row] for row in rows] if old is not None else None
    pairs = compare(metric, now, before, clusters=labels, same=lambda: columns.same(metric, rows)) if before else None
    return PanelValue(
        value=found.value if found else None,
        ci=found.ci if found else None,
        n=found.n if found else 0,
        baseline=pairs.baseline if pairs else None,
        delta=pairs.delta if pairs else None,
        delta_ci=pairs.ci if pairs else None,
        n_pairs=pairs.n_pairs if pairs else 0,
    )
