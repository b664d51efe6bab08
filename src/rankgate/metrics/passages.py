"""How much of the gold's passages the results hold, and how much beside them, by characters: what a chunker changes.

Notation: G = the places of the relevant passages (spans), R = those of the first k results, in code points of their
documents. Where an item lies over a passage, as `match: span` has it too, the text decides, and offsets say where to
look.

An item without a text, or one whose passage has none, lies where its offsets say. Else the passage's text is searched
in the item's: the whole passage in the item, the item in the passage, or the end of one as the beginning of the other,
where a border of chunks cuts the passage; what they share is counted in code points of the passage. Texts are compared
as they are, then by their letters and digits alone, so that a table, code or HTML that a chunker wrote anew is still
the same; a first line that it put in front, such as a title, may be left out.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from rankgate.metrics.base import BaseMetric
from rankgate.metrics.texts import folded, stands_in, starts_of, unescaped
from rankgate.model.scores import MatchedQuery, Placed, Stretch, Unfit
from rankgate.model.values import TOLERANCE, Item, RunField, Span, Unit

LEAST = 12  # signs: what is shorter may stand in another text by chance, so it counts as whole words alone


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
        sample = query.sample
        spans = {name: span for name, span in sample.spans.items() if sample.gains.get(name, 0) > 0} if sample else {}
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


def placed(spans: Mapping[str, Span], items: Sequence[tuple[str | None, str, Item]]) -> Placed:
    """The items over the passages; each with the document that it names, None where it names none, and that of its id.

    A passage is unfit where an item shows another text at a place of it that no other item covers, or where nothing but
    its text, which the gold lacks, could tell.
    """
    covered: list[dict[str, Stretch]] = [{} for _ in items]
    unfit: dict[str, Unfit] = {}
    for name, span in spans.items():
        near: dict[int, tuple[Item, Stretch | None]] = {}
        for rank, (named, document, item) in enumerate(items):
            if named in (None, span.doc):
                near[rank] = item, _overlap(span, item) if document == span.doc else None
        stretches, doubt = _over(span, near)
        for rank, stretch in stretches.items():
            covered[rank][name] = stretch
        if doubt is not None:
            unfit[name] = doubt
    return Placed(covered, unfit)


def _over(span: Span, near: Mapping[int, tuple[Item, Stretch | None]]) -> tuple[dict[int, Stretch], Unfit | None]:
    """What items, with their overlap by offsets, cover of a passage, by rank; and what leaves that in doubt."""
    texts = {rank: each for rank, each in near.items() if each[0].text and span.text}
    covered = {rank: overlap for rank, (_, overlap) in near.items() if overlap and rank not in texts}
    stated = {rank: overlap for rank, (item, overlap) in texts.items() if item.start is not None}
    # A few signs tell a place only where no offsets do, or where these are of another version of the document.
    for short in (False, True):
        for rank, (item, overlap) in texts.items():
            if rank in covered or (short and not (rank in stated and _moved(covered, stated))):
                continue
            stretch = _by_text(span, item, overlap, [*covered.values()], short=short or item.start is None)
            if stretch:
                covered[rank] = stretch
    union = united(covered.values())
    if any(overlap and not _within(overlap, union) for rank, overlap in stated.items() if rank not in covered):
        return covered, Unfit.STALE
    untold = not span.text and any(item.text and item.start is None for item, _ in near.values())
    return covered, Unfit.NO_TEXT if untold else None


def _moved(covered: Mapping[int, Stretch], stated: Mapping[int, Stretch | None]) -> bool:
    """Whether any item has text of a passage at another place than its offsets state."""
    return any(rank in stated and stated[rank] != stretch for rank, stretch in covered.items())


def found_at(placed: Placed, spans: Mapping[str, Span], coverage: float) -> dict[str, list[int]]:
    """For each passage that is found the rank at which the items so far cover enough of it, then those of repeats."""
    ranks: dict[str, list[int]] = {}
    for name, span in spans.items():
        wanted = coverage * (span.end - span.start) - TOLERANCE
        union: list[Stretch] = []
        for rank, covered in enumerate(placed.covered, start=1):
            if name not in covered:
                continue
            union = united([*union, covered[name]])
            if length_of(union) >= wanted:
                ranks.setdefault(name, []).append(rank)
    return ranks


def united(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same places as stretches apart from each other, in order."""
    union: list[Stretch] = []
    for start, end in sorted(stretches):
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(end, union[-1][1])
        else:
            union.append((start, end))
    return union


def length_of(union: Iterable[Stretch]) -> int:
    """The code points of stretches that are apart from each other."""
    return sum(end - start for start, end in union)


def _within(stretch: Stretch, union: Sequence[Stretch]) -> bool:
    return any(start <= stretch[0] and stretch[1] <= end for start, end in union)


def _overlap(span: Span, item: Item) -> Stretch | None:
    """Where a passage and an item of its document meet by their offsets."""
    if item.start is None or item.end is None:
        return None
    start, end = max(span.start, item.start), min(span.end, item.end)
    return (start, end) if start < end else None


