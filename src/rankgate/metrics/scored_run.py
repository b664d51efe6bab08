"""A run and its scores, as a check has two of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from itertools import islice

import msgspec

from rankgate.errors import RankgateError
from rankgate.metrics.base import Metric
from rankgate.metrics.changed_lists import relisted, same_lists
from rankgate.metrics.comparison import Comparison, baseline_column, compare
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.metrics.matching import By, Matching
from rankgate.metrics.own_documents import without_own
from rankgate.metrics.plan import Plan
from rankgate.metrics.requirements import require_fields, require_gold_queries
from rankgate.metrics.scoring import Tally, ids_of, score, total
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.base import Run, RunSource, answering
from rankgate.readers.formats import fingerprint_of

READ = frozenset({RunField.RAW, RunField.DOCS})  # for the diagnosis, where a run states it
MAX_KEPT = 200_000  # ids of a file: above, reading it again costs less than the memory
PROBED = 10_000  # items
MAX_TEXT = 1_000  # characters of an item's text that pages may show
MAX_PIPED = 10_000_000  # ids of a pipe, which cannot be read again


# What is around the reading: it is given a function that says how much of the run has been read, from 0 to 1.
Watch = Callable[[Callable[[], float]], AbstractContextManager[object]]
Through = Callable[[Iterable[Ranking]], Iterable[Ranking]]


class ScoredRun(msgspec.Struct, frozen=True):
    """A run and its scores: the candidate or the baseline.

    Its lists are `kept` where they are few, or came through a pipe; else its `source` opens them again, if there is
    one. `needs` is what its metrics read of a list.
    """

    run: Run
    scores: Scores
    kept: Sequence[Ranking] | None = None
    source: RunSource | None = None
    needs: frozenset[RunField] = frozenset()

    def lists(self) -> Iterable[Ranking]:
        """Its rankings from the first, as its metrics read them; none of values without rankings."""
        return self._again(self.needs) if self.kept is None else self.kept

    def details(self) -> Iterable[Ranking]:
        """Its rankings with documents and the list before reranking.

        Raises:
            RankgateError: while they are read, where these are malformed; no metric has read them.
        """
        return self._again(self.needs | READ)

    def texts(self) -> Iterable[Ranking]:
        """Its rankings with the texts of their items; raises as `details` does."""
        return self._again(self.needs | {RunField.TEXTS})

    def traffic(self, how: Matching) -> Iterable[Ranking]:
        """The rankings of questions that are none of the gold set; none where the run came through a pipe."""
        docs = {RunField.DOCS} if how.by is By.DOC else set[RunField]()
        return rankings_again(self.source, frozenset({RunField.TRAFFIC, *docs})) if self.source else ()

    def _again(self, needs: frozenset[RunField]) -> Iterable[Ranking]:
        return rankings_again(self.source, needs) if self.source else self.kept or ()

    @property
    def covered(self) -> int:
        """How many questions of the gold set a baseline compares on."""
        return len(self.scores.query_ids) - len(self.scores.new_queries)

    def texts_of(self, wanted: Collection[str]) -> dict[str, str]:
        """The texts that the run states of these items; none where it cannot be read again with them.

        One whose first `PROBED` items state none is read no further.
        """
        texts: dict[str, str] = {}
        items, states_texts = 0, False
        with suppress(RankgateError):
            for ranking in self.texts():
                stated = list(zip(ranking.ids, (ranking.details and ranking.details.items) or (), strict=False))
                texts |= {name: item.text[:MAX_TEXT] for name, item in stated if item.text and name in wanted}
                states_texts = states_texts or any(item.text for _, item in stated)
                items += len(ranking.ids)
                if not states_texts and items >= PROBED:
                    break
        return texts


def unwatched(share_read: Callable[[], float]) -> AbstractContextManager[object]:
    """Nobody looks on."""
    return nullcontext(share_read)


def score_run(
    gold: Gold,
    run: Run,
    plan: Plan,
    *,
    watch: Watch = unwatched,
    through: Through = iter,
) -> Scores:
    """Score a run, reading it once; twice where something is wrong with it.

    Args:
        gold: the judgments.
        run: an opened run of which nothing has been read.
        plan: what to compute.
        watch: see `Watch`.
        through: is passed the rankings.

    Raises:
        RankgateError: the run is malformed, or changed while it was read; carries every problem.
    """
    if run.quick is not None:
        with run.quick.opened() as reading:
            tally = _quick_tally(gold, plan, *reading, watch, through) if reading else None
        if tally is not None:
            return total(gold, plan, tally)
    with watch(run.share_read) if run.share_read else nullcontext():
        return score(gold, through(run.rankings), plan)


def _quick_tally(
    gold: Gold,
    plan: Plan,
    rankings: Iterator[Ranking],
    share_read: Callable[[], float],
    watch: Watch,
    through: Through,
) -> Tally | None:
    """What the rankings add up to; None where the run must be read carefully."""
    tally = Tally(gold, plan)
    with watch(share_read):
        try:
            tally.add(through(rankings))
        except Exception:  # noqa: BLE001 -- the careful reading raises it again, or says it better
            return None
    sure = not tally.again and len(set(tally.unknown_queries)) == len(tally.unknown_queries)
    return tally if sure else None


HALF = 0.5  # of today's questions: a file that lacks more was recorded for others


class _OfGold(msgspec.Struct, frozen=True):
    """The lines of a run that answer the gold set's own texts, without each question's own document."""

    source: RunSource
    gold: Gold
    how: Matching

    def open(self, needs: frozenset[RunField]) -> Run | None:
        run = self.source.open(needs)
        return run and _of_gold(run, self.gold, self.how)


def _of_gold(run: Run, gold: Gold, how: Matching, other_texts: set[str] | None = None) -> Run:
    return without_own(answering(run, gold, other_texts), how)


def scored(
    gold: Gold,
    run: Run,
    plan: Plan,
    source: RunSource,
    *,
    watch: Watch = unwatched,
    through: Through = iter,
) -> ScoredRun:
    """Score a run, which `source` has opened and opens again; see `score_run`.

    Its lists are kept in memory where they are few or came through a pipe.
    """
    if run.values is not None:
        from rankgate.metrics.value_table import score_table  # noqa: PLC0415 -- paid only by a table

        return ScoredRun(run, score_table(gold, run.values, run.name, plan))
    piped = run.share_read is None and run.depth is None  # neither a regular file nor stored as a baseline
    other_texts = set[str]()
    run = _of_gold(run, gold, plan.how, other_texts)
    kept = _Kept(
        MAX_PIPED if piped else MAX_KEPT * (not plan.needs & {RunField.TEXTS, RunField.OFFSETS, RunField.ANSWER}),
        through,
    )
    scores = score_run(gold, run, plan, watch=watch, through=kept.each)
    scores = msgspec.structs.replace(scores, unasked=scores.missing & other_texts)
    if piped:
        return ScoredRun(run, scores, kept.rankings)
    run = msgspec.structs.replace(run, rankings=iter(()), quick=None, share_read=None)  # which hold a stored run
    needs = plan.needs - {RunField.VERDICTS}  # which take most of the time, and no list needs
    lists = kept.rankings if kept.whole else None
    return ScoredRun(run, scores, lists, _OfGold(source, gold, plan.how), needs)


def rankings_again(source: RunSource, needs: frozenset[RunField]) -> Iterator[Ranking]:
    """A run's rankings once more: quickly where every line is a query, and carefully from where that does not go."""
    run, count = source.open(needs), 0
    if run and run.quick and run.quick.by_line:
        with suppress(ValueError, RankgateError), run.quick.opened() as reading:
            if reading:
                for ranking in reading[0]:
                    count += 1
                    yield ranking
                return
    yield from islice(run.rankings, count, None) if run else ()


