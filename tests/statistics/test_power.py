"""What a gold set can see: worked numbers, inverses, and whether simulated gates keep the promise."""

import math
import random
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.statistics.clusters import clustered_mean_interval
from rankgate.statistics.power import Sight, Spread, planning_spread
from rankgate.statistics.saddlepoint import difference_interval

LIMITS = st.floats(0.0, 0.2)
EVIDENCE = st.sampled_from(["estimate", "proven_harm", "proven_safe"])


@pytest.mark.parametrize(
    ("evidence", "queries", "regression_max", "expected"),
    [
        # s = 0.3: standard errors of 0.03, 0.015 and 0.01; nothing appended
        pytest.param("estimate", 100, 0.03, 0.03 + 0.84 * 0.03, id="estimate: 0.84 errors beyond the limit"),
        pytest.param("proven_harm", 100, 0.03, 2.8 * 0.03, id="proven_harm, few queries: proof decides"),
        pytest.param("proven_harm", 900, 0.03, 0.03 + 0.84 * 0.01, id="proven_harm, many: the limit decides"),
        pytest.param("proven_harm", 400, 0.0, 2.8 * 0.015, id="proven_harm without allowance"),
        pytest.param("proven_safe", 900, 0.03, 0.03 - 1.12 * 0.01, id="proven_safe catches less than its limit"),
        pytest.param("proven_safe", 100, 0.03, 0.84 * 0.03, id="proven_safe with nothing left of its limit"),
    ],
)
def test_detectable_drop(evidence: str, queries: int, regression_max: float, expected: float) -> None:
    assert Sight(0.3).drop(evidence, queries, regression_max) == pytest.approx(expected, abs=1e-4)


def test_what_is_appended_makes_proof_dearer_and_leaves_the_estimate_alone() -> None:
    plain, appended = Sight(0.3), Sight(0.3, appended=1.0)
    assert appended.reach(100) == pytest.approx(0.015 + 1.96 * math.hypot(0.03, 0.01))
    assert appended.margin(100) == pytest.approx(appended.reach(100) + 0.8416 * 0.03)
    assert appended.drop("estimate", 100, 0.03) == plain.drop("estimate", 100, 0.03)
    assert appended.drop("proven_harm", 100, 0.03) > plain.drop("proven_harm", 100, 0.03)


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
    sight = Sight(0.3, confidence=confidence)  # a standard error of 0.01 over 900 queries
    assert sight.margin(900) == pytest.approx((errors + 0.8416) * 0.01, abs=1e-12)
    assert sight.drop("proven_harm", 900, 0.0) == pytest.approx((errors + 0.8416) * 0.01, abs=1e-12)
    assert sight.drop("proven_safe", 900, 0.05) == pytest.approx(0.05 - (errors - 0.8416) * 0.01, abs=1e-12)
    assert sight.drop("estimate", 900, 0.05) == pytest.approx(0.05 + 0.008416, abs=1e-12)


@pytest.mark.parametrize(
    ("evidence", "regression_max", "expected"),
    [
        pytest.param("estimate", 0.03, 71, id="estimate: (0.84 s / limit)^2"),
        pytest.param("proven_harm", 0.03, 197, id="proven_harm: (2.8 s / 2 limits)^2"),
        pytest.param("proven_safe", 0.03, 785, id="proven_safe: (2.8 s / limit)^2"),
        pytest.param("estimate", 0.0, None, id="nothing allowed: no size to see"),
        pytest.param("proven_safe", 0.0, None, id="nothing allowed: nothing proves it"),
        pytest.param("proven_harm", 1.2e-5, None, id="1.2 billion: more than anybody has"),
    ],
)
def test_how_many_queries_see_twice_what_is_allowed(evidence: str, regression_max: float, expected: int | None) -> None:
    assert Sight(0.3).needed(evidence, regression_max) == expected


@given(st.floats(0.01, 0.6), st.sampled_from([0.0, 1.0, 12.0]), st.floats(0.001, 0.5), EVIDENCE)
def test_as_many_as_are_needed_see_and_one_fewer_does_not(
    spread: float, appended: float, limit: float, evidence: str
) -> None:
    sight = Sight(spread, appended)
    needed = sight.needed(evidence, limit)
    assert needed is not None
    assert sight.sees(evidence, needed, limit)
    assert needed == 1 or not sight.sees(evidence, needed - 1, limit)


