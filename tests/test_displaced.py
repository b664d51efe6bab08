"""What took the place of lost documents: from lists that are read once more, no further than needed."""

from collections.abc import Iterator

from rankgate.displaced import MOST_QUERIES, with_displacers
from rankgate.model import MatchedQuery, Ranking
from rankgate.report import DocumentMove, Movement


def lost(query_id: str = "q", *, count: int = 1, k: int = 3) -> Movement:
    return Movement(
        query_id=query_id,
        question=None,
        tags=[],
        metric="recall@3",
        before=1.0,
        after=0.0,
        worse=True,
        k=k,
        lost=count,
        gained=0,
        documents=[DocumentMove(id="right", gain=1.0, before=1, after=None)],
    )


def test_what_stands_in_the_first_k_now_and_did_not_before() -> None:
    now, before = [Ranking("q", ["new", "b", "newer", "behind"])], [Ranking("q", ["right", "b", "c", "new"])]
    [found] = with_displacers([lost()], 1, lambda: now, lambda: before, {})
    assert found.instead == ["new", "newer"], "one that stood behind the first k came up; b stayed"


def test_a_right_document_takes_no_place_and_three_are_enough() -> None:
    now, before = [Ranking("q", ["w", "right", "x", "y", "z"])], [Ranking("q", ["a", "b", "c", "d", "e"])]
    [found] = with_displacers([lost(k=5)], 1, lambda: now, lambda: before, {})
    assert found.instead == ["w", "x", "y"]


def test_a_chunk_of_a_right_document_takes_no_place_whatever_its_own_id() -> None:
    now, before = [Ranking("q", ["right#2", "new#1", "right#3"])], [Ranking("q", ["right#1", "b", "c"])]
    query = MatchedQuery(
        query_id="q", hits=((1, 1.0),), repeats=((3, 1.0),), found=("right",), ideal=(1.0,), retrieved=3, k=3
    )
    [found] = with_displacers([lost()], 1, lambda: now, lambda: before, {"q": query})
    assert found.instead == ["new#1"]


def test_a_question_that_lost_nothing_and_one_that_a_run_lacks_name_nothing() -> None:
    moves = [lost("kept", count=0), lost("absent"), lost("q")]
    now, before = (
        [Ranking("q", ["new"]), Ranking("kept", ["new"])],
        [Ranking("q", ["right"]), Ranking("absent", ["right"])],
    )
    assert [move.instead for move in with_displacers(moves, 3, lambda: now, lambda: before, {})] == [[], [], ["new"]]


def test_nothing_is_read_behind_the_last_question_that_matters_nor_where_the_gold_set_is_large() -> None:
    read: list[str] = []

    def lists() -> Iterator[Ranking]:
        for query_id in ("a", "q", "z"):
            read.append(query_id)
            yield Ranking(query_id, ["x"])

    with_displacers([lost()], 3, lists, lists, {})
    assert read == ["a", "q"] * 2
    assert with_displacers([lost()], MOST_QUERIES + 1, lists, lists, {}) == [lost()]
    assert with_displacers([lost(count=0)], 3, lists, lists, {}) == [lost(count=0)]
    assert read == ["a", "q"] * 2
