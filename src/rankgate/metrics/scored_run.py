"""A run and its scores, as a check has two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import compress, islice

import msgspec
from msgspec.structs import replace

from rankgate.metrics.matching import By, Matching, parents
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import Tally, total
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.base import Quick, Run, RunSource, answering, through

MAX_KEPT = 200_000  # ids of a file: above, reading it again costs less than the memory
MAX_PIPED = 10_000_000  # ids of a pipe, which cannot be read again
BATCH = 8  # rankings that are in memory at a time, unless they are kept


class ReadProgress:
    """How much of the run that is being read has been read, for whoever shows it."""

    def __init__(self) -> None:
        self._share_read: Callable[[], float] | None = None

    def share(self) -> float | None:
        """From 0 to 1; None where no run is being read, or nobody knows."""
        share_read = self._share_read
        return share_read() if share_read else None

    @contextmanager
    def of(self, share_read: Callable[[], float] | None) -> Iterator[None]:
        """For as long as a run is read of which `share_read` tells it."""
        self._share_read = share_read
        try:
            yield
        finally:
            self._share_read = None


class Again(msgspec.Struct, frozen=True):
    """How a run is read once more: what opens it, what makes its lines those of the gold set, what its metrics read."""

    source: RunSource
    gold: Gold
    how: Matching
    needs: frozenset[RunField]


class ScoredRun(msgspec.Struct, frozen=True):
    """A run and its scores: the candidate or the baseline.

    Its lists are `kept` where they are few, or came through a pipe; `criteria.runs` gives them in either case.
    """

    run: Run
    scores: Scores
    kept: Sequence[Ranking] | None = None
    again: Again | None = None

    @property
    def covered(self) -> int:
        """How many questions of the gold set a baseline compares on."""
        return len(self.scores.query_ids) - len(self.scores.new_queries)


def score_run(gold: Gold, run: Run, plan: Plan, progress: ReadProgress | None = None) -> Scores:
    """Score a run of which nothing has been read, reading it once; twice where something is wrong with it.

    Raises:
        RankgateError: the run is malformed, or changed while it was read; carries every problem.
    """
    return _score_and_keep(gold, run, plan, _Kept(0), progress or ReadProgress())


def _score_and_keep(gold: Gold, run: Run, plan: Plan, kept: _Kept, progress: ReadProgress) -> Scores:
    tally = _quick_tally(gold, run.quick, plan, kept, progress) if run.quick else None
    if tally is None:
        tally = Tally(gold, plan)
        with progress.of(run.share_read):
            _read(run.rankings, tally, kept)
    return total(gold, plan, tally)


def _quick_tally(gold: Gold, quick: Quick, plan: Plan, kept: _Kept, progress: ReadProgress) -> Tally | None:
    """What the rankings add up to; None where the run must be read carefully."""
    tally = Tally(gold, plan)
    with quick.opened() as reading:
        if reading is None:
            return None
        rankings, share_read = reading
        with progress.of(share_read):
            try:
                _read(rankings, tally, kept)
            except Exception:  # noqa: BLE001 -- the careful reading raises it again, or says it better
                return None
    sure = not tally.again and len(set(tally.unknown_queries)) == len(tally.unknown_queries)
    return tally if sure else None


def _read(rankings: Iterator[Ranking], tally: Tally, kept: _Kept) -> None:
    """Score and keep a run's rankings, from the first."""
    kept.clear()
    while batch := list(islice(rankings, BATCH)):
        kept.add(batch)
        tally.add(batch)


def of_gold(run: Run, gold: Gold, how: Matching, other_texts: set[str] | None = None) -> Run:
    """The lines of a run that answer the gold set's own texts (`answering`), without each question's own document."""
    return without_own(answering(run, gold, other_texts), how)


def without_own(run: Run, how: Matching) -> Run:
    """The run without results whose id, or document, is the question's, where `how` excludes them; else as it is.

    Questions are documents themselves in ArguAna and Quora.
    """
    if not how.exclude_query_id:
        return run
    return through(run, partial(map, partial(_dropped, how=how)))


def _dropped(ranking: Ranking, how: Matching) -> Ranking:
    details = ranking.details
    documents = ranking.ids
    if how.by in (By.DOC, By.SPAN):
        documents = parents(ranking.ids, details, how.separator)
    kept = [document != ranking.query_id for document in documents]
    if details is not None:
        raw = details.raw and _dropped(details.raw, how)
        rewrites = details.rewrites and [_dropped(each, how) for each in details.rewrites]
        items = details.items and [*compress(details.items, kept)]
        details = replace(details, raw=raw, rewrites=rewrites, items=items)
    return replace(ranking, ids=[*compress(ranking.ids, kept)], details=details)


def scored(gold: Gold, run: Run, plan: Plan, source: RunSource, progress: ReadProgress | None = None) -> ScoredRun:
    """Score a run, which `source` opens again; see `score_run`.

    Its lists are kept in memory where they are few or came through a pipe.
    """
    if run.values is not None:
        from rankgate.metrics.value_table import score_table  # noqa: PLC0415 -- paid only by a table

        return ScoredRun(run, score_table(gold, run.values, run.name, plan))
    piped = run.share_read is None and run.depth is None  # neither a regular file nor stored as a baseline
    few = 0 if plan.needs & {RunField.TEXTS, RunField.OFFSETS, RunField.ANSWER} else MAX_KEPT
    kept = _Kept(MAX_PIPED if piped else few)
    other_texts: set[str] = set()
    lines = of_gold(run, gold, plan.how, other_texts)
    scores = _score_and_keep(gold, lines, plan, kept, progress or ReadProgress())
    scores = replace(scores, unasked=scores.missing & other_texts)
    if piped and run.format != "python":  # what Python holds is opened again, for what its lines state besides
        return ScoredRun(run, scores, kept.rankings)
    run = replace(run, rankings=iter(()), quick=None, share_read=None)  # which hold a stored run
    needs = plan.needs - {RunField.VERDICTS}  # which take most of the time, and no list needs
    return ScoredRun(run, scores, kept.rankings if kept.whole else None, Again(source, gold, plan.how, needs))


class _Kept:
    """The rankings of a run as they go by: all of them, or none where they hold too many ids."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.clear()

    def clear(self) -> None:
        """Begin again: a run may be read once more after a flaw."""
        self.rankings: list[Ranking] = []
        self.ids = 0

    def add(self, rankings: Sequence[Ranking]) -> None:
        """The next ones."""
        self.ids += sum(len(ranking.ids) for ranking in rankings)
        if self.whole:
            self.rankings += rankings
        else:
            self.rankings.clear()

    @property
    def whole(self) -> bool:
        """Whether all are there."""
        return self.ids <= self.most
