"""What several systems found, joined into one list to label: the pool of TREC, per query and document.

Labelling one system's results alone would make every other look worse, since what only they find stays unjudged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from rankgate.collecting.labels import gain_of
from rankgate.metrics.matching import BY_CHUNK, By, Matching, document_of
from rankgate.model.values import Details, Gold, Item, Ranking

DEFAULT_DEPTH = 20


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One document to label for one query.

    `gain` is what the gold says of it already; None is unjudged. `ranks` has every run by its name, with None where the
    document is not among the run's first results. `text` is None where no run states one. `judge` is the id of the
    judge who gave the gain, for the `grade` from 0 to 3 that its model said.
    """

    query_id: str
    question: str | None
    id: str
    text: str | None
    gain: float | None
    ranks: Mapping[str, int | None]
    grade: int | None = None
    judge: str | None = None


class Pooled(msgspec.Struct, frozen=True, kw_only=True):
    """What one run gave: how many gold queries it has, and those of its queries that the gold lacks."""

    known: int
    unknown_queries: tuple[str, ...]


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs in the order in which to label them, and what each run gave."""

    pairs: tuple[Pair, ...]
    runs: Mapping[str, Pooled]

    def unjudged(self) -> tuple[Pair, ...]:
        """The pairs that wait for a label."""
        return tuple(pair for pair in self.pairs if pair.gain is None)


def pool(
    gold: Gold,
    runs: Mapping[str, Iterable[Ranking]],
    *,
    depth: int = DEFAULT_DEPTH,
    how: Matching = BY_CHUNK,
    as_judge: bool = False,
) -> Pool:
    """For every gold query, the union of the first results of all runs.

    Unjudged pairs come first, over all queries; then the judged ones. Within these: by query as in the gold, by the
    best rank that any run gives, by id. A text is the one that stands with the query, in the first run that has it, or
    else one that stands with the same document anywhere in the runs.

    Args:
        gold: the queries and what is judged.
        runs: rankings by the name of the run, each read once; with texts in their details where known.
        depth: how many results of each list.
        how: by chunk pools the items, by doc their documents, each at its first chunk.
        as_judge: a judge's labels beside the gold count as judged too, so that a judge is not asked twice.
    """
    ranks: dict[str, dict[str, dict[str, int]]] = {query_id: {} for query_id in gold.samples}
    texts: dict[tuple[str, str], str] = {}
    elsewhere: dict[str, str] = {}
    pooled: dict[str, Pooled] = {}
    for name, rankings in runs.items():
        unknown_queries: list[str] = []
        known = 0
        for ranking in rankings:
            of_query = ranks.get(ranking.query_id)
            known += of_query is not None
            if of_query is None:
                unknown_queries.append(ranking.query_id)
            for rank, (doc, text) in enumerate(results_of(ranking, how), start=1):
                if text:
                    elsewhere.setdefault(doc, text)
                if of_query is None or rank > depth:
                    continue
                of_query.setdefault(doc, {}).setdefault(name, rank)
                if text:
                    texts.setdefault((ranking.query_id, doc), text)
        pooled[name] = Pooled(known=known, unknown_queries=tuple(unknown_queries))
    pairs = [
        Pair(
            query_id=query_id,
            question=sample.question,
            id=doc,
            text=texts.get((query_id, doc), elsewhere.get(doc)),
            gain=gain_of(sample, doc, as_judge=as_judge),
            ranks={name: by_run.get(name) for name in runs},
        )
        for query_id, sample in gold.samples.items()
        for doc, by_run in sorted(ranks[query_id].items(), key=lambda entry: (min(entry[1].values()), entry[0]))
    ]
    pairs.sort(key=lambda pair: pair.gain is not None)
    return Pool(pairs=tuple(pairs), runs=pooled)


def hard_negatives(gold: Gold, rankings: Iterable[Ranking], depth: int, how: Matching) -> dict[str, dict[str, int]]:
    """By query, what stands above the first relevant document and nobody, nor a judge, calls relevant, by its rank.

    Ranks count from 1, each document once, down to `depth`. A query has none where nothing is relevant for it.
    """
    negatives: dict[str, dict[str, int]] = {}
    for ranking in rankings:
        sample = gold.samples.get(ranking.query_id)
        relevant = set(sample.relevant()) if sample else set[str]()
        if sample is None or not relevant:
            continue
        ranks: dict[str, int] = {}
        docs = list(dict.fromkeys(doc for doc, _ in results_of(ranking, how)))
        for rank, doc in enumerate(docs[:depth], start=1):
            if doc in relevant:
                break
            if sample.judge_gains.get(doc, 0) <= 0:
                ranks[doc] = rank
        if ranks:
            negatives[ranking.query_id] = ranks
    return negatives


def with_inserted(ranking: Ranking, negatives: Mapping[str, int], how: Matching) -> Ranking:
    """The list with each of these at its rank, no two alike, or at the end; what stands as high already stays."""
    details = ranking.details or Details()
    stated = details.items or [Item()] * len(ranking.ids)
    listed = list(zip([doc for doc, _ in results_of(ranking, how)], ranking.ids, stated, strict=True))
    for doc, rank in sorted(negatives.items(), key=lambda entry: entry[1]):
        if doc not in [name for name, *_ in listed[:rank]]:
            below = next((each for each in listed if each[0] == doc), (doc, doc, Item(doc_id=doc)))
            listed = [each for each in listed if each is not below]
            listed.insert(rank - 1, below)
    items = [item for *_, item in listed] if details.items else None
    return replace(ranking, ids=[each[1] for each in listed], details=replace(details, items=items))


def results_of(ranking: Ranking, how: Matching) -> Iterator[tuple[str, str | None]]:
    """By rank, the id under which the gold would know a result, and the result's text."""
    stated = ranking.details.items if ranking.details else None
    for item_id, item in zip(ranking.ids, stated or [Item()] * len(ranking.ids), strict=True):
        doc = item_id if how.by is By.CHUNK else document_of(item_id, item.doc_id, how.separator)
        yield doc, item.text
