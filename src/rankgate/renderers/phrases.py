"""The parts of a report as short texts: what the terminal and the comment both say. Text from the inputs is spelled."""

from __future__ import annotations

import msgspec

from rankgate.model.gate_result import GateResult
from rankgate.model.report import Provenance, Report, SegmentValue, Source
from rankgate.model.values import Direction, Interval, ReasonKind, Ruling, Unit, Verdict
from rankgate.model.wording import (
    confidence_text,
    count_text,
    delta_text,
    harm_word,
    interval_text,
    limit_decimals,
    part_word,
    value_text,
)
from rankgate.renderers.escape import Sentence, listed, one_line

ICONS = {Verdict.PASS: "✅", Verdict.WARN: "⚠️", Verdict.FAIL: "❌", Verdict.NOT_JUDGED: "❔"}
NOTHING = "–"
UNPROVEN = "unproven"  # the status of what passes because noise explains it
LONGEST = 40  # characters of a name or a tag

# What one gate does, and what several do.
VERBS = {
    Verdict.FAIL: ("fails", "fail"),
    Verdict.WARN: ("warns", "warn"),
    Verdict.NOT_JUDGED: ("is not judged", "are not judged"),
    Verdict.PASS: ("holds", "hold"),
}


class Note(msgspec.Struct, frozen=True):
    """A sentence, and what it means by itself."""

    verdict: Verdict
    text: Sentence


def row_name(gate: GateResult, label: str = "") -> str:
    """The metric and on what it is judged: `mrr in lang:es`, `mrr (its label) in lang:es`."""
    about = f" ({one_line(label, LONGEST)})" if label else ""
    if gate.segment is not None:
        about += f" in {one_line(gate.segment, LONGEST)}"
    return f"{gate.metric}{about}"


def gate_now(gate: GateResult) -> str:
    """The candidate's value."""
    return _value(gate.measured.value, gate)


def gate_change(gate: GateResult) -> str:
    """`−5.8 pp`, and the interval of the change where there is one."""
    return NOTHING if gate.change.delta is None else delta_text(gate.change.delta, gate.unit, _decimals(gate))


def interval_name(gate: GateResult) -> str:
    """`95%`, or `for 12 parts at once`, whose level only report.json says."""
    parts = next((reason.corrected_for for reason in gate.decision.reasons if reason.corrected_for), 0)
    return f"for {parts} {part_word(gate.segment)}s at once" if parts > 1 else confidence_text(gate.limits.confidence)


def differs_on_pairs(gate: GateResult) -> bool:
    """Whether the value over all queries reads otherwise than that on the pairs."""
    return gate.change.delta is not None and _value(gate.change.paired_value, gate) not in (NOTHING, gate_now(gate))


def change_interval_text(ci: Interval | None, unit: Unit, decimals: int | None = None) -> str:
    """`−8.1 to −3.4 pp`, or nothing where the data support no interval or nothing changed."""
    return "" if ci == (0.0, 0.0) else interval_text(ci, unit, change=True, decimals=decimals)


def gate_change_interval(gate: GateResult) -> str:
    """The same of a gate without its unit, in the decimals of its change."""
    text = change_interval_text(gate.change.delta_ci, gate.unit, _decimals(gate))
    return text.removesuffix(" pp").removesuffix(" ms")


def exact_proof(gate: GateResult) -> str:
    """`exact test, p = 0.002`, where that proves the harm and the interval does not."""
    proves = (
        gate.change.exact is not None
        and gate.change.exact.p < (1 - gate.limits.confidence) / 2
        and gate.decision.violation is not None
    )
    alone = proves and gate.direction.certain(gate.change.delta_ci) >= 0
    return f"exact test, p = {gate.change.exact.p:.2g}" if gate.change.exact and alone else ""


def gate_limit(gate: GateResult) -> str:
    """`≥ 85.0%, −3.0 pp`: the floor, and the largest change for the worse.

    Where the gate fails for single questions, `4 lost, 1 allowed` or `must pass`, and no limit that is not broken.
    """
    limits: dict[ReasonKind, str] = {}
    if gate.limits.threshold is not None:
        sign = "≥" if gate.direction is Direction.HIGHER else "≤"
        limits[ReasonKind.THRESHOLD] = f"{sign} {_value(gate.limits.threshold, gate)}"
    if gate.limit is not None:
        drop = delta_text(gate.limit, gate.unit, _decimals(gate))
        limits[ReasonKind.REGRESSION] = drop if gate.limits.regression_max else f"no {harm_word(gate.direction)}"
    if not gate.decision.hard_check_failed:
        return ", ".join(limits.values())
    broken = {reason.kind for reason in gate.decision.deciding}
    texts = [text for kind, text in limits.items() if kind in broken]
    lost = [each for each in gate.decision.deciding if each.kind is ReasonKind.LOST]
    texts += [f"{each.count:,} lost, {each.limit:,} allowed" for each in lost]
    if gate.decision.queries:
        texts.append("must pass")
    return "; ".join(texts)


