"""Metrics of the retrieved items: their texts, documents and versions, and how far the gold can judge them at all."""

from __future__ import annotations

from typing import ClassVar

from rankgate.metrics.base import BaseMetric, Kind
from rankgate.metrics.texts import primary, share_of_words, stands_in
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Direction, Item, RunField, Unit


class ItemMetric(BaseMetric, frozen=True, kw_only=True):
    """A metric that looks at the items themselves, so that an empty list leaves it undefined."""

    kind: ClassVar[Kind] = Kind.CONTENT

    def items(self, query: MatchedQuery) -> list[Item]:
        """The first k items, by rank."""
        items = query.details.items if query.details and query.details.items else ()
        return list(items[: self.limit(query)])

    def absent(self, query: MatchedQuery) -> float | None:
        """The worst, although an empty list is undefined: a query that was not answered at all has nothing good."""
        del query
        return self.worst


class Containment(ItemMetric, frozen=True, kw_only=True):
    """Whether the answer stands in a text of the first k, whatever the ids.

    Of several answers, any is right. Case, white space, quotes, dashes and equivalent Unicode forms (NFKC) are folded.
    So are digits of all scripts, points and similar letters of Arabic and Hebrew, and accents of Greek, not of Latin.
    No part of a longer word or number counts, where the script has such borders: "30" is not in "30.5". Undefined where
    the gold names no answer. Source: the top-k accuracy of DPR (Karpukhin et al. 2020).
    """

    key: ClassVar[str] = "containment"
    aliases: ClassVar[tuple[str, ...]] = ("answer_containment",)
    formula: ClassVar[str] = "1 if an answer occurs in a text of R_k, else 0"
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.TEXTS})
    gold_keys: ClassVar[tuple[str, ...]] = ("metadata.answer",)
    plain: ClassVar[str] = "share of questions whose answer stands {in_first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None where the gold names no answer."""
        if query.sample is None or not query.sample.answers:
            return None
        answers = [primary(answer) for answer in query.sample.answers]
        texts = [primary(item.text) for item in self.items(query) if item.text]
        return float(any(stands_in(answer, text) for text in texts for answer in answers))

    def absent(self, query: MatchedQuery) -> float | None:
        """0, or None where the gold names no answer."""
        return self.per_query(query)


class DistinctDocs(ItemMetric, frozen=True, kw_only=True):
    """How many different documents the first k items come from: `doc_id`, else the item's id up to `#`.

    Undefined for an empty list.
    """

    key: ClassVar[str] = "distinct_docs"
    formula: ClassVar[str] = "number of different doc_id in R_k"
    unit: ClassVar[Unit] = Unit.NUMBER
    high: ClassVar[float | None] = None
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.DOCS})
    plain: ClassVar[str] = "number of different documents {in_first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """The number; None for an empty list."""
        return float(len(set(query.documents[: self.limit(query)]))) or None


class Redundancy(DistinctDocs, frozen=True, kw_only=True):
    """Share of the first k items that come from a document which stands there already.

    Undefined for an empty list.
    """

    key: ClassVar[str] = "redundancy"
    formula: ClassVar[str] = "1 − distinct_docs@k / |R_k|"
    direction: ClassVar[Direction] = Direction.LOWER
    unit: ClassVar[Unit] = Unit.SHARE
    high: ClassVar[float | None] = 1.0
    worst: ClassVar[float | None] = 1.0
    plain: ClassVar[str] = "share of {first} that repeat{s} a document"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1 − distinct / shown; None for an empty list."""
        documents = query.documents[: self.limit(query)]
        return 1 - len(set(documents)) / len(documents) if documents else None


