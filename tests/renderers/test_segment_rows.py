"""The table by tag: the change of the leading metric as a drawing with a word beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.renderers.reports import ENGLISH, IN_SEGMENT, REPORT

from rankgate.model.values import Direction, Interval
from rankgate.renderers.markdown import render_markdown
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
