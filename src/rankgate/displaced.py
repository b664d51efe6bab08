"""What took the place of documents that a question lost. Pure: the lists are given, and read once more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from rankgate.model import MatchedQuery, Ranking
from rankgate.report import Movement

MOST_NAMED = 3  # documents a question
MOST_QUERIES = 20_000  # of the gold set: a longer run is not read again for this

# Gives the rankings of a run from the beginning, or nothing where it cannot be read again.
Lists = Callable[[], Iterable[Ranking]]


def with_displacers(
    moves: Sequence[Movement], queries: int, now: Lists, before: Lists, matched: Mapping[str, MatchedQuery]
) -> list[Movement]:
    """The movements, each that lost documents with those that stand in the first k now and did not before.

    Args:
        moves: the movements that a report lists.
        queries: how many the gold set has; beyond `MOST_QUERIES` nothing is read and nothing named.
        now: the run's lists.
        before: the baseline's.
        matched: the run's matched queries: an item that stands for a right document took no place from one.
    """
    wanted = {move.query_id: move.k for move in moves if move.lost}
    if not wanted or queries > MOST_QUERIES:
        return list(moves)
    new, old = _first(now(), wanted), _first(before(), wanted)
    return [
        replace(move, instead=_came(move, new[move.query_id], old[move.query_id], matched.get(move.query_id)))
        if move.query_id in new and move.query_id in old
        else move
        for move in moves
    ]


def _came(move: Movement, new: Sequence[str], old: Sequence[str], query: MatchedQuery | None) -> list[str]:
    known = {*old, *(document.id for document in move.documents)}
    right = {rank for rank, _ in (*query.hits, *query.repeats)} if query else set()
    return [item for rank, item in enumerate(new, start=1) if item not in known and rank not in right][:MOST_NAMED]


def _first(rankings: Iterable[Ranking], wanted: Mapping[str, int]) -> dict[str, list[str]]:
    """The first ids of the wanted questions; nothing is read behind the last of them."""
    found: dict[str, list[str]] = {}
    for ranking in rankings:
        if ranking.query_id in wanted:
            found[ranking.query_id] = ranking.ids[: wanted[ranking.query_id]]
            if len(found) == len(wanted):
                break
    return found
