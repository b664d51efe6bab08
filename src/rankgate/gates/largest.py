"""Which of the gates that fail or warn a conclusion is about, and what else it counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rankgate.gates.concluded_gate import LIMITS, by_other_keys, fields_of, missing_of
from rankgate.model.conclusion import Conclusion, ConclusionKind
from rankgate.model.gate_result import GateResult
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
    first = min(enumerate(broken), key=lambda each: (*_rank(each[1]), each[0]))[1]
    return Conclusion(**fields_of(kind, first.gate, first.rule), counts=_beside(report, first.gate, rows))


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
        value = gate.measured.counted.value if gate.measured.counted else gate.measured.value or 0.0
        limit = gate.limits.threshold or 0.0
        excess = gate.direction.sign * (limit - value)
    else:
        limit = gate.limits.regression_max or 0.0
        excess = -gate.direction.sign * (gate.change.delta or 0.0) - limit
    if gate.unit in (Unit.SHARE, Unit.SCORE):
        return excess
    return excess / abs(limit) if limit else float("inf")


def _beside(report: Report, gate: GateResult, rows: Sequence[GateResult]) -> dict[str, int]:
    """What else has this verdict, by cause, and which other segments hold."""
    siblings = [each for each in report.gates if each.name == gate.name and each.segment not in (None, gate.segment)]
    kin = [each for each in siblings if tag_keys(each.segment) == tag_keys(gate.segment)]
    failing = {each.segment for each in rows if each.segment not in (None, gate.segment)}
    elsewhere = by_other_keys(gate.segment, failing)
    others = {each.name for each in rows} - {gate.name}
    own = report.changes.losers_of(gate.place)
    shared = {name for name in others if all(_one_cause(report, gate, each) for each in rows if each.name == name)}
    return {
        "questions": gate.measured.n,
        "pairs": gate.change.n_pairs,
        "worse": len(own),
        "missing": missing_of(gate),
        "gates_fail": len(others - shared),
        "same_cause": len(shared),
        "segments_fail": len(failing) - elsewhere,
        "other_parts_fail": elsewhere,
        "segments_hold": sum(
            each.verdict is Verdict.PASS and not (each.evidence.too_small or each.is_unproven) for each in kin
        ),
        "segments_unproven": sum(each.is_unproven for each in kin),
    }


def _one_cause(report: Report, first: GateResult, gate: GateResult) -> bool:
    """Whether nearly all questions that got worse by this row did so by the named one, or both lack verdicts."""
    if first.lacks_verdicts and gate.lacks_verdicts:
        return True
    own, worse = report.changes.losers_of(first.place), report.changes.losers_of(gate.place)
    return bool(worse) and len(set(worse) & set(own)) >= ONE_CAUSE * len(worse)
