"""What scripts/bench makes of its measurements: medians, ratios within rounds, targets, a table, a record."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, Literal, NamedTuple

from bench_measure import Measured, Usage

Quantity = Literal["cpu", "wall", "peak"]


class Goal(NamedTuple):
    """A number to reach: a program's own, or in relation to another program's. Without a limit it is only told."""

    text: str
    limit: float | None
    quantity: Quantity
    program: str
    other: str | None = None


class Target(NamedTuple):
    """A goal with what was measured."""

    text: str
    limit: float | None
    measured: float

    @property
    def met(self) -> bool | None:
        """Whether it is reached; None where nothing is to be reached."""
        return None if self.limit is None else self.measured <= self.limit

    def __str__(self) -> str:
        state = {True: "met   ", False: "missed", None: "told  "}[self.met]
        return f"{state}  {self.text} (measured: {self.measured:.3f})"


class Column(NamedTuple):
    """A column of ratios: of what, and which program's stands below each program's."""

    title: str
    quantity: Quantity
    other: Callable[[str], str]


def value_of(usage: Usage, quantity: Quantity) -> float:
    """One of the three."""
    return float(getattr(usage, quantity))


def middle(measured: Measured, name: str, quantity: Quantity) -> float:
    """The median over the rounds."""
    return median(value_of(usage, quantity) for usage in measured[name])


def ratio(measured: Measured, name: str, other: str, quantity: Quantity) -> float:
    """The median over the rounds of one program's quantity by another's in the same round."""
    pairs = zip(measured[name], measured[other], strict=True)
    return median(value_of(mine, quantity) / value_of(its, quantity) for mine, its in pairs)


def targets(measured: Measured, goals: Sequence[Goal]) -> list[Target]:
    """The goals of which everything was measured."""
    return [
        Target(
            goal.text,
            goal.limit,
            ratio(measured, goal.program, goal.other, goal.quantity)
            if goal.other
            else middle(measured, goal.program, goal.quantity),
        )
        for goal in goals
        if {goal.program, goal.other or goal.program} <= measured.keys()
    ]


def table(measured: Measured, titles: Mapping[str, str], columns: Sequence[Column]) -> list[str]:
    """Medians with the range of CPU and wall time, and the ratios, as a Markdown table."""
    columns = [column for column in columns if any(column.other(name) in measured for name in measured)]
    rows = [("", "CPU s", "wall s", "peak MiB", *(column.title for column in columns))]
    for name in measured:
        ratios = [_ratio_text(measured, name, column) for column in columns]
        times = [_spread([getattr(usage, key) for usage in measured[name]]) for key in ("cpu", "wall")]
        rows.append((titles[name], *times, f"{middle(measured, name, 'peak'):,.1f}", *ratios))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = (text.rjust(width) for text, width in zip(cells, widths, strict=True))
        return "| " + " | ".join([first.strip().ljust(widths[0]), *rest]) + " |"

    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return [line(rows[0]), line(rule), *map(line, rows[1:])]


def record(measured: Measured, columns: Sequence[Column], goals: Sequence[Goal]) -> dict[str, Any]:
    """Every single measurement, the medians, ratios and targets, as plain values."""
    return {
        "programs": {
            name: {
                "median": Usage(*map(median, zip(*usages, strict=True)))._asdict(),
                "ratios": {
                    column.title: ratio(measured, name, other, column.quantity)
                    for column in columns
                    if (other := column.other(name)) in measured
                },
                "each_round": [usage._asdict() for usage in usages],
            }
            for name, usages in measured.items()
        },
        "targets": [{**target._asdict(), "met": target.met} for target in targets(measured, goals)],
    }


def _ratio_text(measured: Measured, name: str, column: Column) -> str:
    other = column.other(name)
    return f"{ratio(measured, name, other, column.quantity):.2f}" if other in measured else ""


def _spread(values: Sequence[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{median(values):.3f} ({min(values):.3f} to {max(values):.3f})"
