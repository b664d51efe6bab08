"""The most that each query can have: where intervals take it in place of the end of the range."""

from __future__ import annotations

import pytest

from rankgate.metrics.estimates import attainable, estimate
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Ranking, Sample

COUNTS = [1, 5, 10, 20, 50]  # relevant documents of the queries


def scored(metric: str, sizes: list[int], found: int = 1, *, missing: int = 0) -> Scores:
    samples = {
        f"q{row}": Sample(query_id=f"q{row}", gains={f"d{n}": 1.0 for n in range(size)})
        for row, size in enumerate(sizes)
    }
    gold = Gold(samples=samples, name="gold", format="python")
    rankings = [
        Ranking(query_id, [f"d{n}" if n < found else f"x{n}" for n in range(5)]) for query_id in list(samples)[missing:]
    ]
    return score(gold, rankings, Plan(metrics=[parse_metric(metric)], keep_matched=True))


def ends_of(metric: str, scores: Scores) -> list[float]:
    made = parse_metric(metric)
    return attainable(made, scores, scores.values[made.name])


@pytest.mark.parametrize(
    ("metric", "ends"),
    [
        pytest.param("recall@5", [1, 1, 0.5, 0.25, 0.1], id="the share that fits into five"),
        pytest.param("precision@20", [0.05, 0.25, 0.5, 1, 1], id="what there is to find"),
        pytest.param("capped_recall@5", [], id="all can reach 1"),
        pytest.param("ndcg@10", [], id="the ideal is what it measures by"),
        pytest.param("recall@20", [], id="only one in five cannot, which is no more than a fifth"),
        pytest.param("recall(stage=raw)@5", [], id="another list of the line"),
        pytest.param("false_evidence_rate", [], id="lower is better"),
    ],
)
def test_the_most_is_the_value_of_the_ideal_list(metric: str, ends: list[float]) -> None:
    assert ends_of(metric, scored(metric, COUNTS)) == pytest.approx(ends)


@pytest.mark.parametrize(("size", "known"), [(150, True), (155, False)])
def test_up_to_150_queries(size: int, *, known: bool) -> None:
    assert bool(ends_of("recall@5", scored("recall@5", COUNTS * (size // 5)))) is known


def test_a_query_that_the_run_lacks_has_an_ideal_list_too() -> None:
    """Else a run that lacks some of its lists would be judged more mildly than one with empty lists in their place."""
    assert ends_of("recall@5", scored("recall@5", [50] * 5, missing=2)) == [0.1] * 5
    assert ends_of("recall@k", scored("recall@k", [50] * 5, missing=2)) == [0.1] * 5


def test_the_value_has_a_nearer_upper_bound_and_the_same_lower_one() -> None:
    scores, metric = scored("recall@5", [10, 20, 50] * 20), parse_metric("recall@5")
    values = scores.values["recall@5"]
    plain, near = (estimate(values, metric, ends=ends) for ends in ([], attainable(metric, scores, values)))
    assert plain is not None
    assert near is not None
    assert plain.ci is not None
    assert near.ci is not None
    assert near.ci[0] == plain.ci[0]
    assert near.value < (near.ci[1] or 1) < (plain.ci[1] or 0) * 0.8