def judged_by(gate: GateResult, report: Report) -> str:
    """What a gate without a limit over all its questions is judged by."""
    has_parts = gate.is_main and any(each.name == gate.name and not each.is_main for each in report.gates)
    return "by segment" if has_parts else "by question"


def gate_label(gate: GateResult, report: Report) -> str:
    """What tells a gate from another one of its metric: its name, if that is not the metric's."""
    if gate.name == gate.metric:
        return ""
    return gate.name if sum(each.is_main and each.metric == gate.metric for each in report.gates) > 1 else ""


def gate_values(gate: GateResult) -> str:
    """`91.9% → 85.8%`, on the pairs; the value alone where nothing was compared."""
    if gate.change.delta is None or gate.change.baseline is None:
        return gate_now(gate)
    return f"{_value(gate.change.baseline, gate)} → {_value(gate.change.paired_value, gate)}"


def gate_spread(gate: GateResult) -> str:
    """The interval of the value beside it, so that it is not shown where that of the pairs stands in its place."""
    return "" if differs_on_pairs(gate) else value_spread(gate)


def value_spread(gate: GateResult) -> str:
    """`79.8 to 91.0%`: the interval of the value, where nothing was compared, or a floor does not hold by it."""
    floor = any(each.kind is ReasonKind.THRESHOLD and each.ruling is not Ruling.HOLDS for each in gate.decision.reasons)
    return interval_text(gate.measured.ci, gate.unit) if gate.change.delta is None or floor else ""


def gate_status(gate: GateResult) -> str:
    """The verdict as a word, but `waived` where a violation is let pass, and `unproven` where noise explains it."""
    if gate.is_unproven:
        return UNPROVEN
    return "waived" if gate.decision.waived else gate.verdict.value.replace("_", " ")


def shown_gates(report: Report) -> list[GateResult]:
    """The gates, and of their segments those that fail, warn or are unproven."""
    return [gate for gate in report.gates if gate.is_main or gate.is_unproven or gate.verdict is not Verdict.PASS]


def values_line(report: Report, most: int = 4) -> str:
    """`recall@5 91.9% (±0.0 pp), mrr 0.841 (+0.012)`: the gates over all questions, each metric once."""
    gates: dict[str, GateResult] = {}
    for gate in report.gates:
        if gate.is_main:
            gates.setdefault(gate.metric, gate)
    values = [f"{gate.metric} {_value_and_change(gate)}" for gate in gates.values()]
    return f"{listed(values, most)}." if values else ""


def _value_and_change(gate: GateResult) -> str:
    """As far as they are known: over traffic a change has no value."""
    if gate.lacks_labels:
        reason = gate.decision.reasons[0]
        return f"not measured (labels of {reason.count:,} of {reason.limit:,} drawn questions are missing)"
    if gate.change.delta is None:
        return gate_now(gate)
    if gate.change.paired_value is None:
        return gate_change(gate)
    return f"{_value(gate.change.paired_value, gate)} ({gate_change(gate)})"


def segment_text(value: SegmentValue) -> str:
    """`81.2% (−5.8 pp)`, or `81.2%` where nothing changed."""
    now = value_or_dash(value.value, value.unit)
    return now if value.value is None or not value.delta else f"{now} ({delta_text(value.delta, value.unit)})"


def queries_line(report: Report) -> str:
    """How many queries the numbers stand on."""
    queries, metrics = report.measured.queries, report.measured.metrics
    if queries is None:
        return ""
    total = count_text(queries.total, "question")
    parts: list[str] = []
    stated = {name: value for name, value in metrics.items() if value.missing is not None}
    if queries.scored and (not stated or len(stated) < len(metrics)):
        parts.append(f"{queries.scored:,} of {total} scored")
        if queries.no_relevant:
            parts.append(f"{queries.no_relevant:,} without a relevant document in the gold set left out")
    for name, value in stated.items():  # what lines state is no matter of relevant documents
        have = f"{value.n:,} of {total} have a value of {name}"
        if value.undefined:
            parts.append(f"{have} ({value.missing:,} missing, {value.undefined - (value.missing or 0):,} undefined)")
        elif not parts:
            parts.append(have)
    return f"{'; '.join(parts)}." if parts else ""


def inputs_of(provenance: Provenance) -> list[tuple[str, Source]]:
    """What was compared, as far as the report has it, each under its name."""
    sources = (("Gold set", provenance.gold), ("Run", provenance.run), ("Baseline", provenance.baseline))
    return [(name, source) for name, source in sources if source]


def value_or_dash(value: float | None, unit: Unit, decimals: int | None = None) -> str:
    """`87.0%`, or a dash where there is no value."""
    return NOTHING if value is None else value_text(value, unit, decimals)


def _value(value: float | None, gate: GateResult) -> str:
    return value_or_dash(value, gate.unit, _decimals(gate))


def _decimals(gate: GateResult) -> int:
    """Decimals for the whole row, enough that no rounding hides a violation."""
    drop = None if gate.change.delta is None else -gate.direction.sign * gate.change.delta
    of_floor = limit_decimals(gate.limits.threshold, gate.measured.value, gate.unit)
    return max(of_floor, limit_decimals(gate.limits.regression_max, drop, gate.unit))
