"""What makes a retrieved item the document that the gold names: its id, its document, or its text."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.metrics.matching import BY_CHUNK, By, Matching, document_of, match
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Item, Ranking, RunField, Sample

DOC = Matching(by=By.DOC)
TEXT = Matching(by=By.TEXT)


def matched(
    gains: Mapping[str, float], items: Mapping[str, Item], how: Matching = BY_CHUNK, **sample: Any
) -> MatchedQuery:
    """A list of items by their id."""
    ranking = Ranking("q", list(items), 0, Details(items=list(items.values())))
    return match(Sample(query_id="q", gains=gains, **sample), ranking, how=how, needs=frozenset(RunField))


def values(query: MatchedQuery, *names: str) -> dict[str, float | None]:
    return {name: parse_metric(name).per_query(query) for name in names}


def ids(written: str) -> dict[str, Item]:
    return {item_id: Item() for item_id in written.split()}


def texts(*written: str | None) -> dict[str, Item]:
    """Items c1, c2, … by rank with these texts."""
    return {f"c{rank}": Item(text=text) for rank, text in enumerate(written, start=1)}


def test_ids_are_what_must_agree_unless_something_else_is_asked() -> None:
    assert Matching() == BY_CHUNK == Matching(by=By.CHUNK, separator="#", similarity=1.0)


@pytest.mark.parametrize(
    ("how", "needs"),
    [
        pytest.param(BY_CHUNK, set(), id="chunk reads ids alone"),
        pytest.param(DOC, {RunField.DOCS}, id="doc reads doc_id"),
        pytest.param(TEXT, {RunField.TEXTS}, id="text reads text"),
    ],
)
def test_what_is_read(how: Matching, needs: set[RunField]) -> None:
    assert how.needs == needs


@pytest.mark.parametrize(
    ("item_id", "doc_id", "separator", "expected"),
    [
        pytest.param("doc-7#c3", None, "#", "doc-7", id="the part before the separator"),
        pytest.param("doc-7", None, "#", "doc-7", id="an id without it is a document"),
        pytest.param("doc-7#c3#2", None, "#", "doc-7", id="before the first one"),
        pytest.param("#c3", None, "#", "#c3", id="nothing before it: the id"),
        pytest.param("doc-7#", None, "#", "doc-7", id="nothing behind it"),
        pytest.param("doc-7#c3", "doc-8", "#", "doc-8", id="what the run says goes first"),
        pytest.param("doc-7#c3", "", "#", "doc-7", id="an empty doc_id says nothing"),
        pytest.param("doc-7::c3", None, "::", "doc-7", id="another separator, of two signs"),
        pytest.param("doc-7#c3", None, "::", "doc-7#c3", id="another separator, not there"),
        pytest.param("a/b/c", None, "/", "a", id="a path"),
    ],
)
def test_document_of_an_item(item_id: str, doc_id: str | None, separator: str, expected: str) -> None:
    assert document_of(item_id, doc_id, separator) == expected


@each_row(
    ("how", "gains", "items", "hits", "repeats"),
    [
        # By chunk.
        pytest.param(BY_CHUNK, {"a": 2, "b": 1}, ids("x b a"), [(2, 1), (3, 2)], [], id="chunk: by rank, with gains"),
        pytest.param(BY_CHUNK, {"a": 1}, ids("a#1 a#2"), [], [], id="chunk: the id as it is"),
        pytest.param(BY_CHUNK, {"a": 1}, {"x": Item(doc_id="a")}, [], [], id="chunk: whatever the document"),
        pytest.param(BY_CHUNK, {"a": 1}, {"x": Item(text="a")}, [], [], id="chunk: whatever the text"),
        # By document.
        pytest.param(DOC, {"a": 1}, ids("x#1 a#1 b#1"), [(2, 1)], [], id="doc: the id up to the separator"),
        pytest.param(DOC, {"a": 1}, ids("x#1 a"), [(2, 1)], [], id="doc: an id that is a document"),
        pytest.param(DOC, {"a": 1}, {"x": Item(doc_id="a")}, [(1, 1)], [], id="doc: as the run says"),
        pytest.param(
            DOC, {"a": 1, "b": 1}, {"a#1": Item(doc_id="b")}, [(1, 1)], [], id="doc: doc_id goes before the id"
        ),
        pytest.param(DOC, {"a": 1}, {"a#1": Item(doc_id="b")}, [], [], id="doc: even where the id would have matched"),
        pytest.param(DOC, {"a#1": 1}, ids("a#1"), [], [], id="doc: the gold holds documents, not chunks"),
        pytest.param(DOC, {"a": 2}, ids("a#1 a#2 a#3"), [(1, 2)], [(2, 2), (3, 2)], id="doc: the first chunk counts"),
        pytest.param(
            *(DOC, {"a": 1, "b": 3}, ids("b#1 a#1 b#2 x#1 a#2")),
            *([(1, 3), (2, 1)], [(3, 3), (5, 1)]),
            id="doc: chunks of two documents in turn",
        ),
        pytest.param(DOC, {"a": 0}, ids("a#1 a#2"), [], [], id="doc: not relevant, however often"),
        pytest.param(
            *(Matching(by=By.DOC, separator="::"), {"a": 1}, ids("x a::1"), [(2, 1)], []), id="doc: another separator"
        ),
        pytest.param(
            *(DOC, dict.fromkeys("abcdefghij", 1.0), ids("x#1 b#1 a#1 b#2 a#2")),
            *([(2, 1), (3, 1)], [(4, 1), (5, 1)]),
            id="doc: ten relevant documents, so that the list is indexed: still the first chunk",
        ),
        # By text.
        pytest.param(TEXT, {"30 days flat": 1}, texts("x", "30 days"), [(2, 1)], [], id="text: lies in the passage"),
        pytest.param(TEXT, {"30 days": 1}, texts("it is 30 days flat"), [], [], id="text: not the other way round"),
        pytest.param(
            TEXT, {"30 days": 1}, texts("Date: today\nuser: 30 days"), [(1, 1)], [], id="text: a chat's heading"
        ),
        pytest.param(TEXT, {"30\ndays": 1}, texts(r"30\ndays"), [(1, 1)], [], id="text: escaped"),
        pytest.param(TEXT, {"30 days": 1}, texts(None, ""), [], [], id="text: an item without one matches nothing"),
        pytest.param(TEXT, {"X": 1}, texts(None, ""), [], [], id="text: nor the shortest passage"),
        pytest.param(TEXT, {"a b c d": 1}, texts("d c b x"), [], [], id="text: no similar text unless asked"),
        pytest.param(
            *(Matching(by=By.TEXT, similarity=0.75), {"a b c d": 1}, texts("d c b x"), [(1, 1)], []),
            id="text: three of four words, asked for",
        ),
        pytest.param(
            *(Matching(by=By.TEXT, similarity=0.8), {"a b c d": 1}, texts("d c b x"), [], []),
            id="text: three of four words, more asked for",
        ),
        pytest.param(
            *(TEXT, {"30 days flat": 2}, texts("30 days", "flat"), [(1, 2)], [(2, 2)]),
            id="text: two parts of a passage: the first counts",
        ),
        pytest.param(
            *(TEXT, {"a b": 1, "b c": 3}, texts("b"), [(1, 3)], []),
            id="text: in two passages, stands for the better one",
        ),
        pytest.param(
            *(TEXT, {"a b": 1, "b c": 3}, texts("b", "b "), [(1, 3), (2, 1)], []),
            id="text: a second such item stands for the other",
        ),
        pytest.param(
            *(TEXT, {"a b": 1, "b c": 3}, texts("b", "b ", " b"), [(1, 3), (2, 1)], [(3, 3)]),
            id="text: a third for none that is new",
        ),
    ],
)
def test_hits(
    how: Matching,
    gains: Mapping[str, float],
    items: Mapping[str, Item],
    hits: list[tuple[int, float]],
    repeats: list[tuple[int, float]],
) -> None:
    query = matched(gains, items, how)
    assert (list(query.hits), list(query.repeats)) == (hits, repeats)
    assert query.ideal == tuple(sorted((gain for gain in gains.values() if gain > 0), reverse=True))
    assert query.retrieved == len(items)


@pytest.mark.parametrize(
    ("how", "items", "found"),
    [
        pytest.param(DOC, ids("b#1 x a#1 b#2"), ("b", "a"), id="documents"),
        pytest.param(TEXT, texts("x", "b", "a"), ("b", "a"), id="passages"),
    ],
)
def test_what_was_found_is_named_as_the_gold_names_it(
    how: Matching, items: Mapping[str, Item], found: tuple[str, ...]
) -> None:
    assert matched({"a": 1.0, "b": 1.0}, items, how).found == found


def test_later_chunks_of_a_document_keep_their_rank_and_only_precision_counts_them() -> None:
    """The list: a, a again, a stranger, b, b again."""
    query = matched({"a": 1.0, "b": 1.0}, ids("a#1 a#2 x#1 b#1 b#2"), DOC)
    assert values(query, "precision@5", "precision@2", "recall@5", "recall@2", "mrr", "hit@1", "recall_all@3") == {
        "precision@5": 4 / 5,
        "precision@2": 1,
        "recall@5": 1,
        "recall@2": 1 / 2,
        "mrr": 1,
        "hit@1": 1,
        "recall_all@3": 0,
    }
    assert values(query, "map", "ndcg@5") == {
        "map": (1 + 2 / 4) / 2,
        "ndcg@5": pytest.approx(0.8772, abs=5e-5),  # (1 + 1/log2(5)) / (1 + 1/log2(3)): b is still at rank 4
    }


def test_what_the_gold_judges_and_warns_of_is_matched_alike() -> None:
    by_doc = matched({"a": 1.0, "n": 0.0}, ids("x#1 w#1 n#1 a#1 n#2"), DOC, negatives=("w",))
    assert (by_doc.judged, by_doc.negatives) == ((2, 3, 4, 5), (2,))
    by_text = matched({"a b": 1.0, "n m": 0.0}, texts("x", "w", "n", "a"), TEXT, negatives=("v w",))
    assert (by_text.judged, by_text.negatives) == ((2, 3, 4), (2,))


def test_the_raw_list_and_rewritten_ones_are_matched_alike() -> None:
    raw = Ranking("q", ["1", "2", "3"], 0, Details(items=[Item(doc_id="x"), Item(doc_id="a"), Item(doc_id="a")]))
    rewritten = Ranking("q", ["a#1"], 0, Details(items=[Item()]))
    ranking = Ranking("q", ["x"], 0, Details(items=[Item()], raw=raw, rewrites=[rewritten]))
    query = match(
        Sample(query_id="q", gains={"a": 1.0}), ranking, how=DOC, needs=frozenset({RunField.RAW, RunField.REWRITES})
    )
    assert query.hits == ()
    assert query.raw is not None
    assert (query.raw.hits, query.raw.repeats) == (((2, 1.0),), ((3, 1.0),))
    assert [each.hits for each in query.rewrites] == [((1, 1.0),)]


def test_every_list_ends_at_the_depth() -> None:
    raw, rewritten = Ranking("q", ["x", "y", "a"]), Ranking("q", ["a", "y", "z"])
    items = [Item(text=text) for text in "xya"]
    ranking = Ranking("q", ["x", "y", "a"], 0, Details(items=items, raw=raw, rewrites=[rewritten]))
    sample = Sample(query_id="q", gains={"a": 1.0})
    query = match(sample, ranking, depth=2, needs=frozenset(RunField), baseline_ids=["a", "x", "y"])
    assert (query.hits, query.retrieved, query.ids, query.baseline_ids) == ((), 2, ["x", "y"], ["a", "x"])
    assert query.details is not None
    assert query.details.items == items[:2]
    assert query.raw is not None
    assert (query.raw.hits, query.raw.retrieved) == ((), 2)
    assert (query.rewrites[0].hits, query.rewrites[0].retrieved) == (((1, 1.0),), 2)


@pytest.mark.parametrize(
    "how", [pytest.param(BY_CHUNK, id="ids"), pytest.param(DOC, id="doc"), pytest.param(TEXT, id="text")]
)
def test_no_hit_lies_below_the_depth(how: Matching) -> None:
    items = {"x": Item(text="x"), "y": Item(text="y"), "a": Item(text="a")}
    ranking = Ranking("q", list(items), 0, Details(items=list(items.values())))
    assert match(Sample(query_id="q", gains={"a": 1.0}), ranking, depth=2, how=how).hits == ()


@pytest.mark.parametrize("details", [pytest.param(None, id="nothing at all"), pytest.param(Details(), id="no items")])
def test_by_text_a_line_that_says_nothing_of_its_items_has_no_hit(details: Details | None) -> None:
    query = match(Sample(query_id="q", gains={"a": 1.0}), Ranking("q", ["a"], 0, details), how=TEXT)
    assert (query.hits, query.retrieved) == ((), 1)


@pytest.mark.parametrize(
    "needs",
    [
        pytest.param(frozenset[RunField](), id="nothing"),
        pytest.param(
            frozenset({RunField.LATENCY, RunField.SOURCE, RunField.ENTITIES, RunField.SCORES}), id="what the line says"
        ),
    ],
)
def test_nothing_is_filled_in_that_nobody_needs(needs: frozenset[RunField]) -> None:
    details = Details(items=[Item(text="x")], raw=Ranking("q", ["a"]), source=("kb",))
    query = match(Sample(query_id="q", gains={"a": 1.0}), Ranking("q", ["a"], 0, details), needs=needs)
    assert (query.raw, query.ids, query.documents, query.judged) == (None, (), (), ())


def test_where_one_thing_is_needed_the_others_stay_empty() -> None:
    sample = Sample(query_id="q", gains={"a": 1.0}, negatives=("n",))
    query = match(sample, Ranking("q", ["n", "a"]), needs=frozenset({RunField.IDS}))
    assert query.ids == ["n", "a"]
    assert (query.documents, query.judged, query.negatives) == ((), (), ())


# Whatever the gold and the list.

GRADES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0])
NAMES = ["a", "b", "c", "a b", "b c", "a#1"]
LIST = st.lists(
    st.tuples(
        st.sampled_from(["a#1", "a#2", "b#1", "b", "c#1", "#", "x"]),
        st.builds(
            Item, doc_id=st.none() | st.sampled_from("abcx"), text=st.none() | st.sampled_from([*NAMES, "x", ""])
        ),
    ),
    max_size=8,
    unique_by=lambda item: item[0],
).map(dict)
HOW = st.sampled_from([BY_CHUNK, DOC, Matching(by=By.DOC, separator="x"), TEXT, Matching(by=By.TEXT, similarity=0.5)])
IN_RANGE = parse_metrics(
    "hit@3,recall@1,3,5,all,recall_all@3,capped_recall@3,weighted_recall@3,recall_auc,precision@1,3,5,all,"
    "precision(of=retrieved)@3,f1@3,mrr,map,ap@3,ndcg,ndcg@3,ndcg(gain=exponential)@3,"
    "ndcg(gain=binary,discount=jarvelin,ideal=retrieved)@3,judged@3,holes@3"
)


@pytest.mark.full
@given(gains=st.dictionaries(st.sampled_from(NAMES), GRADES), items=LIST, how=HOW)
def test_no_metric_leaves_its_range(gains: Mapping[str, float], items: Mapping[str, Item], how: Matching) -> None:
    query = matched(gains, items, how)
    for metric in IN_RANGE:
        value = metric.per_query(query)
        assert value is None or 0 <= value <= 1, metric.name


@pytest.mark.full
@given(gains=st.dictionaries(st.sampled_from(NAMES), GRADES), items=LIST, how=HOW)
def test_a_rank_is_a_hit_or_a_repeat_of_a_hit_above(
    gains: Mapping[str, float], items: Mapping[str, Item], how: Matching
) -> None:
    query = matched(gains, items, how)
    hits, repeats = [rank for rank, _ in query.hits], [rank for rank, _ in query.repeats]
    assert hits == sorted(set(hits))
    assert repeats == sorted(set(repeats))
    assert not set(hits) & set(repeats)
    assert len(set(query.found)) == len(query.found) == len(hits) <= len(query.ideal)
    assert all(rank > hits[0] for rank in repeats)
    assert set(hits) | set(repeats) <= set(query.judged)


@given(gains=st.dictionaries(st.sampled_from(NAMES), GRADES), ranked=st.lists(st.sampled_from(NAMES), unique=True))
def test_documents_that_are_chunks_match_by_either(gains: Mapping[str, float], ranked: Sequence[str]) -> None:
    """Where the run says for each item that it is its own document, both matchings see the same."""
    items = {name: Item(doc_id=name) for name in ranked}
    assert matched(gains, items, DOC).hits == matched(gains, items).hits
