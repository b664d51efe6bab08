"""The details of a check: the panel, the sweeps and every question, over all queries and by tag. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankgate.diagnosis.columns import Columns, columns_of
from rankgate.diagnosis.movements import document_moves, first_k, within
from rankgate.diagnosis.sweeps import cutoffs_for, sweep_metrics, sweeps_of
from rankgate.metrics.base import Cutoff, Metric
from rankgate.metrics.comparison import compare
from rankgate.metrics.contents import DistinctDocs
from rankgate.metrics.estimates import estimate
from rankgate.metrics.gains import NDCG
from rankgate.metrics.latency import Latency
from rankgate.metrics.ranks import ReciprocalRank
from rankgate.metrics.sets import Precision, Recall
from rankgate.model.details import (
    Cause,
    Expected,
    Listed,
    Measure,
    PanelRow,
    PanelValue,
    Question,
    ReportDetails,
    fate_of,
)
from rankgate.model.report import Segment
from rankgate.model.tags import split_tag
from rankgate.model.values import Gold, MatchedQuery, Sample, Scores

MAX_TAGS = 40  # with a row and curves of their own, the largest first
MIN_QUERIES = 5  # queries with which a tag has curves
MEASURES: tuple[Metric, ...] = (
    *(Recall(cutoff=1), Recall(cutoff=3), Recall(cutoff=5), NDCG(cutoff=5), Precision(cutoff=5)),
    *(DistinctDocs(cutoff=5), ReciprocalRank(cutoff=Cutoff.WHOLE), Latency(quantile=0.5), Latency(quantile=0.9)),
)


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
    """Put the details together; both runs are matched with `SHOWN`, and `depth` items of each ranking are kept.

    The panel has its own metrics and those of the gates; `leading` is the one whose changes are listed. Of the report's
    segments the largest are shown.
    """
    measures = list({metric.name: metric for metric in (*MEASURES, *gated)}.values())
    columns = columns_of(measures, gold, candidate, baseline)
    matched = [*candidate.matched.values(), *(baseline.matched.values() if baseline else ())]
    cutoffs = cutoffs_for(max((query.retrieved for query in matched), default=1))
    swept = columns_of(sweep_metrics(cutoffs), gold, candidate, baseline)
    scopes = [(None, list(range(len(gold.samples)))), *_largest_tags(gold, segments)]
    k = first_k(leading)
    return ReportDetails(
        leading=leading.name if leading else None,
        k=k,
        depth=depth,
        measures=tuple(
            Measure(name=each.name, meaning=each.meaning, unit=each.unit, direction=each.direction)
            for each in columns.metrics
        ),
        panel=tuple(_panel_row(tag, rows, columns, candidate.clusters) for tag, rows in scopes),
        sweeps=tuple(
            sweep
            for tag, rows in scopes
            if tag is None or len(rows) >= MIN_QUERIES
            for sweep in sweeps_of(tag, rows, cutoffs, swept)
        ),
        questions=tuple(questions_of(gold, columns, k, depth, candidate, baseline)),
    )


def _largest_tags(gold: Gold, segments: Sequence[Segment]) -> list[tuple[str, list[int]]]:
    """The largest tags with their rows of the gold, in the order of the report."""
    largest = sorted(segments, key=lambda segment: -segment.queries)[:MAX_TAGS]
    scopes = {(each.dimension, each.value): (each.tag, list[int]()) for each in segments if each in largest}
    for row, sample in enumerate(gold.samples.values()):
        for key in dict.fromkeys(map(split_tag, sample.tags)):
            if key in scopes:
                scopes[key][1].append(row)
    return list(scopes.values())


def _panel_row(tag: str | None, rows: Sequence[int], columns: Columns, clusters: Sequence[str]) -> PanelRow:
    """The panel over some rows of the gold, which share a tag; `clusters` are those of all its queries, if any."""
    values = {metric.name: _panel_value(metric, rows, columns, clusters) for metric in columns.metrics}
    return PanelRow(tag=tag, queries=len(rows), values=values)


def _panel_value(metric: Metric, rows: Sequence[int], columns: Columns, clusters: Sequence[str]) -> PanelValue:
    labels = [clusters[row] for row in rows] if clusters else []
    column, old = columns.now[metric.name], columns.before[metric.name] if columns.before else None
    now = [column[row] for row in rows]
    own = estimate(now, metric, clusters=labels)
    before = [old[row] for row in rows] if old is not None else None
    pairs = compare(metric, now, before, clusters=labels, same=lambda: columns.same(metric, rows)) if before else None
    return PanelValue(
        value=own.value if own else None,
        ci=own.ci if own else None,
        n=own.n if own else 0,
        baseline=pairs.baseline if pairs else None,
        delta=pairs.delta if pairs else None,
        delta_ci=pairs.ci if pairs else None,
        n_pairs=pairs.n_pairs if pairs else 0,
    )


def questions_of(
    gold: Gold, columns: Columns, k: int, depth: int, candidate: Scores, baseline: Scores | None
) -> Iterator[Question]:
    """The questions in the order of the gold, their causes by the first `k` ranks, their rankings down to `depth`."""
    for row, (query_id, sample) in enumerate(gold.samples.items()):
        new = candidate.matched.get(query_id)
        old = baseline.matched.get(query_id) if baseline else None
        before = baseline.outlines.get(query_id) if baseline else None
        expected = tuple(document_moves(sample, before, candidate.outlines.get(query_id)))
        yield Question(
            query_id=query_id,
            question=sample.question,
            tags=sample.tags,
            cause=cause_of(expected, k, new, old, compared=baseline is not None),
            values={
                name: (columns.before[name][row] if columns.before else None, column[row])
                for name, column in columns.now.items()
            },
            expected=expected,
            before=_listed(sample, old, depth),
            now=_listed(sample, new, depth),
        )


def cause_of(
    expected: Sequence[Expected], k: int, now: MatchedQuery | None, before: MatchedQuery | None, *, compared: bool
) -> Cause:
    """What became of a question; see `Cause`. A list is None where its run lacks the question, or there is no run."""
    if not expected:
        return Cause.NOTHING_RELEVANT
    if now is None or not now.retrieved:
        return Cause.NO_RESULT
    if compared and before is None:
        return Cause.NEW
    fate = fate_of(expected, k, no_result=False)
    if fate is not Cause.FINE:
        return fate
    if compared and any(within(each.after, k) and not within(each.before, k) for each in expected):
        return Cause.BETTER
    return Cause.FINE if all(within(each.after, k) for each in expected) else Cause.NEVER_FOUND


def _listed(sample: Sample, query: MatchedQuery | None, depth: int) -> tuple[Listed, ...] | None:
    """The first items; one that stands for a relevant document has that document's gain, whatever its own id."""
    if query is None:
        return None
    gains = dict((*query.hits, *query.repeats))
    return tuple(
        Listed(id=item, gain=gains.get(rank, sample.gains.get(item)))
        for rank, item in enumerate(query.ids[:depth], start=1)
    )
