"""How many decimals the numbers of an explanation have, so that they can be followed with a pencil."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.gates.explain import LimitCheck, Row
from rankgate.model.values import TOLERANCE, Unit
from rankgate.model.wording import delta_text, exact_decimals, telling_decimals

_MOST_DECIMALS = 9
_FINER = 2  # decimals more than needed to tell numbers apart, if a sum then adds up as it is written


def decimals_of(row: Row) -> int:
    """Decimals for all of a row: no rounding hides a violation, and where it can be, what is shown adds up."""
    gate = row.result
    unit = gate.unit
    least = [exact_decimals(0.0, unit)]
    for check in row.checks:
        least += [
            telling_decimals(check.left, check.right, unit),
            telling_decimals(check.difference, check.allowed, unit),
        ]
        least.append(telling_decimals(check.difference, 0.0, unit))
        least.append(exact_decimals(check.right if check.limit == "threshold" else check.allowed, unit))
    start = max(least)
    finer = range(start, min(start + _FINER, _MOST_DECIMALS) + 1)
    return next((places for places in finer if _adds_up(row.checks, unit, places)), start)


def _adds_up(checks: Sequence[LimitCheck], unit: Unit, decimals: int) -> bool:
    scale = 100 if unit is Unit.SHARE else 1

    def written(number: float) -> float:
        return round(number * scale, decimals)

    return all(
        abs(written(check.left) - written(check.right) - written(check.difference)) <= TOLERANCE
        and (
            not check.beyond
            or abs(abs(written(check.difference) - written(check.allowed)) - written(check.beyond)) <= TOLERANCE
        )
        for check in checks
    )


def size_text(number: float, unit: Unit, decimals: int | None = None) -> str:
    """A size without a sign: `3.1 pp`."""
    return delta_text(number, unit, decimals).lstrip("+±−")
