"""Criteria × scores × scores → gate results. Pure: the same scores always give the same verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankgate.comparison import Comparison, baseline_column, compare
from rankgate.criteria import Gate
from rankgate.estimates import estimate
from rankgate.metrics.base import Direction, Metric
from rankgate.model import TOLERANCE, Need, Scores, Verdict
from rankgate.report import GateResult
from rankgate.wording import count_text, delta_text, exact_decimals, telling_decimals, value_text

ONE_SIDED_SHARE = 0.01
NO_BASELINE = "no baseline"
LARGEST = 1e300  # beyond it sums overflow; only a faulty metric gets there


def decide(gate: Gate, candidate: Scores, baseline: Scores | None) -> GateResult:
    """Judge one gate: its floor on the candidate, its allowed drop on the pairs.

    Equality passes, with one tolerance for rounding in binary fractions. A value that is not a number never passes.
    """
    metric = gate.metric
    values = candidate.values[metric.name]
    old_values = baseline_column(metric, baseline) if baseline else []
    numbers = [abs(value) for value in (*values, *old_values) if value is not None]
    finite = all(map(math.isfinite, numbers)) and max(numbers, default=0.0) <= LARGEST
    own = estimate(values, metric) if finite else None
    pairs = compare(metric, values, old_values) if finite and baseline else None

    drifts = Need.BASELINE in metric.needs
    violations: list[str] = []
    warnings: list[str] = []
    held: list[str] = []
    unjudged: list[str] = []
    if not finite:
        unjudged.append(f"{metric.name} is not a finite number for every query")
    elif own is None and baseline is None and drifts:
        warnings.append(f"{NO_BASELINE}: {metric.name} compares with it")
    elif own is None:
        unjudged.append(f"{metric.name} is defined for none of the {count_text(len(values), 'query', 'queries')}")
    else:
        # A drop says more than a floor, so it is named first.
        if gate.regression_max is not None:
            if baseline is None:
                warnings.append(f"{NO_BASELINE}: whether {metric.name} got worse could not be checked")
            elif pairs is None:
                lacking = [need.value for need in baseline.silent if need in metric.needs]
                target = warnings if lacking or metric.worst is None else unjudged
                target.append(_uncompared(metric, lacking))
            else:
                target = held if _drop_holds(pairs, gate.regression_max, metric) else violations
                target.append(_drop_reason(pairs, gate.regression_max, metric, own.n))
        if gate.threshold is not None:
            target = held if _floor_holds(own.value, gate.threshold, metric) else violations
            target.append(_floor_reason(own.value, gate.threshold, metric))
    if own is not None:
        warnings += _doubts(gate, candidate, baseline, values, old_values)

    alone = pairs is None if gate.regression_max is not None else drifts and baseline is None
    blocked = Verdict.FAIL if gate.blocks else Verdict.WARN
    verdict = Verdict.NOT_JUDGED if unjudged else blocked if violations else Verdict.WARN if warnings else Verdict.PASS
    return GateResult(
        name=gate.name,
        metric=metric.name,
        meaning=metric.meaning,
        unit=metric.unit,
        direction=metric.direction,
        segment=None,
        severity="error" if gate.blocks else "warning",
        value=own.value if own else None,
        ci=own.ci if own else None,
        threshold=gate.threshold,
        baseline=pairs.baseline if pairs else None,
        paired_value=pairs.value if pairs else None,
        delta=pairs.delta if pairs else None,
        delta_ci=pairs.ci if pairs else None,
        regression_max=gate.regression_max,
        evidence="estimate",
        evidence_state="no_baseline" if alone else "clear",
        verdict=verdict,
        reasons=unjudged + violations + warnings or held,
        n=own.n if own else 0,
        n_pairs=pairs.n_pairs if pairs else 0,
        line=gate.line,
    )


def _floor_holds(value: float, threshold: float, metric: Metric) -> bool:
    if metric.direction is Direction.HIGHER:
        return value >= threshold - TOLERANCE
    return value <= threshold + TOLERANCE


def _drop_holds(pairs: Comparison, regression_max: float, metric: Metric) -> bool:
    drop = -pairs.delta if metric.direction is Direction.HIGHER else pairs.delta
    return drop <= regression_max + TOLERANCE


def _uncompared(metric: Metric, lacking: Sequence[str]) -> str:
    if lacking:
        return f"the baseline states no `{lacking[0]}`, which {metric.name} reads; accept its run again"
    return f"the baseline has {metric.name} for none of the queries that are scored now"


def _floor_reason(value: float, threshold: float, metric: Metric) -> str:
    decimals = max(telling_decimals(value, threshold, metric.unit), exact_decimals(threshold, metric.unit))
    limit = "floor" if metric.direction is Direction.HIGHER else "ceiling"
    equal = abs(value - threshold) <= TOLERANCE
    side = "exactly at" if equal else "above" if value > threshold else "below"
    now, bound = value_text(value, metric.unit, decimals), value_text(threshold, metric.unit, decimals)
    return f"{metric.name} is {now}, {side} the {limit} of {bound}"


def _drop_reason(pairs: Comparison, regression_max: float, metric: Metric, scored: int) -> str:
    unit, delta = metric.unit, pairs.delta
    allowed = -regression_max if metric.direction is Direction.HIGHER else regression_max
    decimals = max(
        exact_decimals(allowed, unit),
        telling_decimals(delta, allowed, unit),
        telling_decimals(delta, 0.0, unit),
        telling_decimals(pairs.value, pairs.baseline, unit),
    )
    before, now = (value_text(value, unit, decimals) for value in (pairs.baseline, pairs.value))
    verb = "dropped" if delta < 0 else "rose"
    still = abs(delta) <= TOLERANCE
    moved = f"{metric.name} stayed at {now}" if still else f"{metric.name} {verb} from {before} to {now}"
    both = count_text(pairs.n_pairs, "query", "queries")
    on_pairs = "" if pairs.n_pairs == scored else f" on the {both} of both runs"
    change = delta_text(delta, unit, decimals)
    if (delta >= 0) == (metric.direction is Direction.HIGHER) and not still:
        return f"{moved}{on_pairs} ({change})"  # for the better: no limit applies
    harm = "drop" if metric.direction is Direction.HIGHER else "rise"
    limit = f"at most {delta_text(allowed, unit, decimals)} allowed" if allowed else f"no {harm} allowed"
    return f"{moved}{on_pairs} ({change}; {limit})"


def _doubts(
    gate: Gate,
    candidate: Scores,
    baseline: Scores | None,
    values: Sequence[float | None],
    old_values: Sequence[float | None],
) -> list[str]:
    """Reasons to look twice although no limit is broken."""
    metric = gate.metric
    doubts: list[str] = []
    if candidate.missing and metric.worst is None:
        gone = count_text(len(candidate.missing), "query is", "queries are")
        doubts.append(f"{gone} absent from the run and not counted in {metric.name}")
    if baseline is not None and gate.regression_max is not None:
        known = baseline.missing | candidate.missing
        lonely = sum(
            (new is None) != (old is None)
            for query_id, new, old in zip(candidate.query_ids, values, old_values, strict=True)
            if query_id not in known
        )
        if lonely > ONE_SIDED_SHARE * len(values) and any(old is not None for old in old_values):
            doubts.append(
                f"{count_text(lonely, 'query has', 'queries have')} {metric.name} in only one of the two runs"
            )
    return doubts
