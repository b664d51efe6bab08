"""The whole story: criteria, gold, run and baseline in; a report with a verdict out."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from rankgate.criteria import Criteria, find_criteria, load_criteria
from rankgate.criteria.inputs import Inputs, code_files, gold_of, require_inputs, runs_of
from rankgate.criteria.waivers import waivers_of
from rankgate.diagnosis.listings import lists_of
from rankgate.diagnosis.look import diagnose
from rankgate.diagnosis.movements import by_tag, leading_metric, movements
from rankgate.diagnosis.stale_gold import refuse_unfit, with_foreign
from rankgate.gates.apply_waivers import waive
from rankgate.gates.compose import SHOWN, compose, with_details
from rankgate.gates.judging import judge_runs, refuse_misfits, whole
from rankgate.metrics.scored_run import Watch, listed, scored, unwatched
from rankgate.metrics.scoring import ids_of
from rankgate.model.differences import RECORDING
from rankgate.model.headline import with_other_code
from rankgate.model.report import BaselineSource, Report, Source
from rankgate.model.values import Gold, Need

S = TypeVar("S", Source | None, BaselineSource | None)


def check(inputs: Inputs, *, watch: Watch = unwatched) -> Report:
    """Judge a run, and where a base is named also as that asks; see `Watch`.

    Raises:
        RankgateError: it cannot be judged; carries every problem of the input at fault.
    """
    judge = partial(_judge, watch=watch)
    if inputs.base is not None:
        from rankgate.base_ref.judge import check_with_base  # noqa: PLC0415 -- git is paid for only where a base is named

        report = check_with_base(inputs, inputs.base, judge)
        return _with_code(report, inputs, inputs.asked or load_criteria(inputs.criteria or find_criteria()))
    require_inputs(inputs, criteria := inputs.asked or load_criteria(inputs.criteria or find_criteria()))
    gold = gold_of(inputs.gold, criteria)
    return _with_code(waive(judge(inputs, criteria, gold), waivers_of(criteria), inputs.date), inputs, criteria)


def _with_code(report: Report, inputs: Inputs, criteria: Criteria) -> Report:
    """The report with what the run says of its code, by the files that lie here: it can only make a verdict worse."""
    run, baseline = report.provenance.run, report.provenance.baseline
    provenance = replace(report.provenance, run=_without_recording(run), baseline=_without_recording(baseline))
    report = replace(report, provenance=provenance)
    if run is None or RECORDING not in run.about:
        return report
    from rankgate.recording.code_state import Present, other_code, root_here, stated_in  # noqa: PLC0415 -- as above

    recording, root = stated_in(run.about), root_here()
    if recording is None or root is None:
        return report
    file = inputs.run or criteria.inputs.run
    gold = inputs.gold.path if inputs.gold else None
    retriever = criteria.retriever
    present = Present(
        files=code_files(criteria, gold, file.path if file else "", root, retriever.files if retriever else ()),
        retriever=retriever.digest if retriever else None,
        criteria=criteria.name,
        accepted=stated_in(baseline.about) if baseline else None,
        branch=baseline.lineage.branch if baseline and baseline.lineage else None,
    )
    return with_other_code(report, other_code(recording, present))


def _without_recording(source: S) -> S:
    """Where an input came from, without how it was recorded, which is for the check alone."""
    return source and replace(source, about={key: value for key, value in source.about.items() if key != RECORDING})


def _judge(inputs: Inputs, criteria: Criteria, gold: Gold, *, watch: Watch) -> Report:
    """The baseline is a run too: both are scored today, with today's gold and metrics, on one code path."""
    refuse_misfits(criteria, gold)
    plan, baseline = replace(criteria.plan(), also=SHOWN if inputs.details else frozenset()), None
    if inputs.leading and inputs.leading not in plan.metrics:
        plan = replace(plan, metrics=[*plan.metrics, inputs.leading])
    open_run, open_baseline, trend = runs_of(inputs, criteria, plan, gold)
    if Need.VERDICTS in plan.needs:
        from rankgate.judge.runs import judged_runs  # noqa: PLC0415 -- paid only where answers are judged

        open_run, open_baseline = judged_runs(inputs, criteria, gold, plan, open_run, open_baseline)
    if accepted := open_baseline():
        plan = replace(plan, depth=accepted.depth)
        baseline = scored(gold, accepted, plan, open_baseline, watch=watch)
        baseline = replace(baseline, scores=with_foreign(gold, plan, baseline.scores, baseline.lists))
        plan = replace(plan, baseline_ids=ids_of(baseline.scores, plan))
    candidate = scored(gold, open_run(), plan, open_run, watch=watch)
    refuse_unfit(gold, plan, candidate, baseline)
    before = listed(gold, plan, candidate, baseline)
    sides = [candidate, *([baseline] if baseline else [])]
    results = judge_runs(criteria, gold, plan, sides, before, awaits=inputs.awaits, today=inputs.date)
    leading = inputs.leading or leading_metric(criteria.gates, whole(results))
    segments = by_tag(gold, plan.metrics, candidate.scores, before, leading)
    moved = movements(gold, leading, candidate.scores, before, results) if before and leading else []
    lists, details = lists_of(gold, plan, candidate, baseline)
    found = diagnose(gold, plan.metrics, results, candidate.scores, before, details)
    made = compose(inputs, criteria, gold, candidate, baseline, results, segments, moved, diagnosis=found, lists=lists)
    return with_details(replace(made, trend=trend()), inputs, gold, plan, sides, before, leading)
