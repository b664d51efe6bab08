"""What a gold set can see: worked numbers, inverses, and whether simulated gates keep the promise."""

import math
import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.statistics.power import (
    Evidence,
    Spread,
    detectable_drop,
    planning_spread,
    provable_margin,
    queries_needed,
)
from rankgate.statistics.saddlepoint import difference_interval


@pytest.mark.parametrize(
    ("evidence", "queries", "regression_max", "expected"),
    [
        # s = 0.3: standard errors of 0.03, 0.015 and 0.01
        pytest.param("estimate", 100, 0.03, 0.03 + 0.84 * 0.03, id="estimate: 0.84 errors beyond the limit"),
        pytest.param("proven_harm", 100, 0.03, 2.8 * 0.03, id="proven_harm, few queries: proof decides"),
        pytest.param("proven_harm", 900, 0.03, 0.03 + 0.84 * 0.01, id="proven_harm, many: the limit decides"),
        pytest.param("proven_harm", 400, 0.0, 2.8 * 0.015, id="proven_harm without allowance"),
        pytest.param("proven_safe", 900, 0.03, 0.03 - 1.12 * 0.01, id="proven_safe catches less than its limit"),
        pytest.param("proven_safe", 100, 0.03, 0.84 * 0.03, id="proven_safe with nothing left of its limit"),
    ],
)
def test_detectable_drop(evidence: Evidence, queries: int, regression_max: float, expected: float) -> None:
    found = detectable_drop(evidence, spread=0.3, queries=queries, regression_max=regression_max)
    assert found == pytest.approx(expected, abs=1e-4)


def test_provable_margin() -> None:
    assert provable_margin(spread=0.3, queries=100) == pytest.approx(2.8 * 0.03, abs=1e-4)
    assert provable_margin(spread=0.0, queries=1) == 0


@pytest.mark.parametrize(
    ("confidence", "errors"),
    [
        # from a table of the normal distribution
        pytest.param(0.80, 1.2816, id="80 %"),
        pytest.param(0.90, 1.6449, id="90 %"),
        pytest.param(0.95, 1.9600, id="95 %"),
        pytest.param(0.99, 2.5758, id="99 %"),
        pytest.param(1 - 0.05 / 30, 3.1440, id="95 %, Holm's smallest of thirty"),
    ],
)
def test_the_confidence_says_how_much_is_proof(confidence: float, errors: float) -> None:
    drop = partial(detectable_drop, spread=0.3, queries=900, confidence=confidence)  # a standard error of 0.01
    margin = provable_margin(spread=0.3, queries=900, confidence=confidence)
    assert margin == pytest.approx((errors + 0.8416) * 0.01, abs=1e-12)
    harm, safe = drop("proven_harm", regression_max=0.0), drop("proven_safe", regression_max=0.05)
    assert harm == pytest.approx((errors + 0.8416) * 0.01, abs=1e-12)
    assert safe == pytest.approx(0.05 - (errors - 0.8416) * 0.01, abs=1e-12)
    assert drop("estimate", regression_max=0.05) == pytest.approx(0.05 + 0.008416, abs=1e-12)


@pytest.mark.parametrize(("confidence", "expected"), [(0.90, 619), (0.95, 785), (0.99, 1168)])
def test_more_confidence_takes_more_queries(confidence: float, expected: int) -> None:
    found = queries_needed("proven_safe", spread=0.3, drop=0.03, regression_max=0.03, confidence=confidence)
    assert found == expected  # ((z + 0.8416) * 0.3 / 0.03)^2, rounded up


@pytest.mark.parametrize(
    ("evidence", "drop", "regression_max", "expected"),
    [
        pytest.param("estimate", 0.05, 0.03, 160, id="estimate: (0.84 * 0.3 / 0.02)^2"),
        pytest.param("proven_harm", 0.05, 0.0, 283, id="proven_harm: (2.8 * 0.3 / 0.05)^2"),
        pytest.param("proven_harm", 0.04, 0.03, 638, id="proven_harm near its limit: (0.84 * 0.3 / 0.01)^2"),
        pytest.param("proven_safe", 0.0, 0.03, 785, id="proven_safe: (2.8 * 0.3 / 0.03)^2"),
        pytest.param("estimate", 0.03, 0.03, None, id="a drop at the limit is never seen"),
        pytest.param("proven_harm", 0.02, 0.03, None, id="nor one that is allowed"),
        pytest.param("proven_safe", 0.1, 0.0, None, id="no drop at all is never proven"),
        pytest.param("estimate", 0.030001, 0.03, None, id="more than a billion"),
    ],
)
def test_queries_needed(evidence: Evidence, drop: float, regression_max: float, expected: int | None) -> None:
    assert queries_needed(evidence, spread=0.3, drop=drop, regression_max=regression_max) == expected


