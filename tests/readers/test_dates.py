"""Days as gold sets and runs write them."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.readers.dates import iso_day


@each_row(
    ("written", "expected"),
    [
        pytest.param("2025-06-01", "2025-06-01", id="a date"),
        pytest.param("0001-01-01", "0001-01-01", id="the first day"),
        pytest.param("9999-12-31", "9999-12-31", id="the last day"),
        pytest.param("2024-02-29", "2024-02-29", id="a leap day"),
        pytest.param("2025-06-01T23:30", "2025-06-01", id="a time of day"),
        pytest.param("2025-06-01 23:30:00", "2025-06-01", id="after a blank"),
        pytest.param("2025-06-01T23:30:00.123456Z", "2025-06-01", id="UTC"),
        pytest.param("2025-06-01T23:30:00-03:00", "2025-06-01", id="an offset keeps its own day"),
        pytest.param("2025-06-01T00:30:00+09:00", "2025-06-01", id="on the other side too"),
        # No day.
        pytest.param("2025-02-29", None, id="a day that there was not"),
        pytest.param("2025-13-01", None, id="a month that there is not"),
        pytest.param("2025-6-1", None, id="short numbers"),
        pytest.param("2025-06", None, id="a month"),
        pytest.param("2025", None, id="a year"),
        pytest.param("20250601", None, id="without hyphens: as well a number"),
        pytest.param("01-06-2025", None, id="day first"),
        pytest.param("1 June 2025", None, id="in words"),
        pytest.param("v2025_06_01", None, id="a version"),
        pytest.param("1.2-3", None, id="another version"),
        pytest.param(" 2025-06-01", None, id="white space in front"),
        pytest.param("2025-06-01T", None, id="a time that is missing"),
        pytest.param("2025-06-01T25:00", None, id="a time that there is not"),
        pytest.param("-", None, id="a hyphen"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="nothing"),
        pytest.param(20250601, None, id="a number"),
        pytest.param(2025.5, None, id="another number"),
    ],
)
def test_day(written: object, expected: str | None) -> None:
    assert iso_day(written) == expected


OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(one=st.dates(), other=st.dates())
def test_days_sort_as_text(one: date, other: date) -> None:
    first, second = iso_day(one.isoformat()), iso_day(other.isoformat())
    assert first is not None
    assert second is not None
    assert (first < second, first == second) == (one < other, one == other)


@given(moment=st.datetimes(timezones=st.none() | OFFSETS))
def test_a_time_is_of_the_day_that_is_written(moment: datetime) -> None:
    assert iso_day(moment.isoformat()) == moment.isoformat()[:10]


@given(text=st.text(max_size=20) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.{0,9}", fullmatch=True))
def test_any_text_is_a_day_or_none(text: str) -> None:
    day = iso_day(text)
    assert day is None or date.fromisoformat(day).isoformat() == day
