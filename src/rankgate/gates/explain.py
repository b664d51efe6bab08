"""How a gate's verdict came about: every number that went into it, and what each limit made of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rankgate.gates.decision_rule import Finding, beyond_drop, beyond_floor, rule_on_drop, rule_on_floor
from rankgate.metrics.base import Kind, Metric
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.model.details import Cause, Question, ReportDetails
from rankgate.model.report import GateResult, Report
from rankgate.model.values import TOLERANCE, Direction, EvidenceState, Ruling, Verdict, worst
from rankgate.model.waiver_use import WaiverUse


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of an explanation."""


class LimitCheck(_Part, frozen=True, kw_only=True):
    """A limit with its arithmetic: `left` − `right` = `difference`, of which `allowed` is the last that holds.

    For `threshold` left is the value and right the limit, so that 0 is allowed; for `regression_max` they are the value
    and the baseline on the pairs. `beyond` is how much worse than allowed it is, 0 where it is not. `ruling` is what
    the gate's kind of evidence makes of it.
    """

    limit: Literal["threshold", "regression_max"]
    left: float
    right: float
    difference: float
    allowed: float
    beyond: float
    ruling: Ruling
    evidence_state: EvidenceState


class Row(_Part, frozen=True, kw_only=True):
    """A row of the report, the gate's own or that of a part, with its limits."""

    result: GateResult
    checks: tuple[LimitCheck, ...]


class LeftOut(_Part, frozen=True, kw_only=True):
    """Questions without a value, and why; `queries` where the questions are known, else empty."""

    why: Literal["nothing_relevant", "no_result", "undefined", "not_in_baseline", "one_sided"]
    count: int
    queries: tuple[str, ...] = ()


class GateExplained(_Part, frozen=True, kw_only=True):
    """A gate with all that bears on its verdict.

    Attributes:
        gate: the row over all questions.
        total: questions of the gold set; None where the report does not say.
        quantile: which one the metric is; None for a mean, or where this rankgate does not know the metric.
        absent: questions that the run lacks and the value counts at the metric's worst; where the questions are not
            known (`lost` is None) the most that these can be, for the metric may be undefined for some of them.
        left_out: questions that the value is not over.
        unpaired: questions of the value that the comparison is not over.
        segments: the rows of its segments.
        since: its drift since the anchor.
        by_base: its rows as the base of a pull request has it, where that is stricter.
        lost: questions at the metric's worst now and not in the baseline; None where the questions are not known.
        waivers: that name it, or a segment of it.
        verdict: the worst of all its rows.
    """

    gate: Row
    total: int | None
    quantile: float | None
    absent: int
    left_out: tuple[LeftOut, ...]
    unpaired: tuple[LeftOut, ...]
    segments: tuple[Row, ...]
    since: tuple[Row, ...]
    by_base: tuple[Row, ...]
    lost: tuple[str, ...] | None
    waivers: tuple[WaiverUse, ...]
    verdict: Verdict


def explain_gate(report: Report, gate: GateResult) -> GateExplained:
    """Gather what the report says of a gate.

    Args:
        report: with its details questions are named; without it they are counted.
        gate: a row of the report over all questions.
    """
    rows = [each for each in report.gates if _goes_with(each, gate)]
    questions = report.details.questions if isinstance(report.details, ReportDetails) else None
    metric = _metric(gate.metric)
    return GateExplained(
        gate=_row(gate),
        total=report.queries.total if report.queries else None,
        quantile=metric.at_quantile if metric else None,
        absent=_absent(report, gate, metric, questions),
        left_out=tuple(_left_out(report, gate, metric, questions)),
        unpaired=tuple(_unpaired(report, gate, questions)),
        segments=tuple(_row(each) for each in rows if each.segment is not None and each.judged_by is None),
        since=tuple(_row(each) for each in rows if each.since is not None and each.judged_by is None),
        by_base=tuple(_row(each) for each in rows if each.judged_by is not None and each is not gate),
        lost=None if questions is None or metric is None else tuple(_lost(gate.metric, metric, questions)),
        waivers=tuple(waiver for waiver in report.waivers if waiver.gate == gate.name),
        verdict=worst([each.verdict for each in rows]),
    )


