"""Where days lie on an axis of time. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rankgate.readers.dates import days_between

MONTH = 30  # days
NOON = 0.5


def place_of(day: str) -> float:
    """The begin of an ISO day, in days since 1970."""
    return float(days_between("1970-01-01", day))


def places_of(days: Sequence[str]) -> list[float]:
    """A place for each of these ordered days; those of one day lie one after the other within it."""
    counts, seen, places = Counter(days), Counter[str](), list[float]()
    for day in days:
        seen[day] += 1
        places.append(place_of(day) + (seen[day] - NOON) / counts[day])
    return places
