"""Numbers that are all different, such as times, in arrays."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from typing import overload

import msgspec


class NumberColumn(Sequence[float | None]):
    """A value a row, of which none is NaN: that stands for None. Objects of their own would take four times as much."""

    __slots__ = ("_numbers",)

    def __init__(self, rows: int) -> None:
        self._numbers = array("d", [math.nan]) * rows

    @overload
    def __getitem__(self, row: int) -> float | None: ...
    @overload
    def __getitem__(self, row: slice) -> list[float | None]: ...
    def __getitem__(self, row: int | slice) -> float | list[float | None] | None:
        if isinstance(row, slice):
            return [None if math.isnan(number) else number for number in self._numbers[row]]
        number = self._numbers[row]
        return None if math.isnan(number) else number

    def __setitem__(self, row: int, value: float | None) -> None:
        self._numbers[row] = math.nan if value is None else value

    def __iter__(self) -> Iterator[float | None]:
        return (None if math.isnan(number) else number for number in self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        return repr([*self])


class StageTimes(msgspec.Struct, frozen=True, gc=False):
    """Milliseconds of one stage as the run's lines came in, the first of each row of the gold in turn.

    `rows` are those of the last times, from the first on that is not of the next row.
    """

    rows: array[int] = msgspec.field(default_factory=lambda: array("i"))
    times: array[float] = msgspec.field(default_factory=lambda: array("d"))

    def add(self, row: int, time: float) -> None:
        """One more."""
        if self.rows or row != len(self.times):
            self.rows.append(row)
        self.times.append(time)

    @property
    def by_row(self) -> dict[int, float]:
        """The last of each row."""
        in_turn = len(self.times) - len(self.rows)
        return dict(zip([*range(in_turn), *self.rows], self.times, strict=True))
