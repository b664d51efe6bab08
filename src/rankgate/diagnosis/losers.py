"""Which metric's changes are listed, and which questions got worse, or have the lowest value, by each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rankgate.metrics.base import Kind, Metric
from rankgate.metrics.gaps import baseline_column
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Row
from rankgate.model.scores import Scores
from rankgate.model.values import TOLERANCE, Gold, Verdict

if TYPE_CHECKING:
    from rankgate.criteria import Gate


def leading_metric(gates: Sequence[Gate], results: Sequence[GateResult]) -> Metric | None:
    """The metric whose changes are listed: the first failed gate's, else the first warned, else the first gate's.

    Only metrics of relevant documents count, since a change in latency moves none; None where no gate has one.
    """
    both = zip(gates, results, strict=True)
    ranked = [(gate.metric, result) for gate, result in both if gate.metric.kind is Kind.RELEVANCE]
    moved = [(metric, result.verdict) for metric, result in ranked if result.change.delta]
    violated = [metric for wanted in (Verdict.FAIL, Verdict.WARN) for metric, verdict in moved if verdict is wanted]
    return next(iter([*violated, *(metric for metric, _ in ranked)]), None)


def losers(
    gold: Gold, metrics: Sequence[Metric], results: Sequence[GateResult], candidate: Scores, baseline: Scores | None
) -> tuple[dict[Row, list[str]], dict[Row, str]]:
    """By row the questions that got worse in its metric, the most first, and the one of the lowest value.

    Of rows that pass as well, so that a pass that proves little can name a question.
    """
    worse: dict[Row, list[str]] = {}
    lowest: dict[Row, str] = {}
    columns = {**baseline.values} if baseline else {}  # a row may be by a metric that no gate names
    columns |= {metric.name: baseline_column(metric, baseline) for metric in metrics} if baseline else {}
    members = _rows_by_segment(gold, candidate, results)
    for result in results:
        sign = result.direction.sign
        values = candidate.values[result.metric]
        old_column = columns.get(result.metric)
        fallen: list[tuple[float, str]] = []
        low: tuple[float, str] | None = None
        for row in members[result.segment]:
            query, value = candidate.query_ids[row], values[row]
            if value is None:
                continue
            here = sign * value, query
            low = here if low is None else min(low, here)
            old = old_column[row] if old_column else None
            if old is not None and sign * (value - old) < -TOLERANCE:
                fallen.append((sign * (value - old), query))
        worse[result.row_key] = [query for _, query in sorted(fallen)]
        if low is not None:
            lowest[result.row_key] = low[1]
    return worse, lowest


def _rows_by_segment(gold: Gold, scores: Scores, results: Sequence[GateResult]) -> Mapping[str | None, Sequence[int]]:
    """The rows of the questions of each segment that has a result, and under None those of all."""
    members: dict[str | None, Sequence[int]] = {None: range(len(scores.query_ids))}
    segments = {result.segment for result in results if result.segment is not None}
    if segments:
        members.update(_rows_of(gold, scores, segments))
    return members


def _rows_of(gold: Gold, scores: Scores, segments: Iterable[str]) -> dict[str, list[int]]:
    from rankgate.metrics.tags import SegmentIndex, part_names  # noqa: PLC0415 -- paid only where there are segments

    rows: dict[str, list[int]] = {segment: [] for segment in segments}
    index = SegmentIndex(rows)
    for row, query in enumerate(scores.query_ids):
        for segment in dict.fromkeys(index.of(part_names(gold.samples[query]))):
            rows[segment].append(row)
    return rows