def as_baseline(gold: Gold, run: Run, scores: Scores) -> Scores:
    """The scores of a run that another is compared with: they know which questions are new to it.

    What else it lacks is a list without a result, as of the other run: not every format can write an empty one. What
    was accepted knows the gold set of its day, and a table has a row for every question of its own. A file says nothing
    of the kind: it was recorded for today's questions, unless it has fewer than half of them.
    """
    new = scores.unasked.union(_unknown_queries(gold, run, scores))
    return msgspec.structs.replace(scores, new_queries=new) if new else scores


def _unknown_queries(gold: Gold, run: Run, scores: Scores) -> Collection[str]:
    """The missing questions that the gold set of a run did not have, as far as that is known."""
    mark = run.gold
    missing = scores.missing
    if not missing or not scores.listed:
        return ()
    if mark is not None and mark.judged is not None:
        return missing - mark.judged.keys()
    if mark is not None:  # the questions of a large gold set are not remembered one by one
        return () if mark.fingerprint == fingerprint_of(gold) else missing
    return missing if len(missing) > HALF * len(scores.query_ids) else ()


def scored_as_baseline(gold: Gold, run: Run, plan: Plan, source: RunSource, *, watch: Watch = unwatched) -> ScoredRun:
    """A run that another is compared with; see `scored` and `as_baseline`."""
    found = scored(gold, run, plan, source, watch=watch)
    return msgspec.structs.replace(found, scores=as_baseline(gold, run, found.scores))


