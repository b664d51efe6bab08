"""A run and its scores, as a check has two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice

import msgspec

from rankgate.errors import RankgateError
from rankgate.metrics.comparison import relisted
from rankgate.metrics.parallel import Watch, score_run, unwatched
from rankgate.metrics.plan import Plan
from rankgate.model.values import Gold, Need, Ranking, Scores
from rankgate.readers.base import Run

READ = frozenset({Need.RAW, Need.ITEM_SCORES, Need.DOCS})  # for the diagnosis, where a run states it
MAX_KEPT = 100_000  # rankings of a pipe, which cannot be read again


class ScoredRun(msgspec.Struct, frozen=True):
    """A run and its scores: the candidate or the baseline.

    `lists` gives its rankings again, where that can be done; `details` with what else they state, if well-formed.
    """

    run: Run
    scores: Scores
    lists: Callable[[], Iterable[Ranking]] = tuple
    details: Callable[[], Iterable[Ranking]] = tuple


def scored(
    gold: Gold,
    run: Run,
    plan: Plan,
    again: Callable[..., Run | None],
    *,
    workers: int | None = None,
    watch: Watch = unwatched,
) -> ScoredRun:
    """Score a run; see `score_run`. Its lists stay in its file, or in memory where they came through a pipe.

    `again` opens the same run once more; its keyword `needs` says what is read of it.
    """
    if run.share_read is not None or run.depth is not None:  # a regular file, or stored as a baseline
        scores = score_run(gold, run, plan, workers=workers, watch=watch)
        run = msgspec.structs.replace(run, rankings=iter(()), file=None, share_read=None)  # which hold a stored run
        return ScoredRun(
            run, scores, partial(_rankings, again), partial(_rankings, partial(again, needs=plan.needs | READ))
        )
    kept: list[Ranking] = []
    piped = msgspec.structs.replace(run, rankings=_keeping(run.rankings, kept))
    return ScoredRun(run, score_run(gold, piped, plan, workers=workers, watch=watch), lambda: kept, lambda: kept)


def _rankings(opened: Callable[[], Run | None]) -> Iterator[Ranking]:
    """A run's rankings once more: quickly where every line is a query, and carefully from where that does not go."""
    run, count = opened(), 0
    if run and run.file and run.file.by_line:
        with suppress(ValueError, RankgateError), run.file.parts(1) as [part]:
            for ranking in part.rankings():
                count += 1
                yield ranking
            return
    yield from islice(run.rankings, count, None) if run else ()


def scored_if_any(
    gold: Gold, plan: Plan, opened: Callable[..., Run | None], *, workers: int | None = None, watch: Watch = unwatched
) -> ScoredRun | None:
    """The same for a run that may not be there; `opened` opens it, or gives None."""
    run = opened()
    return scored(gold, run, plan, opened, workers=workers, watch=watch) if run else None


def listed(gold: Gold, plan: Plan, candidate: ScoredRun, other: ScoredRun | None) -> Scores | None:
    """The other run's scores, which now know where the candidate's lists differ from its own."""
    if other is None:
        return None
    return msgspec.structs.replace(other.scores, relisted=relisted(gold, plan, candidate.lists, other.lists))


def _keeping(rankings: Iterable[Ranking], kept: list[Ranking]) -> Iterator[Ranking]:
    """The rankings as they come; all of them are kept, or none where there are too many."""
    count = 0
    for count, ranking in enumerate(rankings, start=1):
        if count <= MAX_KEPT:
            kept.append(ranking)
        yield ranking
    if count > MAX_KEPT:
        kept.clear()
