"""A chart is one image with a name, in the page's colours, whatever text stands in it; ticks and pixels are right."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgate.model.details import Sweep
from rankgate.model.values import Unit
from rankgate.renderers.escape import one_line
from rankgate.renderers.pages import templates
from rankgate.renderers.pages.charts import Axis, Chart, Line, Mark, Pane, around, day_ticks, ticks_of, width_of
from rankgate.renderers.pages.report import pane


def drawn(chart: Chart) -> str:
    return str(templates().get_template("chart.svg.j2").make_module().draw(chart))  # type: ignore[attr-defined]


def labelled(text: str) -> Chart:
    """A chart with a text wherever one can stand."""
    x = Axis(0, 1, 50, 90, [(0, text), (1, text)], text)
    y = Axis(0, 1, 90, 10, [(0, text), (1, text)], text)
    mark = Mark(0.5, 0.5, "circle", "var(--now)", 4, text=text, run="r", hover=text)
    parts = Pane(x, y, [Line([(0, 0), (1, 1)], "var(--now)")], [mark])
    return Chart(id="one", title=text, description=text, width=100, height=120, panes=[parts])


LIVE = ['<script>alert("1")</script>', "]]>--><b>", '" id="x" role="img" url(#y)', "{{ 7 * 7 }}", "&amp;", "\x00\ud800"]


@given(st.one_of(st.text(st.characters(), min_size=1, max_size=200), st.sampled_from(LIVE)))
def test_any_text_stays_text_and_a_chart_one_image_with_a_name(text: str) -> None:
    svg = ET.fromstring(drawn(labelled(text)).strip())  # noqa: S314
    plain = one_line(text, 200)
    texts = [part.text for part in svg.iter() if part.tag in ("text", "title", "desc")]
    assert texts == ([plain] * 10 if plain else [None] * 3)
    assert {part.tag for part in svg.iter()} <= {"svg", "g", "path", "polyline", "text", "title", "desc"}
    named = [part for part in svg.iter() if {"id", "role", "style", "aria-labelledby"} & part.attrib.keys()]
    assert [part.attrib.get("id") for part in named] == [None, "one-title", "one-desc"]
    assert (svg.attrib["role"], svg.attrib["aria-labelledby"]) == ("img", "one-title one-desc")


ENDS = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-5, 1e6)).map(lambda ends: (ends[0], ends[0] + ends[1]))


@given(ENDS, st.sampled_from(Unit), st.integers(2, 8))
@example((0.99991, 0.99993), Unit.SHARE, 5)
@example((0.3 - 1e-12, 0.3 + 1e-5), Unit.NUMBER, 4)
def test_ticks_lie_on_the_axis_in_order_and_no_two_read_alike(
    ends: tuple[float, float], unit: Unit, count: int
) -> None:
    ticks = ticks_of(*ends, unit, count)
    values = [value for value, _ in ticks]
    assert ends[0] <= values[0] < values[-1] <= ends[1]
    assert all(before < after for before, after in pairwise(values))
    assert 2 <= len(ticks) <= count + 3
    assert len({text for _, text in ticks}) == len(ticks)
    assert all(text.endswith("%") is (unit is Unit.SHARE) for _, text in ticks)


@pytest.mark.full
@given(st.floats(0, 30_000), st.integers(1, 4_000), st.sampled_from([(3, 280), (9, 830)]))
def test_days_and_months_lie_on_the_axis_in_order_and_have_room(
    start: float, length: int, size: tuple[int, int]
) -> None:
    """`size`: about how many are wanted, and the pixels of the axis."""
    end = math.ceil(start) + length
    ticks = day_ticks(start, end, size[0])
    days = [day for day, _ in ticks]
    assert len(days) > 1
    assert start <= days[0] <= days[-1] <= end
    assert all(before < after for before, after in pairwise(days))
    assert max(width_of(text) for _, text in ticks) < min(
        (after - before) / (end - start) * size[1] for before, after in pairwise(days)
    )


@pytest.mark.parametrize(
    ("start", "length", "texts"),
    [
        pytest.param(20_454, 1, ["01-01", "01-02"], id="one day"),
        pytest.param(20_454, 20, ["01-01", "01-08", "01-15"], id="weeks"),
        pytest.param(20_430, 70, ["2026-01", "2026-02"], id="months"),
        pytest.param(19_000, 1_500, ["2022-02", "2024-02", "2026-02"], id="years"),
    ],
)
def test_time_is_said_in_days_or_months(start: float, length: float, texts: list[str]) -> None:
    assert [text for _, text in day_ticks(start, start + length, 3)] == texts


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), st.booleans())
def test_a_scale_maps_ends_to_ends_and_nothing_beyond(low: float, length: float, log: bool) -> None:  # noqa: FBT001
    high = low + length
    axis = Axis(low, high, 300.0, 20.0, log=log)
    assert (axis.at(low), axis.at(high)) == (300.0, 20.0)
    assert (axis.at(low - 1), axis.at(high + 1)) == (300.0, 20.0)
    middle = math.sqrt(low * high) if log else (low + high) / 2
    assert axis.at(middle) == pytest.approx(160, abs=0.1)


@pytest.mark.full
@given(st.lists(st.floats(-2, 2), min_size=1), st.sampled_from(Unit))
@example([1.0], Unit.SHARE)
@example([1.5], Unit.SHARE)
@example([0.0], Unit.MILLISECONDS)
@example([0.8, 0.8000000000000002], Unit.SCORE)
@example([0.0, 5e-324], Unit.SCORE)
def test_an_axis_has_room_for_every_value(values: list[float], unit: Unit) -> None:
    low, high = around(values, unit)
    assert low <= min(values) <= max(values) <= high
    assert low < high
    within = unit is Unit.SHARE and 0 <= min(values) <= max(values) <= 1
    assert not within or 0 <= low < high <= 1
    assert len(ticks_of(low, high, unit, 5)) > 1


@pytest.mark.parametrize("values", [[1.7e308, -1.7e308], [1e300], [-1e300, 0.5]])
def test_the_hugest_values_have_an_axis(values: list[float]) -> None:
    low, high = around(values, Unit.SCORE)
    assert -2e15 < low < high < 2e15
    assert len(ticks_of(low, high, Unit.SCORE, 5)) > 1


SWEEP = Sweep(
    tag=None,
    measure="recall",
    queries=9,
    cutoffs=(1, 10, 100),
    candidate=(0.5, 0.75, 1.0),
    baseline=(0.5, 0.5, 0.625),
    knee=10,
    baseline_knee=None,
)


def test_the_pixels_of_a_curve_are_those_computed_by_hand() -> None:
    """The texts at the left take 45 pixels: `100%` is three letters of 7 and one of 12, with 12 around it."""
    plot = pane(SWEEP, 0, 352, 258, 0.5)
    assert [text for _, text in plot.y.ticks] == ["50%", "60%", "70%", "80%", "90%", "100%"]
    assert [text for _, text in plot.x.ticks] == ["1", "2", "5", "10", "20", "50", "100"]
    svg = drawn(Chart(id="a", title="t", description="d", width=352, height=258, panes=[plot]))
    assert re.findall(r'<polyline points="([^"]+) "', svg) == [
        "45.0,214.0 190.5,119.0 336.0,24.0",  # half of a log scale is its tenth, half of 50% to 100% is 75%
        "45.0,214.0 190.5,214.0 336.0,166.5",
    ]
    assert "translate(190.5 119.0)" in svg
    assert '<text x="180.5" y="105.0" text-anchor="end">knee 10</text>' in svg
