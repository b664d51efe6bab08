"""Every question with both rankings, and what became of its relevant documents. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankgate.diagnosis.columns import Columns
from rankgate.diagnosis.movements import document_moves, within
from rankgate.model.details import Cause, Expected, Listed, Question, fate_of
from rankgate.model.values import Gold, MatchedQuery, Sample, Scores


def questions_of(
    gold: Gold, columns: Columns, k: int, depth: int, candidate: Scores, baseline: Scores | None
) -> Iterator[Question]:
    """The questions in the order of the gold.

    Args:
        gold: the judgments.
        columns: the metrics' values.
        k: the first ranks, which causes speak of.
        depth: items of each ranking.
        candidate: the run's scores, with the matched queries and their ids.
        baseline: the baseline's, alike.
    """
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
                name: (columns.before[name][row] if columns.before else None, columns.now[name][row])
                for name in columns.now
            },
            expected=expected,
            before=_listed(sample, old, depth),
            now=_listed(sample, new, depth),
        )


def cause_of(
    expected: Sequence[Expected], k: int, now: MatchedQuery | None, before: MatchedQuery | None, *, compared: bool
) -> Cause:
    """What became of a question; see `Cause`.

    Args:
        expected: its relevant documents with their ranks.
        k: the first ranks.
        now: the run's list; None where it lacks the question.
        before: the baseline's, alike.
        compared: whether there is a baseline at all.
    """
    if not expected:
        return Cause.NOTHING_RELEVANT
    if now is None or not now.retrieved:
        return Cause.NO_RESULT
    if compared and before is None:
        return Cause.NEW
    return _of_ranks(expected, k, compared=compared)


def _of_ranks(expected: Sequence[Expected], k: int, *, compared: bool) -> Cause:
    fate = fate_of(expected, k, no_result=False)
    if fate is not Cause.FINE:
        return fate
    if any(within(each.after, k) and not within(each.before, k) for each in expected) and compared:
        return Cause.BETTER
    if any(not within(each.after, k) for each in expected):
        return Cause.NEVER_FOUND
    return Cause.FINE


def _listed(sample: Sample, query: MatchedQuery | None, depth: int) -> tuple[Listed, ...] | None:
    """The first items; one that stands for a relevant document has that document's gain, whatever its own id."""
    if query is None:
        return None
    gains = dict((*query.hits, *query.repeats))
    return tuple(
        Listed(id=item, gain=gains.get(rank, sample.gains.get(item)))
        for rank, item in enumerate(query.ids[:depth], start=1)
    )
