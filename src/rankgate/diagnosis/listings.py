"""Both runs read once more for what scores do not hold: whole lists, the lists before reranking, every id returned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice

import msgspec

from rankgate.criteria.runs import detailed_lists_of, lists_of
from rankgate.errors import RankgateError
from rankgate.metrics.base import RelevanceMetric
from rankgate.metrics.matching import By, Matching, document_of
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.report import NAMED, Oddities, Spelling
from rankgate.model.values import Gold, Ranking

MAX_QUERIES = 20_000  # of the gold set: longer runs are not read again for this
DEEPEST = 100  # ranks of each list that are kept
LONG = 5  # results: by accident the scores rise in one of 120 such lists
MATCHED_SHARE = 0.1  # of the relevant ids: with fewer in the lists, the ids are looked at before the metric


class Listing(msgspec.Struct, frozen=True, gc=False):
    """The first ids of a question's list, and of the list before reranking where the run states it."""

    ids: Sequence[str]
    raw: Sequence[str] | None = None


class Listings(msgspec.Struct, frozen=True):
    """A run by gold query. `documents` has every id that any list holds, with the document that it is a part of.

    Read without details and matched by chunk, every id is its own document.

    In the lists of `rising` the scores rise from rank to rank, of the `long_lists` in which that can be said; in those
    of `tied` they are equal; see `Ranking`. Those of `self_first` begin with the question's own document, which the
    gold set does not name.
    """

    by_query: Mapping[str, Listing]
    documents: Mapping[str, str]
    rising: Sequence[str] = ()
    long_lists: int = 0
    tied: Sequence[str] = ()
    self_first: Sequence[str] = ()


# Those of the run and of the baseline; None where a run cannot be read again.
Lists = tuple[Listings | None, Listings | None]


class RunLists:
    """The lists of the run and of the baseline, each read when it is first asked for."""

    def __init__(self, gold: Gold, plan: Plan, run: ScoredRun, baseline: ScoredRun | None) -> None:
        self.gold, self.plan = gold, plan
        self.run, self.baseline = run, baseline

    @cached_property
    def plain(self) -> Lists:
        """The ids, as the metrics read them."""
        return self._both(detailed=False)

    @cached_property
    def detailed(self) -> Lists:
        """The ids with what the runs state beside them, where that is well-formed."""
        return self._both(detailed=True)

    def _both(self, *, detailed: bool) -> Lists:
        baseline = listings_of(self.gold, self.plan, self.baseline, detailed=detailed) if self.baseline else None
        return listings_of(self.gold, self.plan, self.run, detailed=detailed), baseline


def listings_of(gold: Gold, plan: Plan, run: ScoredRun, *, detailed: bool) -> Listings | None:
    """A run's lists by gold query, to the depth to which they are compared; None where it cannot be read or is long.

    `detailed` with the ids' documents, whatever the gold judges, and what else the run states if it is well-formed.
    """
    if len(gold.samples) > MAX_QUERIES:
        return None
    separator = plan.how.separator if detailed or plan.how.by is By.DOC else None
    for open_lists in (detailed_lists_of, lists_of) if detailed else (lists_of,):
        with suppress(RankgateError):
            listings = _read(gold, min(plan.depth or DEEPEST, DEEPEST), separator, open_lists(run))
            if listings.documents:
                return listings
    return None


def _read(gold: Gold, depth: int, separator: str | None, rankings: Iterable[Ranking]) -> Listings:
    by_query: dict[str, Listing] = {}
    names: dict[str, str] = {}  # one copy of each id, however many lists hold it
    documents: dict[str, str] = {}
    rising: list[str] = []
    long_lists = 0
    tied: list[str] = []
    self_first: list[str] = []
    for ranking in rankings:
        details = ranking.details
        stated = details.items if details and details.items else None
        if separator is None:
            shared = [documents.setdefault(item, item) for item in ranking.ids]
        else:
            shared = [names.setdefault(item, item) for item in ranking.ids]
            for index, item in enumerate(ranking.ids):
                if item not in documents:
                    documents[item] = document_of(item, stated[index].doc_id if stated else None, separator)
        if ranking.query_id not in gold.samples:
            continue
        raw = details.raw.ids[:DEEPEST] if details and details.raw else None
        ids = shared[:depth]
        by_query[ranking.query_id] = Listing(ids, raw)
        long_lists += len(ranking.ids) >= LONG
        if ranking.rising:
            rising.append(ranking.query_id)
        if ranking.tied:
            tied.append(ranking.query_id)
        if ids and documents[ids[0]] == ranking.query_id not in gold.samples[ranking.query_id].relevant():
            self_first.append(ranking.query_id)
    return Listings(by_query, documents, rising, long_lists, tied, self_first)


def oddities_of(gold: Gold, how: Matching, lists: Lists) -> Oddities | None:
    """Gold ids that no list of any run holds, and lists in ascending order; None where there is neither."""
    now = lists[0]
    if now is None:
        return None
    relevant = dict.fromkeys(doc for sample in gold.samples.values() for doc in sample.relevant())
    never = [] if how.by in (By.TEXT, By.SPAN) else list(relevant)
    for run in filter(None, lists):
        seen = set(run.documents.values()) if how.by is By.DOC else run.documents
        never = [doc for doc in never if doc not in seen]
    self_first = len(now.self_first) if len(now.self_first) * 2 > len(now.by_query) else 0
    tied = len(now.tied) if len(now.tied) * 2 > len(now.by_query) else 0
    if not (never or now.rising or self_first or tied):
        return None
    ids = dict.fromkeys(now.documents.values()) if how.by is By.DOC else now.documents
    returned = list(islice(ids, NAMED))
    others: dict[str, str] = {}
    spellings: list[Spelling] = []
    if never:
        from rankgate.collecting.spelling import differs_in, respelled  # noqa: PLC0415 -- paid only where an id is in no list

        others = respelled(never, ids)
        spellings = [Spelling(*pair, differs_in(*pair)) for pair in islice(others.items(), NAMED)]
    return Oddities(
        never_returned=len(never),
        relevant=len(relevant),
        examples=never[:NAMED],
        rising=len(now.rising),
        rising_before=len(lists[1].rising) if lists[1] else 0,
        long_lists=now.long_lists,
        lists=len(now.by_query),
        rising_queries=list(now.rising[:NAMED]),
        returned=returned if never and len(never) == len(relevant) else [],
        respelled=len(others),
        spellings=spellings,
        tied=tied,
        self_first=self_first,
    )


def unmatched(gold: Gold, plan: Plan, scored: ScoredRun) -> Oddities | None:
    """What is odd in a run whose lists hold next to none of the relevant ids, as where ids are spelled differently."""
    enough = MATCHED_SHARE * sum(len(sample.gains) for sample in gold.samples.values())
    for metric in plan.metrics:
        column = scored.scores.values[metric.name] if isinstance(metric, RelevanceMetric) else []
        if sum(value is not None and value != metric.worst for value in column) >= enough:  # of queries that found one
            return None
    odd = oddities_of(gold, plan.how, (listings_of(gold, plan, scored, detailed=False), None))
    return odd if odd and odd.relevant - odd.never_returned < MATCHED_SHARE * odd.relevant else None
