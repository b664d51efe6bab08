"""The whole story: criteria, gold, run and baseline in; a report with a verdict out."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from rankgate.criteria import Criteria, find_criteria, load_criteria
from rankgate.criteria.inputs import Inputs, gold_of, require_inputs, runs_of
from rankgate.criteria.run_code import with_code
from rankgate.criteria.waivers import waivers_of
from rankgate.diagnosis.listings import lists_of
from rankgate.diagnosis.look import diagnose, look_first
from rankgate.diagnosis.movements import by_tag, leading_metric, movements
from rankgate.diagnosis.stale_gold import refuse_unfit, scored_baseline
from rankgate.gates.anchor import scored_anchor
from rankgate.gates.apply_waivers import waive
from rankgate.gates.compose import compose, with_details, with_leading
from rankgate.gates.conclude import with_other_code
from rankgate.gates.judging import judge_runs, refuse_lacking, refuse_misfits, whole
from rankgate.gates.publishing import published
from rankgate.metrics.scored_run import Watch, listed, scored, unwatched
from rankgate.model.report import Report
from rankgate.model.values import Gold, RunField


def check(inputs: Inputs, *, watch: Watch = unwatched) -> Report:
    """Judge a run, and where a base is named also as that asks; see `Watch`. A RankgateError has every problem."""
    if inputs.base is not None:
        from rankgate.base_ref.judge import check_with_base  # noqa: PLC0415 -- git is paid for only where a base is named

        return with_other_code(check_with_base(inputs, inputs.base, partial(_judge, watch=watch)))
    criteria = inputs.asked or load_criteria(inputs.criteria or find_criteria())
    require_inputs(inputs, criteria)
    report = _judge(inputs, criteria, gold_of(inputs.gold, criteria), watch=watch)
    report = with_code(waive(report, waivers_of(criteria), inputs.date), inputs, criteria)
    return published(with_other_code(report), criteria.published)


def _judge(inputs: Inputs, criteria: Criteria, gold: Gold, *, watch: Watch) -> Report:
    """The baseline is a run too: both are scored today, with today's gold and metrics, on one code path."""
    refuse_misfits(criteria, gold)
    plan = with_leading(criteria.plan(), inputs)
    open_run, open_baseline, trend = runs_of(inputs, criteria, plan, gold)
    if RunField.VERDICTS in plan.needs:
        from rankgate.judge.runs import judged_runs  # noqa: PLC0415 -- paid only where answers are judged

        open_run, open_baseline = judged_runs(inputs, criteria, gold, plan, open_run, open_baseline)
    plan, baseline = scored_baseline(gold, plan, open_baseline, older_gold=inputs.older_gold, watch=watch)
    if not inputs.without_baseline:
        refuse_lacking(criteria, len(gold.samples), baseline.covered if baseline else None)
    candidate = scored(gold, open_run(), plan, open_run, watch=watch)
    refuse_unfit(gold, plan, candidate, baseline)
    anchor = scored_anchor(inputs, criteria, gold, plan, baseline)

    runs = [candidate, baseline] if baseline else [candidate]
    scores, baseline_scores = candidate.scores, listed(gold, plan, candidate, baseline)
    results = judge_runs(criteria, gold, plan, runs, baseline_scores, awaits=inputs.awaits, today=inputs.date)
    leading = inputs.leading or leading_metric(criteria.gates, whole(results))
    segments = by_tag(gold, plan.metrics, scores, baseline_scores, leading)
    moved = movements(gold, leading, scores, baseline_scores, results) if baseline_scores and leading else []
    lists, details = lists_of(gold, plan, candidate, baseline)
    findings = diagnose(gold, plan.metrics, results, scores, baseline_scores, details)

    both = (candidate, baseline, anchor)
    report = compose(inputs, criteria, gold, both, results, segments, moved, diagnosis=findings, lists=lists)
    first = look_first(report, gold, plan.metrics, scores, baseline_scores, details)
    report = replace(report, diagnosis=first, trend=trend())
    return with_details(report, inputs, gold, plan, runs, baseline_scores, leading)