def _by_text(
    span: Span, item: Item, overlap: Stretch | None, union: Sequence[Stretch], *, short: bool
) -> Stretch | None:
    """What an item covers of a passage where both have a text; None where that is nothing, or the texts disagree.

    Of several places in the passage it is the first that is not within the `union` of what items above it cover.
    """
    quote, text = span.text or "", item.text or ""
    quotes_all = len(quote) == span.end - span.start  # else it quotes a part, and only offsets say how much an item has
    quote = quote if quotes_all else quote.rstrip("….") or quote
    part = quote  # what the item should have of it
    if overlap and quotes_all:
        part = quote[overlap[0] - span.start : overlap[1] - span.start]
    if overlap:
        shift = overlap[0] - (item.start or 0)
        if part.startswith(text[shift : shift + len(part)].rstrip("….")):  # as far as the run states the text
            return overlap
    stretches = [_in_document(span, piece, quote) for piece in _shared(quote, text, short=short)]
    if overlap and stretches and not quotes_all:
        return overlap
    if overlap and not stretches:
        enough = len(part) >= LEAST or overlap == (span.start, span.end)
        tells = enough if quotes_all else overlap[0] == span.start and overlap[1] >= span.start + len(quote)
        return None if tells and plain(part) not in plain(text) else overlap
    new = (each for each in stretches if not _within(each, united(union)))
    return next(new, stretches[0] if stretches else None)


def _in_document(span: Span, piece: Stretch, quote: str) -> Stretch:
    """The place of a piece of a quote; in proportion where the quote is not all that its span has."""
    length = span.end - span.start
    return span.start + piece[0] * length // len(quote), span.start + piece[1] * length // len(quote)


def _shared(quote: str, text: str, *, short: bool) -> list[Stretch]:
    """Which part of a quote an item's text has; several where the item stands at several places of the quote."""
    bodies = [text, *(text.partition(gap)[2] for gap in ("\n\n", "\n") if gap in text)]
    for body in bodies:
        if pieces := pieces_of(quote, body, short=short):
            return pieces
    letters = plain(quote)
    for body in bodies:
        if pieces := pieces_of(letters, plain(body)):
            return [_in_quote(piece, quote, letters) for piece in pieces]
    one_is_short = min(len(letters), len(plain(text))) < LEAST
    return [*_words_of(quote, text)] if short and one_is_short else []


def pieces_of(quote: str, body: str, *, short: bool = False) -> list[Stretch]:
    """The parts of a quote that a body has where both can be from one text, sign by sign, as places in the quote.

    A part shorter than `LEAST` counts only with `short`, where a border cuts the quote, and it stands once in either.
    """
    long = min(len(quote), len(body)) >= LEAST
    if not (long or short) or not quote or not body:
        return []
    if quote in body:
        return [(0, len(quote))] * long
    if body in quote:
        return [(at, at + len(body)) for at in range(len(quote) * long) if quote.startswith(body, at)]
    head, tail = _border(body, quote), _border(quote, body)
    if head < LEAST and not (short and head and _is_sign(quote[:head], body[-head - 1] + quote[0], quote, body)):
        head = 0
    if tail < LEAST and not (short and tail and _is_sign(quote[-tail:], quote[-1] + body[tail], quote, body)):
        tail = 0
    if not head and not tail:
        return []
    return [(0, head) if head >= tail else (len(quote) - tail, len(quote))]


def _is_sign(part: str, outer: str, *texts: str) -> bool:
    """Whether so short a part tells one place: no word goes on over its `outer` border, and no text has it twice."""
    return not re.match("[0-9A-Za-z]{2}", outer) and all(text.count(part) == 1 for text in texts)


def _border(first: str, second: str) -> int:
    """The length of the longest end of one text that is the beginning of the other; neither is a part of the other."""
    longest = min(len(first), len(second)) - 1
    at = first.find(second[:LEAST], len(first) - longest)
    while at >= 0:
        if second.startswith(first[at:]):
            return len(first) - at
        at = first.find(second[:LEAST], at + 1)
    short = range(min(LEAST - 1, longest), 0, -1)
    return next((length for length in short if first.endswith(second[:length])), 0)


def _words_of(quote: str, text: str) -> Iterator[Stretch]:
    """The parts of a quote that a text has where one of them is short: folded, and not within a longer word."""
    words, body = folded(quote), folded(text)
    if words and stands_in(words, body):
        yield 0, len(quote)
        return
    for at in starts_of(body, words):
        start = at * len(quote) // len(words)
        end = (at + len(body)) * len(quote) // len(words)
        if start < end:
            yield start, end


def _in_quote(piece: Stretch, quote: str, letters: str) -> Stretch:
    """The place in a quote of a piece of its letters and digits, with the signs between them."""
    begins = [at for at, sign in enumerate(quote) for _ in sign.translate(_PLAIN)]
    if len(begins) != len(letters):  # it was escaped
        return piece[0] * len(quote) // len(letters), piece[1] * len(quote) // len(letters)
    start = begins[piece[0]] if piece[0] else 0
    return start, begins[piece[1] - 1] + 1 if piece[1] < len(begins) else len(quote)


class _Plain(dict[int, str]):
    """What letters and digits are without case, accents and width, sign by sign, worked out once each."""

    def __missing__(self, code: int) -> str:
        signs = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", chr(code)).casefold())
        self[code] = "".join([sign for sign in signs if sign.isalnum()])
        return self[code]


_PLAIN = _Plain()


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """The letters and digits of a text, of JSON's and HTML's escapes too, without case, accents and width."""
    if "\\" in text or "&" in text:
        text = html.unescape(unescaped(text))
    return text.translate(_PLAIN)


def in_doubt(query: MatchedQuery) -> Unfit | None:
    """Why nobody can say of a relevant passage how much of it any list of the query has; None where that is known."""
    gains = query.sample.gains if query.sample else {}
    for each in (query, query.raw, *query.rewrites):
        passages = each.placed.unfit if each and each.placed else {}
        doubts = (doubt for name, doubt in passages.items() if gains.get(name, 0) > 0)
        doubt = each.unfit if each and each.unfit else next(doubts, None)
        if doubt:
            return doubt
    return None
