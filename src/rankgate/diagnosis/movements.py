"""Which queries changed, where their relevant documents went, and the metrics by tag: what to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankgate.diagnosis.worst_first import severity
from rankgate.metrics.base import Kind, Metric
from rankgate.metrics.comparison import Comparison, compare, on_rows, paired_scores
from rankgate.metrics.estimates import attainable, estimate
from rankgate.metrics.gaps import baseline_column, without_new
from rankgate.metrics.matching import DEFAULT_K
from rankgate.metrics.tags import SegmentIndex, part_names, rows_by_tag, violated_segments
from rankgate.model.details import Expected, came, left, sampled
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Movement, Row, Segment, SegmentValue
from rankgate.model.scores import RankSummary, Scores
from rankgate.model.values import TOLERANCE, Gold, Sample, Verdict

if TYPE_CHECKING:
    from rankgate.criteria import Gate

MAX_LISTED = 50
MAX_INTERVALS = 24  # segments whose changes have one, the largest


def leading_metric(gates: Sequence[Gate], results: Sequence[GateResult]) -> Metric | None:
    """The metric whose changes are listed: the first failed gate's, else the first warned, else the first gate's.

    Only metrics of relevant documents count, since a change in latency moves none; None where no gate has one.
    """
    both = zip(gates, results, strict=True)
    ranked = [(gate.metric, result) for gate, result in both if gate.metric.kind is Kind.RELEVANCE]
    moved = [(metric, result.verdict) for metric, result in ranked if result.change.delta]
    violated = [metric for wanted in (Verdict.FAIL, Verdict.WARN) for metric, verdict in moved if verdict is wanted]
    return next(iter([*violated, *(metric for metric, _ in ranked)]), None)


def first_k(metric: Metric | None, own: int = DEFAULT_K) -> int:
    """The first ranks that a metric looks at; those of the question where its cut-off is no number."""
    return metric.cutoff if metric and isinstance(metric.cutoff, int) else own or DEFAULT_K


def movements(
    gold: Gold, metric: Metric, candidate: Scores, baseline: Scores, gates: Sequence[GateResult] = ()
) -> list[Movement]:
    """Queries whose value changed or whose relevant documents entered or left the first k, worst first.

    Those that got worse are in the order of `severity`, where `gates` say which segments fail, then by the change of
    the metric; the others follow by the change, then by documents gained, the best last. Where a side has values and
    no lists, no documents are named.
    """
    ranked: list[tuple[tuple[float, ...], Movement]] = []
    violated = violated_segments(gates)
    listed = candidate.listed and baseline.listed
    columns = zip(candidate.values[metric.name], baseline_column(metric, baseline), strict=True)
    for sample, (after, before) in zip(gold.samples.values(), columns, strict=True):
        if after is None or before is None or sample.query_id not in baseline.rank_summaries:
            continue
        old = baseline.rank_summaries[sample.query_id]
        new = candidate.rank_summaries.get(sample.query_id)
        if new is not None and old.ranks == new.ranks and after == before:
            continue
        k = first_k(metric, old.k)
        moves = document_moves(sample, old, new) if listed else []
        lost, gained = sum(left(move, k) for move in moves), sum(came(move, k) for move in moves)
        if after == before and lost == gained:
            continue
        change = metric.direction.sign * (after - before)
        no_result, worse = new is None or new.retrieved == 0, (change, gained - lost) < (0, 0)
        movement = Movement(
            query_id=sample.query_id,
            question=sample.question,
            tags=list(sample.tags),
            metric=metric.name,
            before=before,
            after=after,
            worse=worse,
            k=k,
            lost=lost,
            gained=gained,
            documents=moves,
            no_result=no_result,
        )
        worst = severity(moves, k, no_result=no_result, failing=violated.has_any(sample.tags))
        ranked.append(((0, *worst, change) if worse else (1, change, gained - lost), movement))
    return [movement for _, movement in sorted(ranked, key=lambda entry: entry[0])]


def losers(
    gold: Gold, results: Sequence[GateResult], candidate: Scores, baseline: Scores | None
) -> tuple[dict[Row, list[str]], dict[Row, str]]:
    """By row the questions that got worse in its metric, the most first, and the one of the lowest value.

    Of rows that pass as well, so that a pass that proves little can name a question.
    """
    worse: dict[Row, list[str]] = {}
    lowest: dict[Row, str] = {}
    columns = {name: baseline_column_of(name, baseline) for name in {each.metric for each in results}}
    members = _rows_by_segment(gold, candidate, results)
    for result in results:
        sign = result.direction.sign
        values = candidate.values[result.metric]
        before = columns[result.metric]
        fallen: list[tuple[float, str]] = []
        low: tuple[float, str] | None = None
        for row in members[result.segment]:
            query, value = candidate.query_ids[row], values[row]
            if value is None:
                continue
            here = sign * value, query
            low = here if low is None else min(low, here)
            old = before[row] if before else None
            if old is not None and sign * (value - old) < -TOLERANCE:
                fallen.append((sign * (value - old), query))
        worse[result.place] = [query for _, query in sorted(fallen)]
        if low is not None:
            lowest[result.place] = low[1]
    return worse, lowest


def _rows_by_segment(gold: Gold, scores: Scores, results: Sequence[GateResult]) -> Mapping[str | None, Sequence[int]]:
    """The rows of the questions of each segment that has a result, and under None those of all."""
    rows: dict[str, list[int]] = {result.segment: [] for result in results if result.segment is not None}
    index = SegmentIndex(rows)
    for row, query in enumerate(scores.query_ids if rows else ()):
        for segment in dict.fromkeys(index.of(part_names(gold.samples[query]))):
            rows[segment].append(row)
    members: dict[str | None, Sequence[int]] = {None: range(len(scores.query_ids))}
    members.update(rows)
    return members


def baseline_column_of(name: str, baseline: Scores | None) -> list[float | None] | None:
    """The baseline's values of a metric, None for those that are new to it."""
    if baseline is None:
        return None
    return without_new(baseline, baseline.values[name])


