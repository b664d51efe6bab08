"""Whether the gold set still speaks of the ids that the retriever returns; re-chunked or re-minted ids look like 0 %.

Pure. The matched queries tell cheaply that nothing of the kind can be; only where it can be is the run read once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from rankgate.errors import bad_input
from rankgate.matching import SEPARATOR, By, Matching, document_of
from rankgate.model import Gold, Need, Ranking, Scores
from rankgate.plan import Plan
from rankgate.wording import count_text

GOLD_STALE = "gold stale"
STALE_SHARE = 0.01  # of the relevant ids that occur in the lists, and of the lists' ids that anybody knows
PARTLY_STALE_SHARE = 0.05  # of the relevant ids that the baseline found
FEWEST = 3  # relevant ids: of fewer nobody can say that next to none occur
FULL_SHARE = 0.5  # of the lists; a broken search gives short or empty ones

_OF_LISTS = frozenset({Need.RAW, Need.REWRITES, Need.JUDGED, Need.NEGATIVES})

# Gives the rankings of a run from the beginning, or nothing where it cannot be read again.
Lists = Callable[[], Iterable[Ranking]]


class LostIds(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the relevant ids that the baseline found and the candidate's list for the same query lacks.

    Attributes:
        found: how many relevant ids the baseline found, each counted once.
        lost: how many of them at least one query lost.
        gone: those that occur in no list of the candidate while other chunks of their documents do.
        pairs: how many times a query lost an id.
        near: at how many of these times the query's list holds another chunk of the id's document.
    """

    found: int
    lost: int
    gone: tuple[str, ...]
    pairs: int
    near: int

    @property
    def stale(self) -> bool:
        """Whether so many are gone that the gold set, not the search, needs a look."""
        return bool(self.gone) and len(self.gone) >= PARTLY_STALE_SHARE * self.found

    @property
    def warning(self) -> str:
        """What is wrong and what to do."""
        return (
            f"the gold set is partly stale: {len(self.gone):,} of {count_text(self.found, 'relevant id')} that the "
            "baseline found occur in no ranking, while other chunks of their documents do; did the chunker change? Map "
            "the gold set to the new chunk ids, or gate by document with `match: doc`"
        )


def refuse_stale(gold: Gold, plan: Plan, candidate: Scores, now: Lists, before: Lists | None) -> None:
    """A gold set of other ids cannot judge a run: that is no FAIL but no verdict at all.

    It is stale where fewer than 1 % of its relevant ids occur in the run, the run's lists are full, and fewer than 1 %
    of their ids occur in the gold set or the baseline. Ids of the same space and no hits are a FAIL like any other.
    Where texts are matched, or no metric looks for relevant documents, ids say nothing.

    Args:
        gold: the judgments.
        plan: what is computed; matched by document, the items' documents count in place of their ids.
        candidate: the run's scores, with the matched queries.
        now: the run's lists, read only where the matched queries leave it possible.
        before: the baseline's.

    Raises:
        RankgateError: it is stale; says how that shows and what to do.
    """
    how = plan.how
    if how.by is By.TEXT or not _by_ids(plan) or not candidate.matched or _finds_enough(gold, candidate):
        return
    lengths = Counter(query.retrieved for query in candidate.matched.values())
    usual = max(lengths, key=lambda length: (lengths[length], length))
    full = sum(count for length, count in lengths.items() if length >= usual)
    if not usual or full < FULL_SHARE * len(candidate.matched):
        return
    returned = _names(now(), how)
    relevant = {doc for sample in gold.samples.values() for doc in sample.relevant()}
    occurring = len(relevant & returned)
    if not returned or len(relevant) < FEWEST or occurring >= STALE_SHARE * len(relevant):
        return
    known = _known(gold) | (_names(before(), how) if before else set())
    if len(returned & known) >= STALE_SHARE * len(returned):
        return
    one, remedy = ("document", "") if how.by is By.DOC else ("chunk", ", or gate by document with `match: doc`")
    ids = count_text(len(relevant), "relevant id occurs", "relevant ids occur")
    lists = count_text(len(candidate.matched), "list is", "lists are")
    nobody = "neither the gold set nor the baseline knows" if before else "the gold set does not know"
    raise bad_input(
        f"{GOLD_STALE}: {occurring:,} of {ids} in any ranking, {full:,} of {lists} full; did the {one} ids change? The "
        f"search works, but returns ids that {nobody}; map the gold set to the new ids{remedy}",
        file=gold.name,
    )


