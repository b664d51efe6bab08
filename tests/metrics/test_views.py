"""A metric of another list of the line, or of the questions of one source; and what reranking and rewriting add."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rankgate.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.model import Details, MatchedQuery, Ranking, Sample

GAINS = {"a": 1.0, "b": 1.0}
FINAL = "a b x"
RAW = "x a y z u v b"


def listed(ids: str) -> Ranking:
    return Ranking("q", ids.split())


def query(
    final: str, raw: str | None, rewrites: Sequence[str] | None, gains: Mapping[str, float] = GAINS, **gold: Any
) -> MatchedQuery:
    details = Details(
        raw=None if raw is None else listed(raw),
        rewrites=None if rewrites is None else [listed(each) for each in rewrites],
    )
    needs = parse_metric("recall(stage=raw)@5").needs | parse_metric("recall(rewrite=1)@5").needs
    return match(Sample(query_id="q", gains=gains, **gold), Ranking("q", final.split(), 0, details), needs=needs)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        pytest.param("recall@5", 1, id="the final list"),
        pytest.param("recall(stage=final)@5", 1, id="the final list by name"),
        pytest.param("recall(stage=raw)@5", 1 / 2, id="the raw list, first five"),
        pytest.param("recall(stage=raw)@50", 1, id="the raw list, deeper"),
        pytest.param("mrr(stage=raw)", 1 / 2, id="ranks are those of the raw list"),
        pytest.param("precision(stage=raw)@all", 2 / 7, id="so is the length"),
        pytest.param("recall(stage=raw)", 1 / 2, id="without a number: the sample's k"),
        pytest.param("recall(rewrite=1)@5", 1 / 2, id="the first rewritten question"),
        pytest.param("recall(rewrite=2)@5", 0, id="the second, with an empty list"),
        pytest.param("recall(rewrite=3)@5", None, id="a third that the line does not have"),
        pytest.param("recall(source=kb)@5", 1, id="the source that the gold names"),
        pytest.param("recall(source=KB)@5", None, id="another source: undefined"),
        pytest.param("recall(source=kb,stage=raw)@5", 1 / 2, id="source and list"),
        pytest.param("rerank_gain(recall@5)", 1 / 2, id="reranking brought one into the first five"),
        pytest.param("rerank_gain(recall@50)", 0, id="and none into the first fifty"),
        pytest.param("rerank_gain(mrr)", 1 / 2, id="from rank 2 to rank 1"),
        pytest.param("rewrite_gain(recall@5)", -1 / 2, id="rewriting lost one: a gain may be below 0"),
        pytest.param("rewrite_gain(recall@5,rewrite=2)", -1, id="the second lost both"),
        pytest.param("rewrite_gain(recall@5,rewrite=3)", None, id="a third that the line does not have"),
    ],
)
def test_views(metric: str, expected: float | None) -> None:
    seen = query(FINAL, RAW, ["b x", ""], source="kb")
    assert parse_metric(metric).per_query(seen) == (None if expected is None else pytest.approx(expected))


VIEWS = ("recall(stage=raw)@5", "recall(rewrite=1)@5", "rerank_gain(recall@5)", "rewrite_gain(recall@5)")


@pytest.mark.parametrize("metric", [*VIEWS, "recall(source=kb)@5"])
def test_undefined_where_the_line_or_the_gold_lacks_what_is_asked_of(metric: str) -> None:
    assert parse_metric(metric).per_query(query(FINAL, None, None)) is None


@pytest.mark.parametrize("metric", [*VIEWS, "recall(source=kb)@5"])
def test_undefined_where_nothing_is_relevant(metric: str) -> None:
    assert parse_metric(metric).per_query(query(FINAL, RAW, ["a"], {}, source="kb")) is None


def test_an_empty_raw_list_is_not_a_missing_one() -> None:
    seen = query(FINAL, "", [])
    assert parse_metric("recall(stage=raw)@5").per_query(seen) == 0
    assert parse_metric("rerank_gain(recall@5)").per_query(seen) == 1
    assert parse_metric("recall(rewrite=1)@5").per_query(seen) is None


@pytest.mark.parametrize(
    ("metric", "low", "high"),
    [
        pytest.param("recall(stage=raw)@5", 0, 1, id="another list: the metric's"),
        pytest.param("rerank_gain(recall@5)", -1, 1, id="a gain: as far below as above"),
        pytest.param("rewrite_gain(mrr)", -1, 1, id="of rewriting too"),
        pytest.param("rerank_gain(dcg)", None, None, id="of an open range: open"),
    ],
)
def test_ranges(metric: str, low: float | None, high: float | None) -> None:
    parsed = parse_metric(metric)
    assert (parsed.low, parsed.high) == (low, high)


@pytest.mark.parametrize(
    ("metric", "meaning"),
    [
        pytest.param(
            "recall(stage=raw)@50",
            "share of the right documents found in the first 50 results before reranking",
            id="raw",
        ),
        pytest.param(
            "recall(rewrite=2)@5",
            "share of the right documents found in the first 5 results for the rewritten question 2",
            id="rewritten",
        ),
        pytest.param(
            "hit(source=kb-br)@5",
            "share of questions with at least one right document in the first 5 results, questions of the source kb-br",
            id="one source",
        ),
        pytest.param(
            "rerank_gain(mrr)",
            "what reranking adds to: how high the first right document stands in the whole list, 1 = always first",
            id="reranking",
        ),
        pytest.param(
            "rewrite_gain(recall@5)",
            "what rewriting the question adds to: share of the right documents found in the first 5 results",
            id="rewriting",
        ),
    ],
)
def test_meanings(metric: str, meaning: str) -> None:
    assert parse_metric(metric).meaning == meaning
