"""Can this gold set see it: the drop that a gate catches in four of five runs, beside the one that it forbids.

By the gate's own rule: a drop of exactly what is allowed is caught half of the time at best, so a gold set sees what
the gate forbids if twice that is caught in four of five runs. Where safety has to be proven, every such drop is caught,
and the question is whether a change without effect passes as often. A segment under Holm's correction has the
confidence that this left it, and so sees less.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rankgate.metrics.base import widest_change
from rankgate.metrics.estimates import defined_only, is_rate
from rankgate.model.gate_result import Detectable, GateResult
from rankgate.model.values import Evidence, EvidenceState, Verdict
from rankgate.statistics import power

if TYPE_CHECKING:
    from rankgate.criteria import Gate
    from rankgate.gates.measurement import Measurement

# The usual spread of recall: of one relevant document, and the least, of many.
_HIT, _MAX_STEPS = 0.43, 0.1
_LARGEST = 1e150  # beyond it squares overflow


def detectable(
    gate: Gate,
    clusters: Sequence[Hashable] = (),
    *,
    queries: int,
    differences: Sequence[float] = (),
    relevant: float = 1.0,
    assumed: float | None = None,
    slope: float = 1.0,
) -> Detectable | None:
    """What the gold set can see of the drop that the gate forbids, over the queries that are or will be compared.

    The spread of the `differences` of their paired values is measured if enough of them moved; else it is assumed, by
    how many `relevant` documents a query has on average, which recall's steps depend on, or as `assumed` says. None
    where nothing can be said: no drop is forbidden, nothing is compared, the metric is a quantile, or its spread is
    neither measured nor, its values not being rates, to be assumed. `slope` is J, the part of a true drop that a judge
    sees.
    """
    limit = gate.regression_max
    farthest = max(map(abs, differences), default=0.0)
    if limit is None or queries < 1 or gate.metric.at_quantile is not None or farthest > _LARGEST:
        return None
    planned = assumed
    if planned is None and is_rate(gate.metric):
        planned = gate.metric.spread
        if planned is None:
            # Recall of one relevant document is a hit; the more there are, the smaller the steps in which it moves.
            planned = min(_HIT, max(_MAX_STEPS, 0.5 / math.sqrt(max(relevant, 1.0))))
    spread = power.planning_spread(differences, clusters, planned=planned, queries=queries)
    if spread is None:
        return None
    evidence = gate.evidence.value
    appended = spread.cluster * max(widest_change(gate.metric) or 0.0, farthest)
    sight = power.Sight(spread.value, appended, gate.confidence, slope)
    return Detectable(
        detectable=sight.drop(evidence, queries, limit),
        margin=sight.margin(queries),
        queries=queries,
        queries_needed=sight.needed(evidence, limit),
        spread=spread.value,
        assumed=spread.assumed,
        sees=sight.sees(evidence, queries, limit),
    )


def measured_power(measurement: Measurement) -> Detectable | None:
    """By what moved on the pairs, or by usual spreads for so many relevant documents a query as these have."""
    gate, value, relevant = measurement.gate, measurement.value, measurement.relevant
    pairs = measurement.metric_change if measurement.comparable_change else None
    slope = measurement.units.slope
    if pairs is None:
        alone = defined_only(measurement.candidate.clusters, measurement.values)
        return detectable(gate, alone, queries=value.n if value else 0, relevant=relevant, slope=slope)
    seen = partial(detectable, gate, pairs.clusters, queries=pairs.n_pairs, relevant=relevant, slope=slope)
    measured = seen(differences=pairs.changes)
    if measured is None or not measured.assumed or not measurement.by_judge:
        return measured
    # Answers that nearly all stayed as they were do not tell how the next system's will differ.
    of_other_systems = seen()
    return of_other_systems if of_other_systems and of_other_systems.spread > measured.spread else measured


def is_blind(gate: Gate, seen: Detectable) -> bool:
    """Whether the gate promises to stop what its gold set cannot see; not where it promises no size."""
    if seen.sees or gate.regression_max is None:
        return False
    return gate.evidence is Evidence.PROVEN_SAFE or seen.queries_needed is not None


def leaves_open(result: GateResult) -> bool:
    """Whether more questions could decide otherwise: the interval of the change holds the limit, and proves no harm."""
    if result.evidence.evidence_state is EvidenceState.CLEAR and result.verdict is not Verdict.PASS:
        return False
    low, high = result.change.delta_ci or (None, None)
    limit = -result.direction.sign * (result.limits.regression_max or 0.0)
    return result.change.delta_ci != (0.0, 0.0) and (low is None or low <= limit) and (high is None or limit <= high)
