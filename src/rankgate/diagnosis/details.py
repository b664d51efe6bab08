"""The details of a check: the panel, the sweeps and every question, over all queries and by tag. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rankgate.diagnosis.columns import columns_of
from rankgate.diagnosis.movements import first_k
from rankgate.diagnosis.panel import MEASURES, described, panel_row
from rankgate.diagnosis.questions import questions_of
from rankgate.diagnosis.sweeps import cutoffs_for, sweep_metrics, sweeps_of
from rankgate.metrics.base import Metric
from rankgate.model.details import ReportDetails
from rankgate.model.report import Segment
from rankgate.model.tags import split_tag
from rankgate.model.values import Gold, Scores

MAX_TAGS = 40  # with a row and curves of their own, the largest first
MIN_QUERIES = 5  # queries with which a tag has curves


class _Scope(msgspec.Struct, frozen=True):
    """The rows of the gold that share a tag; all of them where it is None."""

    tag: str | None
    rows: list[int]


def details_of(
    gold: Gold,
    gated: Sequence[Metric],
    leading: Metric | None,
    segments: Sequence[Segment],
    candidate: Scores,
    baseline: Scores | None,
    *,
    depth: int,
) -> ReportDetails:
    """Put the details together.

    Args:
        gold: the judgments.
        gated: the metrics of the gates.
        leading: the one whose changes are listed.
        segments: the report's, of which the largest are shown.
        candidate: the run's scores; matched with `asked.SHOWN`.
        baseline: the baseline's, alike.
        depth: how many items of each ranking are kept.
    """
    measures = list({metric.name: metric for metric in (*MEASURES, *gated)}.values())
    columns = columns_of(measures, gold, candidate, baseline)
    cutoffs = cutoffs_for(_longest(candidate, baseline))
    swept = columns_of(sweep_metrics(cutoffs), gold, candidate, baseline)
    scopes = [_Scope(None, list(range(len(gold.samples)))), *_scopes(gold, segments)]
    k = first_k(leading)
    return ReportDetails(
        leading=leading.name if leading else None,
        k=k,
        depth=depth,
        measures=described(columns.metrics),
        panel=tuple(panel_row(scope.tag, scope.rows, columns, candidate.clusters) for scope in scopes),
        sweeps=tuple(
            sweep
            for scope in scopes
            if scope.tag is None or len(scope.rows) >= MIN_QUERIES
            for sweep in sweeps_of(scope.tag, scope.rows, cutoffs, swept)
        ),
        questions=tuple(questions_of(gold, columns, k, depth, candidate, baseline)),
    )


def _longest(candidate: Scores, baseline: Scores | None) -> int:
    """The longest list of either run."""
    matched = [*candidate.matched.values(), *(baseline.matched.values() if baseline else ())]
    return max((query.retrieved for query in matched), default=1)


def _scopes(gold: Gold, segments: Sequence[Segment]) -> list[_Scope]:
    """The largest tags, in the order of the report."""
    largest = sorted(segments, key=lambda segment: -segment.queries)[:MAX_TAGS]
    found = {(segment.dimension, segment.value): _Scope(segment.tag, []) for segment in segments if segment in largest}
    for row, sample in enumerate(gold.samples.values()):
        for tag in dict.fromkeys(map(split_tag, sample.tags)):
            if tag in found:
                found[tag].rows.append(row)
    return list(found.values())
