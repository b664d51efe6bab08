"""A chart is one image with a name, in the page's colours, whatever text stands in its data."""

from __future__ import annotations

import re
from html import unescape
from typing import Any, Literal
from xml.etree import ElementTree as ET

import pytest

from rankgate.model.details import Sweep
from rankgate.model.values import Unit
from rankgate.renderers.pages.charts import AXES, by, chart
from rankgate.renderers.pages.curves import pane


def labelled(*texts: str) -> dict[str, Any]:
    """Texts as marks of a chart, one under the other, with a clip path."""
    return {
        "width": 100,
        "height": 40,
        "data": {"values": [{"place": place, "text": text} for place, text in enumerate(texts)]},
        "mark": {"type": "text", "clip": True},
        "encoding": {
            "y": {"field": "place", "type": "ordinal", "axis": None},
            "text": {"field": "text", "type": "nominal"},
        },
    }


def test_a_chart_is_one_image_with_a_title_and_a_description() -> None:
    svg = ET.fromstring(chart(labelled("a"), name="one", title="What <it> is", description='1 & "2"'))  # noqa: S314
    assert svg.attrib["role"] == "img"
    assert svg.attrib["aria-labelledby"] == "one-title one-desc"
    assert [(each.tag, each.attrib["id"], each.text) for each in svg[:2]] == [
        ("title", "one-title", "What <it> is"),
        ("desc", "one-desc", '1 & "2"'),
    ]
    assert not [
        each for part in svg.iter() if part is not svg for each in part.attrib if each.startswith(("aria", "role"))
    ]
    assert "height" not in svg.attrib


def test_charts_of_one_page_share_no_id_and_find_their_own() -> None:
    first, second = (chart(labelled("a"), name=name, title="t", description="d") for name in ("one", "two"))
    ids = [re.findall(r'\bid="([^"]+)"', svg) for svg in (first, second)]
    assert not set(ids[0]) & set(ids[1])
    used = re.findall(r"url\(#([^)]+)\)", first)
    assert used
    assert set(used) <= set(ids[0])


@pytest.mark.parametrize(
    "text",
    [
        '<script>alert("1")</script>',
        "]]>--><b>",
        'id="x" role="img" url(#y) aria-label="z"',
        "datum.value + '\\u0027",
        "a.b[c] & d",
        "עברית 🥐",
    ],
)
def test_text_of_the_data_shows_as_it_is(text: str) -> None:
    svg = chart(labelled(text), name="one", title=text, description=text)
    shown = re.findall(r"<text[^>]*>(.*?)</text>", svg)
    assert [unescape(each) for each in shown] == [text]
    names = {part.tag for part in ET.fromstring(svg).iter()}  # noqa: S314
    assert names <= {"svg", "g", "path", "text", "title", "desc", "defs", "clipPath", "rect"}


def test_words_have_their_looks_in_order_and_no_legend() -> None:
    assert by("of", {"now": "blue", "baseline": "brown"}) == {
        "field": "of",
        "type": "nominal",
        "scale": {"domain": ["now", "baseline"], "range": ["blue", "brown"]},
        "legend": None,
    }


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.95, 1.0), (0.991, 0.993), (0.99991, 0.99993), (12.5, 13.25)])
def test_no_two_ticks_of_an_axis_read_alike(unit: Unit, ends: tuple[float, float]) -> None:
    y = {
        "field": "v",
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": {"format": AXES[unit], "tickCount": 5, "title": None},
    }
    spec = {"data": {"values": [{"v": end} for end in ends]}, "mark": "point", "encoding": {"y": y}}
    ticks = re.findall(r">([^<>]+)</text>", chart(spec, name="a", title="t", description="d"))
    assert len(set(ticks)) == len(ticks) > 3
    assert all(tick.endswith("%") is (unit is Unit.SHARE) for tick in ticks)


@pytest.mark.parametrize("measure", ["recall", "ndcg"])
def test_no_two_ticks_of_a_pane_read_alike_where_its_range_is_narrow(measure: Literal["recall", "ndcg"]) -> None:
    sweep = Sweep(
        tag=None,
        measure=measure,
        queries=9,
        cutoffs=(1, 2),
        candidate=(0.93, 0.99),
        baseline=None,
        knee=1,
        baseline_knee=None,
    )
    drawn = chart(pane(sweep, 280, 190, 0.9, small=False), name="a", title="t", description="d")
    ticks = re.findall(r">([0-9]+(?:%|[.][0-9]+))</text>", drawn)
    assert len(set(ticks)) == len(ticks) > 2