@given(st.floats(0.01, 0.6), st.sampled_from([0.0, 1.0]), st.integers(1, 10**6), LIMITS)
def test_more_queries_see_more(spread: float, appended: float, queries: int, limit: float) -> None:
    sight = Sight(spread, appended)
    assert sight.margin(2 * queries) < sight.margin(queries)
    for evidence in ("estimate", "proven_harm"):
        assert limit < sight.drop(evidence, 2 * queries, limit) < sight.drop(evidence, queries, limit)


def test_a_spread_is_measured_where_enough_queries_changed() -> None:
    differences = [-1.0] * 6 + [1.0] * 4 + [0.0] * 90
    measured = math.sqrt((10.0 - 100 * 0.02**2) / 99)
    found = planning_spread(differences, planned=0.3)
    assert found is not None
    assert found.value == pytest.approx(measured, rel=1e-12)
    assert not found.assumed


# From published tables: the one-sided 95 % bound of 0 of 100 is 2.95 %, of 9 of 100 15.18 %, of 3 of 20 34.37 %.
@pytest.mark.parametrize(
    ("moved", "among", "share"), [(0, 100, 0.0295), (9, 100, 0.1518), (3, 20, 0.3437), (0, 1, 0.95), (1, 1, 1.0)]
)
def test_with_few_moved_the_spread_is_the_root_of_what_may_move(moved: int, among: int, share: float) -> None:
    found = planning_spread([-1.0] * moved + [0.0] * (among - moved), planned=0.3)
    assert found is not None
    assert found.assumed
    assert found.value**2 == pytest.approx(share, abs=5e-5)


@pytest.mark.parametrize(
    ("differences", "planned", "expected"),
    [
        pytest.param([], 0.43, Spread(0.43, assumed=True), id="nothing compared: as planned"),
        pytest.param([-40.0] * 9, None, None, id="no plan: nothing to assume"),
        pytest.param([], None, None, id="nothing at all"),
        pytest.param([2.0] * 10, None, Spread(0.0, assumed=False), id="all the same"),
    ],
)
def test_planning_spread(differences: list[float], planned: float | None, expected: Spread | None) -> None:
    assert planning_spread(differences, planned=planned) == expected


