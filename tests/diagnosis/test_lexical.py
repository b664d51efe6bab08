"""BM25 beside a run: the scores against a slow second implementation, and what both together suggest."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.diagnosis.misses import LexicalIndex, Suggestion
from rankgate.errors import RankgateError
from rankgate.metrics.texts import words
from rankgate.model.details import Cause, Expected, Question
from rankgate.readers.corpus import Document

pytest.importorskip("bm25s")

K1, B = 1.5, 0.75


def question(text: str | None, **ranks: int | None) -> Question:
    """A question that expects these documents, at these ranks of the run."""
    return Question(
        query_id="q",
        question=text,
        tags=(),
        cause=Cause.FINE,
        values={},
        expected=tuple(Expected(id=doc, gain=1.0, before=None, after=rank) for doc, rank in ranks.items()),
        before=None,
        now=(),
    )


def index(**texts: str) -> LexicalIndex:
    return LexicalIndex([Document(doc, text) for doc, text in texts.items()], "corpus.jsonl")


def oracle(corpus: dict[str, str], text: str) -> dict[str, float]:
    """BM25 as Lucene has it since version 8, word by word from the formula."""
    lists = {doc: words(each) for doc, each in corpus.items()}
    average = sum(map(len, lists.values())) / len(lists)
    found: dict[str, float] = {}
    for doc, own in lists.items():
        counts, score = Counter(own), 0.0
        for word in words(text):
            holding = sum(word in other for other in lists.values())
            rarity = math.log(1 + (len(lists) - holding + 0.5) / (holding + 0.5))
            length = K1 * (1 - B + B * len(own) / average)
            score += rarity * counts[word] / (counts[word] + length)
        if score > 0:
            found[doc] = score
    return found


WORDS = st.lists(st.sampled_from(["bread", "Pan", "azúcar", "nuts", "leaf", "der", "I"]), max_size=8).map(" ".join)
SETTINGS = st.lists(WORDS, min_size=1, max_size=6)


@pytest.mark.full
@given(texts=SETTINGS, asked=WORDS)
def test_scores_and_order_are_those_of_the_formula(texts: list[str], asked: str) -> None:
    corpus = {f"d{place}": text for place, text in enumerate(texts)}
    if not any(corpus.values()):
        return
    found = index(**corpus).search(question(asked), 5, 10).first
    wanted = oracle(corpus, asked)
    assert {hit.id: hit.score for hit in found} == pytest.approx(wanted)
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)


def test_equal_scores_stand_in_the_order_of_the_corpus() -> None:
    found = index(b="bread", a="bread", c="bread").search(question("bread"), 5, 2).first
    assert [hit.id for hit in found] == ["b", "a"]


CORPUS = {"rye": "rye bread", "nuts": "walnut bread", "far": "bread " + "and more " * 20, "tea": "tea"}


@each_row(
    ("text", "ranks", "suggests"),
    [
        pytest.param("walnut", {"nuts": None}, "run_misses", id="the words lead there and the run does not"),
        pytest.param("walnut", {"nuts": 11}, "run_misses", id="the run has it below what counts"),
        pytest.param("walnut", {"nuts": 4}, "run_lower", id="first for BM25, below the first k of the run"),
        pytest.param("walnut", {"nuts": 3}, "both", id="both in the first k"),
        pytest.param("almonds?", {"nuts": None}, "neither", id="other words"),
        pytest.param("bread", {"far": None}, "neither", id="found by BM25 below what counts"),
        pytest.param("almonds", {"nuts": 2}, "run_alone", id="other words, and the run finds it"),
        pytest.param("walnut", {"nut-1": None}, "not_in_corpus", id="no document has the id"),
        pytest.param("walnut", {"nut-1": None, "nuts": None}, "not_in_corpus", id="of several the most telling"),
        pytest.param("walnut", {"nuts": 1, "tea": None}, "neither", id="one is found, one is not"),
        pytest.param(None, {"nuts": None}, "no_question", id="no text to look for"),
        pytest.param(None, {"nut-1": None}, "not_in_corpus", id="no text, and no document either"),
        pytest.param("walnut", {}, "nothing_relevant", id="nothing expected"),
    ],
)
def test_what_both_suggest(text: str | None, ranks: dict[str, int | None], suggests: Suggestion) -> None:
    assert index(**CORPUS).search(question(text, **ranks), 3, 2 if ranks == {"far": None} else 10).suggests == suggests


def test_a_document_is_found_by_any_of_its_chunks() -> None:
    chunks = [Document("p1", "tea", "page"), Document("p2", "rye bread", "page"), Document("x", "bread", "other")]
    (found,) = LexicalIndex(chunks, "corpus.jsonl").search(question("rye", page=None), 5, 10).expected
    assert (found.rank, found.shown, found.suggests) == (1, True, "run_misses")


def test_what_is_found_says_of_which_document_it_is() -> None:
    chunks = [Document("p1", "rye", "page"), Document("x", "rye bread")]
    found = LexicalIndex(chunks, "corpus.jsonl").search(question("rye", page=None), 5, 10).first
    assert [(hit.id, hit.doc_id) for hit in found] == [("p1", "page"), ("x", None)]


def test_a_rank_below_what_is_shown_is_told() -> None:
    (found,) = index(**CORPUS).search(question("bread", far=None), 5, 2).expected
    assert (found.rank, found.shown) == (3, False)


def test_a_corpus_without_a_word_is_refused() -> None:
    with pytest.raises(RankgateError, match=r"^corpus\.jsonl: no document has a word to find it by$"):
        index(a="?!", b="")
