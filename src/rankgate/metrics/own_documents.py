"""Lists without the question's own document, where questions are documents themselves, as in ArguAna and Quora."""

from __future__ import annotations

from functools import partial
from itertools import compress

from msgspec.structs import replace

from rankgate.metrics.matching import By, Matching, parents
from rankgate.model.values import Ranking
from rankgate.readers.base import Run, through


def without_own(run: Run, how: Matching) -> Run:
    """The run as it is, or where `how` excludes them without results whose id, or document, is the question's."""
    if not how.exclude_query_id:
        return run
    return through(run, partial(map, partial(_dropped, how=how)))


def _dropped(ranking: Ranking, how: Matching) -> Ranking:
    details = ranking.details
    if details is not None:
        raw = details.raw and _dropped(details.raw, how)
        rewrites = details.rewrites and [_dropped(each, how) for each in details.rewrites]
        details = replace(details, raw=raw, rewrites=rewrites)
    items = details.items if details else None
    documents = ranking.ids
    if how.by in (By.DOC, By.SPAN):
        documents = parents(ranking.ids, details, how.separator)
    kept = [document != ranking.query_id for document in documents]
    if details is not None and items:
        details = replace(details, items=[*compress(items, kept)])
    return replace(ranking, ids=[*compress(ranking.ids, kept)], details=details)