def checks_of(gate: GateResult) -> list[LimitCheck]:
    """The limits of a row as they were judged, the change first; without those that had nothing to judge."""
    found: list[LimitCheck] = []
    change = (gate.regression_max, gate.delta, gate.paired_value, gate.baseline)
    if None not in change:
        limit, delta, left, right = (number for number in change if number is not None)
        ci, exact = gate.delta_ci, gate.exact
        ruled = rule_on_drop(gate.evidence, delta, ci, limit, gate.direction, exact, gate.confidence)
        allowed = 0.0 if limit == 0 else -limit if gate.direction is Direction.HIGHER else limit
        found.append(
            _check("regression_max", (left, right, delta), allowed, beyond_drop(delta, limit, gate.direction), ruled)
        )
    if gate.threshold is not None and gate.value is not None:
        ruled = rule_on_floor(gate.evidence, gate.value, gate.ci, gate.threshold, gate.direction)
        numbers = (gate.value, gate.threshold, gate.value - gate.threshold)
        found.append(_check("threshold", numbers, 0.0, beyond_floor(gate.value, gate.threshold, gate.direction), ruled))
    return found


def _check(
    limit: Literal["threshold", "regression_max"],
    numbers: tuple[float, float, float],
    allowed: float,
    beyond: float,
    ruled: Finding,
) -> LimitCheck:
    left, right, difference = numbers
    return LimitCheck(
        limit=limit,
        left=left,
        right=right,
        difference=difference,
        allowed=allowed,
        beyond=beyond,
        ruling=ruled.ruling,
        evidence_state=ruled.state,
    )


def _row(gate: GateResult) -> Row:
    return Row(result=gate, checks=tuple(checks_of(gate)))


def _goes_with(each: GateResult, gate: GateResult) -> bool:
    return each.name == gate.name or (each.since is not None and each.name == f"{gate.name} since {each.since}")


def _metric(name: str) -> Metric | None:
    """The metric; None where a package that this rankgate has not got made the report."""
    try:
        return parse_metric(name)
    except UnknownMetricError:
        return None


def _absent(report: Report, gate: GateResult, metric: Metric | None, questions: Sequence[Question] | None) -> int:
    """Questions that the run lacks and the metric is defined for, or at most so many."""
    if report.queries is None or metric is None or metric.worst is None:
        return 0
    if questions is None:
        return min(report.queries.missing, gate.n)
    return sum(each.now is None and each.values.get(gate.metric, (None, None))[1] is not None for each in questions)


def _left_out(
    report: Report, gate: GateResult, metric: Metric | None, questions: Sequence[Question] | None
) -> list[LeftOut]:
    """Questions that the value is not over."""
    if report.queries is None:
        return []
    count = report.queries.total - gate.n
    # Others may be undefined for other reasons than the gold's.
    by_gains = metric is not None and metric.kind is Kind.RELEVANCE
    if questions is None or count == 0:
        # Without the questions one reason is certain only where it explains the whole number.
        why: Literal["nothing_relevant", "undefined"] = (
            "nothing_relevant" if by_gains and count == report.queries.no_relevant else "undefined"
        )
        return [LeftOut(why=why, count=count)] if count else []
    none = [each for each in questions if each.values.get(gate.metric, (None, None))[1] is None]
    by_why = {
        "nothing_relevant": [each.query_id for each in none if by_gains and each.cause is Cause.NOTHING_RELEVANT],
        "no_result": [each.query_id for each in none if each.cause is Cause.NO_RESULT],
    }
    named = {query for ids in by_why.values() for query in ids}
    by_why["undefined"] = [each.query_id for each in none if each.query_id not in named]
    return _counted(by_why)


def _unpaired(report: Report, gate: GateResult, questions: Sequence[Question] | None) -> list[LeftOut]:
    """Questions of the value that the comparison is not over."""
    count = gate.n - gate.n_pairs
    if gate.delta is None or count <= 0:
        return []
    if questions is None:
        new = report.queries is not None and report.queries.new == count
        return [LeftOut(why="not_in_baseline" if new else "one_sided", count=count)]
    alone = [each for each in questions if _only_now(each.values.get(gate.metric, (None, None)))]
    return _counted(
        {
            "not_in_baseline": [each.query_id for each in alone if each.before is None],
            "one_sided": [each.query_id for each in alone if each.before is not None],
        }
    )


def _only_now(values: tuple[float | None, float | None]) -> bool:
    before, now = values
    return before is None and now is not None


def _counted(by_why: dict[str, list[str]]) -> list[LeftOut]:
    return [
        msgspec.convert({"why": why, "count": len(ids), "queries": ids}, LeftOut) for why, ids in by_why.items() if ids
    ]


def _lost(name: str, metric: Metric, questions: Sequence[Question]) -> list[str]:
    """Questions at the metric's worst now that were not in the baseline."""
    worst = metric.worst
    if worst is None:
        return []
    found: list[str] = []
    for question in questions:
        before, now = question.values.get(name, (None, None))
        if before is not None and now is not None and abs(now - worst) <= TOLERANCE < abs(before - worst):
            found.append(question.query_id)
    return found