@pytest.mark.parametrize(("evidence", "expected"), [("estimate", 1), ("proven_harm", 1), ("proven_safe", 1)])
def test_without_spread_one_query_is_enough(evidence: Evidence, expected: int) -> None:
    assert queries_needed(evidence, spread=0.0, drop=0.05, regression_max=0.03) == expected


LIMITS = st.floats(0, 0.2)


@given(st.floats(0.01, 0.6), st.floats(0.001, 0.5), LIMITS, st.sampled_from(["estimate", "proven_harm"]))
def test_queries_needed_is_the_inverse(spread: float, drop: float, limit: float, evidence: Evidence) -> None:
    needed = queries_needed(evidence, spread=spread, drop=drop, regression_max=limit)
    if needed is None:
        assert drop - limit <= 0.85 * spread / math.sqrt(1e9)
        return
    assert detectable_drop(evidence, spread=spread, queries=needed, regression_max=limit) <= drop
    if needed > 1:
        assert detectable_drop(evidence, spread=spread, queries=needed - 1, regression_max=limit) > drop


@given(st.floats(0.01, 0.6), st.integers(1, 10**6), LIMITS, st.sampled_from(["estimate", "proven_harm"]))
def test_more_queries_see_more(spread: float, queries: int, limit: float, evidence: Evidence) -> None:
    few = detectable_drop(evidence, spread=spread, queries=queries, regression_max=limit)
    many = detectable_drop(evidence, spread=spread, queries=2 * queries, regression_max=limit)
    assert limit < many < few


def test_a_spread_is_measured_where_enough_queries_changed() -> None:
    differences = [-1.0] * 6 + [1.0] * 4 + [0.0] * 90
    mean, squares = -0.02, 10.0
    measured = math.sqrt((squares - 100 * mean**2) / 99)
    found = planning_spread(differences, rate=True)
    assert found is not None
    assert found.value == pytest.approx(measured, rel=1e-12)
    assert not found.assumed


@pytest.mark.parametrize(
    ("differences", "rate", "expected"),
    [
        pytest.param([-1.0] * 9 + [0.0] * 91, True, Spread(0.3, assumed=True), id="nine changed: assumed"),
        pytest.param([], True, Spread(0.3, assumed=True), id="none"),
        pytest.param([-40.0] * 9, False, None, id="not a rate: nothing to assume"),
        pytest.param([2.0] * 10, False, Spread(0.0, assumed=False), id="all the same"),
    ],
)
def test_planning_spread(differences: list[float], rate: bool, expected: Spread | None) -> None:  # noqa: FBT001
    assert planning_spread(differences, rate=rate) == expected


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="a mean needs queries"):
        provable_margin(spread=0.3, queries=0)
    with pytest.raises(ValueError, match="spread"):
        provable_margin(spread=math.nan, queries=10)
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1"):
            provable_margin(spread=0.3, queries=10, confidence=confidence)
    with pytest.raises(ValueError, match="regression_max"):
        detectable_drop("estimate", spread=0.3, queries=10, regression_max=-0.1)


@pytest.mark.parametrize(("evidence", "limit"), [("estimate", 0.02), ("proven_harm", 0.02), ("proven_harm", 0.1)])
def test_the_detectable_drop_is_detected_in_four_of_five_runs(evidence: Evidence, limit: float) -> None:
    queries, changed = 400, 0.26
    drop = detectable_drop(evidence, spread=0.5, queries=queries, regression_max=limit)
    chances = [(changed + drop) / 2, 1 - changed, (changed - drop) / 2]
    spread = math.sqrt(changed - drop**2)
    drop = detectable_drop(evidence, spread=spread, queries=queries, regression_max=limit)
    chances = [(changed + drop) / 2, 1 - changed, (changed - drop) / 2]
    source, runs, caught = random.Random(13), 1500, 0  # noqa: S311 - a seeded check
    for _ in range(runs):
        differences = source.choices((-1.0, 0.0, 1.0), chances, k=queries)
        interval = difference_interval(differences, widest=1.0)
        assert interval is not None
        over = -sum(differences) / queries > limit
        caught += over and (evidence == "estimate" or interval[1] < 0)
    assert caught / runs == pytest.approx(0.8, abs=0.05)
