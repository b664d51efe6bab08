"""The whole story: criteria, gold, runs, evaluation, results, conclusion, report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rankgate.criteria import find_criteria, load_criteria
from rankgate.criteria.inputs import Inputs, gold_of, require_inputs, waivers_of
from rankgate.criteria.run_code import with_code
from rankgate.criteria.runs import trend_before
from rankgate.errors import RankgateError
from rankgate.gates.compose import compose, published
from rankgate.gates.conclude import with_other_code
from rankgate.gates.evaluation import Case, evaluate
from rankgate.gates.results import changes_of, results_of, with_diagnosis
from rankgate.metrics.scored_run import ReadProgress
from rankgate.model.report import Report

if TYPE_CHECKING:
    from rankgate.base_ref.pull_request import PullRequest


def check(inputs: Inputs, *, progress: ReadProgress | None = None) -> Report:
    """Judge a run, and where a base is named also as that asks; a RankgateError has every problem."""
    if inputs.base is not None:
        from rankgate.base_ref.pull_request import against_base  # noqa: PLC0415 -- git is paid for only where a base is named

        with against_base(inputs, inputs.base) as pull:
            return pull.report(reports_of(pull, progress))
    criteria = inputs.parsed_criteria or load_criteria(inputs.criteria or find_criteria())
    require_inputs(inputs, criteria)
    gold = gold_of(inputs.gold, criteria)
    waivers = waivers_of(criteria)
    case = Case(inputs=inputs, criteria=criteria, gold=gold, waivers=waivers)
    if case.names_traffic:
        from rankgate.criteria.traffic import traffic_files  # noqa: PLC0415 -- paid only where there is traffic

        case = replace(case, traffic=traffic_files(criteria, may_lack=inputs.untrusted_run))
    report = judge(case, progress)
    return published(with_other_code(with_code(report, inputs, criteria)), criteria.published)


def reports_of(pull: PullRequest, progress: ReadProgress | None) -> dict[str, Report]:
    """A report for each case of a pull request, also where that cannot be judged."""
    reports: dict[str, Report] = {}
    for judged_by, case in pull.cases.items():
        try:
            reports[judged_by] = judge(case, progress)
        except RankgateError as error:
            reports[judged_by] = pull.not_judged(case, error)
    return reports


def judge(case: Case, progress: ReadProgress | None) -> Report:
    """One commit's report of the run."""
    evaluation = evaluate(case, progress)
    results = results_of(case, evaluation)
    changes = changes_of(case, evaluation, results)
    report = compose(case, evaluation, results, changes, trend_before(case.inputs, case.criteria))
    report = with_diagnosis(report, evaluation, changes)
    if case.inputs.details is None:
        return report
    from rankgate.diagnosis.details import with_details  # noqa: PLC0415 -- paid only where a page is asked for

    gold, metrics = evaluation.gold, evaluation.plan.metrics
    runs = evaluation.run, evaluation.baseline
    return with_details(report, case.inputs.details, gold, metrics, changes.leading, *runs)
