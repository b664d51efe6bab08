"""Trends as words and as a chart: what is better, and what lies where on the axis of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from tests.renderers.dashboards.memories import record, sha

from rankgate.baselines.records import Record
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.model.values import Verdict
from rankgate.renderers.dashboards.build import CurveInputs, Remembered, gate_set
from rankgate.renderers.dashboards.values import Dashboard, GateSet, Known, Step, place_of
from rankgate.renderers.pages.charts import BEFORE, WIDE, Line, Pane, chart_of, described, looks_of
from rankgate.renderers.pages.dashboard import change, events_of, notable, outlook, site_of

TODAY = "2026-03-01"


def shown(
    *history: Record,
    paired: Callable[[Record, Record], Mapping[str, Known]] | None = None,
    **logs: Any,
) -> GateSet:
    asked = CurveInputs(
        metrics=parse_metrics("recall@1,mrr,latency"),
        limits={"recall@1": [0.7], "mrr": [], "latency": []},
        date=TODAY,
        limit=500,
        paired=paired,
    )
    return gate_set("c", "c.html", "s", Remembered(history=history, **logs), asked)


def run(day: str, recall: float, mrr: float = 0.5, latency: float = 20, **said: Any) -> Record:
    return record(day, scores={"recall@1": recall, "mrr": mrr, "latency": latency}, commit=sha(day), **said)


@pytest.mark.parametrize(
    ("name", "paired", "said"),
    [
        pytest.param(
            "recall@1", Known(0.1, (0.02, 0.18)), ("+10.0 pp better", "95%: +2.0 to +18.0 pp; was 80.0%"), id="up"
        ),
        pytest.param("latency", Known(9, (1, 17)), ("+9.0 ms worse", "95%: +1.0 to +17.0 ms; was 0.8 ms"), id="slower"),
        pytest.param(
            "recall@1",
            Known(0.1, (-0.02, 0.22)),
            ("about the same (+10.0 pp)", "95%: −2.0 to +22.0 pp; was 80.0%"),
            id="within noise",
        ),
        pytest.param("recall@1", Known(0.0, (0.0, 0.0)), ("about the same (±0.0 pp)", "was 80.0%"), id="nothing moved"),
        pytest.param(
            "recall@1",
            Known(-0.0004, (-0.0007, -0.0001)),
            ("about the same (±0.0 pp)", "95%: −0.1 to ±0.0 pp; was 80.0%"),
            id="certain, and rounds to nothing",
        ),
        pytest.param("recall@1", Known(0.1, None), ("about the same (+10.0 pp)", "was 80.0%"), id="no interval"),
        pytest.param("recall@1", None, ("not compared (+10.0 pp)", "was 80.0%"), id="rankings are not stored"),
    ],
)
def test_a_change_says_whether_it_is_one_and_by_how_much(
    name: str, paired: Known | None, said: tuple[str, str]
) -> None:
    metric = parse_metric(name)
    assert (
        change(
            Step(
                before=0.8,
                size=paired.value if paired else 0.1,
                direction=metric.direction,
                unit=metric.unit,
                paired=paired,
            ),
            metric.unit,
        )
        == said
    )


OLD = run("2026-01-01", 0.8)


@pytest.mark.parametrize(
    ("history", "sentence"),
    [
        pytest.param([], "No run has been recorded yet.", id="none"),
        pytest.param(
            [run("2026-02-20", 0.8)],
            "None of 1 run of the last 30 days failed. The last run, of 2026-02-20, passed. "
            "No gated metric has a value from 30 days ago, so that there is "
            "nothing to compare.",
            id="a young history",
        ),
        pytest.param(
            [OLD, run("2026-02-20", 0.7, 0.5, 15, verdict=Verdict.FAIL)],
            "1 of 1 run of the last 30 days failed, on 2026-02-20. The last run, of 2026-02-20, failed. "
            "Compared with 30 days ago it is worse in recall@1 (−10.0 pp); "
            "better in latency (−5.0 ms); about the same in mrr.",
            id="worse first",
        ),
        pytest.param(
            [OLD, run("2026-02-20", 0.8, verdict=Verdict.WARN)],
            "None of 1 run of the last 30 days failed. The last run, of 2026-02-20, passed with a warning. "
            "Compared with 30 days ago it is about the same in "
            "recall@1, mrr, latency.",
            id="nothing moved",
        ),
        pytest.param(
            [OLD, run("2026-02-20", 0.9, 0.6, verdict=None)],
            "None of 1 run of the last 30 days failed. The last run, of 2026-02-20, was not checked. "
            "Compared with 30 days ago it is better in recall@1 "
            "(+10.0 pp); about the same in latency; not compared in mrr (+0.100).",
            id="not checked",
        ),
    ],
)
def test_the_first_sentence_alone_says_how_it_stands(history: list[Record], sentence: str) -> None:
    def paired(before: Record, after: Record) -> dict[str, Known]:
        names = [name for name in after.scores if name != "mrr" or after.verdict]
        sizes = {name: (after.scores[name] or 0.0) - (before.scores[name] or 0.0) for name in names}
        return {name: Known(size, (size * 0.9, size * 1.1)) for name, size in sizes.items()}

    assert outlook(shown(*history, paired=paired)) == sentence


@pytest.mark.parametrize(
    ("days", "sentence"),
    [
        pytest.param({}, "None of 2 runs of the last 30 days failed.", id="none failed"),
        pytest.param(
            {"2026-02-19": 0.6, "2026-02-18": 0.7},
            "2 of 4 runs of the last 30 days failed, the last on 2026-02-19: recall@1 60.0% (−20.0 pp).",
            id="the last of two, below the floor and what was accepted",
        ),
        pytest.param(
            {"2026-01-20": 0.6}, "None of 2 runs of the last 30 days failed.", id="one that failed longer ago"
        ),
        pytest.param(
            {"2026-02-19": 0.9}, "1 of 3 runs of the last 30 days failed, on 2026-02-19.", id="for no value of a curve"
        ),
    ],
)
def test_what_failed_within_a_month_is_named_though_the_last_run_passed(days: dict[str, float], sentence: str) -> None:
    passed = [run("2026-02-10", 0.8), run("2026-02-25", 0.8)]
    failed = [run(day, recall, verdict=Verdict.FAIL) for day, recall in days.items()]
    history = sorted([*passed, *failed], key=lambda record: record.date)
    assert outlook(shown(*history, accepted=[passed[0]])).startswith(sentence)


def test_where_nothing_ran_for_a_month_the_first_sentence_says_so() -> None:
    assert outlook(shown(run("2026-01-10", 0.8))).startswith("No run of the last 30 days. The last run, of 2026-01-10,")


def test_runs_about_which_there_is_nothing_to_say_are_told_from_the_others() -> None:
    days = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05", "2026-01-06", "2026-01-07"]
    runs = [run(day, 0.8, verdict=Verdict.FAIL if at == 2 else Verdict.PASS) for at, day in enumerate(days)]
    found = shown(*runs, accepted=[runs[5]])
    assert [each.record.date[-1] for each in notable(found)] == ["1", "3", "4", "6", "7"]
    changed = lambda before, after: {"mrr": Known(-0.1, (-0.2, -0.05))} if after.date == days[4] else {}  # noqa: E731
    assert [each.record.date[-1] for each in notable(shown(*runs, paired=changed))] == ["1", "3", "4", "5", "7"]


def test_what_is_noted_of_a_run_is_in_words() -> None:
    first, second = run("2026-01-01", 0.8, gold="a"), run("2026-01-02", 0.8, gold="b")
    found = shown(first, second, accepted=[second])
    assert [events_of(each) for each in found.runs] == [[], ["accepted", "new gold set"]]


# The chart


def plot_of(found: GateSet, curve: int = 0, width: int = WIDE) -> Pane:
    return chart_of(found.curves[curve], found, "a", width).panes[0]


def lines(plot: Pane, color: str, *, filled: bool = False) -> list[Line]:
    return [line for line in plot.lines if line.color == color and line.filled is filled]


def test_a_plain_history_is_a_line_with_a_point_a_run_and_the_threshold() -> None:
    found = shown(run("2026-02-01", 0.8), run("2026-02-02", 0.6, verdict=Verdict.FAIL))
    plot = plot_of(found)
    first, second = place_of("2026-02-01") + 0.5, place_of("2026-02-02") + 0.5
    assert [(mark.x, mark.y, mark.shape, mark.color) for mark in plot.marks] == [
        (first, 0.8, "circle", "var(--pass)"),
        (second, 0.6, "square", "var(--fail)"),
    ]
    limit, line = plot.lines
    assert line.points == [(first, 0.8), (second, 0.6)]
    assert limit.points == [(plot.x.low, 0.7), (plot.x.high, 0.7)]
    assert len(plot_of(found, 1).lines) == 1, "a gate without a threshold"
    assert looks_of(found.curves[0]) == [("PASS", "circle", "var(--pass)"), ("FAIL", "square", "var(--fail)")]


def test_what_was_accepted_is_a_ring_and_a_line_up_to_the_end() -> None:
    one, two = run("2026-02-01", 0.8), run("2026-02-03", 0.6)
    plot = plot_of(shown(one, two, accepted=[one]))
    [steps] = lines(plot, BEFORE)
    assert steps.points == [(place_of("2026-02-01") + 0.5, 0.8), (place_of("2026-03-02"), 0.8)]
    assert [(mark.y, mark.run) for mark in plot.marks if mark.ring] == [(0.8, "")]


def test_of_what_was_accepted_before_the_first_run_shown_the_last_counts() -> None:
    found = shown(run("2026-02-01", 0.8))
    old = replace(found.curves[0], steps=((1.0, 0.9), (2.0, 0.7), (found.runs[0].at + 5, 0.75)))
    [steps] = lines(plot_of(replace(found, curves=(old,))), BEFORE)
    assert [value for _, value in steps.points] == [0.7, 0.7, 0.75, 0.75]


def test_who_cannot_see_the_chart_hears_its_numbers() -> None:
    found = shown(run("2026-02-01", 0.8), run("2026-02-02", 0.5), run("2026-02-03", 0.7))
    assert described(found.curves[0]) == (
        "3 values, from 80.0% on 2026-02-01 to 70.0% on 2026-02-03; the lowest is 50.0%, the highest 80.0%; "
        "today's limit is 70.0%. The table below lists all of them."
    )


def test_runs_that_are_too_old_to_be_listed_are_counted_by_verdict() -> None:
    days = [
        ("2026-01-01", None),
        ("2026-01-02", Verdict.FAIL),
        ("2026-01-03", Verdict.PASS),
        ("2026-01-04", Verdict.PASS),
    ]
    older = [run(day, 0.8, verdict=verdict) for day, verdict in days]
    pages = site_of(Dashboard(date=TODAY, repository=None, sets=(replace(shown(run("2026-02-20", 0.8)), older=older),)))
    said = "Not listed: 4 older runs of 2026-01-01 to 2026-01-04 (1 not checked, 1 FAIL, 2 PASS)."
    assert said in pages["c.html"]
