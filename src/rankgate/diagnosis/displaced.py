"""What stands now where a question's relevant documents stood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rankgate.diagnosis.listings import Listings
from rankgate.model.report import NAMED, Movement
from rankgate.model.scores import RankSummary


def with_displacers(
    moves: Sequence[Movement], now: Listings | None, before: Listings | None, rank_summaries: Mapping[str, RankSummary]
) -> list[Movement]:
    """The movements, each that lost documents with those that stand in the first k now and did not before.

    Args:
        moves: the movements that a report lists.
        now: the run's lists; None where they cannot be read again, so that nothing is named.
        before: the baseline's.
        rank_summaries: the run's: an item that stands for a relevant document took no place from one.
    """
    if now is None or before is None:
        return list(moves)
    return [
        replace(move, instead=_came(move, now, before, rank_summaries.get(move.query_id)))
        if move.lost and move.query_id in now.by_query and move.query_id in before.by_query
        else move
        for move in moves
    ]


def _came(move: Movement, now: Listings, before: Listings, summary: RankSummary | None) -> list[str]:
    new = now.by_query[move.query_id].ids[: move.k]
    old = before.by_query[move.query_id].ids[: move.k]
    known = {*old, *(document.id for document in move.documents)}
    right = {*summary.ranks, *summary.repeats} if summary else set()
    return [item for rank, item in enumerate(new, start=1) if item not in known and rank not in right][:NAMED]
