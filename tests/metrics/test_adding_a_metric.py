"""A metric is one class and one row: what else is said of it goes by what the class says of itself."""

from __future__ import annotations

from typing import ClassVar

import pytest
from msgspec.structs import replace
from tests.renderers.reports import RECALL

from rankgate.cli.metrics import everything, look_up
from rankgate.criteria import Gate
from rankgate.diagnosis.causes import of_list
from rankgate.gates.power import detectable
from rankgate.gates.results import leading_metric
from rankgate.metrics import registry
from rankgate.metrics.base import BaseMetric, Kind, Metric, RelevanceMetric
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.metrics.registry import families
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import RunField


class First(RelevanceMetric, frozen=True, kw_only=True):
    """Whether the first result is relevant."""

    key: ClassVar[str] = "first_hit"
    aliases: ClassVar[tuple[str, ...]] = ("top_one",)
    formula: ClassVar[str] = "1 if the document at rank 1 is relevant, else 0"
    plain: ClassVar[str] = "share of questions whose first result is relevant"
    spread: ClassVar[float | None] = 0.4
    reads: ClassVar[frozenset[RunField]] = frozenset(
        {RunField.SOURCE}
    )  # beside the list, which it measures all the same

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0."""
        return float(self.ranks(query)[:1] == [1]) if self.relevant(query) else None


def gate(metric: Metric, drop: float = 0.05) -> Gate:
    return Gate(name=metric.name, metric=metric, threshold=None, regression_max=drop, severity="error", line=1)


@pytest.fixture
def one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ROWS", (*registry.ROWS, f"{__name__}:First"))


@pytest.mark.full
@pytest.mark.usefixtures("one_row")
def test_one_row_is_all_that_a_metric_takes() -> None:
    """Parsed by each of its names, suggested, listed, explained, diagnosed, leading and planned with."""
    metric = parse_metric("retrieval_first_hit_at_3")
    assert metric == parse_metric("top-one@3") == First(cutoff=3)
    with pytest.raises(UnknownMetricError, match="did you mean 'first_hit@3'"):
        parse_metric("fist_hit@3")
    assert "first_hit" in [facts["name"] for facts in everything()]
    assert look_up("top_one@3")[1][0]["formula"] == First.formula
    assert parse_metric("first_hit(stage=raw)@3").kind is Kind.OTHER_LIST
    assert of_list(metric)
    result = replace(RECALL, metric=metric.name)
    assert leading_metric([gate(metric)], [result]) == metric
    seen = detectable(gate(metric), queries=100)
    assert seen is not None
    assert (seen.spread, seen.assumed) == (0.4, True)


# What each measured is by what the modules before this table read: the same, but that a class may now say otherwise.
OTHERS = {
    RunField.RAW,
    RunField.REWRITES,
    RunField.LATENCY,
    RunField.SOURCE,
    RunField.ENTITIES,
    RunField.SCORES,
    RunField.VERSIONS,
    RunField.BASELINE,
}
OTHERS |= {RunField.VERDICTS, RunField.ANSWER}
BY_GAINS = {"bpref": {RunField.JUDGED}}  # gains of 0 too
OF_PASSAGES = {RunField.OFFSETS, RunField.DOCS, RunField.PASSAGES}  # which are judged, too
BY_GAINS |= dict.fromkeys(("passage_recall", "passage_precision", "passage_iou"), OF_PASSAGES)
NAMES = {"rubric": "rubric(cites)", "score": "score(cost)", "source_share": "source_share(a)"}


@pytest.mark.parametrize("family", [*families()], ids=lambda family: family.key)
def test_what_ours_measure_agrees_with_what_they_read(family: type[BaseMetric]) -> None:
    metric = parse_metric(NAMES.get(family.key, family.key))
    assert of_list(metric) is not bool(metric.needs & OTHERS)
    assert (metric.kind is Kind.RELEVANCE) is not bool(metric.needs - BY_GAINS.get(family.key, set()))
    assert (metric.kind is Kind.LATENCY) is (RunField.LATENCY in metric.needs)
    assert (metric.kind is Kind.DRIFT) is (RunField.BASELINE in metric.needs)


@pytest.mark.parametrize(
    ("name", "spread"),
    [("hit@5", 0.43), ("mrr", 0.37), ("map", 0.23), ("ap@10", 0.23), ("f@5", 0.2), ("recall(stage=raw)@5", 0.43)],
)
def test_the_spread_that_is_planned_with_is_the_metrics_own(name: str, spread: float) -> None:
    """Also of `ap@10`, which is `map` by another cut-off: the name says nothing, the class does."""
    seen = detectable(gate(parse_metric(name)), queries=100)
    assert seen is not None
    assert seen.spread == spread
