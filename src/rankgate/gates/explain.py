"""What a word names, a gate or a question; and how a gate's verdict came about, number by number. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import msgspec

from rankgate.diagnosis.causes import floor_broken
from rankgate.diagnosis.movements import first_k
from rankgate.errors import bad_input, did_you_mean, shown
from rankgate.gates.decision_rule import Finding, rule_on_drop, rule_on_floor
from rankgate.metrics.base import Kind, Metric
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.model.details import Cause, Expected, Question, ReportDetails
from rankgate.model.report import GateResult, Report
from rankgate.model.tags import in_segment
from rankgate.model.values import TOLERANCE, EvidenceState, ReasonKind, Ruling, Verdict, worst
from rankgate.model.waiver_use import WaiverUse

Why = Literal["nothing_relevant", "no_result", "undefined", "not_in_baseline", "one_sided"]
WHY: tuple[Why, ...] = get_args(Why)


class LimitCheck(msgspec.Struct, frozen=True):
    """A limit with its arithmetic: `left` − `right` = `difference`, of which `allowed` is the last that holds.

    For `threshold` left is the value that counts and right the limit, so that 0 is allowed; for `regression_max` they
    are the value and the baseline on the pairs. `beyond` is how much worse than allowed it is, 0 where it is not.
    `ruling` is what the gate's kind of evidence made of it, also of what a judge left open.
    """

    limit: Literal["threshold", "regression_max"]
    left: float
    right: float
    difference: float
    allowed: float
    beyond: float
    ruling: Ruling
    evidence_state: EvidenceState


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the report, the gate's own or that of a part, with its limits.

    `below` are the questions behind a broken floor of ranked documents, where the questions are known.
    """

    result: GateResult
    checks: tuple[LimitCheck, ...]
    below: tuple[BelowFloor, ...] = ()


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """Questions without a value, and why; `queries` where the questions are known, else empty."""

    why: Why
    count: int
    queries: tuple[str, ...] = ()


class BelowFloor(msgspec.Struct, frozen=True, kw_only=True):
    """A question that lacks relevant documents in the first `k`, which `expected` names with their ranks."""

    query_id: str
    cause: Cause
    k: int
    expected: tuple[Expected, ...]


class GateExplained(msgspec.Struct, frozen=True, kw_only=True):
    """A gate with all that bears on its verdict, which is the worst of all its rows.

    `gate` is the row over all of the `total` questions, `segments` those of its segments, `since` its drift since the
    anchor, `by_base` as the base of a pull request has it, where that is stricter. `quantile` is None for a mean, or
    where this rankgate does not know the metric. `absent` are questions that the run lacks and the value counts at the
    metric's worst; where the questions are not known (`lost` is None) the most that these can be, for the metric may be
    undefined for some of them. The value is not over `left_out`, and the comparison not over `unpaired` either. `lost`
    are at the metric's worst now, or have no value, and were not in the baseline. `waivers` name the gate, or a segment
    of it.
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
    """What a report says of one of its gates; questions are named where it has its details, else counted."""

    def goes_with(each: GateResult) -> bool:
        return each.name == gate.name or (each.since is not None and each.name == f"{gate.name} since {each.since}")

    rows = list(filter(goes_with, report.gates))
    questions = report.details.questions if isinstance(report.details, ReportDetails) else None
    metric = _metric(gate.metric)

    def _row(gate: GateResult) -> Row:
        below = _below(gate, metric, questions) if questions and metric else []
        return Row(result=gate, checks=tuple(checks_of(gate)), below=tuple(below))

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
        lost=None if questions is None or metric is None else tuple(_lost(gate, metric, questions)),
        waivers=tuple(waiver for waiver in report.waivers if waiver.gate == gate.name),
        verdict=worst([each.verdict for each in rows]),
    )


def checks_of(gate: GateResult) -> list[LimitCheck]:
    """The limits of a row as they were judged, the change first; without those that had nothing to judge."""
    checks: list[LimitCheck] = []

    def decided(kind: ReasonKind, found: Finding) -> tuple[float, Ruling, EvidenceState]:
        """As the check ruled, which knows more than the numbers of the row, or else by these."""
        reason = next((each for each in gate.reasons if each.kind is kind and each.ruling), None)
        if reason is None or reason.ruling is None:
            return found.beyond, found.ruling, found.state
        return found.beyond, reason.ruling, reason.state or found.state

    change = (gate.regression_max, gate.delta, gate.paired_value, gate.baseline)
    if None not in change:
        limit, delta, left, right = (number for number in change if number is not None)
        ruled = rule_on_drop(gate.evidence, delta, gate.delta_ci, limit, gate.direction, gate.exact, gate.confidence)
        allowed = 0.0 if limit == 0 else -gate.direction.sign * limit
        found = decided(ReasonKind.REGRESSION, ruled)
        checks.append(LimitCheck("regression_max", left, right, delta, allowed, *found))
    if gate.threshold is not None and gate.value is not None:
        value, ci = (gate.counted.value, gate.counted.ci) if gate.counted else (gate.value, gate.ci)
        ruled = rule_on_floor(gate.evidence, value, ci, floor := gate.threshold, gate.direction)
        found = decided(ReasonKind.THRESHOLD, ruled)
        checks.append(LimitCheck("threshold", value, floor, value - floor, 0.0, *found))
    return checks


def _below(gate: GateResult, metric: Metric, questions: Sequence[Question]) -> list[BelowFloor]:
    """What lacks relevant documents within the cut-off, of the segment's questions, where the floor is broken."""
    if not floor_broken(gate) or metric.kind is not Kind.RELEVANCE:
        return []
    k, found = first_k(metric), list[BelowFloor]()
    for each in questions:
        missed = tuple(doc for doc in each.expected if doc.after is None or doc.after > k)
        if missed and in_segment(each.tags, gate.segment):
            gone = Cause.NEVER_FOUND if any(doc.after is None for doc in missed) else Cause.LOWER
            cause = Cause.NO_RESULT if each.cause is Cause.NO_RESULT else gone
            found.append(BelowFloor(query_id=each.query_id, cause=cause, k=k, expected=missed))
    return found


