"""How numbers read: units, signs, and as many decimals as it takes for two different numbers to look different."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.model.values import Unit, Verdict
from rankgate.model.wording import (
    VERDICT_WORDS,
    count_text,
    delta_points_text,
    delta_text,
    distinguishing_decimals,
    exact_decimals,
    points_text,
    value_text,
)

MAX_DECIMALS = 9
FEWEST = {Unit.SHARE: 1, Unit.SCORE: 3, Unit.NUMBER: 3, Unit.MILLISECONDS: 1}
SCALE = {Unit.SHARE: 100.0, Unit.SCORE: 1.0, Unit.NUMBER: 1.0, Unit.MILLISECONDS: 1.0}


def test_every_verdict_has_its_word() -> None:
    assert {verdict.value: word for verdict, word in VERDICT_WORDS.items()} == {
        "pass": "PASS",
        "warn": "WARN",
        "fail": "FAIL",
        "not_judged": "NOT JUDGED",
    }
    assert set(VERDICT_WORDS) == set(Verdict)


@each_row(
    ("value", "unit", "decimals", "text"),
    [
        pytest.param(0.87, Unit.SHARE, None, "87.0%", id="a share in percent, one decimal"),
        pytest.param(1.0, Unit.SHARE, None, "100.0%", id="all of it"),
        pytest.param(0.0, Unit.SHARE, None, "0.0%", id="none of it"),
        pytest.param(1 / 3, Unit.SHARE, None, "33.3%", id="a third"),
        pytest.param(0.84996, Unit.SHARE, 3, "84.996%", id="a share with the decimals asked for"),
        pytest.param(0.75, Unit.SHARE, 0, "75%", id="a share without decimals"),
        pytest.param(0.7524, Unit.SCORE, None, "0.752", id="a score with three decimals"),
        pytest.param(0.62, Unit.SCORE, 2, "0.62", id="a score with the decimals asked for"),
        pytest.param(12.5, Unit.NUMBER, None, "12.500", id="a plain number with three decimals"),
        pytest.param(35.23, Unit.MILLISECONDS, None, "35.2 ms", id="milliseconds with one decimal"),
        pytest.param(1204.0, Unit.MILLISECONDS, None, "1204.0 ms", id="more than a second is still milliseconds"),
        pytest.param(0.15659, Unit.MILLISECONDS, 3, "0.157 ms", id="milliseconds with the decimals asked for"),
    ],
)
def test_a_value_reads(value: float, unit: Unit, decimals: int | None, text: str) -> None:
    assert value_text(value, unit, decimals) == text


@each_row(
    ("delta", "unit", "decimals", "text"),
    [
        pytest.param(-0.058, Unit.SHARE, None, "−5.8 pp", id="shares change by percentage points, with a real minus"),
        pytest.param(0.024, Unit.SHARE, None, "+2.4 pp", id="a rise has its sign"),
        pytest.param(0.0, Unit.SHARE, None, "±0.0 pp", id="no change"),
        pytest.param(-0.0, Unit.SHARE, None, "±0.0 pp", id="no change, from the other side of zero"),
        pytest.param(-0.0004, Unit.SHARE, None, "±0.0 pp", id="a change that rounds to nothing has no direction"),
        pytest.param(-0.0004, Unit.SHARE, 2, "−0.04 pp", id="the same with a decimal more has one"),
        pytest.param(-1.0, Unit.SHARE, None, "−100.0 pp", id="zeros at the end are not nothing"),
        pytest.param(0.1, Unit.SHARE, 0, "+10 pp", id="zeros at the end are not nothing without decimals either"),
        pytest.param(0.012, Unit.SCORE, None, "+0.012", id="a score changes by a bare number"),
        pytest.param(-0.0004, Unit.SCORE, None, "±0.000", id="a score's change that rounds to nothing"),
        pytest.param(-2.5, Unit.NUMBER, None, "−2.500", id="a plain number"),
        pytest.param(3.1, Unit.MILLISECONDS, None, "+3.1 ms", id="milliseconds slower"),
        pytest.param(-3.14, Unit.MILLISECONDS, 2, "−3.14 ms", id="milliseconds faster"),
    ],
)
def test_a_change_reads(delta: float, unit: Unit, decimals: int | None, text: str) -> None:
    assert delta_text(delta, unit, decimals) == text


@pytest.mark.parametrize(
    ("value", "limit", "unit", "decimals", "texts"),
    [
        pytest.param(0.8, 0.85, Unit.SHARE, 1, ("80.0%", "85.0%"), id="far apart: the usual decimals"),
        pytest.param(0.85, 0.85, Unit.SHARE, 1, ("85.0%", "85.0%"), id="equal: the usual decimals"),
        pytest.param(0.84996, 0.85, Unit.SHARE, 3, ("84.996%", "85.000%"), id="84.996% is not 85%"),
        pytest.param(0.9996, 1.0, Unit.SHARE, 2, ("99.96%", "100.00%"), id="nearly all is not all"),
        pytest.param(0.6199, 0.62, Unit.SCORE, 4, ("0.6199", "0.6200"), id="a score just below its floor"),
        pytest.param(35.04, 35.0, Unit.MILLISECONDS, 2, ("35.04 ms", "35.00 ms"), id="a shade too slow"),
        pytest.param(-0.0301, -0.03, Unit.SHARE, 2, ("−3.01%", "−3.00%"), id="a drop just above what is allowed"),
        pytest.param(0.78 - 0.75, 0.03, Unit.SHARE, 1, ("3.0%", "3.0%"), id="0.78 - 0.75 is 0.03"),
        pytest.param(0.1 + 0.2, 0.3, Unit.SCORE, 3, ("0.300", "0.300"), id="0.1 + 0.2 is 0.3"),
    ],
)
def test_different_numbers_look_different(
    value: float, limit: float, unit: Unit, decimals: int, texts: tuple[str, str]
) -> None:
    found = distinguishing_decimals(value, limit, unit)
    assert (value_text(value, unit, found), value_text(limit, unit, found)) == texts
    assert found == decimals


@pytest.mark.parametrize(
    ("limit", "unit", "decimals", "text"),
    [
        pytest.param(0.85, Unit.SHARE, 1, "85.0%", id="a round share has the usual decimal"),
        pytest.param(0.1 + 0.2, Unit.SHARE, 1, "30.0%", id="whatever binary fractions say"),
        pytest.param(0.875, Unit.SHARE, 1, "87.5%", id="an eighth"),
        pytest.param(0.8765, Unit.SHARE, 2, "87.65%", id="a finer share is written in full"),
        pytest.param(0.0, Unit.SHARE, 1, "0.0%", id="nothing"),
        pytest.param(0.62, Unit.SCORE, 3, "0.620", id="a score has three decimals"),
        pytest.param(0.6215, Unit.SCORE, 4, "0.6215", id="a finer score is written in full"),
        pytest.param(200, Unit.MILLISECONDS, 1, "200.0 ms", id="whole milliseconds"),
        pytest.param(0.25, Unit.MILLISECONDS, 2, "0.25 ms", id="a quarter of one"),
    ],
)
def test_a_limit_is_written_as_it_was_given(limit: float, unit: Unit, decimals: int, text: str) -> None:
    found = exact_decimals(limit, unit)
    assert (found, value_text(limit, unit, found)) == (decimals, text)


@given(st.integers(0, 10**6), st.integers(0, 6), st.sampled_from(list(Unit)))
def test_a_limit_of_a_few_decimals_is_written_in_full(digits: int, places: int, unit: Unit) -> None:
    """Read back, the text is the number: a floor of 0.8765 must not read as 87.7%."""
    limit = digits / 10**places
    text = value_text(limit, unit, exact_decimals(limit, unit))
    assert float(text.split("%")[0].split(" ")[0]) / SCALE[unit] == pytest.approx(limit, rel=1e-12)


units = st.sampled_from(list(Unit))
numbers = st.floats(0, 1000, allow_nan=False)


@given(numbers, numbers, units)
@example(0.85, 0.84996, Unit.SHARE)
@example(0.5, 0.5 + 2e-9, Unit.SCORE)
def test_numbers_that_differ_look_different_as_far_as_decimals_are_shown(a: float, b: float, unit: Unit) -> None:
    decimals = distinguishing_decimals(a, b, unit)
    assert FEWEST[unit] <= decimals <= MAX_DECIMALS
    if abs(a - b) * SCALE[unit] > 1.01 * 10.0**-MAX_DECIMALS and abs(a - b) > 1e-9:
        assert value_text(a, unit, decimals) != value_text(b, unit, decimals)


@given(numbers, numbers, units)
def test_no_decimal_is_shown_without_need(a: float, b: float, unit: Unit) -> None:
    decimals = distinguishing_decimals(a, b, unit)
    for fewer in range(FEWEST[unit], decimals):
        assert value_text(a, unit, fewer) == value_text(b, unit, fewer)


@given(numbers, units)
def test_equal_numbers_look_equal_in_the_usual_decimals(a: float, unit: Unit) -> None:
    decimals = distinguishing_decimals(a, a, unit)
    assert decimals == FEWEST[unit]
    assert value_text(a, unit, decimals) == value_text(a, unit)


@given(st.floats(0.01, 1, allow_nan=False), st.integers(-40, 40), units)
def test_numbers_that_differ_by_rounding_alone_look_equal(a: float, steps: int, unit: Unit) -> None:
    b = a + steps * math.ulp(a)
    assert distinguishing_decimals(a, b, unit) == FEWEST[unit]


@given(st.floats(-1, 1, allow_nan=False), units)
def test_a_change_and_its_opposite_differ_in_the_sign_alone(delta: float, unit: Unit) -> None:
    there, back = delta_text(delta, unit), delta_text(-delta, unit)
    assert there[1:] == back[1:]
    assert {there[0], back[0]} in ({"±"}, {"+", "−"})


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [
        pytest.param(1, ("query", "queries"), "1 query", id="one"),
        pytest.param(2, ("query", "queries"), "2 queries", id="two"),
        pytest.param(0, ("query", "queries"), "0 queries", id="none"),
        pytest.param(1400, ("query", "queries"), "1,400 queries", id="thousands"),
        pytest.param(1, ("problem",), "1 problem", id="one, regular plural"),
        pytest.param(3, ("problem",), "3 problems", id="several, regular plural"),
    ],
)
def test_a_count_reads(count: int, words: tuple[str, ...], text: str) -> None:
    assert count_text(count, *words) == text


def test_one_point_is_a_point() -> None:
    assert [points_text(size, Unit.SHARE) for size in (0.01, 0.011, 0.1)] == ["1.0 point", "1.1 points", "10.0 points"]
    assert [delta_points_text(delta, Unit.SHARE) for delta in (-0.01, 0.01, 0.0)] == [
        "−1.0 point",
        "+1.0 point",
        "±0.0 points",
    ]
    assert points_text(1.0, Unit.MILLISECONDS) == "1.0 ms"
