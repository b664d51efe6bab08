"""The numbers that a page compares with other limits, and the questions that carry a violation. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, partial

from msgspec.structs import replace

from rankgate.criteria import Criteria, Gate
from rankgate.diagnosis.details import Columns
from rankgate.gates.decide import decide, weighed
from rankgate.gates.segments import decide_segments
from rankgate.metrics.base import sees_hits_alone
from rankgate.metrics.comparison import baseline_column, gaps
from rankgate.metrics.estimates import best_possible
from rankgate.metrics.matching import DEFAULT_K
from rankgate.model.details import WhatIf
from rankgate.model.report import GateResult
from rankgate.model.values import LINE_KEYS, TOLERANCE, Evidence, Gold, Need, Scores

MOST, ONE_BY_ONE = 50, 10  # questions; where only a trial tells whether one more helps, fewer are tried
MAX_CARRIED = 20  # violated rows whose questions are looked for, gates first
_KEYS = ("value", "ci", "delta", "delta_ci", "exact", "confidence", "verdict", "too_small", "reasons", "doubts")
_decide = partial(decide, power=False)
_Sides = tuple[Scores, Scores | None]
_Judged = tuple[Gate, _Sides, GateResult]


def what_if_of(
    criteria: Criteria, gold: Gold, results: Sequence[GateResult], depth: int | None, sides: _Sides, swept: Columns
) -> WhatIf:
    """Each gate of the public part with its numbers by cut-off: its own, and those of the curves within the `depth`.

    By cut-off there are the whole and all segments at the gate's confidence, then by rule the segments as Holm corrects
    them; nothing where a model judges, or where what has no value now puts in doubt what holds.
    """
    gates, carried, violated = list[dict[str, object]](), list[dict[str, object]](), list[_Judged]()
    for gate in () if gold.private else criteria.gates:
        metric, needs, cutoffs = gate.metric, gate.metric.needs, dict[str, object]()
        if Need.VERDICTS not in needs:
            rows, cutoffs[metric.name] = _at(gate, gold, sides)
            own = (each for each in results if each.name == gate.name and each.since is None)
            violated += [(*row[:2], each) for row, each in zip(rows, own, strict=True) if each.violation is not None]
        if needs & LINE_KEYS.keys() and gaps(metric, *sides).one_sided:
            cutoffs = {}
        for other in swept.metrics if cutoffs else ():
            alike = other != metric and replace(other, cutoff=metric.cutoff) == metric
            if alike and isinstance(k := other.cutoff, int) and k <= (depth or k):
                its = gate.model_copy(update={"metric": other})
                cutoffs[other.name] = _at(its, gold, _swept(other.name, k, *sides, swept))[1]
        single = bool(gate.must_pass) or gate.max_lost_queries is not None
        known = {"comparable": Need.BASELINE not in needs, "single": single, "cutoffs": cutoffs}
        gates.append({"name": gate.name, "rules": [rule.model_dump(mode="json") for rule in gate.segments], **known})
    for gate, both, result in sorted(violated, key=lambda row: row[-1].segment is not None)[:MAX_CARRIED]:
        for limit, rest in (("regression_max", "threshold"), ("threshold", "regression_max")):
            alone = gate.model_copy(update={rest: None, "confidence": result.confidence, "evidence": result.evidence})
            if getattr(gate, limit) is not None and (found := _carried(alone, *both)):
                carried.append({"gate": gate.name, "segment": result.segment, "limit": limit, **found})
    pooled = any(gain <= 0 for each in gold.samples.values() for gain in each.gains.values())
    return WhatIf(gates, carried, pooled, left_out=max(0, len(violated) - MAX_CARRIED))


def _swept(name: str, k: int, now: Scores, before: Scores | None, swept: Columns) -> _Sides:
    """Both sides with the values of one metric, and where its lists differ."""

    @cache
    def differing() -> dict[str, frozenset[str]]:
        sides = [{query: tuple(each.ids[:k]) for query, each in side.matched.items()} for side in (now, before) if side]
        return {"": frozenset(each for each in now.query_ids if len({side.get(each) for side in sides}) > 1)}

    new = replace(now, values={name: list(swept.now[name])})
    return new, before and replace(before, values={name: list((swept.before or {})[name])}, relisted=differing)


def _at(gate: Gate, gold: Gold, sides: _Sides) -> tuple[list[_Judged], list[list[dict[str, object]]]]:
    """The gate's rows with what they are judged by, and their numbers."""
    # A limit of the change, so that what bears on it is among the reasons.
    limit = gate.regression_max if Need.BASELINE in gate.metric.needs else gate.regression_max or 0.0
    rows: list[_Judged] = [(gate, sides, _decide(gate.model_copy(update={"regression_max": limit}), *sides))]

    def keep(part: Gate, now: Scores, before: Scores | None) -> GateResult:
        found = _decide(part, now, before)
        if part.confidence == gate.confidence:  # once a segment
            rows.append((part, (now, before), found))
        return found

    strict = [gate.model_copy(update={"evidence": Evidence.PROVEN_HARM, "segments": (rule,)}) for rule in gate.segments]
    corrected = [decide_segments(each, gold, *sides, keep) for each in strict]
    numbers = [[row[-1] for row in rows], *corrected]
    return rows, [[{key: getattr(each, key) for key in _KEYS} for each in group] for group in numbers]


def _carried(gate: Gate, new: Scores, old: Scores | None) -> dict[str, object] | None:
    """The largest losses of which, undone or at their best, a gate with one limit first holds; None if it does."""
    metric, sign, weights = gate.metric, gate.metric.direction.sign, weighed(gate, new).weights
    column, most = new.values[metric.name], list[int]()

    def holds(count: int) -> bool:
        values = list(column)
        for row in most[:count]:
            values[row] = targets[row]
        return _decide(gate, replace(new, values={metric.name: values}), old).violation is None

    targets = [metric.high if sign > 0 else metric.low] * len(column)
    if holds(0):
        return None
    if gate.threshold is None and old:
        targets = baseline_column(metric, old)
    elif sees_hits_alone(metric):
        seen = zip(new.query_ids, map(new.outlines.get, new.query_ids), strict=True)
        targets = [best_possible(metric, new.samples[q], each.k if each else DEFAULT_K) for q, each in seen]
    gains = {
        row: sign * (target - value) * (weights[row] if weights else 1.0)
        for row, (value, target) in enumerate(zip(column, targets, strict=True))
        if value is not None and target is not None and sign * (target - value) > TOLERANCE
    }
    # Where the estimate decides, a step can only help: a mean, or a quantile, of values of which one gets better.
    helps = gate.evidence is Evidence.ESTIMATE and metric.aggregate.__module__.startswith("rankgate.metrics.")
    most = sorted(gains, key=lambda row: -gains[row])[: MOST if helps else ONE_BY_ONE]
    counts = range(len(most) + 1)
    first = bisect_left(counts, x=True, key=holds) if helps else next(filter(holds, counts), len(counts))
    queries = [new.query_ids[row] for row in most[: first % len(counts)]]
    return {"queries": queries, "tried": len(most), "fewest": helps and metric.at_quantile is None}
