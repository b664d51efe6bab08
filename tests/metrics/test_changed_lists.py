"""Of which questions two runs list something else, whatever order the runs have them in."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import pytest

from rankgate.metrics.changed_lists import relisted
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.model.values import Details, Gold, Ranking, Sample

GOLD = Gold(samples={name: Sample(query_id=name, gains={"a": 1}) for name in "pqrs"}, name="gold", format="jsonl")
PLAN = Plan(metrics=parse_metrics("recall@2,mrr,recall(stage=raw)@2"), depth=4)
ALL = frozenset("pqrs")


def line(query_id: str, ids: str, raw: str = "a") -> Ranking:
    return Ranking(query_id, list(ids), details=Details(raw=Ranking(query_id, list(raw))))


BEFORE = [line("p", "abcd"), line("q", "abcd"), line("r", "abcd"), line("s", "abcd")]


@pytest.mark.parametrize(
    ("now", "differs"),
    [
        pytest.param(BEFORE, ["", "", "", ""], id="the same"),
        pytest.param([*BEFORE[:3], line("s", "abdc")], ["s", "", "s", ""], id="below a cut-off"),
        pytest.param([*BEFORE[:3], line("s", "bacd")], ["s", "s", "s", "s"], id="within it"),
        pytest.param([*BEFORE[:3], line("s", "abcde")], ["", "", "", ""], id="below the depth"),
        pytest.param([*BEFORE[:3], line("s", "abcd", "ab")], ["s", "", "", "s"], id="another list of the line"),
        pytest.param(BEFORE[:3], ["s", "s", "s", "s"], id="a question that the run lacks"),
        pytest.param([*BEFORE, line("x", "abcd")], ["", "", "", ""], id="one that the gold set lacks"),
        pytest.param([], ["pqrs", "pqrs", "pqrs", "pqrs"], id="lists that cannot be read again"),
    ],
)
def test_questions_whose_lists_differ(now: list[Ranking], differs: list[str]) -> None:
    names = ["", "recall@2", "mrr", "recall(stage=raw)@2"]
    expected = {name: frozenset(queries) for name, queries in zip(names, differs, strict=True)}
    for one in permutations(now):
        assert relisted(GOLD, PLAN, partial(list, one), partial(list, BEFORE))() == expected
        assert relisted(GOLD, PLAN, partial(list, BEFORE), partial(list, one))() == expected
