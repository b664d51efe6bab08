"""Gold × ranking → matched query: which relevant documents the list holds, and where."""

from __future__ import annotations

from rankgate.model import MatchedQuery, Ranking, Sample

DEFAULT_K = 5


def match(sample: Sample, ranking: Ranking, *, depth: int | None = None, default_k: int = DEFAULT_K) -> MatchedQuery:
    """Look the relevant ids up in the list.

    A query has one to a few relevant documents and up to a thousand retrieved ones, so each relevant id is searched
    in the list and only the hits are kept.

    Args:
        sample: the gold query.
        ranking: the retrieved ids for it, each once.
        depth: ranks below it are ignored (the depth to which a baseline was stored); None keeps the whole list.
        default_k: the cut-off for metrics without a number where the sample states none.
    """
    ids = ranking.ids if depth is None else ranking.ids[:depth]
    hits: list[tuple[int, float, str]] = []
    ideal: list[float] = []
    for doc, gain in sample.gains.items():
        if gain <= 0:
            continue
        ideal.append(gain)
        try:
            hits.append((ids.index(doc) + 1, gain, doc))
        except ValueError:
            continue  # not retrieved
    hits.sort()
    ideal.sort(reverse=True)
    return MatchedQuery(
        query_id=sample.query_id,
        hits=tuple([(rank, gain) for rank, gain, _ in hits]),
        found=tuple([doc for _, _, doc in hits]),
        ideal=tuple(ideal),
        retrieved=len(ids),
        k=sample.k or default_k,
        latency_ms=ranking.latency_ms,
    )