def test_clusters_count_as_what_they_are() -> None:
    labels = [number // 12 for number in range(360)]
    together = [-1.0 if label < 10 else 0.0 for label in labels]
    apart = [-1.0 if number % 3 == 0 else 0.0 for number in range(360)]
    alone, whole, scattered = (
        planning_spread(together, planned=0.43),
        planning_spread(together, labels, planned=0.43),
        planning_spread(apart, labels, planned=0.43),
    )
    assert alone
    assert whole
    assert scattered
    # Lost as wholes they are thirty observations: the standard error is that of 10 among 30.
    assert whole.value / math.sqrt(360) == pytest.approx(math.sqrt(10 / 30 * 20 / 30 / 29))
    assert whole.value > 3 * alone.value
    assert scattered.value < alone.value  # each cluster loses four: they differ less than independent queries would
    assert (alone.cluster, whole.cluster) == (1.0, 12.0)
    # Nine clusters are few, however many queries they have; nothing known, a cluster is taken to move as one.
    few = planning_spread([-1.0 if label < 9 else 0.0 for label in labels], labels, planned=0.43)
    assert few
    assert few.assumed
    assert few.value**2 == pytest.approx(12 * 0.4657, abs=1e-2)  # 9 of 30: at most 46.6 %
    planned = planning_spread([], labels, planned=0.43)
    assert planned
    assert planned.value == pytest.approx(0.43 * math.sqrt(12))


@given(st.permutations(range(24)))
def test_the_order_of_the_queries_does_not_matter(order: list[int]) -> None:
    differences, labels = [float(number % 3 - 1) for number in range(24)], [number // 2 for number in range(24)]
    there = planning_spread(differences, labels, planned=0.3)
    back = planning_spread([differences[i] for i in order], [labels[i] for i in order], planned=0.3)
    assert there
    assert back
    assert there.value == pytest.approx(back.value)


# The oracle: gates judged one sample after the other, at the drop that is said to be detected.
Draw = Callable[[random.Random, float], tuple[list[float], list[int]]]


def hits(queries: int, changed: float = 0.26) -> Draw:
    def draw(source: random.Random, drop: float) -> tuple[list[float], list[int]]:
        chances = [(changed + drop) / 2, 1 - changed, (changed - drop) / 2]
        return sorted(source.choices((-1.0, 0.0, 1.0), chances, k=queries)), []

    return draw


def conversations(count: int, size: int) -> Draw:
    """Whole conversations are lost or won, as where each stands on one document."""

    def draw(source: random.Random, drop: float) -> tuple[list[float], list[int]]:
        chances = [(0.3 + drop) / 2, 0.7, (0.3 - drop) / 2]
        moves = sorted(source.choices((-1.0, 0.0, 1.0), chances, k=count))
        labels = [label for label in range(count) for _ in range(size)]
        return [moves[label] for label in labels], labels

    return draw


def little(queries: int) -> Draw:
    return lambda source, drop: ([source.gauss(-drop, 0.05) for _ in range(queries)], [])


@cache
def interval_of(differences: tuple[float, ...], labels: tuple[int, ...]) -> tuple[float, float]:
    found = (
        clustered_mean_interval(differences, labels, low=-1.0, high=1.0)
        if labels
        else difference_interval(differences, widest=1.0)
    )
    assert found is not None
    return found


@pytest.mark.full
@pytest.mark.parametrize(
    ("draw", "evidence", "limit", "expected"),
    [
        pytest.param(hits(400), "estimate", 0.02, 0.8, id="estimate"),
        pytest.param(hits(400), "proven_harm", 0.02, 0.8, id="proven harm, where proof decides"),
        pytest.param(hits(400), "proven_harm", 0.1, 0.8, id="proven harm, where the limit decides"),
        pytest.param(hits(100), "proven_harm", 0.03, 0.84, id="proven harm, few queries"),
        pytest.param(little(100), "proven_harm", 0.03, 0.84, id="few that all move a little"),
        pytest.param(conversations(60, 6), "proven_harm", 0.03, 0.86, id="60 clusters of 6"),
        pytest.param(conversations(100, 3), "proven_harm", 0.03, 0.83, id="100 clusters of 3"),
        pytest.param(conversations(60, 6), "estimate", 0.03, 0.8, id="60 clusters of 6, estimate"),
        pytest.param(hits(785, 0.09), "proven_safe", 0.04, 0.8, id="proven safe: a harmless change passes"),
    ],
)
def test_simulated_gates_do_what_is_said_of_them(draw: Draw, evidence: str, limit: float, expected: float) -> None:
    source, drop, queries, sight = random.Random(13), 0.0, 1, Sight(0.0)  # noqa: S311 - a seeded check
    for _ in range(20):  # the spread depends on the drop a little
        differences, labels = [], []
        for part in range(20):
            more, names = draw(source, drop)
            differences += more
            labels += [part * 1000 + name for name in names]
        spread = planning_spread(differences, labels, planned=None)
        assert spread is not None
        queries = len(differences) // 20
        sight = Sight(spread.value, appended=spread.cluster)
        drop = 0.0 if evidence == "proven_safe" else (drop + sight.drop(evidence, queries, limit)) / 2
    if evidence == "proven_safe":
        limit = sight.margin(queries)
    runs = kept = 0
    for _ in range(600):
        differences, labels = draw(source, drop)
        low, high = interval_of(tuple(differences), tuple(labels))
        over = -math.fsum(differences) / len(differences) > limit
        violated = {"estimate": over, "proven_harm": over and high < 0, "proven_safe": -low > limit}[evidence]
        runs, kept = runs + 1, kept + (violated != (evidence == "proven_safe"))
    assert kept / runs == pytest.approx(expected, abs=0.05)
