"""The whole story: criteria, gold, run and baseline in; a report with a verdict out."""

from __future__ import annotations

from rankgate.compose import Side, compose
from rankgate.criteria import find_criteria, load_criteria
from rankgate.gates import decide
from rankgate.inputs import Inputs, baseline_of, deepest_cutoff, gold_of, refuse_nothing, run_of
from rankgate.metrics.base import needs_of
from rankgate.movements import leading_metric, movements
from rankgate.report import Report
from rankgate.scoring import refuse_strangers, score
from rankgate.segments import by_tag


def check(inputs: Inputs) -> Report:
    """Judge a run.

    The baseline is a run too: both are scored today, with today's gold and metrics, on one code path.

    Raises:
        RankgateError: it cannot be judged; carries every problem of the input at fault.
    """
    criteria = load_criteria(inputs.criteria or find_criteria())
    refuse_nothing(inputs, criteria)
    metrics = criteria.metrics()
    needs = needs_of(metrics)
    gold = gold_of(inputs.gold, criteria)

    baseline = None
    deepest = deepest_cutoff(metrics, gold, criteria.default_k)
    accepted = baseline_of(inputs.baseline, criteria, needs, deepest=deepest)
    depth = accepted.depth if accepted else None
    if accepted:
        scores = score(gold, accepted.rankings, metrics, depth=depth, default_k=criteria.default_k, keep_matched=True)
        baseline = Side(accepted, scores)

    run = run_of(inputs.run, criteria, needs)
    scores = score(gold, run.rankings, metrics, depth=depth, default_k=criteria.default_k, keep_matched=True)
    refuse_strangers(scores, run.name, gold)
    candidate = Side(run, scores)

    results = [decide(gate, candidate.scores, baseline.scores if baseline else None) for gate in criteria.gates]
    segments = by_tag(gold, metrics, candidate.scores, baseline.scores if baseline else None)
    leading = leading_metric(criteria.gates, results)
    moved = movements(gold, leading, candidate.scores, baseline.scores) if baseline and leading else []
    return compose(inputs, criteria, gold, candidate, baseline, results, segments, moved)
