"""What several systems found, joined into one list to label, the pool of TREC; and the labels, as the gold takes them.

Labelling one system's results alone would make every other look worse, since what only they find stays unjudged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from rankgate.collecting.spelling import differs_in, respelled
from rankgate.errors import Problem, shown
from rankgate.metrics.matching import BY_CHUNK, By, Matching, document_of
from rankgate.model.values import Details, Gold, Item, Ranking, Sample

DEFAULT_DEPTH = 20
Gains = Mapping[str, float]
_OF_SHEETS = frozenset({"leading zeros", "case and an exponent", "a date", "case and a date", "a .0", "blanks"})


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


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says of one document for one query, and where it is written; `judge` where that is a model."""

    query_id: str
    id: str
    gain: float
    file: str
    line: int
    judge: str | None = None


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """Labels seen through the gold: the new ones by query, how many it has already, and what must not be merged."""

    new: Mapping[str, Gains]
    known: int
    problems: tuple[Problem, ...]


def compare_labels(gold: Gold, labels: Iterable[Label], *, as_judge: bool = False) -> Merge:
    """What labels, in any order, add to the gold; `as_judge` those of a judge, whose earlier labels then count as well.

    A label that repeats what the gold or another label says is fine. These are problems, every one of them named: a
    query that the gold lacks (once a query); another gain than the gold's or another label's; a relevant document for
    a query that nothing answers, or that the query lists as a negative; a judge's label among those of people; an id of
    the gold set as a spreadsheet changes it.
    """
    first: dict[tuple[str, str], Label] = {}
    new: dict[str, dict[str, float]] = {}
    problems: list[Problem] = []
    unknown: set[str] = set()
    known = 0
    for label in labels:
        sample = gold.samples.get(label.query_id)
        if sample is None:
            if label.query_id not in unknown:
                respellings = respelled([label.query_id], gold.samples)
                other = "".join(
                    f" but {shown(each)} ({differs_in(label.query_id, each)})" for each in respellings.values()
                )
                message = f"{gold.name} has no query {shown(label.query_id)}{other}; add it there or drop its labels"
                problems.append(Problem(message, label.file, label.line))
            unknown.add(label.query_id)
            continue
        conflict = _conflict(label, sample, gold.name, as_judge=as_judge)
        if label.judge and not as_judge:
            conflict = f"labelled by judge {shown(label.judge)}, and no person; add --as-judge"
        conflict = conflict or _unlike(label, first.setdefault((label.query_id, label.id), label))
        if conflict:
            name = f"query {shown(label.query_id)}, document {shown(label.id)}"
            problems.append(Problem(f"{name}: {conflict}", label.file, label.line))
        elif gain_of(sample, label.id, as_judge=as_judge) is not None:
            known += 1
        else:
            new.setdefault(label.query_id, {})[label.id] = label.gain
    problems += _changed_by_sheets(first, gold)
    return Merge(new=new, known=known, problems=tuple(problems))


def _conflict(label: Label, sample: Sample, gold_file: str, *, as_judge: bool) -> str | None:
    """What the gold set has against a label; None where it can be merged. A judge's may not disagree with its own."""
    judged = gain_of(sample, label.id, as_judge=as_judge)
    if judged is not None and judged != label.gain:
        who = f"{gold_file}:{sample.line}" if sample.line else gold_file
        what = "says" if label.id in sample.gains else "has the judge's label"
        return f"labelled {label.gain:g}, but {who} {what} {judged:g}; change one of them"
    if judged is None and sample.spans:
        return "the query's gold are spans of documents, and a label names an id; add the passage as a span by hand"
    if judged is not None or label.gain <= 0:
        return None
    if sample.no_answer:
        return (
            f"labelled {label.gain:g}, but the question says no_answer: true; drop that in {gold_file}, or label it 0"
        )
    if label.id in sample.negatives:
        return f"labelled {label.gain:g}, but the question lists it under negatives; drop it there, or label it 0"
    return None


def _unlike(label: Label, first: Label) -> str | None:
    """What another label for the same pair has against it."""
    if label.gain == first.gain:
        return None
    return f"labelled {label.gain:g}, but {first.file}:{first.line} says {first.gain:g}; change one of them"


def _changed_by_sheets(labels: Mapping[tuple[str, str], Label], gold: Gold) -> Iterator[Problem]:
    """Labels of documents that the gold set knows under an id of which a spreadsheet makes this one."""
    known = {doc for sample in gold.samples.values() for doc in sample.gains}
    for doc, other in respelled(dict.fromkeys(doc for _, doc in labels if doc not in known), known).items():
        difference = differs_in(doc, other)
        if difference in _OF_SHEETS:
            label = next(label for (_, labelled), label in labels.items() if labelled == doc)
            what = f"document {shown(doc)}: {gold.name} has {shown(other)}, which differs in {difference} alone"
            yield Problem(f"{what}; let the spreadsheet import ids as text", label.file, label.line)


def gain_of(sample: Sample, doc: str, *, as_judge: bool) -> float | None:
    """What the gold says of a document, or else, where a judge's labels count too, the judge; None is unjudged."""
    gain = sample.gains.get(doc)
    return sample.judge_gains.get(doc) if gain is None and as_judge else gain
