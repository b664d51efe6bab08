"""What a limit, an estimate and its interval say together: it holds, it is violated, or nobody can tell.

By `estimate` the estimate alone decides. By `proven_safe` the whole interval must clear the limit, for launch criteria.
By `proven_harm` only what the interval proves violates, for small or noisy gold sets. Below is always worse here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, assert_never

import msgspec
from msgspec.structs import replace

from rankgate.model.scores import Exact
from rankgate.model.values import CONFIDENCE, TOLERANCE, Direction, Evidence, EvidenceState, Interval, Reason, Ruling

if TYPE_CHECKING:
    from rankgate.criteria import Gate
    from rankgate.metrics.comparison import Comparison
    from rankgate.metrics.estimates import Estimate


class Finding(NamedTuple):
    """A ruling, what the interval says beside it, and how far the value lies beyond the limit; 0 where it does not."""

    ruling: Ruling
    state: EvidenceState
    beyond: float


class Ruled(NamedTuple):
    """What became of a limit, and why."""

    finding: Finding
    reason: Reason


class Rulings(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a gate's limits, why it cannot be judged, and what to look at twice."""

    limits: list[Ruled] = []
    unjudged: list[Reason] = []
    warnings: list[Reason] = []

    def reasons(self, ruling: Ruling) -> list[Reason]:
        """Those of the limits of which this became."""
        return [limit.reason for limit in self.limits if limit.finding.ruling is ruling]


def on_floor(gate: Gate, value: Estimate) -> Finding:
    """The ruling on a value of a gate that has a floor."""
    return rule_on_floor(gate.evidence, value.value, value.ci, gate.threshold or 0.0, gate.metric.direction)


def on_drop(gate: Gate, change: Comparison) -> Finding:
    """The ruling on a change of a gate that limits drops."""
    limit = gate.regression_max or 0.0
    direction = gate.metric.direction
    return rule_on_drop(gate.evidence, change.delta, change.ci, limit, direction, change.exact, gate.confidence)


def rule_on_floor(
    evidence: Evidence, value: float, ci: Interval | None, threshold: float, direction: Direction
) -> Finding:
    """Whether a value holds its floor (its ceiling, where lower is better). Equality holds."""
    (low, high), value, threshold = direction.upright(ci), direction.sign * value, direction.sign * threshold
    below = value < threshold - TOLERANCE
    proven_below = high is not None and high < threshold - TOLERANCE
    proven_above = low is not None and low >= threshold - TOLERANCE
    known = (low if evidence is Evidence.PROVEN_SAFE else high) is not None
    ruling, state = _ruling(evidence, violates=below, harm=proven_below, safe=proven_above, known=known)
    return Finding(ruling, state, _more_than_rounding(threshold - value))


def rule_on_drop(
    evidence: Evidence,
    delta: float,
    ci: Interval | None,
    regression_max: float,
    direction: Direction,
    exact: Exact | None = None,
    confidence: float = CONFIDENCE,
) -> Finding:
    """Whether a change against the baseline stays within what is allowed. Equality holds.

    Harm is proven where the drop is larger than allowed and the whole interval lies below zero: that there is a drop
    must be certain, how large it is need not be. An exact test, where there is one, proves it as well; and where that
    could have proven nothing with what moved, nobody can tell.
    """
    low, high = direction.upright(ci)
    drop, level = -direction.sign * delta, (1 - confidence) / 2
    fell = drop > regression_max + TOLERANCE
    proven_fall = fell and ((high is not None and high < 0) or (exact is not None and exact.p < level))
    proven_safe = low is not None and -low <= regression_max + TOLERANCE
    known = (low if evidence is Evidence.PROVEN_SAFE else high) is not None
    if exact is not None and evidence is not Evidence.PROVEN_SAFE:
        known = exact.least < level
    ruling, state = _ruling(evidence, violates=fell, harm=proven_fall, safe=proven_safe, known=known)
    return Finding(ruling, state, beyond_drop(delta, regression_max, direction))


def beyond_drop(delta: float, regression_max: float, direction: Direction) -> float:
    """How much larger a drop or rise is than allowed; 0 where it is not, or by no more than the tolerance."""
    return _more_than_rounding(-direction.sign * delta - regression_max)


def _more_than_rounding(excess: float) -> float:
    return excess if excess > TOLERANCE else 0.0


def _ruling(evidence: Evidence, *, violates: bool, harm: bool, safe: bool, known: bool) -> tuple[Ruling, EvidenceState]:
    """`known` says whether the data support the bound that matters: the worst case for safety, the best for harm."""
    doubt = EvidenceState.INCONCLUSIVE if known else EvidenceState.NO_INTERVAL
    match evidence:
        case Evidence.ESTIMATE:
            ruling = Ruling.VIOLATED if violates else Ruling.HOLDS
            clear = harm or not violates
        case Evidence.PROVEN_SAFE:
            ruling = Ruling.HOLDS if safe else Ruling.VIOLATED
            clear = safe or harm
        case Evidence.PROVEN_HARM:
            ruling = Ruling.VIOLATED if harm else Ruling.HOLDS
            clear = harm or not violates
            ruling = ruling if clear else Ruling.INCONCLUSIVE
        case _:
            assert_never(evidence)
    return ruling, EvidenceState.CLEAR if clear else doubt


def in_doubt(ruled: Ruled, at_worst: Ruling, gate: Gate) -> Ruled:
    """A ruling that holds, in doubt where it does not with the worst for what is missing.

    What must be proven safe is violated by that doubt. A reason without `at_worst` only counts what is missing.
    """
    finding, reason = ruled
    if finding.ruling is not Ruling.HOLDS:
        return Ruled(finding, replace(reason, at_worst=None, count=0))
    if at_worst is Ruling.HOLDS:
        return Ruled(finding, replace(reason, at_worst=None))
    ruling = Ruling.VIOLATED if gate.evidence is Evidence.PROVEN_SAFE else Ruling.INCONCLUSIVE
    doubtful = finding._replace(ruling=ruling, state=EvidenceState.INCONCLUSIVE)
    return Ruled(doubtful, replace(reason, ruling=ruling, state=doubtful.state))
