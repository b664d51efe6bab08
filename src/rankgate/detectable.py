"""Can this gold set see it: the drop that a gate catches in four of five runs, beside the one that it forbids.

A gold set sees a drop if it can tell it from no change at all: if 2.8 standard errors of the mean change are no more
than `regression_max`, or as many as the gate's confidence asks for (see `statistics.power`). That is one question for
all three kinds of evidence, for what cannot be told from noise is neither proven harm nor proven safe, and the estimate
takes noise for it. A segment that is judged under Holm's correction is given as a gate with the confidence that this
left it, and so sees less; before there is a run nobody knows that, and segments have the gate's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rankgate.criteria import Gate
from rankgate.estimates import is_rate
from rankgate.metrics.base import Direction, Unit
from rankgate.model import Evidence, EvidenceState, Verdict
from rankgate.report import Detectable, GateResult
from rankgate.statistics import power
from rankgate.wording import count_text, delta_text, exact_decimals

_EVIDENCE: dict[Evidence, power.Evidence] = {
    Evidence.ESTIMATE: "estimate",
    Evidence.PROVEN_SAFE: "proven_safe",
    Evidence.PROVEN_HARM: "proven_harm",
}
_MOST_NAMED = 3
_DIGITS = 3
_LARGEST = 1e150  # beyond it squares overflow


def detectable(gate: Gate, *, queries: int, differences: Iterable[float] = ()) -> Detectable | None:
    """What the gold set can see of the drop that the gate forbids.

    Args:
        gate: with `regression_max`.
        queries: how many are compared, or will be.
        differences: of the paired values, whose spread is measured if enough of them moved; else it is assumed.

    Returns:
        None where nothing can be said: no drop is forbidden, nothing is compared, the metric is a quantile, or its
        spread is neither measured nor, its values not being rates, to be assumed.
    """
    limit, differences = gate.regression_max, list(differences)
    if limit is None or queries < 1 or gate.metric.at_quantile is not None:
        return None
    if max(map(abs, differences), default=0.0) > _LARGEST:
        return None
    spread = power.planning_spread(differences, rate=is_rate(gate.metric))
    if spread is None:
        return None
    evidence, known = _EVIDENCE[gate.evidence], {"spread": spread.value, "confidence": gate.confidence}
    margin = power.provable_margin(queries=queries, **known)
    return Detectable(
        detectable=power.detectable_drop(evidence, queries=queries, regression_max=limit, **known),
        margin=margin,
        queries=queries,
        # How many make the margin as small as the limit: what proven_safe needs, and what seeing is.
        queries_needed=power.queries_needed("proven_safe", drop=limit, regression_max=limit, **known),
        spread=spread.value,
        assumed=spread.assumed,
        sees=margin <= limit,
    )


def blind_spot(gate: Gate, seen: Detectable | None) -> str | None:
    """What the gate promises to stop and its gold set cannot see, in words; None where it sees.

    A gate that allows no drop at all promises no size, so that nothing is said, unless it asks for proof of safety.
    """
    if seen is None or seen.sees or gate.regression_max is None:
        return None
    unit, harm = gate.metric.unit, "drop" if gate.metric.direction is Direction.HIGHER else "rise"
    limit, margin = _size(gate.regression_max, gate), _text(seen.margin, unit)
    asked = count_text(seen.queries, "question")
    assumed = f" (spread of {seen.spread:g} assumed)" if seen.assumed else ""
    safe = gate.evidence is Evidence.PROVEN_SAFE
    if seen.queries_needed is None:
        why = "no number of questions proves that nothing at all was lost"
        return f"{why}; allow a {harm} of {margin}{assumed}" if safe else None
    needed = f"about {_rounded_up(seen.queries_needed):,}"
    if safe:
        return (
            f"over {asked} a harmless change is proven safe within {limit} less than four times in five; {needed} "
            f"questions would do, or allowing {margin}{assumed}"
        )
    return (
        f"{asked} cannot tell a {harm} of {limit} from noise ({needed} could); {harm}s from "
        f"{_text(seen.detectable, unit)} on are caught four times in five{assumed}"
    )


def power_notes(gates: Sequence[Gate], results: Sequence[GateResult]) -> list[str]:
    """One sentence for a report whose gates promise what its gold set cannot see: the first of them, then the names.

    Gates that block come first. One that compared nothing, or whose outcome stands in spite of the noise, is left out.
    """
    compared = {
        result.name: result.detectable
        for result in results
        if result.segment is None and result.n_pairs and _rests_on_what_is_seen(result)
    }
    blind = [
        (gate.metric.name, said)
        for gate in sorted(gates, key=lambda gate: not gate.blocks)
        if (said := blind_spot(gate, compared.get(gate.name)))
    ]
    if not blind:
        return []
    (name, said), *others = blind
    names = [other for other in dict.fromkeys(other for other, _ in others) if other != name]
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    likewise = f" Likewise {_listed([*names[:_MOST_NAMED], *more])}." if names else ""
    return [f"{name}: {said}.{likewise}"]


def _rests_on_what_is_seen(result: GateResult) -> bool:
    """Whether it passes for want of anything seen, or is decided within noise: neither proven safe nor proven harm.

    Where no query moved, there is nothing that more of them would have to tell apart.
    """
    if result.delta_ci == (0.0, 0.0):
        return False
    if result.evidence_state is not EvidenceState.CLEAR:
        return True
    return result.verdict is Verdict.PASS and result.evidence is not Evidence.PROVEN_SAFE


def _size(limit: float, gate: Gate) -> str:
    return _text(limit, gate.metric.unit, exact_decimals(limit, gate.metric.unit))


def _text(size: float, unit: Unit, decimals: int | None = None) -> str:
    return delta_text(size, unit, decimals).lstrip("+±")


def _rounded_up(count: int) -> int:
    """To three digits: more would pretend to know the spread that well."""
    step: int = 10 ** max(0, len(str(count)) - _DIGITS)
    return -(-count // step) * step


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
