"""Paired changes: how questions are counted, sorted and put into bars; and the distribution's bins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.renderers.pages.exhibits import LATENCY, RECALL, details_of, question_of

from rankgate.model.details import Cause, Measure
from rankgate.model.values import Direction
from rankgate.renderers.pages.distribution import (
    MAX_BARS,
    bin_of,
    grouped_by,
    pairs_of,
    room_of,
    share_text,
    split,
    spread_of,
    waterfall,
)

CHANGES = st.lists(st.sampled_from([-1.0, -0.5, -1e-12, 0.0, 1e-12, 0.25, 1.0]), max_size=40)


@given(CHANGES, st.sampled_from(Direction))
def test_every_question_is_worse_the_same_or_better(changes: list[float], direction: Direction) -> None:
    worse, same, better = split(changes, direction)
    sign = 1 if direction is Direction.HIGHER else -1
    assert len(worse) + same + len(better) == len(changes)
    assert sorted([*worse, *better]) == sorted(change for change in changes if abs(change) > 1e-9)
    assert all(sign * change < 0 for change in worse)
    assert all(sign * change > 0 for change in better)
    assert [abs(change) for change in worse] == sorted((abs(change) for change in worse), reverse=True)
    assert [abs(change) for change in better] == sorted(abs(change) for change in better)


def test_a_latency_that_rose_is_worse() -> None:
    assert split([5.0, -3.0, 0.0], Direction.LOWER) == ([5.0], 1, [-3.0])


@pytest.mark.parametrize(
    ("measure", "worse", "better", "domain"),
    [
        pytest.param(RECALL, -0.5, 0.25, [-50, 50], id="a recall that fell"),
        pytest.param(LATENCY, 5.0, -3.0, [5, -5], id="a latency that rose: the axis goes down"),
    ],
)
def test_what_became_worse_hangs_below_the_line(
    measure: Measure, worse: float, better: float, domain: list[float]
) -> None:
    drawn = waterfall(([worse], 0, [better]), measure, 620)
    bars = drawn["layer"][0]
    assert bars["encoding"]["y"]["scale"]["domain"] == domain
    for bar in bars["data"]["values"]:
        assert (bar["change"] / domain[1] < 0) is (bar["way"] == "worse")


def test_neighbours_share_a_bar_of_their_mean() -> None:
    worse = [-1.0, -0.5] * MAX_BARS
    assert [grouped_by((losses, 9, [])) for losses in ([], worse[:MAX_BARS], worse)] == [1, 1, 2]
    bars = waterfall(([*worse, -0.25], 0, []), RECALL, 620)["layer"][0]["data"]["values"]
    assert len(bars) == 107
    assert (bars[0]["from"], bars[0]["to"], bars[0]["change"]) == (0, 3, pytest.approx(-250 / 3))
    assert (bars[-1]["from"], bars[-1]["to"]) == (318, 321)


@pytest.mark.parametrize(
    ("count", "of", "expected"),
    [(0, 8, "0%"), (1, 8, "12%"), (8, 8, "100%"), (1, 5000, "<1%"), (4999, 5000, ">99%"), (50, 5000, "1%")],
)
def test_a_share_never_reads_as_none_or_all_when_it_is_neither(count: int, of: int, expected: str) -> None:
    assert share_text(count, of) == expected


def test_ties_are_a_number_and_a_share() -> None:
    changed = [question_of("a", Cause.GONE, 1.0, 0.0), question_of("b", Cause.BETTER, 0.0, 1.0)]
    left_out = [question_of("new", Cause.NEW, None, 1.0), question_of("nothing", Cause.NOTHING_RELEVANT, 1.0, None)]
    same = [question_of(f"s{n}", Cause.FINE) for n in range(6)]
    found = pairs_of(details_of(*changed, *left_out, *same))
    assert found is not None
    assert (found.counts, found.grouped, found.shortened) == ((1, 6, 1), 1, True)
    assert "= 6 same" in found.picture
    assert "1 worse (12%), 6 same (75%), 1 better (12%) of 8 questions" in found.picture
    assert "The largest loss is −100.0 pp, the largest gain +100.0 pp." in found.picture


def test_thousands_of_questions_make_a_bounded_picture() -> None:
    questions = [question_of(f"q{n}", Cause.LOWER, 1.0, (n % 97) / 97) for n in range(5000)]
    found = pairs_of(details_of(*questions))
    assert found is not None
    assert found.grouped == -(-5000 // MAX_BARS)
    assert len(found.picture) < 120_000


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param((11, 4945, 44), 28, id="few of thousands moved: ties take half of their room"),
        pytest.param((4, 1, 4), 1, id="few ties take what they are"),
        pytest.param((0, 7, 0), 7, id="nothing moved"),
        pytest.param((3, 0, 2), 0, id="no ties"),
        pytest.param((1, 9, 0), 1, id="one of ten"),
    ],
)
def test_ties_never_leave_the_changes_without_room(counts: tuple[int, int, int], expected: int) -> None:
    worse, same, better = counts
    assert room_of(([-1.0] * worse, same, [1.0] * better)) == expected


def test_a_few_changes_among_thousands_have_a_bar_each() -> None:
    moved = [question_of(f"m{n}", Cause.GONE, 1.0, 0.0) for n in range(30)]
    found = pairs_of(details_of(*moved, *(question_of(f"s{n}", Cause.FINE) for n in range(2000))))
    assert found is not None
    assert (found.grouped, found.shortened) == (1, True)
    assert "30 worse (1%), 2,000 same (99%), 0 better (0%)" in found.picture
    assert ">20</text>" not in found.picture  # no number on an axis on which ties are drawn shorter


def test_without_a_baseline_there_are_no_pairs() -> None:
    assert pairs_of(details_of(question_of("a", Cause.FINE, None, 1.0))) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, 0), (0.01, 1), (0.1, 1), (0.3, 3), (1 / 3, 4), (0.5, 5), (0.7, 7), (0.95, 10), (1.0, 11)],
)
def test_nothing_and_all_have_bins_of_their_own(value: float, expected: int) -> None:
    assert bin_of(value) == expected


def test_the_distribution_says_what_the_mean_hides() -> None:
    questions = [question_of(f"q{n}", Cause.FINE, 0.5, float(n % 2)) for n in range(4)]
    found = spread_of(details_of(*questions))
    assert found is not None
    assert found.said == (
        "Now the mean is 50.0%: all relevant documents are found for 2 questions (50%), none for 2 (50%), some for 0.",
        (
            "In the baseline the mean is 50.0%: all relevant documents are found for 0 questions (0%), "
            "none for 0 (0%), some for 4."
        ),
    )


def test_the_distribution_never_says_all_or_none_where_it_is_neither() -> None:
    questions = [question_of(f"q{n}", Cause.FINE, None, float(n > 0)) for n in range(1000)]
    found = spread_of(details_of(*questions))
    assert found is not None
    assert "found for 999 questions (>99%), none for 1 (<1%)" in found.said[0]
