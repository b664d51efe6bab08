"""The pool of several systems: which pairs, in which order, with which texts."""

from collections.abc import Mapping, Sequence

import pytest

from rankgate.collecting.pool import Pair, Pool, Pooled, pool
from rankgate.metrics.matching import By, Matching
from rankgate.model.values import Details, Gold, Item, Ranking, Sample


def gold_of(*samples: Sample) -> Gold:
    return Gold(samples={sample.query_id: sample for sample in samples}, name="gold", format="yaml", fingerprint="")


def sample(query_id: str, question: str | None = None, **gains: float) -> Sample:
    return Sample(query_id=query_id, question=question, gains=gains)


def ranking(query_id: str, *ids: str, texts: Mapping[str, str] | None = None, docs: Sequence[str] = ()) -> Ranking:
    if texts is None and not docs:
        return Ranking(query_id, list(ids))
    items = [Item(text=(texts or {}).get(doc)) for doc in ids] if not docs else [Item(doc_id=doc) for doc in docs]
    return Ranking(query_id, list(ids), details=Details(items=items))


def pairs(found: Pool) -> list[tuple[str, str]]:
    return [(pair.query_id, pair.id) for pair in found.pairs]


GOLD = gold_of(sample("q2", "two?", a=1), sample("q1", "one?", b=2, z=1))


def test_a_pair_says_all_that_a_labeller_needs() -> None:
    runs = {
        "old": [ranking("q1", "b", "c", texts={"b": "Bee"})],
        "new": [ranking("q1", "d", "c", texts={"c": "Sea"})],
    }
    assert pool(GOLD, runs).pairs == (
        Pair(query_id="q1", question="one?", id="d", text=None, gain=None, ranks={"old": None, "new": 1}),
        Pair(query_id="q1", question="one?", id="c", text="Sea", gain=None, ranks={"old": 2, "new": 2}),
        Pair(query_id="q1", question="one?", id="b", text="Bee", gain=2.0, ranks={"old": 1, "new": None}),
    )


def test_unjudged_pairs_come_first_then_gold_order_best_rank_and_id() -> None:
    runs = {
        "old": [ranking("q1", "b", "n", "m"), ranking("q2", "x", "a", "y")],
        "new": [ranking("q1", "m", "k"), ranking("q2", "y", "x")],
    }
    expected = ["q2 x", "q2 y", "q1 m", "q1 k", "q1 n", "q2 a", "q1 b"]
    assert [f"{query} {doc}" for query, doc in pairs(pool(GOLD, runs))] == expected


def test_the_order_of_a_runs_lines_changes_nothing() -> None:
    lines = [ranking("q1", "b", "n"), ranking("q2", "x", "a")]
    assert pool(GOLD, {"run": lines}).pairs == pool(GOLD, {"run": lines[::-1]}).pairs


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        pytest.param(1, [("q1", "b")], id="the first of each"),
        pytest.param(2, [("q1", "c"), ("q1", "b")], id="two of each"),
        pytest.param(20, [("q1", "c"), ("q1", "e"), ("q1", "b")], id="deeper than the lists"),
    ],
)
def test_depth_counts_the_results_of_each_list(depth: int, expected: list[tuple[str, str]]) -> None:
    runs = {"old": [ranking("q1", "b", "c", "e")], "new": [ranking("q1", "b")]}
    assert pairs(pool(GOLD, runs, depth=depth)) == expected


def test_a_rank_below_the_depth_is_none() -> None:
    runs = {"old": [ranking("q1", "x", "c")], "new": [ranking("q1", "c", "x")]}
    assert [pair.ranks for pair in pool(GOLD, runs, depth=1).pairs] == [
        {"old": None, "new": 1},
        {"old": 1, "new": None},
    ]


def test_judged_documents_that_no_run_finds_are_not_in_it() -> None:
    assert ("q1", "z") not in pairs(pool(GOLD, {"run": [ranking("q1", "b")]}))


def test_unjudged_alone() -> None:
    found = pool(GOLD, {"run": [ranking("q1", "b", "c")]})
    assert [pair.id for pair in found.unjudged()] == ["c"]


def test_a_gain_of_zero_is_judged() -> None:
    assert pool(gold_of(sample("q", a=0)), {"run": [ranking("q", "a")]}).unjudged() == ()


def test_what_each_run_gave_and_what_the_gold_lacks() -> None:
    runs = {"old": [ranking("zz", "a"), ranking("q1", "a"), ranking("yy", "a")], "new": [ranking("xx", "a")]}
    found = pool(GOLD, runs)
    assert found.runs == {
        "old": Pooled(known=1, unknown_queries=("zz", "yy")),
        "new": Pooled(known=0, unknown_queries=("xx",)),
    }
    assert pairs(found) == [("q1", "a")]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        pytest.param([ranking("q1", "c", texts={"c": "here"})], "here", id="with the query"),
        pytest.param([ranking("q2", "c", texts={"c": "there"}), ranking("q1", "c")], "there", id="with another query"),
        pytest.param([ranking("zz", "c", texts={"c": "there"}), ranking("q1", "c")], "there", id="with a stranger"),
        pytest.param(
            [ranking("q2", "c", texts={"c": "there"}), ranking("q1", "c", texts={"c": "here"})],
            "here",
            id="with the query before others",
        ),
        pytest.param([ranking("q1", "c", texts={"c": ""})], None, id="an empty text is none"),
        pytest.param([ranking("q1", "c")], None, id="nowhere"),
    ],
)
def test_a_text_is_looked_for_in_all_runs(runs: list[Ranking], text: str | None) -> None:
    found = pool(GOLD, {"run": runs})
    assert [pair.text for pair in found.pairs if pair.query_id == "q1"] == [text]


def test_a_text_below_the_depth_is_still_a_text() -> None:
    runs = {"old": [ranking("q1", "c")], "new": [ranking("q1", "x", "c", texts={"c": "deep"})]}
    assert {pair.id: pair.text for pair in pool(GOLD, runs, depth=1).pairs} == {"c": "deep", "x": None}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(ranking("q1", "c#1", "b#1", "c#2"), id="by the id's part before the separator"),
        pytest.param(ranking("q1", "1", "2", "3", docs=["c", "b", "c"]), id="by doc_id"),
    ],
)
def test_matching_by_document_pools_documents_at_their_first_chunk(found: Ranking) -> None:
    pooled = pool(GOLD, {"run": [found]}, how=Matching(by=By.DOC))
    assert [(pair.id, pair.gain, pair.ranks) for pair in pooled.pairs] == [
        ("c", None, {"run": 1}),
        ("b", 2.0, {"run": 2}),
    ]


def test_a_judges_labels_count_only_for_a_judge() -> None:
    judged = gold_of(Sample(query_id="q", gains={"a": 1.0}, judge_gains={"b": 0.0}))
    runs = {"run": [ranking("q", "a", "b", "c")]}
    assert [pair.id for pair in pool(judged, runs).unjudged()] == ["b", "c"]
    assert [pair.id for pair in pool(judged, runs, as_judge=True).unjudged()] == ["c"]