def listed(gold: Gold, plan: Plan, run: ScoredRun, baseline: ScoredRun | None) -> ScoredRun | None:
    """The baseline, whose scores now know where the run's lists differ from its own."""
    if baseline is None:
        return None
    scores = msgspec.structs.replace(baseline.scores, relisted=relisted(gold, plan, run.lists, baseline.lists))
    return msgspec.structs.replace(baseline, scores=scores)


Compared = Comparison | Estimate | None  # an estimate where the metric compares with the run before by itself


def scored_pair(
    gold: Gold,
    sources: Sequence[RunSource],
    plan: Plan,
    *,
    watch: Watch = unwatched,
) -> tuple[list[ScoredRun], dict[Metric, Compared]]:
    """Two runs, the one before first, each scored, and each metric compared query by query; raises what these do.

    What the plan reads `also` is for a page, which names documents.
    """
    runs = [run for run in (source.open(plan.needs) for source in sources) if run]
    # Both lists end where the shorter store cut them, so that no run is compared on ranks that the other lost.
    depth = min((run.depth for run in runs if run.depth), default=None)
    plan = msgspec.structs.replace(plan, depth=depth, keep_matched=bool({RunField.BASELINE} & plan.needs or plan.also))
    both = list[ScoredRun]()
    for source, run in zip(sources, runs, strict=True):
        both.append(scored_as_baseline(gold, run, plan, source, watch=watch))
        scores = both[-1].scores
        require_gold_queries(scores, run.name, gold)
        if run.depth is None:  # a stored baseline keeps what its gates read, and cannot be asked for more
            require_fields(scores, plan, run.name)
        plan = msgspec.structs.replace(plan, baseline_ids=ids_of(scores, plan))
    after = both[1]
    before = listed(gold, plan, after, both[0]) or both[0]
    return [before, after], {metric: _compared(metric, before.scores, after.scores) for metric in plan.metrics}


def _compared(metric: Metric, before: Scores, after: Scores) -> Compared:
    column, same = baseline_column(metric, after), partial(same_lists, metric, after, before)
    if RunField.BASELINE in metric.needs:
        return estimate(column, metric, clusters=after.clusters)
    return compare(metric, column, baseline_column(metric, before), clusters=after.clusters, same=same)


class _Kept:
    """The rankings of a run as they go by: all of them, or none where they hold too many ids."""

    def __init__(self, most: int, through: Through) -> None:
        self.most = most
        self.through = through
        self.rankings: list[Ranking] = []
        self.whole = False

    def each(self, rankings: Iterable[Ranking]) -> Iterator[Ranking]:
        """The rankings from the first, which may be read once more after a flaw."""
        self.rankings, ids_left = [], self.most
        for ranking in self.through(rankings):
            ids_left -= len(ranking.ids)
            if ids_left >= 0:
                self.rankings.append(ranking)
            yield ranking
        self.whole = ids_left >= 0
        if not self.whole:
            self.rankings = []
