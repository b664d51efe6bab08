"""The draw of changed questions and the estimate from it, beside every sample that there could have been."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import combinations, combinations_with_replacement, pairwise

import pytest
from tests.rows import each_row

from rankgate.statistics.traffic import Draw, TrafficEstimate, draw_questions, estimate_change

EVEN = {str(number): 1.0 for number in range(60)}
UNEVEN = {str(number): 300 / (number + 1) for number in range(60)}
SOME_LARGE = {**EVEN, "a": 400.0, "b": 100.0, "c": 29.0}
COUNTS = {"even": EVEN, "uneven": UNEVEN, "some large": SOME_LARGE}


def known(changes: dict[str, float]) -> dict[str, tuple[float, float]]:
    return {question: (change, change) for question, change in changes.items()}


@each_row("name", COUNTS)
@each_row("n", [1, 10, 59, 100])
def test_a_draw_has_as_many_questions_as_wanted_and_shares_that_add_up(name: str, n: int) -> None:
    counts = COUNTS[name]
    draw = draw_questions(counts, 5000.0, "run", n)
    assert len(set(draw.questions)) == len(draw.questions) == min(n, len(counts))
    assert math.isclose(sum(draw.weights) + draw.rest, sum(counts.values()) / 5000)
    assert max(draw.chances, default=0) < 1
    assert draw == draw_questions(dict(reversed(counts.items())), 5000.0, "run", n)


def test_questions_are_certain_until_no_other_is() -> None:
    """With 5 of 589 only a has 5 c / C >= 1; of the 4 others among 189 b has, and of 3 among 89 nobody."""
    draw = draw_questions(SOME_LARGE, 1000.0, "run", 5)
    assert draw.certain == ("a", "b")
    assert draw.weights == (0.4, 0.1)
    assert math.isclose(draw.rest, 0.089)


def test_all_are_certain_where_all_are_drawn() -> None:
    draw = draw_questions(UNEVEN, sum(UNEVEN.values()), "run", 60)
    assert draw.rest == 0
    assert draw.certain == tuple(UNEVEN)


@pytest.mark.parametrize("name", COUNTS)
def test_a_larger_draw_continues_a_smaller_one(name: str) -> None:
    draws = [draw_questions(COUNTS[name], 5000.0, "run", n) for n in range(5, 31)]
    lost = [len(set(few.questions) - set(more.questions)) for few, more in pairwise(draws)]
    assert sum(lost) <= 1


def test_another_accepted_run_draws_others() -> None:
    draws = {draw_questions(EVEN, 60.0, key, 10).sampled for key in ("one", "two")}
    assert len(draws) == 2


@pytest.mark.full
def test_inclusion_probabilities_over_10_000_draws() -> None:
    counts = dict(zip("abcdefghi", (1.0, 1, 2, 2, 3, 4, 4, 5, 30), strict=True))
    drawn = Counter(question for key in range(10_000) for question in draw_questions(counts, 60, str(key), 5).questions)
    assert drawn.pop("i") == 10_000
    for question, times in drawn.items():
        assert times / 10_000 == pytest.approx(4 * counts[question] / 22, abs=0.04)


@pytest.mark.parametrize("name", ["even", "uneven"])
def test_the_estimate_is_unbiased_over_draws(name: str) -> None:
    """Also where what is asked often changed otherwise than what is asked seldom."""
    counts = COUNTS[name]
    changes = {question: (-1.0 if int(question) % 5 == 0 else 0.5 * (int(question) < 20)) for question in counts}
    total = 2 * sum(counts.values())
    truth = sum(counts[question] * change for question, change in changes.items()) / total
    estimates: list[float] = []
    for key in range(400):
        draw = draw_questions(counts, total, str(key), 20)
        certain = sum(weight * changes[each] for weight, each in zip(draw.weights, draw.certain, strict=True))
        estimates.append(certain + draw.rest * sum(changes[each] for each in draw.sampled) / len(draw.sampled))
    mean = sum(estimates) / 400
    error = math.sqrt(sum((each - mean) ** 2 for each in estimates) / 400)
    assert abs(mean - truth) <= 0.15 * error  # of which 0.05 is the chance of 400 draws
    last = draw_questions(counts, total, "399", 20)
    assert estimate_change(last, known(changes)).delta == pytest.approx(estimates[-1])


@cache
def estimate_of(changes: tuple[float, ...]) -> TrafficEstimate:
    """Of these sampled ones of eight changed questions, which are half of the traffic."""
    names, n = tuple(map(str, range(len(changes)))), len(changes)
    draw = Draw(certain=(), weights=(), sampled=names, chances=(n / 8,) * n, rest=0.5)
    if n == 8:
        draw = Draw(certain=names, weights=(0.0625,) * 8, sampled=(), chances=(), rest=0.0)
    return estimate_change(draw, known(dict(zip(names, changes, strict=True))))


@pytest.mark.parametrize("n", [2, 4, 6, 8])
def test_every_sample_of_eight(n: int) -> None:
    """The estimate is right on average over all samples, and the interval holds the truth for at least 93 in 100."""
    coverage: list[float] = []
    for changes in combinations_with_replacement((-1.0, 0.0, 0.4), 8):
        truth = sum(changes) / 16
        estimates = [estimate_of(sample) for sample in combinations(changes, n)]
        assert sum(each.delta for each in estimates) / len(estimates) == pytest.approx(truth)
        hits = [each.ci[0] - 1e-9 <= truth <= each.ci[1] + 1e-9 for each in estimates]
        coverage.append(sum(hits) / len(hits))
    assert min(coverage) >= 0.93


def test_unlabelled_questions_enter_each_bound_at_their_worst_and_best() -> None:
    draw = draw_questions(EVEN, 120.0, "run", 40)
    losing = dict.fromkeys(draw.questions, -0.2)
    complete = estimate_change(draw, known(losing))
    gap, partly, *_ = draw.questions
    unknown = known(losing) | {partly: (-0.4, 0.2)}
    del unknown[gap]
    partial = estimate_change(draw, unknown)
    worst = estimate_change(draw, known(losing | {gap: -1.0, partly: -0.4}))
    best = estimate_change(draw, known(losing | {gap: 1.0, partly: 0.2}))
    assert partial.ci == (worst.ci[0], best.ci[1])
    assert partial.delta == pytest.approx((worst.delta + best.delta) / 2)
    assert (partial.drawn, partial.labelled, complete.labelled) == (40, 38, 40)


EDGES = [
    pytest.param({}, 10, (0.0, 0.0), id="nothing changed"),
    pytest.param({"a": 2.0}, 0, (-0.2, 0.2), id="nothing drawn: no more than its share"),
    pytest.param({"a": 2.0, "b": 1.0}, -1, (-0.3, 0.3), id="less than nothing"),
    pytest.param({"a": 2.0, "b": 2.0}, 1, (-0.4, 0.4), id="one drawn says little of the other"),
    pytest.param({"a": 2.0, "b": 2.0}, 5, (-0.2, -0.2), id="all drawn: no chance is left"),
]


@pytest.mark.parametrize(("counts", "n", "widest"), EDGES)
def test_edges(counts: dict[str, float], n: int, widest: tuple[float, float]) -> None:
    draw = draw_questions(counts, 10.0, "run", n)
    low, high = estimate_change(draw, known(dict.fromkeys(counts, -0.5))).ci
    assert widest[0] - 1e-9 <= low <= high <= widest[1] + 1e-9
