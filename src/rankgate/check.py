"""The whole story: criteria, gold, run and baseline in; a report with a verdict out."""

from __future__ import annotations

from msgspec.structs import replace

from rankgate.compose import compose
from rankgate.criteria import find_criteria, load_criteria
from rankgate.gates import decide
from rankgate.inputs import Inputs, baseline_of, deepest_cutoff, gold_of, refuse_nothing, run_of
from rankgate.movements import leading_metric, movements
from rankgate.parallel import Watch, score_run, unwatched
from rankgate.report import Report
from rankgate.scoring import ids_of, refuse_silence, refuse_strangers
from rankgate.segments import by_tag
from rankgate.side import Side


def check(inputs: Inputs, *, workers: int | None = None, watch: Watch = unwatched) -> Report:
    """Judge a run.

    The baseline is a run too: both are scored today, with today's gold and metrics, on one code path.

    Args:
        inputs: what the caller names.
        workers: how many processes read a large run; see `score_run`.
        watch: looks on while a run is read.

    Raises:
        RankgateError: it cannot be judged; carries every problem of the input at fault.
    """
    criteria = load_criteria(inputs.criteria or find_criteria())
    refuse_nothing(inputs, criteria)
    plan = criteria.plan()
    gold = gold_of(inputs.gold, criteria)

    baseline = None
    accepted = baseline_of(inputs.baseline, criteria, plan.needs, deepest=deepest_cutoff(plan, gold))
    if accepted:
        plan = replace(plan, depth=accepted.depth)
        baseline = Side(accepted, score_run(gold, accepted, plan, workers=workers, watch=watch))
        plan = replace(plan, baseline_ids=ids_of(baseline.scores))

    run = run_of(inputs.run, criteria, plan.needs)
    scores = score_run(gold, run, plan, workers=workers, watch=watch)
    refuse_strangers(scores, run.name, gold)
    refuse_silence(scores, plan, run.name)
    candidate = Side(run, scores)

    results = [decide(gate, candidate.scores, baseline.scores if baseline else None) for gate in criteria.gates]
    segments = by_tag(gold, plan.metrics, candidate.scores, baseline.scores if baseline else None)
    leading = leading_metric(criteria.gates, results)
    moved = movements(gold, leading, candidate.scores, baseline.scores) if baseline and leading else []
    return compose(inputs, criteria, gold, candidate, baseline, results, segments, moved)
