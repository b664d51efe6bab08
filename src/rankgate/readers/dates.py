"""Days as gold sets and runs write them."""

from __future__ import annotations

from datetime import date, datetime, timedelta


def iso_day(written: object) -> str | None:
    """The day of an ISO 8601 date or time as `2025-06-01`, which sorts as days do; None where it is neither.

    A time keeps the day of its own offset: what was written on the first of June there was so for its writer.
    """
    if not isinstance(written, str) or "-" not in written:
        return None
    kind = datetime if len(written) > len("2025-06-01") else date
    try:
        return kind.fromisoformat(written).isoformat()[: len("2025-06-01")]
    except ValueError:
        return None


def instant(written: str) -> float | None:
    """Seconds since 1970 of an ISO 8601 time with its offset; None of any other text."""
    try:
        when = datetime.fromisoformat(written)
        return when.timestamp() if when.tzinfo else None
    except (ValueError, OverflowError):
        return None


def days_between(first: str, last: str) -> int:
    """How many days one ISO day lies after another; negative where it lies before."""
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def days_after(day: str, days: int) -> str:
    """The ISO day so many days after another; the last day of the calendar where that ends before."""
    try:
        return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
    except OverflowError:
        return date.max.isoformat()
