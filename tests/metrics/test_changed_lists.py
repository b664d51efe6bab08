"""By which metrics two runs list something else, whatever order the runs have their questions in."""

from __future__ import annotations

from itertools import permutations

import pytest
from msgspec.structs import replace

from rankgate.metrics.comparison import on_rows
from rankgate.metrics.drift import same_lists
from rankgate.metrics.matching import By, Matching
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.scores import Scores
from rankgate.model.values import Details, Gold, Item, Ranking, Sample

GOLD = Gold(samples={name: Sample(query_id=name, gains={"a": 1}) for name in "pqrs"}, name="gold", format="jsonl")
PLAN = Plan(metrics=parse_metrics("recall@2,mrr,recall(stage=raw)@2,hit@k"), depth=4, default_k=3, compared=True)
ALL = {metric.name for metric in PLAN.metrics}


def line(query_id: str, ids: str, raw: str = "a") -> Ranking:
    return Ranking(query_id, list(ids), details=Details(raw=Ranking(query_id, list(raw))))


BEFORE = [line("p", "abcd"), line("q", "abcd"), line("r", "abcd"), line("s", "abcd")]


def differing(now: Scores, before: Scores) -> set[str]:
    return {metric.name for metric in PLAN.metrics if not same_lists(metric, now, before)}


@pytest.mark.parametrize(
    ("now", "differ"),
    [
        pytest.param(BEFORE, set(), id="the same"),
        pytest.param([*BEFORE[:3], line("s", "abdc")], {"mrr", "hit@k"}, id="below a cut-off"),
        pytest.param([*BEFORE[:3], line("s", "bacd")], ALL, id="within it"),
        pytest.param([*BEFORE[:3], line("s", "abcde")], set(), id="below the depth"),
        pytest.param([*BEFORE[:3], line("s", "abcd", "ab")], {"recall(stage=raw)@2"}, id="another list of the line"),
        pytest.param(BEFORE[:3], ALL, id="a question that the run lacks"),
        pytest.param([*BEFORE, line("x", "abcd")], set(), id="one that the gold set lacks"),
    ],
)
def test_metrics_whose_lists_differ(now: list[Ranking], differ: set[str]) -> None:
    before = score(GOLD, BEFORE, PLAN)
    for one in permutations(now):
        assert differing(score(GOLD, one, PLAN), before) == differ


def test_of_some_questions_their_lists_count_alone() -> None:
    now, before = score(GOLD, [*BEFORE[:3], line("s", "bacd")], PLAN), score(GOLD, BEFORE, PLAN)
    assert differing(on_rows(now, [0, 1]), on_rows(before, [0, 1])) == set()
    assert differing(on_rows(now, [2, 3]), on_rows(before, [2, 3])) == ALL


def test_lists_that_are_not_known_are_not_the_same() -> None:
    scores = score(GOLD, BEFORE, PLAN)
    assert differing(scores, replace(scores, lists={})) == differing(replace(scores, lists={}), scores) == ALL


def test_the_same_ids_of_other_texts_are_not_the_same() -> None:
    gold = Gold(samples={"p": Sample(query_id="p", gains={"Open daily.": 1, "Closed.": 1})}, name="", format="jsonl")
    plan = Plan(metrics=parse_metrics("recall@2"), how=Matching(by=By.TEXT), keep_matched=True, compared=True)

    def scored(*texts: str) -> Scores:
        return score(gold, [Ranking("p", ["a"], details=Details(items=[Item(text=text) for text in texts]))], plan)

    assert same_lists(plan.metrics[0], scored("Open daily."), scored("Open daily."))
    assert not same_lists(plan.metrics[0], scored("Closed."), scored("Open daily."))
