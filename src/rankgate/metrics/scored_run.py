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

READ = frozenset({Need.RAW, Need.DOCS})  # for the diagnosis, where a run states it
MAX_KEPT = 200_000  # ids of a file: above, reading it again costs less than the memory
MAX_PIPED = 10_000_000  # ids of a pipe, which cannot be read again


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
    """Score a run; see `score_run`. Its lists are kept in memory where they are few or came through a pipe.

    `again` opens the same run once more; its keyword `needs` says what is read of it.
    """
    piped = run.share_read is None and run.depth is None  # neither a regular file nor stored as a baseline
    kept = _Kept(MAX_PIPED if piped else MAX_KEPT * (not plan.needs & {Need.TEXTS, Need.ANSWER}))
    scores = score_run(gold, run, plan, workers=workers, watch=watch, through=kept.each)
    if piped:
        return ScoredRun(run, scores, lambda: kept.rankings, lambda: kept.rankings)
    run = msgspec.structs.replace(run, rankings=iter(()), file=None, share_read=None)  # which hold a stored run
    needs = plan.needs - {Need.VERDICTS}  # which take most of the time, and no list needs
    lists = (lambda: kept.rankings) if kept.whole else partial(_rankings, partial(again, needs=needs))
    return ScoredRun(run, scores, lists, partial(_rankings, partial(again, needs=needs | READ)))


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


class _Kept:
    """The rankings of a run as they go by: all of them, or none where they hold too many ids."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.rankings: list[Ranking] = []
        self.whole = False

    def each(self, rankings: Iterable[Ranking]) -> Iterator[Ranking]:
        """The rankings from the first, which may be read once more after a flaw."""
        self.rankings, room = [], self.most
        for ranking in rankings:
            room -= len(ranking.ids)
            if room >= 0:
                self.rankings.append(ranking)
            yield ranking
        self.whole = room >= 0
        if not self.whole:
            self.rankings = []
