"""Simpson's paradox: a metric that holds as a whole while it falls in a part."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.model.report import GateResult
from rankgate.model.values import TOLERANCE, Direction


def paradoxes(results: Sequence[GateResult]) -> list[str]:
    """Gates whose metric held or rose as a whole while it certainly fell in a segment (Simpson's paradox), by name.

    Certain is what the interval of the segment's change says at the confidence at which the segment was judged.
    """
    whole = {result.name: result for result in results if result.segment is None}
    names = [
        part.name
        for part in results
        if part.segment is not None and part.name in whole
        if fell(part, certain=True) and not fell(whole[part.name], certain=False)
    ]
    return list(dict.fromkeys(names))


def fell(result: GateResult, *, certain: bool) -> bool:
    """Whether the metric is worse than in the baseline, or is so by the whole interval."""
    if result.delta is None or result.n_pairs == 0:
        return False
    sign = 1 if result.direction is Direction.HIGHER else -1
    if not certain:
        return sign * result.delta < -TOLERANCE
    best = None if result.delta_ci is None else result.delta_ci[1 if sign > 0 else 0]
    return best is not None and sign * best < 0
