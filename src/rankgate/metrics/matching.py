"""Gold × ranking → matched query: which relevant documents the list holds, and where."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from enum import Enum
from functools import partial

import msgspec

from rankgate.model.scores import MatchedQuery, Placed
from rankgate.model.values import Details, Item, Ranking, RunField, Sample

DEFAULT_K = 5
SEPARATOR = "#"
COVERAGE = 0.5


class By(Enum):
    """What must agree: ids, the item's document and the gold's id, its text and the gold's passage, or their places."""

    CHUNK = "chunk"
    DOC = "doc"
    TEXT = "text"
    SPAN = "span"


class Matching(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a retrieved item the document that the gold names.

    Attributes:
        by: what must agree.
        separator: for doc and span: where the item states no `doc_id`, its document is what its id has before this.
        similarity: for text: the lowest share of the item's words that must stand in the passage; 1 asks for the whole
            text as it is.
        coverage: for span: the share of a passage's code points that items must cover, several of them together.
        exclude_query_id: whether lists are read without the question's own document, of which it is the id.
    """

    by: By = By.CHUNK
    separator: str = SEPARATOR
    similarity: float = 1.0
    coverage: float = COVERAGE
    exclude_query_id: bool = False

    @property
    def needs(self) -> frozenset[RunField]:
        """What it reads of the items beyond their ids."""
        return _READS[self.by]


Covering = dict[str, list[int]]  # the ranks of a span: of its hit, and of its repeats
_NO_PASSAGE = ""  # no passage is empty
# What metrics read of the line as it stands, whatever the list holds.
OF_THE_LINE = frozenset({RunField.LATENCY, RunField.SOURCE, RunField.ENTITIES, RunField.SCORES, RunField.ANSWER})
_READS = {By.CHUNK: frozenset[RunField](), By.DOC: frozenset({RunField.DOCS}), By.TEXT: frozenset({RunField.TEXTS})}
_READS[By.SPAN] = frozenset({RunField.OFFSETS})
BY_CHUNK = Matching()

_CHUNK, _SPAN = By.CHUNK, By.SPAN  # on the hot path even this look-up shows
_NOTHING_STATED = Details()
_FEW = 8  # judged documents: beyond, an index of the list costs less than searching it


def match(
    sample: Sample,
    ranking: Ranking,
    *,
    depth: int | None = None,
    default_k: int = DEFAULT_K,
    how: Matching = BY_CHUNK,
    needs: frozenset[RunField] = frozenset(),
    baseline_ids: Sequence[str] | None = None,
) -> MatchedQuery:
    """Look the relevant ids up in the list.

    A query has one to a few relevant documents and up to a thousand retrieved ones, so each relevant id is searched
    in the list and only the hits are kept. Where several items match one document, the first is the hit and the others
    are repeats, so that recall never exceeds 1. A span is found at the first item with which the items so far cover
    enough of it (see `passages`); further items that cover any of it are repeats. One item may find several spans.
    Where nobody can say whether a relevant span is there, the query is unfit.

    Ranks below `depth` are ignored (that to which a baseline was stored); None keeps the whole list. `default_k` is the
    cut-off for metrics without a number where the sample states none. Beyond hits there is only what is in `needs`.
    `baseline_ids` is the baseline's list for the same query.
    """
    ids = ranking.ids if depth is None else ranking.ids[:depth]
    gains = sample.gains.items()
    documents = ids if how.by is _CHUNK or how.by is _SPAN else _documents(sample, ids, ranking.details, how)
    placed = covering = unfit = None
    index_of: Callable[[str], int] = documents.index
    if how.by is _SPAN:
        from rankgate.metrics.passages import found_at  # noqa: PLC0415 -- paid only where passages are matched

        placed = _placed(sample, ids, ranking.details, how)
        covering = found_at(placed, sample.spans, how.coverage)
        doubts = (placed.unfit.get(doc) for doc, gain in gains if gain > 0 and doc not in covering)
        unfit = next(filter(None, doubts), None)
        index_of = {span: ranks[0] - 1 for span, ranks in covering.items()}.__getitem__
    elif len(gains) > _FEW:  # where each document stands first
        index_of = dict(zip(reversed(documents), range(len(documents) - 1, -1, -1), strict=True)).__getitem__
    hits: dict[str, tuple[int, float]] = {}
    repeats: list[tuple[int, float]] = []
    ideal: list[float] = []
    for doc, gain in gains:
        if gain <= 0 or unfit:
            continue
        ideal.append(gain)
        try:
            rank = index_of(doc) + 1
        except (ValueError, KeyError):
            continue  # not retrieved
        hits[doc] = rank, gain
        if covering is not None:
            repeats += [(below, gain) for below in covering[doc][1:]]
        elif documents is not ids:
            repeats += [(below, gain) for below, other in enumerate(documents[rank:], rank + 1) if other == doc]
    if len(ideal) > 1:
        hits = dict(sorted(hits.items(), key=lambda hit: (hit[1][0], -hit[1][1], hit[0])))
        repeats.sort()
        ideal.sort(reverse=True)
    query = MatchedQuery(
        query_id=sample.query_id,
        hits=tuple(hits.values()),
        found=tuple(hits),
        ideal=tuple(ideal),
        retrieved=len(ids),
        k=sample.k or default_k,
        repeats=tuple(repeats),
        sample=sample,
        details=ranking.details,
        unfit=unfit,
    )
    if needs <= OF_THE_LINE:
        return query
    details = ranking.details or _NOTHING_STATED
    of_list = partial(match, sample, depth=depth, default_k=default_k, how=how, needs=needs & {RunField.JUDGED})
    return msgspec.structs.replace(
        query,
        placed=placed if RunField.PASSAGES in needs else None,
        judged=_ranks(documents, {*sample.gains, *sample.negatives}, covering) if RunField.JUDGED in needs else (),
        negatives=_ranks(documents, sample.negatives, covering) if RunField.NEGATIVES in needs else (),
        ids=ids,
        documents=parents(ids, details, how.separator) if RunField.DOCS in needs else (),
        baseline_ids=None if baseline_ids is None else baseline_ids[:depth],
        details=_first(details, len(ids)),
        raw=of_list(details.raw) if details.raw else None,
        rewrites=tuple([of_list(other) for other in details.rewrites or ()]),
    )


def _first(details: Details, count: int) -> Details:
    """The details with as many items as the list has."""
    if not details.items or len(details.items) <= count:
        return details
    return msgspec.structs.replace(details, items=details.items[:count])


def document_of(item_id: str, doc_id: str | None, separator: str = SEPARATOR) -> str:
    """The document that an item is a part of: as the run states it, else the part of the item's id before `separator`.

    `doc-7#c3` is of `doc-7`; an id without the separator, or with nothing before it, is a document itself.
    """
    return doc_id or item_id.partition(separator)[0] or item_id


def _documents(sample: Sample, ids: Sequence[str], details: Details | None, how: Matching) -> list[str]:
    """For each item the id under which the gold knows it; its own id, or nothing, where the gold does not."""
    if how.by is By.DOC:
        return parents(ids, details, how.separator)
    from rankgate.metrics.texts import lies_in  # noqa: PLC0415 -- paid only where passages are matched by their text

    items = details.items if details and details.items else [None] * len(ids)
    # The best passages are given away first, and a relevant one again before one that is not: an item that fits both
    # is a repeat. An item stands for one passage only, so that none counts twice.
    relevant = sorted(sample.relevant(), key=lambda passage: -sample.gains[passage])
    others = [*(passage for passage, gain in sample.gains.items() if gain <= 0), *sample.negatives]
    named: list[str] = []
    for item in items[: len(ids)]:
        text = item.text if item and item.text is not None else ""
        fitting = [passage for passage in relevant if lies_in(text, passage, how.similarity)]
        free = [passage for passage in fitting if passage not in named]
        fitting = free or fitting or [passage for passage in others if lies_in(text, passage, how.similarity)]
        named.append(fitting[0] if fitting else _NO_PASSAGE)
    return named


def _placed(sample: Sample, ids: Sequence[str], details: Details | None, how: Matching) -> Placed:
    """How the items lie over the passages of the gold."""
    from rankgate.metrics.passages import placed  # noqa: PLC0415 -- as above

    items: list[tuple[str | None, str, Item]] = []
    for item_id, item in zip(ids, details.items or () if details else (), strict=False):
        document = document_of(item_id, item.doc_id, how.separator)
        named = document if item.doc_id or document != item_id else None  # an id such as a UUID names no document
        items.append((named, document, item))
    return placed(sample.spans, items)


def parents(ids: Sequence[str], details: Details | None, separator: str) -> list[str]:
    """The document that each item is a part of."""
    if not details or not details.items:
        return [item_id.partition(separator)[0] or item_id for item_id in ids]
    each = zip(ids, details.items, strict=False)  # as `document_of`, of which the call alone would be half
    return [item.doc_id or item_id.partition(separator)[0] or item_id for item_id, item in each]


def _ranks(documents: Sequence[str], wanted: Container[str], covering: Covering | None) -> tuple[int, ...]:
    if covering is not None:
        return tuple(sorted({rank for span, ranks in covering.items() if span in wanted for rank in ranks}))
    return tuple([rank for rank, document in enumerate(documents, start=1) if document in wanted])
