"""Metrics that no gate asked for, a value a gold query: missing queries, and what a run does not state."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.diagnosis.runs import gold_of, scores_of, with_new

from rankgate.diagnosis.sweeps import columns_of
from rankgate.metrics.names import parse_metrics

GOLD = gold_of({"q1": "a", "q2": "b", "none": ""})
LISTS = {"q1": "x a", "q2": "b x", "none": "x"}


def test_rows_stand_in_the_order_of_the_gold_whatever_the_order_of_the_run() -> None:
    now = scores_of(GOLD, dict(reversed(LISTS.items())))
    found = columns_of(parse_metrics("recall@1,mrr"), GOLD, now, None)
    assert dict(found.now) == {"recall@1": [0.0, 1.0, None], "mrr": [0.5, 1.0, None]}
    assert found.before is None


@pytest.mark.parametrize("gated", ["recall@1", "mrr"])
def test_a_query_that_a_run_lacks_is_worst_and_one_that_is_new_to_the_baseline_has_no_value(gated: str) -> None:
    half = scores_of(GOLD, {"q1": "a"}, gated)
    for baseline, value in ((half, 0.0), (with_new(half), None)):
        found = columns_of(parse_metrics("recall@1"), GOLD, half, baseline)
        assert found.now["recall@1"] == [1.0, 0.0, None]
        assert found.before is not None
        assert found.before["recall@1"] == [1.0, value, None]


def test_a_metric_of_what_the_run_nowhere_states_is_left_out() -> None:
    asked = parse_metrics("recall@1,latency")
    silent, timed = scores_of(GOLD, LISTS), scores_of(GOLD, LISTS, latency={"q1": 10.0, "q2": 30.0, "none": 5.0})
    assert list(columns_of(asked, GOLD, silent, timed).now) == ["recall@1"]

    of_baseline = columns_of(asked, GOLD, timed, silent)
    assert list(of_baseline.now) == ["recall@1", "latency"]
    assert of_baseline.now["latency"] == [10.0, 30.0, 5.0]
    assert of_baseline.before is not None
    assert of_baseline.before["latency"] == [None, None, None]
    assert of_baseline.before["recall@1"] == [0.0, 1.0, None]


def test_what_the_check_scored_is_taken_from_there() -> None:
    """A metric that compares with the baseline cannot be scored anew without the baseline's lists."""
    (overlap,) = parse_metrics("overlap@3")
    now = replace(scores_of(GOLD, LISTS), values={"overlap@3": [0.5, 0.0, 1.0]})
    found = columns_of([overlap], GOLD, now, replace(scores_of(GOLD, LISTS), values={"overlap@3": [1.0, 1.0, 1.0]}))
    assert found.now["overlap@3"] == [0.5, 0.0, 1.0]
    assert found.before == {"overlap@3": [None, None, None]}
