"""From records to what a page shows: which runs, what changed, what was accepted and released meanwhile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace
from tests.renderers.dashboards.memories import record, sha

from rankgate.baselines.records import Record
from rankgate.metrics.names import parse_metrics
from rankgate.model.answers import JudgeMark
from rankgate.model.values import Direction, Interval, Unit
from rankgate.readers.dates import days_after
from rankgate.renderers.dashboards.build import CurveInputs, Remembered, gate_set
from rankgate.renderers.dashboards.values import GateSet, Known, Step, StepOutcome, place_of, places_of
from rankgate.renderers.pages.charts import WIDE, chart_of
from rankgate.renderers.pages.dashboard import events_of

TODAY = "2026-03-01"
DAYS = st.dates().map(lambda day: day.isoformat())


def shown(
    *history: Record,
    accepted: tuple[Record, ...] = (),
    limit: int = 500,
    stored: Mapping[str, Any] = {},
) -> GateSet:
    remembered = Remembered(history=history, accepted=accepted).until(TODAY)
    asked = CurveInputs(metrics=parse_metrics("recall@1,latency"), limits={"recall@1": [0.7]}, date=TODAY, limit=limit)
    asked = replace(asked, **stored)
    return gate_set("ship-criteria.yaml", "gates.html", "store", remembered, asked)


def days_of(found: GateSet) -> list[str]:
    return [run.record.date for run in found.runs]


# Which runs


def test_nothing_recorded_is_a_page_without_runs() -> None:
    found = shown()
    assert (found.runs, found.older, found.acceptances) == ((), [], ())
    assert [curve.last for curve in found.curves] == [None, None]


def test_what_was_accepted_without_being_recorded_is_a_run_too_and_no_run_stands_twice() -> None:
    one, two = record("2026-01-01", 8), record("2026-01-03", 9)
    other = record("2026-01-02", 7)
    found = shown(one, two, accepted=(one, other, replace(one, date="2026-01-04")))
    assert days_of(found) == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert [run.accepted for run in found.runs] == [True, True, False]


def test_of_one_day_what_was_only_accepted_stands_before_the_history_whose_last_run_is_the_last() -> None:
    first, last = record("2026-01-01", 8), record("2026-01-01", 9)
    found = shown(first, last, accepted=(record("2026-01-01", 7),))
    assert [run.record.id for run in found.runs[1:]] == [first.id, last.id]


def test_what_is_dated_after_the_day_of_the_page_is_not_there() -> None:
    late = record("2026-03-02")
    assert days_of(shown(record("2026-02-01"), late, accepted=(late,))) == ["2026-02-01"]


def test_older_runs_than_the_limit_are_not_listed() -> None:
    runs = [record(f"2026-01-0{day}") for day in (1, 2, 3, 4)]
    found = shown(*runs, limit=1)
    assert (days_of(found), found.older) == (["2026-01-04"], runs[:3])


@pytest.mark.full
@given(days=st.lists(DAYS, max_size=30), limit=st.integers(1, 40))
def test_runs_stand_in_the_order_of_time_and_none_is_lost(days: list[str], limit: int) -> None:
    found = shown(*(record(day, commit=sha(str(number))) for number, day in enumerate(days)), limit=limit)
    counted = sorted(day for day in days if day <= TODAY)
    assert days_of(found) == counted[max(0, len(counted) - limit) :]
    assert len(found.runs) + len(found.older) == len(counted)
    places = [run.at for run in found.runs]
    assert places == sorted(set(places))
    assert [float(math.floor(place)) for place in places] == [place_of(day) for day in days_of(found)]


def test_runs_of_one_day_lie_one_after_the_other_within_it() -> None:
    assert places_of(["1970-01-02", "1970-01-02", "1970-01-03"]) == [1.25, 1.75, 2.5]


# How it changed


def certain(before: Record, after: Record) -> dict[str, Known]:
    """What changed changed for certain."""
    changes = {name: float(after.scores[name] or 0) - float(before.scores[name] or 0) for name in after.scores}
    return {name: Known(change, (change * 0.9, change * 1.1)) for name, change in changes.items()}


def values(*pairs: tuple[str, float]) -> GateSet:
    runs = (record(day, scores={"recall@1": value, "latency": 10 * value}, commit=sha(day)) for day, value in pairs)
    return shown(*runs, stored={"paired": certain})


def before(step: Step | None) -> float | None:
    return step.before if step else None


@pytest.mark.parametrize(
    ("direction", "ci", "outcome"),
    [
        pytest.param(Direction.HIGHER, (0.01, 0.2), "better", id="more of a good"),
        pytest.param(Direction.HIGHER, (-0.2, -0.01), "worse", id="less of it"),
        pytest.param(Direction.LOWER, (0.01, 0.2), "worse", id="slower"),
        pytest.param(Direction.LOWER, (-0.2, -0.01), "better", id="quicker"),
        pytest.param(Direction.HIGHER, (-0.01, 0.2), "same", id="zero is within"),
        pytest.param(Direction.HIGHER, (0.0, 0.2), "same", id="zero is a bound"),
        pytest.param(Direction.HIGHER, (None, -0.01), "worse", id="bounded on the side that tells"),
        pytest.param(Direction.HIGHER, (-0.01, None), "same", id="not bounded on the side that would"),
        pytest.param(Direction.HIGHER, None, "same", id="no interval"),
    ],
)
def test_a_change_is_one_where_its_interval_excludes_zero(
    direction: Direction, ci: Interval | None, outcome: StepOutcome
) -> None:
    size = sum(bound or 0 for bound in ci or ())
    step = Step(before=0.5, size=size, direction=direction, unit=Unit.SCORE, paired=Known(size, ci))
    assert (step.outcome, replace(step, paired=None).outcome) == (outcome, "unknown")


@pytest.mark.parametrize(
    ("days_ago", "value"),
    [
        pytest.param((40, 30, 29, 0), 0.3, id="thirty days ago to the day"),
        pytest.param((40, 31, 29, 0), 0.3, id="else the last run before"),
        pytest.param((29, 12, 6, 0), None, id="none so old"),
        pytest.param((70, 60, 50, 45), 0.9, id="all of them: the last has not changed since"),
    ],
)
def test_a_month_ago_is_the_last_run_that_was_there_then(days_ago: tuple[int, ...], value: float | None) -> None:
    found = values(*zip((days_after(TODAY, -ago) for ago in days_ago), (0.5, 0.3, 0.7, 0.9), strict=True))
    assert before(found.curves[0].month) == value
    assert found.curves[0].last == 0.9


def test_the_largest_steps_are_worse_and_better_as_the_metric_has_it() -> None:
    found = values(("2026-01-01", 0.5), ("2026-01-02", 0.9), ("2026-01-03", 0.2), ("2026-01-04", 0.3))
    recall, latency = found.curves
    assert [point and point.run.record.date for point in (recall.worse, recall.better)] == ["2026-01-03", "2026-01-02"]
    assert (latency.worse and latency.worse.run, latency.better and latency.better.run) == found.runs[1:3]
    rising = values(("2026-01-01", 0.5), ("2026-01-02", 0.5), ("2026-01-03", 0.6)).curves[0]
    assert rising.worse is None
    assert rising.better is not None
    assert (before(rising.better.step), rising.better.value) == (0.5, 0.6)


def test_a_run_without_a_value_is_no_point_and_is_counted() -> None:
    found = shown(
        record("2026-01-01", scores={"recall@1": 0.5}),
        record("2026-01-02", scores={"recall@1": None}),
        record("2026-01-03", scores={}),
        record("2026-01-04", scores={"recall@1": 0.6}),
        stored={"estimates": {record("2026-01-03", scores={}).id: {"recall@1": Known(0.9, None)}}},
    )
    curve = found.curves[0]
    assert [(point.value, point.rescored) for point in curve.points] == [(0.5, False), (0.9, True), (0.6, False)]
    assert curve.missing == 1
    assert [before(point.step) for point in curve.points] == [None, 0.5, 0.9]


def test_thresholds_are_those_of_gates_and_a_metric_without_one_says_so() -> None:
    recall, latency = shown(record("2026-01-01")).curves
    assert (recall.gated, recall.limits) == (True, (0.7,))
    assert (latency.gated, latency.limits) == (False, ())


# What happened meanwhile


def test_acceptances_carry_who_and_why_and_the_one_before_the_first_run_counts_too() -> None:
    ancient, old = record("2025-01-01", 3), record("2025-12-01", 5, reason="smaller index", by="ana")
    new = record("2026-02-01", 8)
    found = shown(record("2026-01-01", 6), new, accepted=(ancient, old, new), limit=2)
    assert [(each.record.date, each.record.reason, each.record.by) for each in found.acceptances] == [
        ("2025-12-01", "smaller index", "ana"),
        ("2026-02-01", None, None),
    ]
    assert [each.shown for each in found.acceptances] == [False, True]
    assert before(found.curves[0].accepted) == 0.8
    assert [value for _, value in found.curves[0].steps] == [0.5, 0.8]


def test_the_accepted_line_steps_where_a_run_was_accepted_and_not_where_it_was_recorded() -> None:
    a, b = record("2026-01-01", 6), record("2026-01-10", 8)
    accepted = (a, replace(b, date="2026-01-20"), replace(a, date="2026-01-30"))
    found = shown(a, b, accepted=accepted)
    noons = [place_of(day) + 0.5 for day in ("2026-01-01", "2026-01-20", "2026-01-30")]
    assert [each.at for each in found.acceptances] == noons
    assert [(each.record.id, each.shown) for each in found.acceptances] == [(a.id, True), (b.id, True), (a.id, True)]
    assert found.curves[0].steps == tuple(zip(noons, (0.6, 0.8, 0.6), strict=True))
    assert [run.at for run in found.runs] == [noons[0], place_of("2026-01-10") + 0.5]


def test_who_goes_back_to_a_run_of_the_same_day_does_so_after_it() -> None:
    a, b = record("2026-01-01", 6, commit=sha("a")), record("2026-01-01", 8, commit=sha("b"))
    day = place_of("2026-01-01")
    assert [each.at for each in shown(a, b, accepted=(a, b, a)).acceptances] == [day + 0.25, day + 0.75, day + 0.75]


def test_what_is_accepted_now_has_no_value_where_nobody_recorded_one() -> None:
    first, second = record("2026-01-01"), record("2026-01-02", scores={})
    assert shown(first, second, accepted=(first, second)).curves[0].accepted is None


def test_a_new_gold_set_is_named_at_the_first_run_with_it() -> None:
    runs = [record(f"2026-01-0{day}", gold=gold) for day, gold in ((1, "a"), (2, "a"), (3, "b"), (4, "b"))]
    found = shown(*runs[:3], replace(runs[3], gold=None))
    assert [run.new_gold for run in found.runs] == [False, False, True, False]


def test_numbers_of_two_judges_are_two_curves_of_a_judged_metric_and_nothing_else_is_cut() -> None:
    """A run that nobody judged is by the judge before it."""
    marks = [JudgeMark("3fa91c2e", "m"), UNSET, JudgeMark("77b0d1aa", "m"), JudgeMark("77b0d1aa", "m")]
    values = {"faithfulness": 0.9, "recall@1": 0.8}
    runs = [replace(record(f"2026-01-0{n}"), judge=mark, scores=values) for n, mark in enumerate(marks, start=1)]
    asked = CurveInputs(metrics=parse_metrics("faithfulness,recall@1"), limits={}, date=TODAY, limit=9)
    found = gate_set("x.yaml", "x.html", "store", Remembered(history=runs, accepted=(runs[0],)), asked)
    assert [run.new_judge for run in found.runs] == [False, False, True, False]
    judged, ranked = found.curves
    assert [(point.span, before(point.step)) for point in judged.points] == [(0, None), (0, 0.9), (1, None), (1, 0.9)]
    assert (judged.accepted, before(ranked.accepted)) == (None, 0.8)
    assert [before(point.step) for point in ranked.points] == [None, 0.8, 0.8, 0.8]
    lines = chart_of(judged, found, "a", WIDE).panes[0].lines[-2:]
    assert [len(line.points) for line in lines] == [2, 2], "one a judge"
    assert events_of(found.runs[2]) == ["new judge"]
