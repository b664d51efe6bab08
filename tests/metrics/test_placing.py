"""Where items lie over passages, by texts and by offsets: documents that change, chunkers that rewrite, and metrics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics import oracle
from tests.metrics.test_spans import SPAN, matched, value
from tests.rows import each_row

from rankgate.metrics.gaps import gaps
from rankgate.metrics.matching import By, Matching
from rankgate.metrics.names import parse_metric
from rankgate.metrics.passages import placed, plain
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.scores import Unfit
from rankgate.model.values import Details, Gold, Item, Ranking, Sample, Span

P = "Refunds for the yearly plan take thirty days, if the card is still valid."
BEFORE, AFTER = "Our terms, in short. ", " Other questions go to the desk."
DOC = BEFORE + P + AFTER
AT = len(BEFORE)
ALL, HALF = (AT, AT + len(P)), AT + 40  # "…take thirty" is cut after "thi"
SPAN_P = Span("d", *ALL, P)


def over(span: Span, *items: Item) -> tuple[list[tuple[int, int] | None], Unfit | None]:
    """What each item covers of a passage, and whether that is in doubt."""
    result = placed({span.id: span}, [("d", "d", item) for item in items])
    return [covered.get(span.id) for covered in result.covered], result.unfit.get(span.id)


def cut(start: int, end: int, text: str = DOC, *, offsets: bool = False) -> Item:
    """A chunk of a document, with its text."""
    return Item(text=text[start:end], start=start if offsets else None, end=end if offsets else None)


TABLE = "| plan | days |\n|:--|--:|\n| yearly | 30 |\n| monthly | 14 |\n"
CODE = "def refund(plan):\n    if plan.yearly:\n        return 30  # days\n    return 14\n"


@each_row(
    ("items", "covered"),
    [
        pytest.param([cut(0, HALF), cut(HALF, 200)], [(AT, HALF), (HALF, ALL[1])], id="a border cuts it within a word"),
        pytest.param([cut(0, AT + 19), cut(AT + 20, 200)], [(AT, AT + 19), (AT + 20, ALL[1])], id="at a blank"),
        pytest.param([cut(0, AT + 7)], [(AT, AT + 7)], id="one short word of it"),
        pytest.param([cut(AT + 3, AT + 60)], [(AT + 3, AT + 60)], id="within it"),
        pytest.param([cut(0, HALF + 9), cut(HALF - 9, 200)], [(AT, HALF + 9), (HALF - 9, ALL[1])], id="chunks overlap"),
        pytest.param([cut(0, AT)], [None], id="beside it"),
        pytest.param([Item(text="Ask for refunds")], [None], id="its first word, in lower case"),
        pytest.param([Item(text="if the card is still valid")], [(AT + 46, ALL[1] - 1)], id="but its full stop"),
        pytest.param([Item(text="Terms\n" + DOC[HALF:])], [(HALF, ALL[1])], id="a title in front"),
        pytest.param([Item(text="Terms\n\n" + DOC[AT + 5 : HALF])], [(AT + 5, HALF)], id="a title, and within it"),
        pytest.param([Item(text=DOC.upper().replace(" ", "\n"))], [ALL], id="blanks and case"),
        pytest.param([Item(text=f"<p>{escape(BEFORE)}<b>{P.replace(' ', '&nbsp;')}</b>")], [ALL], id="HTML's entities"),
        pytest.param([Item(text=json.dumps(DOC)[1:-1].replace(" ", "\\n"))], [ALL], id="escaped in JSON"),
        pytest.param([Item(text=P.replace("thirty", "forty"))], [None], id="another word within"),
        pytest.param([Item()], [None], id="nothing to look at"),
    ],
)
def test_by_text(items: Sequence[Item], covered: Sequence[tuple[int, int] | None]) -> None:
    assert over(SPAN_P, *items) == ([*covered], None)


NEW = "A new paragraph stands here. "


@each_row(
    ("text", "start", "end", "covered", "unfit"),
    [
        pytest.param(DOC, 0, HALF, (AT, HALF), None, id="unchanged"),
        pytest.param(NEW + DOC, 0, len(NEW) + HALF, (AT, HALF), None, id="more in front, cut"),
        pytest.param(NEW + DOC, 0, 200, ALL, None, id="more in front, whole"),
        pytest.param(NEW * 9 + DOC, 240, 400, ALL, None, id="far away by now"),
        pytest.param(NEW * 9 + DOC, 0, 200, None, Unfit.STALE, id="another text where it stood"),
        pytest.param(BEFORE[4:] + DOC[AT:], 0, 200, ALL, None, id="less in front"),
        pytest.param(DOC + NEW, 0, 300, ALL, None, id="more behind it"),
        pytest.param(DOC.replace("thirty", "forty"), 0, 200, None, Unfit.STALE, id="another word within"),
        pytest.param(DOC.replace("thirty", "forty"), 0, AT + 30, (AT, AT + 30), None, id="not in the part retrieved"),
        pytest.param(DOC.replace("thirty", "forty"), AT + 70, 200, (AT + 70, ALL[1]), None, id="too little to tell"),
        pytest.param("Terms: " + DOC, 0, 200, ALL, None, id="a title that its offsets do not count"),
        pytest.param(DOC.upper(), HALF, 200, (HALF, ALL[1]), None, id="another case"),
        pytest.param("ä" * (AT // 2) + DOC[AT:], 0, 200, ALL, None, id="offsets that count bytes"),
    ],
)
def test_by_both(text: str, start: int, end: int, covered: tuple[int, int] | None, unfit: Unfit | None) -> None:
    assert over(SPAN_P, Item(text=text[start:end], start=start, end=end)) == ([covered], unfit)


@pytest.mark.parametrize(
    ("passage", "text"),
    [
        pytest.param(TABLE, "plan days yearly 30 monthly 14", id="a table as text"),
        pytest.param(CODE, CODE.replace("    ", "\t").replace("\n", "\r\n"), id="code, other blanks"),
        pytest.param("**Refunds** take _30 days_ & a form", "Refunds take 30 days &amp; a form", id="Markdown"),
    ],
)
def test_written_anew(passage: str, text: str) -> None:
    span = Span("d", 5, 5 + len(passage), passage)
    for item in (Item(text=text), Item(text=text, start=0, end=300), Item(text=f"Plans\n{text}", start=0, end=300)):
        assert over(span, item) == ([(5, 5 + len(passage))], None)


@pytest.mark.parametrize("length", [5, AT, AT + 30], ids=["in front", "just in front", "within"])
def test_a_text_that_the_run_cuts_short(length: int) -> None:
    assert over(SPAN_P, Item(text=DOC[:length] + "…", start=0, end=len(DOC))) == ([ALL], None)


@pytest.mark.parametrize(
    ("start", "end", "text", "covered", "unfit"),
    [
        pytest.param(0, 200, DOC, ALL, None, id="whole"),
        pytest.param(0, HALF, DOC, (AT, HALF), None, id="cut behind the quote"),
        pytest.param(HALF, 200, DOC, (HALF, ALL[1]), None, id="of what it does not quote"),
        pytest.param(0, 200, DOC.replace("Refunds", "Credits"), None, Unfit.STALE, id="changed"),
        pytest.param(None, None, DOC, ALL, None, id="by text alone: it stands for all"),
    ],
)
def test_a_quote_of_the_beginning(
    start: int | None, end: int | None, text: str, covered: tuple[int, int] | None, unfit: Unfit | None
) -> None:
    span = Span("d", *ALL, "Refunds for the yearly…")
    assert over(span, Item(text=text[start:end], start=start, end=end)) == ([covered], unfit)


def test_a_passage_that_stands_twice() -> None:
    """Its copy is as good by text; where offsets alone are stated, its own place counts."""
    copy = DOC + NEW + P
    away = len(DOC + NEW)
    assert over(SPAN_P, cut(away, 300, copy), cut(away, 300, copy, offsets=True))[0] == [ALL, ALL]
    assert over(SPAN_P, Item(start=away, end=300))[0] == [None]


def test_one_side_without_offsets_and_both_and_neither() -> None:
    place, text = Item(start=0, end=HALF), cut(0, HALF)
    untold = Span("d", *ALL)
    assert over(SPAN_P, place, text) == ([(AT, HALF)] * 2, None)
    assert over(untold, place, text) == ([(AT, HALF), None], Unfit.NO_TEXT)
    assert over(untold, Item()) == ([None], None)


def test_a_doubt_that_another_item_ends() -> None:
    changed = DOC.replace("thirty", "forty")
    right = cut(0, 200, offsets=True)
    assert over(SPAN_P, Item(text=changed, start=0, end=len(changed)), right) == ([None, ALL], None)


def test_a_doubtful_query_has_no_value() -> None:
    """Neither a loss nor a hit: also where another passage of it is found; by characters where any part is in doubt."""
    other = Span("e", 0, 10)
    stale = Item(doc_id="d", text=NEW * 9, start=0, end=len(NEW * 9))
    query = matched([(SPAN_P, 1), (other, 1)], [stale, Item(doc_id="e", start=0, end=10)])
    assert query.unfit is Unfit.STALE
    assert {value(query, name) for name in ("recall@5", "mrr", "ndcg@5", "passage_recall@5", "passage_iou@5")} == {None}
    irrelevant = matched([(SPAN_P, 0), (other, 1)], [stale, Item(doc_id="e", start=0, end=10)])
    assert (irrelevant.unfit, value(irrelevant, "recall@5")) == (None, 1)


STALE_ITEM = Item(doc_id="d", text=NEW * 9, start=0, end=len(NEW * 9))
RIGHT_ITEM = Item(doc_id="d", text=DOC, start=0, end=len(DOC))


@pytest.mark.parametrize(
    ("final", "raw", "missing"),
    [
        pytest.param(RIGHT_ITEM, RIGHT_ITEM, [], id="known in both lists"),
        pytest.param(
            STALE_ITEM,
            RIGHT_ITEM,
            ["recall@5", "passage_recall@5", "rerank_gain(recall@5)"],
            id="in doubt, final",
        ),
        pytest.param(
            RIGHT_ITEM, STALE_ITEM, ["recall(stage=raw)@5", "rerank_gain(recall@5)"], id="in doubt before reranking"
        ),
    ],
)
def test_what_is_in_doubt_is_missing_and_not_undefined(final: Item, raw: Item, missing: list[str]) -> None:
    names = ["recall@5", "recall(stage=raw)@5", "passage_recall@5", "rerank_gain(recall@5)", "entity_f1", "latency"]
    sample = Sample(query_id="q", gains={SPAN_P.id: 1.0}, spans={SPAN_P.id: SPAN_P})
    details = Details(items=[final], raw=Ranking("q", ["c"], details=Details(items=[raw])), latency_ms={"total": 1.0})
    plan = Plan(metrics=[parse_metric(name) for name in names], how=Matching(by=By.SPAN))
    scores = score(Gold(samples={"q": sample}, name="g", format="json"), [Ranking("q", ["c"], details=details)], plan)
    assert [metric.name for metric in plan.metrics if gaps(metric, scores, None).missing] == missing
    assert bool(scores.unfit) is bool(missing)


def test_by_hand() -> None:
    """G is d:100-200 and d:180-220, together 120 characters; the first item has 50 of them, the first two have all."""
    gold = [(Span("d", 100, 200), 1.0), (Span("d", 180, 220), 2.0)]
    items = [
        Item(doc_id="d", start=50, end=150),
        Item(doc_id="d", start=140, end=240),
        Item(doc_id="e", start=0, end=50),
    ]
    query = matched(gold, items)
    assert value(query, "passage_recall@1") == 50 / 120
    assert value(query, "passage_recall@3") == 1
    assert value(query, "passage_precision@1") == 50 / 100
    assert value(query, "passage_precision@3") == 120 / 250  # what both have, 140 to 150, is paid for twice
    assert value(query, "passage_iou@1") == 50 / (120 + 100 - 50)
    assert value(query, "passage_iou@3") == 120 / (190 + 50)  # d:50-240 and e:0-50 hold all
    nothing = matched(gold, [])
    for name in NAMES:
        metric = parse_metric(f"passage_{name}@5")
        assert (metric.per_query(nothing), metric.absent(nothing), metric.absent(matched([], []))) == (0, 0, None)
    assert value(matched([(Span("d", 0, 9), 0.0)], items), "passage_recall@5") is None


SIGNS = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))  # each stands once
DOCS = {"d": SIGNS[:200], "e": SIGNS[200:]}
NAMES = ("recall", "precision", "iou")
PLACES = st.tuples(st.sampled_from(["d", "e"]), st.integers(0, 180), st.integers(1, 60))
GOLD = st.dictionaries(PLACES, st.sampled_from([-1.0, 0.0, 1.0, 2.0]), max_size=4)


@given(GOLD, st.lists(PLACES, max_size=7), st.integers(1, 8))
def test_passages_agree_with_sets_of_characters(
    gold: dict[tuple[str, int, int], float], items: list[tuple[str, int, int]], k: int
) -> None:
    spans = {Span(doc, at, at + length): gain for (doc, at, length), gain in gold.items()}
    places = [(doc, at, at + length) for doc, at, length in items]
    query = matched([*spans.items()], [Item(doc_id=doc, start=start, end=end) for doc, start, end in places])
    relevant = [(span.doc, span.start, span.end) for span, gain in spans.items() if gain > 0]
    for name in NAMES:
        expected = getattr(oracle, f"passage_{name}")(relevant, places[:k])
        assert value(query, f"passage_{name}@{k}") == (None if expected is None else pytest.approx(expected, abs=1e-12))


@pytest.mark.full
@given(
    GOLD,
    st.integers(40, 70),
    st.sampled_from([0, 12, 20]),
    st.lists(st.tuples(st.sampled_from(["d", "e"]), st.integers(0, 8)), max_size=7, unique=True),
    st.sampled_from([0.25, 0.5, 1.0]),
)
def test_texts_and_offsets_give_the_same_values(
    gold: dict[tuple[str, int, int], float],
    size: int,
    overlap: int,
    items: list[tuple[str, int]],
    coverage: float,
) -> None:
    """Of chunks of a size, with so much overlap; where each text is unique, and no repetition too short to tell."""
    spans: list[tuple[Span, float]] = []
    for (doc, at, length), gain in gold.items():
        text = DOCS[doc][at : at + length]
        spans.append((Span(doc, at, at + len(text), text), gain))
    spans = [*{span.id: (span, gain) for span, gain in spans}.values()]
    step = size - overlap
    chunks = [(doc, number * step, DOCS[doc][number * step : number * step + size]) for doc, number in items]
    chunks = [each for each in chunks if len(each[2]) >= 12]
    forms = [
        [Item(doc_id=doc, start=start, end=start + len(text)) for doc, start, text in chunks],
        [Item(doc_id=doc, start=start, end=start + len(text), text=text) for doc, start, text in chunks],
        [Item(doc_id=doc, text=text) for doc, _, text in chunks],
    ]
    how = Matching(by=By.SPAN, coverage=coverage)
    by_offsets, by_both, by_text = (matched(spans, items, how) for items in forms)
    for name in (*(f"passage_{name}@5" for name in NAMES), "recall@3", "precision@5", "ndcg@5", "map", "mrr"):
        expected = value(by_offsets, name)
        for query in (by_both, by_text):
            assert value(query, name) == (None if expected is None else pytest.approx(expected, abs=1e-9)), name
    assert by_both.hits == by_text.hits == by_offsets.hits
    assert SPAN.coverage == 0.5


@given(st.text(), st.text())
def test_letters_and_digits_alone(text: str, more: str) -> None:
    assert plain(plain(text)) == plain(text)
    assert "&" in text + more or "\\" in text + more or plain(text + more) == plain(text) + plain(more)
