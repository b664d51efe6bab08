"""A scored run's lists once more, from memory or from where the run came from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice

from rankgate.errors import RankgateError
from rankgate.metrics.matching import By, Matching
from rankgate.metrics.scored_run import ScoredRun, of_gold
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import Run, RunSource

DETAILS = frozenset({RunField.RAW, RunField.DOCS})  # for the diagnosis, where a run states it
PROBED = 10_000  # items
MAX_TEXT = 1_000  # characters of an item's text that pages may show


def lists_of(run: ScoredRun) -> Iterable[Ranking]:
    """The rankings from the first, as metrics read them; none of values without rankings."""
    return _again(run) if run.kept is None else run.kept


def detailed_lists_of(run: ScoredRun) -> Iterable[Ranking]:
    """The rankings with documents and the list before reranking.

    Raises:
        RankgateError: while they are read, where these are malformed; no metric has read them.
    """
    return _again(run, DETAILS)


def texts_of(run: ScoredRun, wanted: Collection[str]) -> dict[str, str]:
    """The texts that the run states of these items; none where it cannot be read again with them.

    One whose first `PROBED` items state none is read no further.
    """
    texts: dict[str, str] = {}
    items, states_texts = 0, False
    with suppress(RankgateError):
        for ranking in _again(run, frozenset({RunField.TEXTS})):
            stated = list(zip(ranking.ids, (ranking.details and ranking.details.items) or (), strict=False))
            texts |= {name: item.text[:MAX_TEXT] for name, item in stated if item.text and name in wanted}
            states_texts = states_texts or any(item.text for _, item in stated)
            items += len(ranking.ids)
            if not states_texts and items >= PROBED:
                break
    return texts


def traffic_of(run: ScoredRun, how: Matching) -> Iterable[Ranking]:
    """The rankings of questions that are none of the gold set; none where the run came through a pipe."""
    docs = {RunField.DOCS} if how.by is By.DOC else set[RunField]()
    return _opened_again(run, frozenset({RunField.TRAFFIC, *docs})) if run.again else ()


def rankings_again(source: RunSource, needs: frozenset[RunField]) -> Iterator[Ranking]:
    """A run's rankings once more: quickly where every line is a query, and carefully from where that does not go."""
    return _rankings(source.open(needs))


def _again(run: ScoredRun, more: frozenset[RunField] = frozenset()) -> Iterable[Ranking]:
    return _opened_again(run, run.again.needs | more) if run.again else run.kept or ()


def _opened_again(run: ScoredRun, needs: frozenset[RunField]) -> Iterator[Ranking]:
    again = run.again
    opened = again.source.open(needs) if again else None
    return _rankings(of_gold(opened, again.gold, again.how) if again and opened else None)


def _rankings(run: Run | None) -> Iterator[Ranking]:
    count = 0
    if run and run.quick and run.quick.by_line:
        with suppress(ValueError, RankgateError), run.quick.opened() as reading:
            if reading:
                for ranking in reading[0]:
                    count += 1
                    yield ranking
                return
    yield from islice(run.rankings, count, None) if run else ()