class Novelty(ItemMetric, frozen=True, kw_only=True):
    """Share of the first k items whose text says something new: it overlaps little with each text above it.

    The overlap is the share of its distinct words that the other text has too. Words are runs of letters and digits,
    case folded. Items without a text are left out. Undefined for an empty list, missing where no item has a text.

    Attributes:
        threshold: a text is new if its overlap with every text above it is below this.
    """

    threshold: float = 0.8

    key: ClassVar[str] = "novelty"
    formula: ClassVar[str] = "share of R_k whose word overlap with every higher text is below the threshold"
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.TEXTS})
    plain: ClassVar[str] = "share of {first} that say{s} something new"

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold must lie above 0 and at most at 1, not {self.threshold:g}")

    def per_query(self, query: MatchedQuery) -> float | None:
        """New texts by texts; None without any."""
        texts = [item.text for item in self.items(query) if item.text]
        new = sum(
            all(share_of_words(text, above) < self.threshold for above in texts[:position])
            for position, text in enumerate(texts)
        )
        return new / len(texts) if texts else None

    def stated(self, details: Details) -> bool:
        """Whether any item has a text; an empty list lacks none."""
        return not details.items or any(item.text for item in details.items)


class Freshness(ItemMetric, frozen=True, kw_only=True):
    """Share of the first k items whose `doc_version` is not later than the day for which the question asks (`as_of`).

    Both compare as days; an item without a version is not fresh. Undefined without `as_of`, and for an empty list.
    """

    key: ClassVar[str] = "freshness"
    formula: ClassVar[str] = "share of R_k with doc_version ≤ as_of"
    kind: ClassVar[Kind] = Kind.STATED
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.VERSIONS})
    gold_keys: ClassVar[tuple[str, ...]] = ("metadata.as_of",)
    plain: ClassVar[str] = "share of {first} that {were} valid on the day asked about"

    def per_query(self, query: MatchedQuery) -> float | None:
        """Fresh by shown; None without `as_of` and for an empty list."""
        day = query.sample.as_of if query.sample else None
        length = min(self.limit(query), query.retrieved)
        if day is None or not length:
            return None
        return sum(item.version is not None and item.version <= day for item in self.items(query)) / length

    def absent(self, query: MatchedQuery) -> float | None:
        """0, or None where the sample states no `as_of`."""
        return self.worst if query.sample and query.sample.as_of else None


class Judged(ItemMetric, frozen=True, kw_only=True):
    """Share of the first k results that the gold judges at all, gains of 0 and hard negatives included.

    Where it is low, the other metrics rest on few judgments. Undefined for an empty list. Source: ir_measures,
    Judged@k.
    """

    key: ClassVar[str] = "judged"
    formula: ClassVar[str] = "|R_k ∩ judged| / |R_k|"
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.JUDGED})
    plain: ClassVar[str] = "share of {first} that the gold set judges at all"

    def per_query(self, query: MatchedQuery) -> float | None:
        """Judged by shown; None for an empty list."""
        limit = self.limit(query)
        length = min(limit, query.retrieved)
        return sum(rank <= limit for rank in query.judged) / length if length else None


class Holes(Judged, frozen=True, kw_only=True):
    """Share of the first k results that the gold does not judge.

    Undefined for an empty list. Source: BEIR (Thakur et al. 2021), Hole@k, which divides by k.
    """

    key: ClassVar[str] = "holes"
    aliases: ClassVar[tuple[str, ...]] = ("hole",)
    formula: ClassVar[str] = "1 − judged@k"
    direction: ClassVar[Direction] = Direction.LOWER
    worst: ClassVar[float | None] = 1.0
    plain: ClassVar[str] = "share of {first} that the gold set does not judge"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1 − judged; None for an empty list."""
        judged = super().per_query(query)
        return None if judged is None else 1 - judged


class NegativesAbove(BaseMetric, frozen=True, kw_only=True):
    """Whether one of the sample's hard negatives (`negatives`) outranks the first relevant document.

    1 also where no relevant document is among the first k. Undefined without a negative or a relevant document.
    """

    key: ClassVar[str] = "negatives_above"
    formula: ClassVar[str] = "1 if a negative in R_k stands above the first relevant document, else 0"
    direction: ClassVar[Direction] = Direction.LOWER
    kind: ClassVar[Kind] = Kind.CONTENT
    worst: ClassVar[float | None] = 1.0
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.NEGATIVES})
    plain: ClassVar[str] = "share of questions with a known wrong document above the right ones {in_first}"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None without negatives or without relevant documents."""
        if query.sample is None or not query.sample.negatives or not query.ideal:
            return None
        first = query.hits[0][0] if query.hits else query.retrieved + 1
        return float(any(rank <= self.limit(query) and rank < first for rank in query.negatives))
