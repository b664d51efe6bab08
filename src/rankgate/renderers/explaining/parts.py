"""What else bears on a gate's verdict: segments, single questions, drift, waivers, what the gold set can see."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.gates.explain import GateExplained, Row
from rankgate.model.reasons import sentences
from rankgate.model.report import GateResult
from rankgate.model.values import Evidence, ReasonKind, Verdict
from rankgate.model.waiver_use import WaiverState, WaiverUse
from rankgate.model.wording import confidence_text, count_text, delta_text, harm_word, size_text, value_text
from rankgate.renderers.explaining.layout import safe
from rankgate.renderers.explaining.limits import comparison_lines, threshold_lines
from rankgate.renderers.phrases import gate_status

MAX_SEGMENTS = 40
MAX_QUERIES = 30
_FINDING = frozenset({"hit", "mrr", "recall"})  # metrics whose worst is that nothing right was found

_STATES: dict[WaiverState, str] = {
    "in_force": "in force: it lets the violation pass, as a warning",
    "expiring": "in force, and expires within two weeks",
    "too_small": "too small: the violation is larger than it covers",
    "expired": "expired, and counts no longer",
    "unused": "not used: nothing is violated",
    "unknown": "names no segment of this gate",
    "hard_check": "does not count: single questions fail, which no waiver covers",
    "not_judged": "does not count: the gate could not be judged",
}


def segment_lines(found: GateExplained) -> list[list[str]]:
    """An entry of one or more sentences for each segment, those that fail or warn first; nothing without any."""
    order = (Verdict.FAIL, Verdict.NOT_JUDGED, Verdict.WARN, Verdict.PASS)
    rows = sorted(found.segments, key=lambda row: order.index(row.result.verdict))
    entries = [_holm(found)] if rows else []
    entries += [[_segment_head(row.result), *_segment_body(row)] for row in rows[:MAX_SEGMENTS]]
    if len(rows) > MAX_SEGMENTS:
        entries.append([f"and {len(rows) - MAX_SEGMENTS} more, none of them worse."])
    return [entry for entry in entries if entry]


def _segment_head(gate: GateResult) -> str:
    status = "too small to judge" if gate.too_small else gate_status(gate).upper()
    return f"{safe(gate.segment or '')}  {status}, {count_text(gate.n, 'question')}"


def _segment_body(row: Row) -> list[str]:
    gate = row.result
    if gate.value is None:
        return sentences(gate, None)
    # What a segment is too small for would only mislead; its numbers are there all the same.
    limits = [*([] if gate.regression_max is None else comparison_lines(row, "baseline")), *threshold_lines(row)]
    if gate.too_small:
        now = value_text(gate.value, gate.unit)
        change = f", {delta_text(gate.delta, gate.unit)} since the baseline" if gate.delta is not None else ""
        return [f"{now}{change}; {'; '.join(sentences(gate, None))}."]
    return limits


def _holm(found: GateExplained) -> list[str]:
    """Why segments have other confidences than their gate."""
    gate = found.gate.result
    judged = [row.result for row in found.segments if not row.result.too_small]
    if gate.evidence is not Evidence.PROVEN_HARM or all(row.confidence == gate.confidence for row in judged):
        return []
    risk, most = confidence_text(1 - gate.confidence), confidence_text(max(row.confidence for row in judged))
    said = (
        f"{count_text(len(judged), 'segment is', 'segments are')} judged at up to {most} instead of the gate's "
        f"{confidence_text(gate.confidence)}, so that a false alarm in any of them stays as rare as in one: {risk} at "
        "most (Holm's correction)."
    )
    return [said]


def question_lines(found: GateExplained) -> list[str]:
    """Single questions that must pass and do not, and those that were lost."""
    gate = found.gate.result
    single = (ReasonKind.MUST_PASS, ReasonKind.LOST)
    texts = zip(gate.reasons, sentences(gate, None), strict=True)
    lines = [f"{text}." for reason, text in texts if reason.kind in single]
    if gate.queries:
        lines.append(f"Must pass and does not: {_listed(gate.queries)}.")
    if found.lost:
        what = (
            "for which the baseline found something right and the run finds nothing"
            if gate.metric.partition("@")[0] in _FINDING
            else "at the metric's worst now, and not in the baseline"
        )
        lines.append(f"Lost: {count_text(len(found.lost), 'question')} {what}: {_listed(found.lost)}.")
    return lines


def waiver_lines(waiver: WaiverUse, gate: GateResult) -> list[str]:
    """A waiver: what it covers, who and why, and what became of it."""
    where = f" in {safe(waiver.segment)}" if waiver.segment is not None else ""
    covers = size_text(waiver.up_to, gate.unit)
    size = ""
    if waiver.violation is not None:
        size = f"; the violation is {size_text(waiver.violation, gate.unit)}"
    line = f", line {waiver.line} of the waivers" if waiver.line is not None else ""
    return [
        f"Up to {covers} beyond the limit{where}, until {waiver.expires}{line}{size}.",
        f"By {safe(waiver.by)}: {safe(waiver.reason, 300)} ({safe(waiver.issue, 200)})",
        f"→ {_STATES[waiver.state]}",
    ]


def sight_lines(gate: GateResult) -> list[str]:
    """How large a change must be for this gold set to see it; nothing where that cannot be said."""
    seen = gate.detectable
    if seen is None or gate.regression_max is None:
        return []
    harm = harm_word(gate.direction)
    limit, margin, caught = (size_text(size, gate.unit) for size in (gate.regression_max, seen.margin, seen.detectable))
    asked, spread = count_text(seen.queries, "question"), "assumed" if seen.assumed else "measured"
    said = (
        f"With {asked} a true {harm} of {caught} or more violates this gate in four runs of five, and a change without "
        f"effect is proven safe within {margin} as often. (Spread of the changes: {seen.spread:.3g}, {spread}.)"
    )
    if seen.sees or seen.queries_needed is None:
        return [said]
    promise = f"prove it safe within {limit}" if gate.evidence is Evidence.PROVEN_SAFE else f"detect twice {limit}"
    return [said, f"To {promise} as often, it takes about {seen.queries_needed:,} questions."]


def _listed(queries: Sequence[str]) -> str:
    more = len(queries) - MAX_QUERIES
    return ", ".join(safe(query, 40) for query in queries[:MAX_QUERIES]) + (f" and {more:,} more" if more > 0 else "")