def most_telling(moved: Sequence[Movement], most: int = MAX_LISTED) -> list[Movement]:
    """Losses of every kind and the best gains of a long list; losses have at least three of four places."""
    losses = [movement for movement in moved if movement.worse]
    gains = [movement for movement in moved if not movement.worse][::-1]
    kept = sampled(losses, [move.fate for move in losses], max(most - len(gains), most * 3 // 4))
    return kept + gains[: most - len(kept)]


def document_moves(sample: Sample, old: RankSummary | None, new: RankSummary | None) -> list[Expected]:
    """The relevant documents of a question, where they were and are."""
    docs = sample.relevant()
    before = old.ranks if old else [None] * len(docs)
    after = new.ranks if new else [None] * len(docs)
    moves = zip(docs, before, after, strict=True)
    return [Expected(id=doc, gain=sample.gains[doc], before=was, after=now) for doc, was, now in moves]


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
    before = {metric.name: baseline_column(metric, baseline) for metric in metrics} if baseline else {}

    parts = {key: on_rows(candidate, rows) for key, rows in members.items()}

    def value_of(metric: Metric, rows: Sequence[int], key: tuple[str, str]) -> SegmentValue:
        part = parts[key]
        values = part.values[metric.name]
        old = [before[metric.name][row] for row in rows] if baseline else []
        ends = attainable(metric, part, values)
        own = estimate(values, metric, part.clusters, ends=ends, before=old)
        pairs: Comparison | None = None
        if baseline and metric is leading and key in largest:
            bounded = paired_scores(metric, part, on_rows(baseline, rows))
            pairs = bounded.compared() if bounded else None
        elif baseline:
            pairs = compare(metric, values, old, with_interval=False)
        return SegmentValue(
            value=own.value if own else None,
            ci=own.ci if own else None,
            n=own.n if own else 0,
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
