"""Several metrics at once: what is computed once for queries that look alike, and what never is."""

from typing import ClassVar

import pytest
from tests.rows import each_row

from rankgate.metrics.base import Metric, RelevanceMetric, Together, sees_hits_alone
from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import Tally
from rankgate.metrics.sets import Recall
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Gold, Ranking, RunField, Sample


class OfAPackage(RelevanceMetric, frozen=True, kw_only=True):
    """A metric that looks at what ours of its kind do not: the question."""

    key: ClassVar[str] = "asked"
    formula: ClassVar[str] = "1 where the question is known, else 0"
    plain: ClassVar[str] = "share of questions that are written down"

    def per_query(self, query: MatchedQuery) -> float | None:
        return float(query.sample is not None and query.sample.question is not None)


@each_row(
    ("metric", "alone"),
    [
        *(
            pytest.param(parse_metric(name), True, id=name)
            for name in ("hit@5", "recall(rel=2)@k", "f(beta=2,of=retrieved)@5", "mrr", "map", "recall_auc")
        ),
        *(
            pytest.param(parse_metric(name), True, id=name)
            for name in ("dcg", "ndcg(ideal=retrieved)@5", "weighted_recall")
        ),
        *(
            pytest.param(parse_metric(name), False, id=name)
            for name in ("recall(stage=raw)@5", "recall(rewrite=1)@5", "recall(source=kb)@5", "rerank_gain(mrr)")
        ),
        *(
            pytest.param(parse_metric(name), False, id=name)
            for name in ("judged@5", "negatives_above@5", "containment@5")
        ),
        *(
            pytest.param(parse_metric(name), False, id=name)
            for name in ("false_evidence_rate", "latency", "score(cost)")
        ),
        *(pytest.param(parse_metric(name), False, id=name) for name in ("overlap@5", "rbo", "entity_f1")),
        pytest.param(OfAPackage(cutoff=5), False, id="one of a package"),
    ],
)
def test_what_sees_hits_alone(metric: Metric, alone: bool) -> None:  # noqa: FBT001 -- a table
    assert sees_hits_alone(metric) is alone


def test_queries_that_look_alike_have_their_own_values() -> None:
    """Their hits stand at the same ranks; source, answerability, question and the number of repeats differ."""
    metrics = [
        *parse_metrics("recall@1,recall(source=kb)@1,false_evidence_rate,precision(of=retrieved)@3"),
        OfAPackage(),
    ]
    samples = [
        Sample(query_id="one", gains={"a": 1.0}, source=("kb",)),
        Sample(query_id="other", gains={"b": 1.0}, source=("web",), question="Why?"),
        Sample(query_id="third", gains={"a": 1.0, "b": 0.0}, no_answer=True),
    ]
    lists = [["a", "x"], ["b", "x"], ["a", "x"]]
    together = Together(metrics)
    found = [
        together.values(match(sample, Ranking(sample.query_id, ids), needs=frozenset(RunField)))
        for sample, ids in zip(samples, lists, strict=True)
    ]
    assert found == [[1, 1, None, 1 / 2, 0], [1, None, None, 1 / 2, 1], [1, None, 1, 1 / 2, 0]]


def test_what_lists_share_is_computed_once_for_all_batches_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    per_query = Recall.per_query

    def counted(self: Recall, query: MatchedQuery) -> float | None:
        computed.append(query.query_id)
        return per_query(self, query)

    monkeypatch.setattr(Recall, "per_query", counted)
    samples = {query_id: Sample(query_id=query_id, gains={"a": 1.0}) for query_id in ("one", "two", "three")}
    tally = Tally(Gold(name="gold", format="jsonl", samples=samples), Plan(metrics=parse_metrics("recall@2")))
    for query_id, ids in (("one", ["a", "x"]), ("two", ["a", "y"]), ("three", ["x", "a"])):
        tally.add([Ranking(query_id, ids)])
    assert computed == ["one", "three"]
    assert tally.columns == [[1.0, 1.0, 1.0]]
