"""What was given up since the anchor: when it is said, and of which gate."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gate_rows import scores_of
from tests.rows import each_row

from rankgate.criteria.model import parse_criteria
from rankgate.gates.anchor import ScoredAnchor, given_up, noted
from rankgate.model.lineage import AnchorMark
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Sample

GOLD = Gold(samples={f"q{n}": Sample(query_id=f"q{n}", gains={"d": 1.0}) for n in range(300)}, name="g", format="made")
MARK = AnchorMark(id="0123456789ab", date="2026-01-01", steps=3)


def scores(lost: int, won: int = 0, name: str = "recall@5") -> Scores:
    """Of 300 questions 30 are not found; besides, these first ones are lost, and so many of the 30 are won."""
    values: list[float | None] = [float(row >= 30) for row in range(300)]
    values[30 : 30 + lost] = [0.0] * lost
    values[:won] = [1.0] * won
    return scores_of(GOLD.samples, {name: values}, samples=GOLD.samples)


def said(now: Scores, mark: AnchorMark = MARK, **gate: Any) -> list[tuple[str, float]]:
    criteria = parse_criteria({"gates": [{"name": "recall@5", "regression_max": 0.03, **gate}]})
    losses = given_up(criteria.gates, now, ScoredAnchor(mark=mark, scores=scores(0)))
    return [(loss.metric, round(loss.loss, 4)) for loss in losses]


def told(loss: float) -> AnchorMark:
    return AnchorMark(id=MARK.id, date=MARK.date, steps=4, given_up={"recall@5": loss})


@each_row(
    ("losses", "expected"),
    [
        pytest.param(said(scores(19)), [("recall@5", 0.0633)], id="19 lost of 300, none won"),
        pytest.param(said(scores(13)), [], id="no more than 1.5 times what is allowed at once"),
        pytest.param(said(scores(14)), [("recall@5", 0.0467)], id="a little more than that"),
        pytest.param(said(scores(39, 25)), [], id="beyond it, and not proven: 39 lost and 25 won"),
        pytest.param(said(scores(0, 19)), [], id="won"),
        pytest.param(said(scores(19), severity="warning"), [], id="a gate that only warns"),
        pytest.param(said(scores(19), regression_max=0.05), [], id="a gate that allows more"),
        pytest.param(said(scores(19), regression_max=0.0), [("recall@5", 0.0633)], id="a gate that allows nothing"),
        pytest.param(said(scores(19), threshold=0.2, regression_max=None), [], id="a floor alone"),
        pytest.param(said(scores(19), told(0.06)), [], id="an acceptance was told"),
        pytest.param(said(scores(27), told(0.06)), [], id="told, and grown by as much as is allowed"),
        pytest.param(said(scores(28), told(0.06)), [("recall@5", 0.0933)], id="told, and grown by more"),
    ],
)
def test_what_is_said(losses: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    assert losses == expected


def test_of_two_gates_of_one_metric_the_stricter_speaks() -> None:
    gates = [{"name": name, "metric": "recall@5", "regression_max": most} for name, most in (("a", 0.04), ("b", 0.01))]
    found = given_up(parse_criteria({"gates": gates}).gates, scores(19), ScoredAnchor(mark=MARK, scores=scores(0)))
    assert [loss.limit for loss in found] == [-0.01]


def test_what_an_acceptance_notes() -> None:
    anchor = ScoredAnchor(mark=told(0.06), scores=scores(0))
    criteria = parse_criteria({"gates": [{"name": "recall@5", "regression_max": 0.03}]})
    mark = noted(anchor, given_up(criteria.gates, scores(30), anchor))
    assert mark is not None
    assert (mark.id, mark.steps, round(mark.given_up["recall@5"], 6)) == (MARK.id, 5, 0.1)
    assert noted(anchor, []) is None