def lost_ids(plan: Plan, candidate: Scores, baseline: Scores, now: Lists) -> LostIds | None:
    """Where the ids went that the baseline found; None where fewer than 5 % are lost, or it is not ids that match.

    Queries that the candidate lacks are left out: they lost everything, and for another reason.

    Args:
        plan: what is computed.
        candidate: the run's scores, with the matched queries.
        baseline: the baseline's.
        now: the run's lists, read only where enough is lost.
    """
    if plan.how.by is not By.CHUNK or not _by_ids(plan):
        return None
    found: set[str] = set()
    lost: dict[str, list[str]] = {}
    for query_id, old in baseline.matched.items():
        new = candidate.matched.get(query_id)
        if new is None:
            continue
        found.update(old.found)
        if new.found != old.found:
            kept = set(new.found)
            missed = [doc for doc in old.found if doc not in kept]
            if missed:
                lost[query_id] = missed
    distinct = dict.fromkeys(doc for missed in lost.values() for doc in missed)
    if not distinct or len(distinct) < PARTLY_STALE_SHARE * len(found):
        return None
    ids, documents, near = _look(now(), lost)
    gone = [doc for doc in distinct if doc not in ids and document_of(doc, None) in documents]
    return LostIds(
        found=len(found),
        lost=len(distinct),
        gone=tuple(gone) if len(documents) > 1 else (),  # one document for all would make every loss look like this
        pairs=sum(map(len, lost.values())),
        near=near,
    )


def _by_ids(plan: Plan) -> bool:
    """Whether a metric judges lists by the gold's ids: one that reads nothing beside lists and judgments."""
    return any(metric.needs <= _OF_LISTS for metric in plan.metrics)


def _finds_enough(gold: Gold, candidate: Scores) -> bool:
    """Whether queries find at least 1 % of the relevant ids in their own lists; most runs show that at once."""
    enough = STALE_SHARE * sum(len(sample.gains) for sample in gold.samples.values())
    found: set[str] = set()
    for query in candidate.matched.values():
        found.update(query.found)
        if found and len(found) >= enough:
            return True
    return False


def _names(rankings: Iterable[Ranking], how: Matching) -> set[str]:
    """The ids, or the documents, that these lists hold."""
    if how.by is By.CHUNK:
        return {item_id for ranking in rankings for item_id in ranking.ids}
    return {document for ranking in rankings for document in _documents(ranking, how.separator)}


def _known(gold: Gold) -> set[str]:
    """Every id that the gold set names, relevant or not."""
    return {
        doc
        for sample in gold.samples.values()
        for named in (sample.gains, sample.judge_gains, sample.negatives)
        for doc in named
    }


def _look(rankings: Iterable[Ranking], lost: Mapping[str, Iterable[str]]) -> tuple[set[str], set[str], int]:
    """All ids, all documents, and how often a query that lost an id has another chunk of its document."""
    ids: set[str] = set()
    documents: set[str] = set()
    near = 0
    for ranking in rankings:
        stated = ranking.details is not None and ranking.details.items is not None
        missed = lost.get(ranking.query_id)
        if stated or missed:
            own = set(_documents(ranking, SEPARATOR))
            documents |= own
            near += sum(document_of(doc, None) in own for doc in missed or ())
        ids.update(ranking.ids)
    documents.update(document_of(item_id, None) for item_id in ids)
    return ids, documents, near


def _documents(ranking: Ranking, separator: str) -> list[str]:
    """The document of each item: as the item states it, or as its id says."""
    items = ranking.details.items if ranking.details else None
    stated = [item.doc_id for item in items] if items else [None] * len(ranking.ids)
    return [document_of(item_id, doc, separator) for item_id, doc in zip(ranking.ids, stated, strict=False)]
