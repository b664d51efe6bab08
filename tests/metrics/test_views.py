"""A metric of another list of the line, or of the questions of one source; and what reranking and rewriting add."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace
from tests.rows import each_row

from rankgate.metrics.base import BaseMetric
from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.metrics.views import ListGain
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Ranking, RunField, Sample

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


@each_row(
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
            "share of the relevant documents found in the first 50 results before reranking",
            id="raw",
        ),
        pytest.param(
            "recall(rewrite=2)@5",
            "share of the relevant documents found in the first 5 results for the rewritten question 2",
            id="rewritten",
        ),
        pytest.param(
            "hit(source=kb-br)@5",
            "share of questions with at least one relevant document in the first 5 results, questions of one source",
            id="one source",
        ),
        pytest.param(
            "rerank_gain(mrr)",
            "what reranking adds to: how high the first relevant document stands in the whole list, 1 = always first",
            id="reranking",
        ),
        pytest.param(
            "rewrite_gain(recall@5)",
            "what rewriting the question adds to: share of the relevant documents found in the first 5 results",
            id="rewriting",
        ),
    ],
)
def test_meanings(metric: str, meaning: str) -> None:
    assert parse_metric(metric).meaning == meaning


@pytest.mark.parametrize(
    ("metric", "needs"),
    [
        pytest.param("recall(source=kb)@5", set(), id="the questions of a source: no other list"),
        pytest.param("recall(stage=raw)@5", {RunField.RAW}, id="the raw list"),
        pytest.param("recall(rewrite=2)@5", {RunField.REWRITES}, id="a rewritten question's list"),
        pytest.param("rerank_gain(recall@5)", {RunField.RAW}, id="what reranking adds"),
        pytest.param("rewrite_gain(recall@5)", {RunField.REWRITES}, id="what rewriting adds"),
    ],
)
def test_what_is_read(metric: str, needs: set[RunField]) -> None:
    assert parse_metric(metric).needs == needs


class Lead(BaseMetric, frozen=True, kw_only=True):
    """A ranking metric as a package may have it: from -1 to 1, and undefined for some lists."""

    key: ClassVar[str] = "lead"
    formula: ClassVar[str] = "1 if the first result is right, else -1"
    plain: ClassVar[str] = "whether the first result is right"
    low: ClassVar[float | None] = -1.0
    ranking: ClassVar[bool] = True

    def per_query(self, query: MatchedQuery) -> float | None:
        if not query.retrieved:
            return None
        return 1.0 if query.hits and query.hits[0][0] == 1 else -1.0


class OpenLead(Lead, frozen=True, kw_only=True):
    """The same, without a lower end."""

    low: ClassVar[float | None] = None


def test_a_gain_is_at_most_as_wide_as_the_metrics_range() -> None:
    assert (ListGain(metric=Lead()).low, ListGain(metric=Lead()).high) == (-2, 2)
    assert (ListGain(metric=OpenLead()).low, ListGain(metric=OpenLead()).high) == (None, None)


@pytest.mark.parametrize(
    ("final", "raw", "gain"),
    [
        pytest.param("a", "x", 2, id="both defined"),
        pytest.param("", "x", None, id="undefined for the final list"),
        pytest.param("a", "", None, id="undefined for the raw list"),
        pytest.param("", "", None, id="undefined for both"),
    ],
)
def test_a_gain_is_undefined_where_the_metric_is_for_one_of_the_lists(final: str, raw: str, gain: float | None) -> None:
    assert ListGain(metric=Lead()).per_query(query(final, raw, None)) == gain


@pytest.mark.parametrize(
    ("metric", "another"),
    [
        pytest.param("recall@5", "recall(stage=raw)@5", id="the raw list"),
        pytest.param("mrr", "mrr(rewrite=1)", id="a rewritten question"),
        pytest.param("dcg@10", "dcg(source=kb)@10", id="the questions of a source, an open range"),
        pytest.param("precision", "precision(source=kb)", id="the questions of a source, at the sample's k"),
    ],
)
def test_a_view_reads_as_its_metric_does(metric: str, another: str) -> None:
    own, view = parse_metric(metric), parse_metric(another)
    for name in ("cutoff", "direction", "unit", "low", "high", "worst", "judge_bounds", "at_quantile"):
        assert getattr(view, name) == getattr(own, name), name
    assert view.aggregate([0.0, 0.5]) == 1 / 4


def test_labels_bound_nothing_in_a_condensed_list() -> None:
    """A label of 0 is judged, and moves a relevant document down."""
    sample = Sample(query_id="q", gains={"b": 1.0})
    bounded = parse_metric("mrr(judged_only=true)")
    assert not bounded.judge_bounds
    before, after = (
        bounded.per_query(match(each, listed("a b"), needs=bounded.needs))
        for each in (sample, replace(sample, gains={"a": 0.0, "b": 1.0}))
    )
    assert (before, after) == (1, 1 / 2)


@pytest.mark.parametrize("gain", ["rerank_gain", "rewrite_gain"])
@pytest.mark.parametrize("metric", ["recall@5", "mrr", "precision@3", "dcg@10"])
def test_a_gain_reads_as_its_metric_does_but_has_no_worst_and_no_bound(gain: str, metric: str) -> None:
    own, step = parse_metric(metric), parse_metric(f"{gain}({metric})")
    for name in ("cutoff", "direction", "unit"):
        assert getattr(step, name) == getattr(own, name), name
    assert (step.worst, step.judge_bounds, step.at_quantile) == (None, False, None)
    assert step.aggregate([-1.0, 0.5]) == -1 / 4
