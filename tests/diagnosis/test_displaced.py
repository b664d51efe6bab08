"""What took the place of lost documents."""

from collections.abc import Iterable

from rankgate.diagnosis.listings import Listing, Listings
from rankgate.diagnosis.movements import with_displacers
from rankgate.model.details import Expected
from rankgate.model.report import Movement
from rankgate.model.scores import RankSummary
from rankgate.model.values import Ranking


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
        documents=[Expected(id="right", gain=1.0, before=1, after=None)],
    )


def lists(rankings: Iterable[Ranking]) -> Listings:
    return Listings({each.query_id: Listing(each.ids) for each in rankings}, {})


def test_what_stands_in_the_first_k_now_and_did_not_before() -> None:
    now, before = [Ranking("q", ["new", "b", "newer", "behind"])], [Ranking("q", ["right", "b", "c", "new"])]
    [found] = with_displacers([lost()], lists(now), lists(before), {})
    assert found.instead == ["new", "newer"], "one that stood behind the first k came up; b stayed"


def test_a_right_document_takes_no_place_and_three_are_enough() -> None:
    now, before = [Ranking("q", ["w", "right", "x", "y", "z"])], [Ranking("q", ["a", "b", "c", "d", "e"])]
    [found] = with_displacers([lost(k=5)], lists(now), lists(before), {})
    assert found.instead == ["w", "x", "y"]


def test_a_chunk_of_a_right_document_takes_no_place_whatever_its_own_id() -> None:
    now, before = [Ranking("q", ["right#2", "new#1", "right#3"])], [Ranking("q", ["right#1", "b", "c"])]
    summary = RankSummary((1,), retrieved=3, k=3, repeats=(3,))
    [found] = with_displacers([lost()], lists(now), lists(before), {"q": summary})
    assert found.instead == ["new#1"]


def test_a_question_that_lost_nothing_and_one_that_a_run_lacks_name_nothing() -> None:
    moves = [lost("kept", count=0), lost("absent"), lost("q")]
    now, before = (
        [Ranking("q", ["new"]), Ranking("kept", ["new"])],
        [Ranking("q", ["right"]), Ranking("absent", ["right"])],
    )
    assert [move.instead for move in with_displacers(moves, lists(now), lists(before), {})] == [[], [], ["new"]]


def test_where_lists_cannot_be_read_again_nothing_is_named() -> None:
    assert with_displacers([lost()], None, lists([Ranking("q", ["x"])]), {}) == [lost()]
