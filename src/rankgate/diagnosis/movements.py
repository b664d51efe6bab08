"""Which queries changed, and where their relevant documents went: what to look at."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.diagnosis.worst_first import severity
from rankgate.metrics.base import Metric
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.matching import DEFAULT_K
from rankgate.metrics.tags import violated_segments
from rankgate.model.details import Expected, came, left, sampled
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Movement
from rankgate.model.scores import RankSummary, Scores
from rankgate.model.values import Gold, Sample

MAX_LISTED = 50


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
