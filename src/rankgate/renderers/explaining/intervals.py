"""What an interval proves of a limit, in words."""

from __future__ import annotations

from rankgate.gates.explain import LimitCheck
from rankgate.model.report import GateResult
from rankgate.model.values import TOLERANCE, Direction, Evidence, Interval
from rankgate.model.wording import delta_text
from rankgate.renderers.phrases import exact_proof


def change_says(gate: GateResult, decimals: int) -> str:
    """What the interval of the change proves, in the gate's own direction."""
    low, high = _upright(gate.delta_ci, gate.direction)
    if high is not None and high < 0:
        said = "all of it is for the worse, so that a loss is certain, not its size"
    elif low is not None and low > 0:
        said = "all of it is for the better"
    elif proven := exact_proof(gate):
        said = f"it does not exclude 0, and the {proven} proves a loss"
    elif high is None:
        said = "its better end is not known"
    else:
        said = "0 lies within, so that chance alone may have done it"
    if gate.evidence is Evidence.PROVEN_SAFE and low is not None:
        worst = delta_text(low if gate.direction is Direction.HIGHER else -low, gate.unit, decimals)
        safe_enough = -low <= (gate.regression_max or 0.0) + TOLERANCE
        said += f"; its worst end, {worst}, is {'within' if safe_enough else 'beyond'} what is allowed"
    return said


def value_says(gate: GateResult, check: LimitCheck) -> str:
    """Where the interval of the value lies to the threshold."""
    low, high = _upright(gate.ci, gate.direction)
    limit = check.right if gate.direction is Direction.HIGHER else -check.right
    if high is not None and high < limit - TOLERANCE:
        return f"all of it lies {'below' if gate.direction is Direction.HIGHER else 'above'} the {limit_word(gate)}"
    if low is not None and low >= limit - TOLERANCE:
        return f"all of it holds the {limit_word(gate)}"
    said = f"the {limit_word(gate)} lies within it, so that other questions of the kind may give either"
    return f"{said}: not proven" if gate.evidence is Evidence.PROVEN_SAFE else said


def limit_word(gate: GateResult) -> str:
    """`floor` or `ceiling`."""
    return "floor" if gate.direction is Direction.HIGHER else "ceiling"


def harm_word(gate: GateResult) -> str:
    """`drop` or `rise`."""
    return "drop" if gate.direction is Direction.HIGHER else "rise"


def _upright(ci: Interval | None, direction: Direction) -> tuple[float | None, float | None]:
    """The bounds so that below is worse."""
    low, high = ci or (None, None)
    if direction is Direction.HIGHER:
        return low, high
    return (None if high is None else -high), (None if low is None else -low)
