"""That a run speaks of other ids than the gold set, in words: read only where next to nothing is found. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice, repeat

from rankgate.collecting.spelling import differs_in, respelled
from rankgate.criteria.runs import lists_of
from rankgate.errors import shown
from rankgate.metrics.matching import By, Matching, document_of
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.conclusion import NEARLY_ALL
from rankgate.model.report import NAMED
from rankgate.model.values import Gold, Ranking
from rankgate.model.wording import count_text

MIN_IDS = 3  # relevant ids: of fewer nobody can say that next to none occur
FULL_SHARE = 0.5  # of the lists; a broken search gives short or empty ones


def other_ids_text(gold: Gold, how: Matching, run: ScoredRun, share: float, *, only_full: bool) -> str:
    """That the run and the gold name different ids, less than this share of either; see `gold_set.stale_text`."""
    lists = [summary.retrieved for summary in run.scores.rank_summaries.values() if summary.ranks]
    full = _full_lists(lists)
    are_full = full > 0 and full >= FULL_SHARE * len(lists)
    some = sum(map(bool, lists))
    if not are_full and (only_full or len(lists) - some >= NEARLY_ALL * len(lists)):
        return ""
    returned = _names(lists_of(run), how)
    name_of = (lambda span: span.rpartition(":")[0]) if how.by is By.SPAN else str  # DOCUMENT:START-END
    relevant = dict.fromkeys(name_of(doc) for sample in gold.samples.values() for doc in sample.relevant())
    occurring = len(relevant.keys() & returned.keys())
    if not returned or len(relevant) < MIN_IDS or occurring >= share * len(relevant):
        return ""
    known: set[str] = set()
    for sample in gold.samples.values():
        known.update(map(name_of, [*sample.gains, *sample.judge_gains, *sample.negatives]))
    if len(returned.keys() & known) >= share * len(returned):
        return ""
    run_has = ", ".join(map(shown, islice(returned, NAMED)))
    first = next(iter(respelled(relevant, returned).items()), None)
    if first:
        run_has += f": {shown(first[0])} and {shown(first[1])} differ in {differs_in(*first)} alone"
    one = "chunk" if how.by is By.CHUNK else "document"
    remedy = ", or gate by document with `match: doc`" if how.by is By.CHUNK else ""
    ids = count_text(len(relevant), "relevant id occurs", "relevant ids occur")
    full_of = f"{full:,} of {count_text(len(lists), 'list is', 'lists are')} full"
    if not are_full:
        full_of = f"{some:,} of {count_text(len(lists), 'list holds', 'lists hold')} results"
    gold_has = ", ".join(map(shown, islice(relevant, NAMED)))
    return (
        f"gold stale: {occurring:,} of {ids} in any ranking, {full_of}; did the {one} ids change, or is "
        f"another corpus indexed? Map the gold set to the new ids{remedy}; the gold set has {gold_has}, the run "
        f"{run_has}"
    )


def _full_lists(lengths: Sequence[int | None]) -> int:
    """How many lists are as long as most are, or longer; 0 where most are empty. None is a length that is not known."""
    counts = Counter(length for length in lengths if length is not None)
    full_length = max(counts, key=lambda length: (counts[length], length), default=0)
    return sum(count for length, count in counts.items() if length >= full_length) if full_length else 0


def _names(rankings: Iterable[Ranking], how: Matching) -> dict[str, None]:
    """The ids that these lists hold, in order; or the documents, as each item states its own, or as its id says."""
    if how.by is By.CHUNK:
        return dict.fromkeys(item_id for ranking in rankings for item_id in ranking.ids)
    names: dict[str, None] = {}
    for ranking in rankings:
        items = ranking.details.items if ranking.details else None
        for item_id, item in zip(ranking.ids, items or repeat(None), strict=False):
            # An item without offsets or a document of its own may hold a passage of any.
            if how.by is By.DOC or (item and (item.start is not None or item.doc_id is not None)):
                names[document_of(item_id, item.doc_id if item else None, how.separator)] = None
    return names
