"""Trends as words and as the specification of a chart: what is better, and what lies where on the axis of time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace
from tests.renderers.dashboards.memories import record, sha

from rankgate.baselines.records import Record
from rankgate.criteria.waivers import Waiver
from rankgate.metrics.names import parse_metrics
from rankgate.model.values import Direction, Unit, Verdict
from rankgate.renderers.dashboards.build import Remembered, Shown, Version, gate_set, spans_of
from rankgate.renderers.dashboards.values import Dashboard, GateSet, Tag, place_of
from rankgate.renderers.pages.charts import chart
from rankgate.renderers.pages.dashboard import Change, change, events_of, outlook, site_of
from rankgate.renderers.pages.trend_chart import DAY, SIZES, Size, described, domain, spec_of

TODAY = "2026-03-01"


def shown(*history: Record, waived: tuple[str, str] | None = None, tags: tuple[Tag, ...] = (), **logs: Any) -> GateSet:
    first, last = waived or (TODAY, TODAY)
    waiver = Waiver(gate="g", segment=None, up_to=0.1, expires=last, issue="https://e.example", reason="r", by="b")
    spans = spans_of([Version(day=first, waivers=(waiver,))], {}) if waived else ()
    asked = Shown(
        metrics=parse_metrics("recall@1,mrr,latency"),
        limits={"recall@1": [0.7], "mrr": [], "latency": []},
        date=TODAY,
        limit=500,
    )
    return gate_set("c", "c.html", "s", Remembered(history=history, **logs), asked, tags=tags, spans=spans)


def run(day: str, recall: float, mrr: float = 0.5, latency: float = 20, **said: Any) -> Record:
    return record(day, scores={"recall@1": recall, "mrr": mrr, "latency": latency}, commit=sha(day), **said)


@pytest.mark.parametrize(
    ("now", "before", "unit", "direction", "expected"),
    [
        pytest.param(
            0.9, 0.8, Unit.SHARE, Direction.HIGHER, Change("+10.0 pp", "better", "80.0%"), id="more of a good"
        ),
        pytest.param(0.7, 0.8, Unit.SHARE, Direction.HIGHER, Change("−10.0 pp", "worse", "80.0%"), id="less of it"),
        pytest.param(30, 20, Unit.MILLISECONDS, Direction.LOWER, Change("+10.0 ms", "worse", "20.0 ms"), id="slower"),
        pytest.param(10, 20, Unit.MILLISECONDS, Direction.LOWER, Change("−10.0 ms", "better", "20.0 ms"), id="quicker"),
        pytest.param(
            0.8004, 0.8, Unit.SHARE, Direction.HIGHER, Change("±0.0 pp", "same", "80.0%"), id="nothing to see"
        ),
        pytest.param(None, 0.8, Unit.SHARE, Direction.HIGHER, None, id="no value"),
        pytest.param(0.8, None, Unit.SHARE, Direction.HIGHER, None, id="nothing to compare with"),
    ],
)
def test_a_change_says_by_how_much_and_whether_that_is_good(
    now: float | None, before: float | None, unit: Unit, direction: Direction, expected: Change | None
) -> None:
    assert change(now, before, unit, direction) == expected


OLD = run("2026-01-01", 0.8)


@pytest.mark.parametrize(
    ("history", "sentence"),
    [
        pytest.param([], "No run has been recorded yet.", id="none"),
        pytest.param(
            [run("2026-02-20", 0.8)],
            "The last run, of 2026-02-20, passed. No gated metric has a value from 30 days ago, so that there is "
            "nothing to compare.",
            id="a young history",
        ),
        pytest.param(
            [OLD, run("2026-02-20", 0.7, 0.5, 15, verdict=Verdict.FAIL)],
            "The last run, of 2026-02-20, failed. Compared with 30 days ago it is worse in recall@1 (−10.0 pp); "
            "better in latency (−5.0 ms); the same in mrr.",
            id="worse first",
        ),
        pytest.param(
            [OLD, run("2026-02-20", 0.8, verdict=Verdict.WARN)],
            "The last run, of 2026-02-20, passed with a warning. Compared with 30 days ago it is the same in "
            "recall@1, mrr, latency.",
            id="nothing moved",
        ),
        pytest.param(
            [OLD, run("2026-02-20", 0.9, 0.6, verdict=None)],
            "The last run, of 2026-02-20, was not checked. Compared with 30 days ago it is better in recall@1 "
            "(+10.0 pp), mrr (+0.100); the same in latency.",
            id="not checked",
        ),
    ],
)
def test_the_first_sentence_alone_says_how_it_stands(history: list[Record], sentence: str) -> None:
    assert outlook(shown(*history)) == sentence


def test_what_is_noted_of_a_run_is_in_words() -> None:
    first, second = run("2026-01-01", 0.8, gold="a"), run("2026-01-02", 0.8, gold="b")
    tags = (Tag("v1", sha("2026-01-02"), "2026-01-02"),)
    found = shown(first, second, tags=tags, accepted=[second], anchors=[replace(second, name="launch")])
    assert [events_of(each) for each in found.runs] == [[], ["accepted", "anchor launch", "release v1", "new gold set"]]


# The chart


def marks(spec: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in spec["layer"]]


def times(layer: dict[str, Any], key: str = "t") -> list[float]:
    return [row[key] / DAY for row in layer["data"]["values"]]


def test_a_plain_history_is_a_line_with_a_point_a_run_and_the_threshold() -> None:
    found = shown(run("2026-02-01", 0.8), run("2026-02-02", 0.6, verdict=Verdict.FAIL))
    spec = spec_of(found.curves[0], found, SIZES[0])
    assert marks(spec) == ["rule", "line", "point"]
    points = spec["layer"][2]
    assert times(points) == [place_of("2026-02-01") + 0.5, place_of("2026-02-02") + 0.5]
    assert [(row["v"], row["verdict"]) for row in points["data"]["values"]] == [(0.8, "PASS"), (0.6, "FAIL")]
    assert points["encoding"]["color"]["scale"] == {"domain": ["PASS", "FAIL"], "range": ["var(--pass)", "var(--fail)"]}
    assert points["encoding"]["shape"]["scale"] == {"domain": ["PASS", "FAIL"], "range": ["circle", "square"]}
    assert spec["layer"][0]["data"]["values"] == [{"v": 0.7}]
    assert marks(spec_of(found.curves[1], found, SIZES[0])) == ["line", "point"], "a gate without a threshold"


def test_what_was_accepted_is_a_ring_and_a_line_up_to_the_end() -> None:
    one, two = run("2026-02-01", 0.8), run("2026-02-03", 0.6)
    found = shown(one, two, accepted=[one])
    _, steps, rings, *_ = spec_of(found.curves[0], found, SIZES[0])["layer"]
    assert [row["v"] for row in steps["data"]["values"]] == [0.8, 0.8]
    assert times(steps) == [place_of("2026-02-01") + 0.5, place_of("2026-03-02")]
    assert [row["v"] for row in rings["data"]["values"]] == [0.8]


@pytest.mark.parametrize(
    ("waived", "band", "end"),
    [
        pytest.param(("2026-02-05", "2026-02-10"), ("2026-02-05", "2026-02-11"), "2026-02-11", id="in between"),
        pytest.param(
            ("2025-01-01", "2026-02-10"), ("2026-02-01", "2026-02-11"), "2026-02-11", id="from before the first run"
        ),
        pytest.param(("2026-02-05", "2027-01-01"), ("2026-02-05", None), None, id="beyond the end of the axis"),
    ],
)
def test_a_waiver_is_a_band_as_far_as_the_axis_goes_and_a_line_at_its_end(
    waived: tuple[str, str], band: tuple[str, str | None], end: str | None
) -> None:
    found = shown(run("2026-02-01", 0.8), run("2026-02-25", 0.8), waived=waived)
    layers = spec_of(found.curves[0], found, SIZES[0])["layer"]
    first, last = domain(found)
    assert layers[0]["mark"]["type"] == "rect"
    assert times(layers[0]) == [max(place_of(band[0]), first)]
    assert times(layers[0], "end") == [place_of(band[1]) if band[1] else pytest.approx(last)]
    ends = [layer for layer in layers if layer["mark"].get("strokeDash") == [1, 3]]
    assert [times(layer) for layer in ends] == ([[place_of(end)]] if end else [])


def test_the_axis_covers_the_runs_and_today_and_of_a_long_waiver_a_quarter_more() -> None:
    runs = (run("2026-02-01", 0.8), run("2026-02-25", 0.8))
    start, today = place_of("2026-02-01"), place_of(TODAY) + 1
    assert domain(shown(*runs)) == (start, today)
    assert domain(shown(*runs, waived=("2026-02-05", "2026-03-03"))) == (start, place_of("2026-03-04"))
    assert domain(shown(*runs, waived=("2026-02-05", "2030-01-01"))) == (start, today + (today - start) / 4)


@pytest.mark.parametrize(
    ("size", "names"),
    [
        pytest.param(0, ["v22", "v21", "v15", "v8", "v1"], id="wide: 30 pixels a day, 21 a name"),
        pytest.param(1, ["v22", "v15", "v8", "v1"], id="narrow: 10 pixels a day"),
    ],
)
def test_releases_are_lines_and_the_newest_that_have_room_are_named(size: int, names: list[str]) -> None:
    tags = [Tag(f"v{day}", sha(str(day)), f"2026-02-{day:02}") for day in (1, 8, 15, 21, 22)]
    found = shown(run("2026-02-01", 0.8), tags=tuple(tags))
    lines, texts = [
        layer
        for layer in spec_of(found.curves[0], found, SIZES[size])["layer"]
        if "v" not in layer["data"]["values"][0]
    ]
    assert len(lines["data"]["values"]) == 5
    assert [row["tag"] for row in texts["data"]["values"]] == names


def test_who_cannot_see_the_chart_hears_its_numbers() -> None:
    found = shown(run("2026-02-01", 0.8), run("2026-02-02", 0.5), run("2026-02-03", 0.7))
    assert described(found.curves[0]) == (
        "3 values, from 80.0% on 2026-02-01 to 70.0% on 2026-02-03; the lowest is 50.0%, the highest 80.0%. The table "
        "below lists all of them."
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


def test_a_small_ceiling_of_a_waiver_is_no_ceiling_of_nothing() -> None:
    waiver = Waiver(gate="r", segment=None, up_to=0.0004, expires=TODAY, issue="https://e.example", reason="r", by="a")
    spans = spans_of([Version(day="2026-02-01", waivers=(waiver,))], {"r": Unit.SHARE})
    pages = site_of(Dashboard(date=TODAY, repository=None, sets=(replace(shown(run("2026-02-20", 0.8)), spans=spans),)))
    assert "0.04 pp" in pages["c.html"]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: size.name)
def test_no_two_ticks_of_a_curve_read_alike_where_its_range_is_narrow(size: Size) -> None:
    found = shown(run("2026-02-19", 0.941), run("2026-02-20", 0.944))
    drawn = chart(spec_of(replace(found.curves[0], limits=()), found, size), name="a", title="t", description="d")
    ticks = re.findall(r">([0-9.]+%)</text>", drawn)
    assert len(set(ticks)) == len(ticks) > 2
