"""Criteria × scores × scores → gate results. Pure: the same scores always give the same verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankgate.comparison import Comparison, baseline_column, compare
from rankgate.criteria import Gate
from rankgate.deciding import NO_BASELINE
from rankgate.detectable import detectable
from rankgate.estimates import Estimate, estimate
from rankgate.evidence import Finding, Ruling, beyond_drop, beyond_floor, rule_on_drop, rule_on_floor
from rankgate.model import EvidenceState, Need, Scores, Verdict
from rankgate.reasons import drop_reason, floor_reason, uncompared_reason
from rankgate.report import Detectable, GateResult
from rankgate.wording import count_text

ONE_SIDED_SHARE = 0.01
LARGEST = 1e300  # beyond it sums overflow; only a faulty metric gets there


def decide(gate: Gate, candidate: Scores, baseline: Scores | None) -> GateResult:
    """Judge one gate: its floor on the candidate, its allowed drop on the pairs, by the evidence that it asks for.

    Equality passes, with one tolerance for rounding in binary fractions. A value that is not a number never passes.
    """
    metric = gate.metric
    values = candidate.values[metric.name]
    old_values = baseline_column(metric, baseline) if baseline else []
    numbers = [abs(value) for value in (*values, *old_values) if value is not None]
    finite = all(map(math.isfinite, numbers)) and max(numbers, default=0.0) <= LARGEST
    own = estimate(values, metric, confidence=gate.confidence, clusters=candidate.clusters) if finite else None
    pairs = None
    if finite and baseline:
        pairs = compare(metric, values, old_values, confidence=gate.confidence, clusters=candidate.clusters)

    drifts = Need.BASELINE in metric.needs
    ruled: list[tuple[Finding, str]] = []
    beyond: list[float] = []  # of each that is ruled on
    warnings: list[str] = []
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
                target.append(uncompared_reason(metric, lacking))
            else:
                ruled.append(_drop(gate, pairs, gate.regression_max, own.n))
                beyond.append(beyond_drop(pairs.delta, gate.regression_max, metric.direction))
        if gate.threshold is not None:
            ruled.append(_floor(gate, own, gate.threshold))
            beyond.append(beyond_floor(own.value, gate.threshold, metric.direction))
    if own is not None:
        warnings += _doubts(gate, candidate, baseline, values, old_values)
    violations, inconclusive, held = (
        [reason for found, reason in ruled if found.ruling is ruling]
        for ruling in (Ruling.VIOLATED, Ruling.INCONCLUSIVE, Ruling.HOLDS)
    )
    alone = pairs is None if gate.regression_max is not None else drifts and baseline is None
    blocked = Verdict.FAIL if gate.blocks else Verdict.WARN
    doubtful = bool(warnings or inconclusive)
    verdict = Verdict.NOT_JUDGED if unjudged else blocked if violations else Verdict.WARN if doubtful else Verdict.PASS
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
        p_value=pairs.p if pairs else None,
        regression_max=gate.regression_max,
        evidence=gate.evidence,
        evidence_state=EvidenceState.NO_BASELINE if alone else _state([found for found, _ in ruled]),
        confidence=gate.confidence,
        violation=None
        if unjudged or not violations
        else max(size for (found, _), size in zip(ruled, beyond, strict=True) if found.ruling is Ruling.VIOLATED),
        only_inconclusive=bool(inconclusive) and not (unjudged or violations or warnings),
        detectable=_detectable(gate, values, old_values) if finite else None,
        verdict=verdict,
        reasons=unjudged + violations + inconclusive + warnings or held,
        doubts=len(inconclusive) + len(warnings),
        n=own.n if own else 0,
        n_pairs=pairs.n_pairs if pairs else 0,
        line=gate.line,
    )


def _floor(gate: Gate, own: Estimate, threshold: float) -> tuple[Finding, str]:
    metric, confidence = gate.metric, gate.confidence
    found = rule_on_floor(gate.evidence, own.value, own.ci, threshold, metric.direction)
    return found, floor_reason(own.value, own.ci, threshold, metric, found, confidence=confidence)


def _drop(gate: Gate, pairs: Comparison, regression_max: float, scored: int) -> tuple[Finding, str]:
    metric, confidence = gate.metric, gate.confidence
    found = rule_on_drop(gate.evidence, pairs.delta, pairs.ci, regression_max, metric.direction)
    return found, drop_reason(pairs, regression_max, metric, scored, found, confidence=confidence)


def _detectable(gate: Gate, values: Sequence[float | None], old: Sequence[float | None]) -> Detectable | None:
    """What can be seen: from what moved on the pairs, or without any from the number of queries alone."""
    changes = [new - before for new, before in zip(values, old, strict=False) if new is not None and before is not None]
    return detectable(gate, queries=len(changes) or sum(new is not None for new in values), differences=changes)


def _state(found: Sequence[Finding]) -> EvidenceState:
    """The least certain of several states."""
    states = {each.state for each in found}
    unsure = (EvidenceState.NO_INTERVAL, EvidenceState.INCONCLUSIVE)
    return next((state for state in unsure if state in states), EvidenceState.CLEAR)


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
