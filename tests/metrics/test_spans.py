"""Spans: what items cover of a passage, alone and together, against sets of code points; and metrics of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.metrics.matching import By, Matching, match
from rankgate.metrics.names import parse_metric
from rankgate.metrics.texts import _flat, folded, places
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Item, Ranking, RunField, Sample, Span

Placed = tuple[str, int, int]
SPAN = Matching(by=By.SPAN)


def matched(
    spans: Sequence[tuple[Span, float]], items: Sequence[Item], how: Matching = SPAN, ids: Sequence[str] = ()
) -> MatchedQuery:
    sample = Sample(
        query_id="q", gains={span.id: gain for span, gain in spans}, spans={span.id: span for span, _ in spans}
    )
    ids = ids or [f"c{rank}" for rank in range(1, len(items) + 1)]
    return match(sample, Ranking("q", [*ids], 0, Details(items=items)), how=how, needs=frozenset(RunField))


def at(*places: Placed) -> list[Item]:
    return [Item(doc_id=doc, start=start, end=end) for doc, start, end in places]


def value(query: MatchedQuery, name: str) -> float | None:
    return parse_metric(name).per_query(query)


A, B = Span("d", 100, 200, "Refunds are paid within 30 days."), Span("d", 220, 240, "Ask the support desk")


@each_row(
    ("items", "hits", "repeats"),
    [
        pytest.param(at(("d", 0, 150)), [(1, A.id)], [], id="just half"),
        pytest.param(at(("d", 0, 149)), [], [], id="one code point less"),
        pytest.param(at(("e", 0, 300)), [], [], id="another document"),
        pytest.param(at(("d", 0, 100), ("d", 200, 220)), [], [], id="beside it: the end is exclusive"),
        pytest.param(at(("d", 90, 130), ("e", 0, 9), ("d", 170, 205)), [(3, A.id)], [], id="two together"),
        pytest.param(at(("d", 90, 130), ("d", 100, 130), ("d", 110, 130)), [], [], id="overlap counts once"),
        pytest.param(at(("d", 100, 200), ("d", 199, 210)), [(1, A.id)], [2], id="a later one is a repeat"),
        pytest.param(at(("d", 0, 400)), [(1, B.id), (1, A.id)], [], id="both in one item, the higher gain first"),
        pytest.param([Item(start=0, end=400)], [], [], id="the document is that of the id c1"),
        pytest.param([Item(text="Our refunds  are paid within 30 days. Bye")], [(1, A.id)], [], id="text holds it"),
        pytest.param(
            [Item(text="not\u00adhing; refunds are PAID within")], [(1, A.id)], [], id="its end begins the passage"
        ),
        pytest.param([Item(text="30 days. Bye")], [], [], id="its beginning ends the passage: a quarter"),
        pytest.param([Item(text="Refunds are paid in 30 days.")], [], [], id="other words between"),
        pytest.param([Item(text="Refunds are paid"), Item(text="within 30 days")], [(1, A.id)], [2], id="parts"),
        pytest.param(
            [Item(text="Refunds are paid within 30 days, says …")], [(1, A.id)], [], id="but its last full stop"
        ),
        pytest.param([Item(text="ays")], [], [], id="no part of a word"),
        pytest.param([Item(doc_id="e", text="Refunds are paid within 30 days.")], [], [], id="text of another one"),
        pytest.param([Item()], [], [], id="neither offsets nor text"),
    ],
)
def test_what_covers_a_passage(items: list[Item], hits: list[tuple[int, str]], repeats: list[int]) -> None:
    query = matched([(A, 1), (B, 2)], items)
    assert [(rank, doc) for (rank, _), doc in zip(query.hits, query.found, strict=True)] == hits
    assert [rank for rank, _ in query.repeats] == repeats
    assert query.judged == tuple(sorted({*repeats, *(rank for rank, _ in hits)}))


@pytest.mark.parametrize(
    ("item_id", "doc_id", "separator", "found"),
    [
        ("other#1", None, "#", False),
        ("d#1", None, "#", True),
        ("other#1", "d", "#", True),
        ("d#1", "other", "#", False),
        ("other#1", "", "#", False),
        ("d", "other", "#", False),
        ("9f1c6a30-2d4e", None, "#", True),  # names no document
        ("#1", None, "#", True),
        ("other::1", None, "::", False),
        ("::1", None, "::", True),
        ("other#1", None, "::", True),
    ],
)
def test_a_text_counts_for_the_document_that_the_item_names(
    item_id: str, doc_id: str | None, separator: str, *, found: bool
) -> None:
    items = [Item(doc_id=doc_id, text="Old rules: refunds are paid within 30 days.")]
    query = matched([(A, 1)], items, Matching(by=By.SPAN, separator=separator), [item_id])
    assert query.found == ((A.id,) if found else ())


@pytest.mark.parametrize(
    ("passage", "items", "covered"),
    [
        ("startart art", ["art"], {*range(9, 12)}),  # not within a word
        ("art, party, art", ["art"], {*range(3)}),
        ("art, party, art", ["art", "art"], {*range(3), *range(12, 15)}),  # the second one goes to what is left
        ("art, party, art", ["art"] * 3, {*range(3), *range(12, 15)}),
        ("art, party, art", ["art,", "art"], {*range(4), *range(12, 15)}),  # what another one covers already
        ("a a a", ["a a", "a a"], {*range(5)}),  # places that overlap
        ("日本日本", ["日本", "日本"], {*range(4)}),
        ("1.5 and 5", ["5"], {8}),
    ],
)
def test_an_excerpt_stands_at_whole_words_that_nothing_covers_yet(
    passage: str, items: list[str], covered: set[int]
) -> None:
    """Just what is expected suffices, and one code point more does not."""
    span = Span("d", 0, len(passage), passage)
    texts = [Item(text=text) for text in items]
    for share, found in ((len(covered) / len(passage), True), ((len(covered) + 1) / len(passage), False)):
        assert bool(matched([(span, 1)], texts, Matching(by=By.SPAN, coverage=share)).hits) is found
    # Where it lies: with the rest of the passage stated by offsets, the whole is covered.
    rest = [*texts, *at(*(("d", point, point + 1) for point in {*range(len(passage))} - covered))]
    assert matched([(span, 1)], rest, Matching(by=By.SPAN, coverage=1.0)).hits


def test_several_passages_in_one_item() -> None:
    """By hand: A (gain 1) and B (gain 2) at rank 2, C (gain 1) at rank 3; four are relevant."""
    spans = [(A, 1.0), (B, 2.0), (Span("e", 0, 10), 1.0), (Span("f", 0, 10), 1.0)]
    query = matched(spans, at(("x", 0, 9), ("d", 0, 400), ("e", 0, 10)))
    assert value(query, "recall@2") == 0.5
    assert value(query, "recall@3") == 0.75
    assert value(query, "mrr") == 0.5
    assert value(query, "precision@4") == 0.5  # two of four items
    assert value(query, "map") == pytest.approx((1 / 2 + 1 / 2 + 2 / 3) / 4)
    discounted = 2 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)  # B, A, C at 2, 3, 4
    ideal = 2 + 1 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)
    assert value(query, "ndcg@5") == pytest.approx(discounted / ideal)
    assert value(matched([(A, 1), (B, 2)], at(("d", 0, 400))), "ndcg@5") == 1


DOCS = st.sampled_from(["d", "e"])
INTERVALS = st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda pair: (pair[0], sum(pair)))
PLACES = st.lists(st.tuples(DOCS, INTERVALS).map(lambda each: (each[0], *each[1])), max_size=8)
SHARES = st.sampled_from([0.01, 0.25, 1 / 3, 0.5, 0.9, 1.0])


def slowly(span: Span, items: Sequence[Placed], coverage: float) -> list[int]:
    """The ranks of the hit and of repeats, by sets of code points."""
    wanted, covered, ranks = {*range(span.start, span.end)}, set[int](), list[int]()
    for rank, (doc, start, end) in enumerate(items, 1):
        new = wanted & {*range(start, end)} if doc == span.doc else set()
        covered |= new
        if new and len(covered) / len(wanted) >= coverage - 1e-12:
            ranks.append(rank)
    return ranks


@pytest.mark.full
@given(PLACES, PLACES, SHARES)
def test_coverage_is_that_of_sets(gold: list[Placed], items: list[Placed], coverage: float) -> None:
    spans = [(Span(*each), float(1 + number % 3)) for number, each in enumerate(dict.fromkeys(gold))]
    query = matched(spans, at(*items), Matching(by=By.SPAN, coverage=coverage))
    expected = {span.id: ranks for span, _ in spans if (ranks := slowly(span, items, coverage))}
    assert dict(zip(query.found, (rank for rank, _ in query.hits), strict=True)) == {
        name: ranks[0] for name, ranks in expected.items()
    }
    assert sorted(rank for rank, _ in query.repeats) == sorted(
        rank for ranks in expected.values() for rank in ranks[1:]
    )
    for name in (
        "recall@5",
        "precision@3",
        "ndcg@3",
        "map",
        "mrr",
        "f@5",
        "weighted_recall@3",
        "capped_recall@2",
        "rbp",
        "rprec",
        "bpref",
        "err@3",
        "recall_auc",
        "ap(of=retrieved)@3",
        "precision(judged_only=true)@3",
        "ndcg(gain=exponential)",
    ):
        found = value(query, name)
        assert found is None if not spans else 0 <= (found or 0) <= 1 + 1e-12
    again = matched(spans[::-1], at(*items), Matching(by=By.SPAN, coverage=coverage))
    assert (again.hits, again.found, sorted(again.repeats)) == (query.hits, query.found, sorted(query.repeats))


@each_row(
    ("words", "text", "found"),
    [
        pytest.param(
            "30 days", "in 30\n days, not 130 days or 30 daysx; 30 DAYS", ["30\n days", "30 DAYS"], id="words"
        ),
        pytest.param("a “b” – c", "A 'b' - c, a \"b\" - c", ['a "b" - c'], id="quotes and dashes of a kind"),
        pytest.param("日本", "東日本と日本", ["日本", "日本"], id="no blanks in this script"),
        pytest.param(" \n", "a b", [], id="nothing to look for"),
        pytest.param("cafe\u0301 au", "Caf\xe9 au lait", ["Caf\xe9 au"], id="composed in the text"),
        pytest.param("caf\xe9 au", "x cafe\u0301 au, caf\xe9 au", ["cafe\u0301 au", "caf\xe9 au"], id="both ways"),
        pytest.param("30 DAYS", "\uff13\uff10\u3000days\u200b.", ["\uff13\uff10\u3000days"], id="full width"),
        pytest.param("\u30ac", "\uff76\uff9e\uff76", ["\uff76\uff9e"], id="a half-width sign and its mark"),
        pytest.param("\uac01", "\u1100\u1161\u11a8", ["\u1100\u1161\u11a8"], id="a syllable in parts"),
        pytest.param("refund", "re\xadfund re\u200bfunds", ["re\xadfund"], id="marks without width"),
        pytest.param("end.", "the end\u2026", [], id="a part of a sign is none"),
        pytest.param("c++ (new)", "see C++ (New)!", ["C++ (New)"], id="signs of patterns"),
    ],
)
def test_places_of_a_quote(words: str, text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in places(words, text)] == found


@given(st.text(min_size=1), st.integers(0, 50), st.integers(1, 50))
def test_a_part_of_a_text_is_found_where_it_was_cut(text: str, start: int, length: int) -> None:
    part = text[start : start + length]
    inner = (start + len(part) - len(part.lstrip()), start + len(part.rstrip()))
    assert not part.strip() or inner in [*places(part, text, borders=False)] or part.strip() in text[: inner[1] - 1]


@given(
    st.text(
        st.sampled_from("ae\u0301\u0323\uff76\uff9e\u1100\u1161\u11a8\xad\u2026\ufb01\u2019 \xbd\u09c7\u09be")
        | st.characters()
    )
)
def test_texts_are_found_as_they_are_normalized(text: str) -> None:
    flat, begins = _flat(text)
    assert " ".join(normalize("NFKC", flat.casefold()).replace("i\u0307", "i").split()) == folded(text)
    assert [*begins] == sorted(begins)
    assert begins[-1] == len(text) == begins[len(flat)]
