"""Charts as values: axes with their pixels and ticks, lines and marks, which `chart.svg.j2` writes as SVG.

Colours are the page's CSS variables, so that one picture serves light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from unicodedata import east_asian_width

import msgspec

from rankgate.model.values import Unit

NOW, BEFORE = "var(--now)", "var(--before)"  # the run and the baseline
FAINT, SAME, WORSE = "var(--faint)", "var(--same)", "var(--worse)"
_HUGE = 1e15  # what is more lies at the end of its axis
DASHES = {NOW: "", BEFORE: "5 3"}

Ticks = Sequence[tuple[float, str]]  # values, and what stands there


class Axis(msgspec.Struct, frozen=True):
    """Values between two ends, and the pixels of the ends; its title stands under a plot, or over it."""

    low: float
    high: float
    start: float
    end: float
    ticks: Ticks = ()
    title: str = ""
    log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value; one beyond an end lies at the end."""
        low, high, inside = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, inside = math.log(low), math.log(high), math.log(inside)
        return round(self.start + (inside - low) / (high - low) * (self.end - self.start), 1)

    @property
    def margin(self) -> float:
        """How many pixels its texts take beside a plot."""
        return 12 + max(width_of(text) for _, text in self.ticks)


class Line(msgspec.Struct, frozen=True):
    """From point to point, by values; filled it is an area without a border."""

    points: Sequence[tuple[float, float]]
    color: str
    width: float = 1.5
    dash: str = ""
    opacity: float = 1
    filled: bool = False


class Mark(msgspec.Struct, frozen=True):
    """One of the template's shapes at values, with a text beside it; a run's says under the mouse what is known."""

    x: float
    y: float
    shape: str
    color: str
    size: float
    ring: bool = False
    text: str = ""
    run: str = ""
    hover: str = ""


class Pane(msgspec.Struct, frozen=True):
    """A plot: what lies between its axes, by values."""

    x: Axis
    y: Axis
    lines: Sequence[Line] = ()
    marks: Sequence[Mark] = ()


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A picture with the name over it, what it says in a sentence each, and how many questions it is about.

    Its id is of letters, digits and hyphens, and no other chart of the page has it.
    """

    id: str
    title: str
    description: str
    width: float
    height: float
    panes: Sequence[Pane]
    name: str = ""
    sentences: Sequence[str] = ()
    queries: int = 0


def around(values: Sequence[float], unit: Unit) -> tuple[float, float]:
    """The ends of an axis that has all values and some room beyond them; no share lies beyond none and all."""
    low, high = (min(max(value, -_HUGE), _HUGE) for value in (min(values), max(values)))
    one = high - low <= max(abs(low), abs(high), 0.001) / 1e9
    room = (abs(low) / 10 or 1.0) if one else (high - low) / 12
    if unit is Unit.SHARE:
        return max(low - room, min(low, 0.0)), min(high + room, max(high, 1.0))
    return low - room, high + room


def ticks_of(low: float, high: float, unit: Unit, count: int) -> Ticks:
    """Multiples of 1, 2 or 5 times a power of ten: about so many, two at least, and no two of them read alike."""
    values: list[float] = []
    while len(values) < 2:  # noqa: PLR2004 -- one would be no scale
        rough = (high - low) / count
        power = math.floor(math.log10(rough))
        step = next(size for size in (1, 2, 5, 10, 20) if size * 10.0**power >= rough) * 10.0**power
        numbers = range(math.floor(low / step), math.ceil(high / step) + 1)
        values = [value for number in numbers if low <= (value := round(number * step, -power)) <= high]
        count += 1
    sizes = [100 * value for value in values] if unit is Unit.SHARE else values
    least = (sizes[1] - sizes[0]) / 1000  # of a decimal that counts
    decimals = next((d for d in range(12) if all(abs(size - round(size, d)) < least for size in sizes)), 12)
    texts = [f"{size:,.{decimals}f}".replace("-", "−") + "%" * (unit is Unit.SHARE) for size in sizes]
    return list(zip(values, texts, strict=True))


def width_of(text: str) -> float:
    """About how many pixels a text takes, in a font of wide letters."""
    return sum(12 if char in "%@MWmw" or east_asian_width(char) in "WF" else 7 for char in text)