def _metric(name: str) -> Metric | None:
    """The metric; None where a package that this rankgate has not got made the report."""
    try:
        return parse_metric(name)
    except UnknownMetricError:
        return None


def _values(question: Question, gate: GateResult) -> tuple[float | None, float | None]:
    """The gate's metric before and now."""
    return question.values.get(gate.metric, (None, None))


def _absent(report: Report, gate: GateResult, metric: Metric | None, questions: Sequence[Question] | None) -> int:
    """Questions that the run lacks and the metric is defined for, or at most so many."""
    if report.queries is None or metric is None or metric.worst is None:
        return 0
    if questions is None:
        return min(report.queries.missing, gate.n)
    return sum(each.now is None and _values(each, gate)[1] is not None for each in questions)


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
        by_gold = by_gains and count == report.queries.no_relevant
        return [LeftOut(why="nothing_relevant" if by_gold else "undefined", count=count)] if count else []
    none = [each for each in questions if _values(each, gate)[1] is None]
    reasons: dict[Cause, Why] = {Cause.NO_RESULT: "no_result"}
    reasons |= {Cause.NOTHING_RELEVANT: "nothing_relevant"} if by_gains else {}
    return _by_reason(none, lambda each: reasons.get(each.cause, "undefined"))


def _unpaired(report: Report, gate: GateResult, questions: Sequence[Question] | None) -> list[LeftOut]:
    """Questions of the value that the comparison is not over."""
    count = gate.n - gate.n_pairs
    if gate.delta is None or count <= 0:
        return []
    if questions is None:
        new = report.queries is not None and report.queries.new == count
        return [LeftOut(why="not_in_baseline" if new else "one_sided", count=count)]
    alone = [each for each in questions if _values(each, gate)[0] is None and _values(each, gate)[1] is not None]
    return _by_reason(alone, lambda each: "not_in_baseline" if each.before is None else "one_sided")


def _by_reason(questions: Sequence[Question], reason: Callable[[Question], Why]) -> list[LeftOut]:
    ids: dict[Why, list[str]] = {why: [each.query_id for each in questions if reason(each) == why] for why in WHY}
    return [LeftOut(why=why, count=len(queries), queries=tuple(queries)) for why, queries in ids.items() if queries]


def _lost(gate: GateResult, metric: Metric, questions: Sequence[Question]) -> list[str]:
    """Questions at the metric's worst now, or without a value although they have an answer, that had another before."""
    values = ((each.query_id, *_values(each, gate), each.cause is not Cause.NOTHING_RELEVANT) for each in questions)
    return [
        query_id
        for query_id, before, now, answerable in values
        if metric.worst is not None and before is not None and abs(before - metric.worst) > TOLERANCE
        if (answerable if now is None else abs(now - metric.worst) <= TOLERANCE)
    ]


def gates_named(report: Report, word: str) -> list[GateResult]:
    """The gates of that name, else those of that metric in any of its spellings; empty where there is none.

    Rows about a part, such as a segment or the drift since an anchor, are not among them: they go with their gate.
    """
    gates, metric = whole_gates(report), _metric(word)
    name = metric.name if metric else word
    return [gate for gate in gates if gate.name == word] or [gate for gate in gates if gate.metric == name]


def whole_gates(report: Report) -> list[GateResult]:
    """The gates as the head's criteria have them, one row each; those that only the base has."""
    own = [gate for gate in report.gates if gate.segment is None and gate.since is None]
    heads = {gate.name for gate in own if gate.judged_by is None}
    return [gate for gate in own if gate.judged_by is None or gate.name not in heads]


def unknown(word: str, report: Report | None, details: ReportDetails | None) -> Exception:
    """The error for a word that names no gate of the report, no question of the details, or neither."""
    gates = whole_gates(report) if report else []
    ids = [question.query_id for question in details.questions] if details else []
    near = did_you_mean(word, [*(name for gate in gates for name in (gate.metric, gate.name)), *ids])
    if report is None:
        return bad_input(f"no question {shown(word)} in the gold set{near}")
    listed = ", ".join(dict.fromkeys(shown(gate.metric)[1:-1] for gate in gates)) or "none"
    neither = f"neither a gate nor a question of the gold set is called {shown(word)}"
    return bad_input(f"{neither if details else f'no gate {shown(word)}'}{near} (gates: {listed})")
