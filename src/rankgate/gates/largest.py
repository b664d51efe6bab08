"""Which of the gates that fail or warn a conclusion is about, and what else it counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from rankgate.model.conclusion import Conclusion, ConclusionKind, about_gate, parts_beside
from rankgate.model.gate_result import LIMITS, GateResult
from rankgate.model.report import Report
from rankgate.model.values import Ruling, Unit, Verdict
from rankgate.model.wording import tag_keys

ONE_CAUSE = 0.8  # of the worse questions of another gate


class Broken(NamedTuple):
    """A limit that a gate's row breaks, or is in doubt of, and how far it lies beyond it."""

    gate: GateResult
    rule: Literal["floor", "drop", "other"]
    beyond: float


def of_largest(report: Report, kind: ConclusionKind, rows: Sequence[GateResult]) -> Conclusion:
    """The conclusion about the row, of at least one, that lies furthest beyond a limit."""
    broken = [each for gate in rows for each in _broken(gate)]
    largest = min(broken, key=_rank)  # the first of several
    return replace(about_gate(kind, largest.gate, largest.rule), counts=_beside(report, largest.gate, rows))


def _rank(broken: Broken) -> tuple[bool, bool, float, bool]:
    """Limits before other rules, points before other units, the largest first, floors before drops."""
    points = broken.gate.unit in (Unit.SHARE, Unit.SCORE)
    return broken.rule == "other", not points, -broken.beyond, broken.rule == "drop"


def _broken(gate: GateResult) -> list[Broken]:
    """A row for each of the limits that decided; one of another rule where none did."""
    broken: list[Broken] = []
    for reason in gate.decision.deciding:
        rule = LIMITS.get(reason.kind)
        if rule is not None and reason.ruling in (Ruling.VIOLATED, Ruling.INCONCLUSIVE):
            broken.append(Broken(gate, rule, _beyond(gate, rule)))
    return broken or [Broken(gate, "other", 0.0)]


def _beyond(gate: GateResult, rule: Literal["floor", "drop"]) -> float:
    """How far beyond the limit: in points of metrics from 0 to 1, else in multiples of the limit."""
    if rule == "floor":
        value = gate.measured.for_floor.value or 0.0
        limit = gate.limits.threshold or 0.0
        excess = gate.direction.sign * (limit - value)
    else:
        limit = gate.limits.regression_max or 0.0
        excess = -gate.direction.sign * (gate.change.delta or 0.0) - limit
    if gate.unit in (Unit.SHARE, Unit.SCORE):
        return excess
    return excess / abs(limit) if limit else float("inf")


def _beside(report: Report, gate: GateResult, rows: Sequence[GateResult]) -> dict[str, int]:
    """How many questions the gate's row is of, how many other `rows` have its verdict, and how many segments hold."""
    failing_segments = {each.segment for each in rows if each.segment not in (None, gate.segment)}
    # A gate that fails in other parts alone is counted by these.
    other_gates = {each.name for each in rows if each.segment in (None, gate.segment)} - {gate.name}
    with_other_cause = {each.name for each in rows if not _one_cause(report, gate, each)} & other_gates
    others = [each for each in report.gates if each.name == gate.name and each.segment not in (None, gate.segment)]
    segments = [each for each in others if tag_keys(each.segment) == tag_keys(gate.segment)]
    failing = {each.segment for each in segments if each.verdict is not Verdict.PASS}
    unproven = {each.segment for each in segments if each.is_unproven} - failing  # by any of several rules
    judged = {each.segment for each in segments if not (each.evidence.too_small or each.is_uncompared)}
    return {
        "questions": gate.measured.n,
        "pairs": gate.change.n_pairs,
        "worse": len(report.changes.losers_of(gate.row_key)),
        "missing": gate.missing,
        "gates_fail": len(with_other_cause),
        "same_cause": len(other_gates - with_other_cause),
        **parts_beside(gate.segment, failing_segments),
        "segments_hold": len(judged - failing - unproven),
        "segments_unproven": len(unproven),
    }


def _one_cause(report: Report, first: GateResult, gate: GateResult) -> bool:
    """Whether nearly all questions that got worse by `gate` got worse by `first` too, or both lack verdicts."""
    if first.lacks_verdicts and gate.lacks_verdicts:
        return True
    worse = set(report.changes.losers_of(gate.row_key))
    in_both = worse.intersection(report.changes.losers_of(first.row_key))
    return bool(worse) and len(in_both) >= ONE_CAUSE * len(worse)
