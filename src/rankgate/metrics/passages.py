"""How much of the gold's passages the results hold, and how much beside them, by characters: what a chunker changes.

Notation: G = the places of the relevant passages (spans), R = those of the first k results, in code points of their
documents. Items lie over passages as for `match: span`, which these metrics ask for (`placing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rankgate.metrics.base import BaseMetric
from rankgate.metrics.placing import length_of, pieces_of, united
from rankgate.model.scores import MatchedQuery, Stretch
from rankgate.model.values import Item, RunField, Span, Unit


class PassageRecall(BaseMetric, frozen=True, kw_only=True):
    """Share of the characters of the relevant passages that stand in the first k results.

    Overlapping passages count once. Undefined without a relevant passage, missing where a result shows another text at
    a passage's place. Source: Smith & Troynikov (2024), Evaluating Chunking Strategies for Retrieval, which counts
    tokens.
    """

    key: ClassVar[str] = "passage_recall"
    formula: ClassVar[str] = "|G ∩ R| / |G|"
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.OFFSETS, RunField.DOCS, RunField.PASSAGES})
    plain: ClassVar[str] = "share of the relevant passages' text found {in_first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """|G ∩ R| / |G|; None where nothing is relevant or a passage is in doubt."""
        spans = _relevant(query)
        if not spans or query.placed is None or any(name in query.placed.unfit for name in spans):
            return None
        gold = [(span.doc, (span.start, span.end)) for span in spans.values()]
        held = [
            (spans[name].doc, stretch)
            for covered in query.placed.covered[: self.limit(query)]
            for name, stretch in covered.items()
            if name in spans
        ]
        return self.share(_size(held), _size(gold), query)

    def share(self, held: int, gold: int, query: MatchedQuery) -> float:
        """The value by |G ∩ R| and |G|."""
        del query
        return held / gold


class PassagePrecision(PassageRecall, frozen=True, kw_only=True):
    """Share of the characters of the first k results that are of relevant passages.

    What several results repeat counts each time below the line, once above it. A result is as long as its offsets say,
    else as its text. 0 for an empty list; undefined as passage_recall. Source: as passage_recall.
    """

    key: ClassVar[str] = "passage_precision"
    formula: ClassVar[str] = "|G ∩ R| / Σ |r| over the results r of R"
    spread: ClassVar[float | None] = 0.1
    plain: ClassVar[str] = "share of the text of {first} that is of relevant passages"

    def share(self, held: int, gold: int, query: MatchedQuery) -> float:
        """|G ∩ R| / Σ |r|; 0 where the results have no text at all."""
        del gold
        total = sum(map(_length, _items(query, self.limit(query))))
        return min(1.0, held / total) if total else 0.0


class PassageIoU(PassageRecall, frozen=True, kw_only=True):
    """What relevant passages and the first k results share, by all that they have together, in characters.

    What several results repeat counts once, also without offsets where one ends as the other begins. Undefined as
    passage_recall. Source: as passage_recall, IoU (the Jaccard index); its program counts repeats each time.
    """

    key: ClassVar[str] = "passage_iou"
    aliases: ClassVar[tuple[str, ...]] = ("iou",)
    formula: ClassVar[str] = "|G ∩ R| / (|G| + |R| − |G ∩ R|)"
    unit: ClassVar[Unit] = Unit.SCORE
    spread: ClassVar[float | None] = 0.1
    plain: ClassVar[str] = "how exactly {first} {are} the relevant passages, 1 = nothing missing and nothing beside"

    def share(self, held: int, gold: int, query: MatchedQuery) -> float:
        """|G ∩ R| / (|G| + |R| − |G ∩ R|)."""
        return held / (gold + _extent(query, self.limit(query)) - held)


def _relevant(query: MatchedQuery) -> dict[str, Span]:
    sample = query.sample
    return {name: span for name, span in sample.spans.items() if sample.gains.get(name, 0) > 0} if sample else {}


def _size(places: Iterable[tuple[str, Stretch]]) -> int:
    """The code points in any of these places of documents."""
    of_each: dict[str, list[Stretch]] = {}
    for document, stretch in places:
        of_each.setdefault(document, []).append(stretch)
    return sum(length_of(united(stretches)) for stretches in of_each.values())


def _items(query: MatchedQuery, limit: int) -> Sequence[Item]:
    return query.details.items[:limit] if query.details and query.details.items else ()


def _length(item: Item) -> int:
    if item.start is not None and item.end is not None:
        return item.end - item.start
    return len(item.text or "")


def _extent(query: MatchedQuery, limit: int) -> int:
    """The code points that the first results have together: of each those that no result above it has."""
    total = 0
    above: list[tuple[str, Item]] = []
    for document, item in zip(query.documents, _items(query, limit), strict=False):
        repeated = [_repeated(item, other) for name, other in above if name == document]
        total += _length(item) - length_of(united(filter(None, repeated)))
        above.append((document, item))
    return total


def _repeated(item: Item, other: Item) -> Stretch | None:
    """Which part of an item one of the same document has too: by the offsets of both, else by their texts."""
    if item.start is None or other.start is None:
        return next(iter(pieces_of(item.text or "", other.text or "")), None)
    start, end = max(item.start, other.start), min(item.end or 0, other.end or 0)
    return (start - item.start, end - item.start) if start < end else None
