"""The paired changes of the leading metric: every question once, sorted from the largest loss to the largest gain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
from markupsafe import Markup

from rankgate.model.details import Measure, ReportDetails
from rankgate.model.values import TOLERANCE, Direction
from rankgate.model.wording import delta_text
from rankgate.renderers.pages.charts import chart
from rankgate.renderers.pages.panels import leading_measure
from rankgate.renderers.pages.waterfall import MAX_BARS, Step, room_of, waterfall

_WIDE, _NARROW = 620, 280


class Tile(msgspec.Struct, frozen=True, kw_only=True):
    """How many questions went one way, and their share of all."""

    way: str
    sign: str
    count: int
    share: str


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """The pictures, for wide and narrow windows, with their numbers; `shortened` says that ties take less room."""

    metric: str
    meaning: str
    queries: int
    tiles: tuple[Tile, ...]
    wide: Markup
    narrow: Markup
    grouped: int
    shortened: bool


def pairs_of(details: ReportDetails) -> Pairs | None:
    """The changes of the questions that both runs have a value for; None where there are none."""
    measure = leading_measure(details)
    if measure is None:
        return None
    found = [question.values[measure.name] for question in details.questions if measure.name in question.values]
    changes = [after - before for before, after in found if before is not None and after is not None]
    if not changes:
        return None
    worse, same, better = split(changes, measure.direction)
    every = len(changes)
    counts = len(worse), same, len(better)
    size = -(-(len(worse) + len(better)) // MAX_BARS) or 1
    room = room_of(counts)
    steps = steps_of(worse, 0, size), steps_of(better, len(worse) + room, size)
    tiles = tuple(
        Tile(way=way, sign=sign, count=count, share=share_text(count, every))
        for way, sign, count in (("worse", "▼", len(worse)), ("same", "=", same), ("better", "▲", len(better)))
    )
    said = (
        f"{', '.join(f'{tile.count:,} {tile.way} ({tile.share})' for tile in tiles)} of {every:,} questions. "
        f"The largest loss is {_largest(worse, measure)}, the largest gain {_largest(better, measure)}."
    )
    pictures = [
        chart(
            waterfall(steps, counts, measure, width),
            name=f"pairs-{width}",
            title=f"Change of {measure.name}, question by question",
            description=said,
        )
        for width in (_WIDE, _NARROW)
    ]
    return Pairs(
        metric=measure.name,
        meaning=measure.meaning,
        queries=every,
        tiles=tiles,
        wide=pictures[0],
        narrow=pictures[1],
        grouped=size,
        shortened=room < same,
    )


def split(changes: Iterable[float], direction: Direction) -> tuple[list[float], int, list[float]]:
    """Losses from the largest on, how many did not change, and gains up to the largest."""
    sign = 1 if direction is Direction.HIGHER else -1
    towards = sorted(sign * change for change in changes)
    worse = [sign * change for change in towards if change < -TOLERANCE]
    better = [sign * change for change in towards if change > TOLERANCE]
    return worse, len(towards) - len(worse) - len(better), better


def steps_of(changes: Sequence[float], start: int, size: int) -> list[Step]:
    """Bars of `size` questions each, the last of fewer."""
    return [
        Step(start + begin, start + begin + len(part), math.fsum(part) / len(part))
        for begin in range(0, len(changes), size)
        for part in [changes[begin : begin + size]]
    ]


def share_text(count: int, of: int) -> str:
    """`84%`; `<1%` and `>99%` where rounding would say none or all."""
    share = 100 * count / of
    if 0 < share < 1:
        return "<1%"
    return ">99%" if 99 < share < 100 else f"{share:.0f}%"  # noqa: PLR2004 -- per cent


def _largest(changes: Sequence[float], measure: Measure) -> str:
    return delta_text(max(changes, key=abs), measure.unit) if changes else "none"
