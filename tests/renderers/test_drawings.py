"""What the comment draws in text: the change of the leading metric by tag, and the trend of the last runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.renderers.page import Page
from tests.renderers.reports import ENGLISH, IN_SEGMENT, REPORT

from rankgate.model.report import Report, TrendPoint
from rankgate.model.values import Direction, Interval
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.sections import spark, trend_head, trend_rows
from rankgate.renderers.segment_rows import WIDTH, change_cell, change_word, drawing


@pytest.mark.parametrize(
    ("delta", "ci", "drawn"),
    [
        pytest.param(0.0, (0.0, 0.0), "··········●··········", id="no change"),
        pytest.param(-1.0, (-1.0, -0.1), "●────────┤┼··········", id="worse"),
        pytest.param(0.5, (0.2, 0.8), "··········┼·├──●──┤··", id="better"),
        pytest.param(-0.1, (-0.5, 0.4), "·····├───●┼───┤······", id="noise"),
        pytest.param(-0.5, (None, 0.0), "·····●────┤··········", id="a bound that the data do not support"),
    ],
)
def test_a_drawing(delta: float, ci: Interval, drawn: str) -> None:
    assert drawing(delta, ci, 1.0) == drawn


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 2))
def test_every_drawing_is_as_wide_as_the_others_and_has_one_point(
    delta: float, low: float, high: float, scale: float
) -> None:
    drawn = drawing(delta, (delta - low, delta + high), scale)
    assert len(drawn) == 2 * WIDTH + 1
    assert drawn.count("●") == 1
    assert drawn.count("├") == drawn.count("┤") or "●" in (drawn.strip("·─┼")[0], drawn.strip("·─┼")[-1])


@pytest.mark.parametrize(
    ("delta", "ci", "direction", "word"),
    [
        pytest.param(-0.2, (-0.3, -0.1), Direction.HIGHER, "worse", id="lower where higher is better"),
        pytest.param(-0.2, (-0.3, -0.1), Direction.LOWER, "better", id="lower where lower is better"),
        pytest.param(0.2, (0.1, 0.3), Direction.HIGHER, "better", id="higher"),
        pytest.param(-0.2, (-0.5, 0.0), Direction.HIGHER, "may be noise", id="an interval that reaches no change"),
        pytest.param(-0.2, (None, -0.1), Direction.HIGHER, "worse", id="worse, nobody knows by how much at most"),
        pytest.param(-0.2, (-0.3, None), Direction.HIGHER, "may be noise", id="a bound that is not known"),
        pytest.param(0.0, (0.0, 0.0), Direction.HIGHER, "no change", id="nothing"),
    ],
)
def test_the_word_beside_the_drawing(delta: float, ci: Interval, direction: Direction, word: str) -> None:
    assert change_word(replace(IN_SEGMENT, delta=delta, delta_ci=ci, direction=direction)) == word


def test_a_segment_without_an_interval_has_no_drawing() -> None:
    assert change_cell(IN_SEGMENT, 1.0) == "–"


def test_the_table_has_the_drawing_and_says_how_to_read_it() -> None:
    segment = replace(ENGLISH, metrics={"recall@5": replace(IN_SEGMENT, delta_ci=(-0.3, -0.1))})
    lines = render_markdown(replace(REPORT, segments=[segment])).splitlines()
    assert "| Tag | Questions | recall@5 | Change of recall@5 |" in lines
    assert "| `lang:en` | 20 | 70.0% (−20.0 pp) | `├──●───┤··┼··········`&nbsp;worse |" in lines
    legend = "● is the change, ├──┤ its 95% interval, ┼ no change; the scale goes from −30.0 pp to +30.0 pp."
    assert legend in lines
    assert legend not in render_markdown(REPORT)


# The trend


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        pytest.param([0.0, 0.5, 1.0], "▁▅█", id="rising"),
        pytest.param([0.8, 0.8], "▄▄", id="flat"),
        pytest.param([None, 0.1, 0.2], "·▁█", id="one run without a value"),
        pytest.param([None], "·", id="none"),
    ],
)
def test_a_spark(values: list[float | None], drawn: str) -> None:
    assert spark(values) == drawn


def with_trend(*values: float | None) -> Report:
    points = [TrendPoint(date=f"2026-01-{day:02}", scores={"recall@5": value}) for day, value in enumerate(values, 1)]
    return replace(REPORT, trend=points)


def test_the_trend_is_a_folded_table() -> None:
    found = Page(render_markdown(with_trend(0.9, 0.85, 0.95)))
    assert "The last 3 runs of the main branch, 2026-01-01 to 2026-01-03" in found.plain
    assert ["Metric", "Trend", "Lowest", "Highest", "Newest", "This run"] in found.rows
    assert ["recall@5", "▅▁█", "85.0%", "95.0%", "95.0%", "80.0%"] in found.rows


def test_one_run_is_a_trend_of_one_day() -> None:
    assert trend_head(with_trend(0.9)) == "The last run of the main branch, 2026-01-01"


def test_a_metric_that_no_run_recorded_has_no_row() -> None:
    assert trend_rows(with_trend(None, None)) == []
    assert "main branch" not in render_markdown(with_trend(None, None))


def test_without_a_history_there_is_no_trend() -> None:
    assert trend_head(REPORT) == ""
    assert "Trend" not in render_markdown(REPORT)
