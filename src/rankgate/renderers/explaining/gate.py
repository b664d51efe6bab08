"""How a gate's verdict came about, as text that a reader without statistics can follow line by line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from rankgate.gates.explain import GateExplained, Row
from rankgate.model.details import Cause
from rankgate.model.reasons import sentences
from rankgate.model.report import GateResult, Report
from rankgate.model.values import Evidence, ReasonKind, Unit, Verdict
from rankgate.model.waiver_use import WaiverUse
from rankgate.model.wording import (
    VERDICT_WORDS,
    confidence_text,
    count_text,
    delta_text,
    harm_word,
    interval_text,
    limit_word,
    size_text,
    value_text,
)
from rankgate.renderers.escape import listed, safe
from rankgate.renderers.explaining.layout import finished, paragraph
from rankgate.renderers.explaining.limits import EVIDENCE, change_lines, comparison_lines, threshold_lines, value_lines
from rankgate.renderers.phrases import WAIVER_STATES, gate_status, value_or_dash

MAX_PARTS = 20
MAX_SEGMENTS = 40
MAX_QUERIES = 30
MAX_DOCUMENTS = 3
_FINDING = frozenset({"hit", "mrr", "recall"})  # metrics whose worst is that nothing right was found
_MEANS = {
    Verdict.PASS: "nothing that this gate looks at is against the change",
    Verdict.WARN: "it warns and does not block",
    Verdict.FAIL: "it blocks",
    Verdict.NOT_JUDGED: "it could not be judged, and so does not let the change pass",
}


def render_gates(found: Sequence[GateExplained], report: Report, width: int) -> str:
    """The explanations of one or more gates, in lines of about `width` columns, and what the check as a whole says."""
    lines = [line for each in found for line in (*_gate_lines(each, report, width), "")]
    check = f"The check as a whole: {VERDICT_WORDS[report.verdict]}. {report.summary}"
    return finished([*lines, *paragraph(check, width)])


def _gate_lines(found: GateExplained, report: Report, width: int) -> list[str]:
    gate = found.gate.result
    status = _status(gate) if found.verdict is gate.verdict else VERDICT_WORDS[found.verdict]
    lines = paragraph(f"{status}  {gate.metric}: {safe(gate.meaning, 300)}", width)
    lines += [*paragraph(_where(gate, report), width), ""]
    compares = gate.regression_max is not None or gate.delta is not None
    regression = " (regression_max)" if gate.regression_max is not None else ""
    sections: list[tuple[str, list[list[str]]]] = [
        ("The value", [value_lines(found)]),
        ("How sure it must be (evidence)", [[_evidence(gate)]] if found.gate.checks else []),
        (
            f"The {limit_word(gate.direction)} (threshold)",
            [] if gate.threshold is None else [threshold_lines(found.gate)],
        ),
        (f"The change{regression}", [change_lines(found)] if compares else []),
        ("Single questions", [_question_lines(found)]),
        ("What the gold set can see", [_sight_lines(gate)]),
        ("Questions below the floor", [_below_lines(found.gate)]),
        ("Segments", _segment_lines(found)),
        ("By tag, judged or not", [_tagged_lines(gate.metric, report)]),
        *((f"Since {safe(row.result.since or '')} (drift_max)", [_part(row)]) for row in found.since),
        *(
            (
                f"By the base{_in_or_since(row.result)}{' (drift_max)' if row.result.since else ''}",
                [_part(row, threshold_lines(row))],
            )
            for row in found.by_base
        ),
        *(("Waiver", [_waiver_lines(waiver, gate)]) for waiver in found.waivers),
        ("Verdict", [_verdict(found, report)]),
    ]
    for heading, entries in sections:
        if any(entries):
            lines += [heading, *_indented(entries, width), ""]
    return lines[:-1]


def _indented(entries: Sequence[Sequence[str]], width: int) -> list[str]:
    """Sentences below a heading; where there are several entries, the sentences of each below its first."""
    several = len(entries) > 1
    return [
        line
        for entry in entries
        for place, sentence in enumerate(entry)
        for line in paragraph(sentence, width, indent=4 if several and place else 2)
    ]


def _where(gate: GateResult, report: Report) -> str:
    criteria = report.provenance.criteria
    place = f" in {safe(criteria, 120)}" if criteria else ""
    place += f", line {gate.line}" if gate.line is not None else ""
    does = "blocks" if gate.severity == "error" else "warns"
    return f"Gate {safe(gate.name)}{place}; severity {gate.severity}: a violation {does}."


def _evidence(gate: GateResult) -> str:
    return f"Evidence {gate.evidence.value}, at {confidence_text(gate.confidence)}: {EVIDENCE[gate.evidence]}."


def _part(row: Row, further: Sequence[str] = ()) -> list[str]:
    compared = comparison_lines(row, "baseline" if row.result.since is None else "anchor")
    return [*compared, *further, f"→ {_status(row.result)}"]


def _status(gate: GateResult) -> str:
    return gate_status(gate).upper()


def _in_or_since(gate: GateResult) -> str:
    segment = f" in {safe(gate.segment)}" if gate.segment is not None else ""
    return segment + (f" since {safe(gate.since)}" if gate.since is not None else "")


def _segment_lines(found: GateExplained) -> list[list[str]]:
    """An entry of one or more sentences for each segment, those that fail or warn first; nothing without any."""
    order = (Verdict.FAIL, Verdict.NOT_JUDGED, Verdict.WARN, Verdict.PASS)
    rows = sorted(found.segments, key=lambda row: order.index(row.result.verdict))
    more = len(rows) - MAX_SEGMENTS
    own = found.gate.result.value_raw is not None and any(row.result.value_raw is None for row in rows)
    units = ["The values of segments are the judge's own."]
    entries = [_holm(found), units if own else [], *(_segment(row) for row in rows[:MAX_SEGMENTS])]
    entries += [[f"and {more} more, none of them worse."]] if more > 0 else []
    return [entry for entry in entries if entry]


def _segment(row: Row) -> list[str]:
    gate = row.result
    status = "too small to judge" if gate.too_small else _status(gate)
    head = f"{safe(gate.segment or '')}  {status}, {count_text(gate.n, 'question')}"
    reasons = sentences(gate, None)
    if gate.value is None:
        return [head, *reasons]
    if gate.too_small:  # limits would only mislead; its numbers are there all the same
        change = f", {delta_text(gate.delta, gate.unit)} since the baseline" if gate.delta is not None else ""
        return [head, f"{value_text(gate.value, gate.unit)}{change}; {'; '.join(reasons)}."]
    compared = [] if gate.regression_max is None else comparison_lines(row, "baseline")
    return [head, *compared, *threshold_lines(row), *_below_lines(row)]


def _below_lines(row: Row) -> list[str]:
    """Which questions keep the value below its floor, each with where its documents are."""
    lines: list[str] = []
    for each in row.below[:MAX_QUERIES]:
        ranks = ((safe(doc.id, 60), doc.after) for doc in each.expected)
        places = [f"{name} {'not retrieved' if at is None else f'at rank {at}, beyond {each.k}'}" for name, at in ranks]
        text = "no result" if each.cause is Cause.NO_RESULT else listed(places, MAX_DOCUMENTS)
        lines.append(f"{safe(each.query_id, 40)}: {text}")
    more = len(row.below) - len(lines)
    return [*lines, *([f"and {count_text(more, 'more question')} (explain --misses)"] if more else [])]


def _tagged_lines(metric: str, report: Report) -> list[str]:
    values = [(each.tag, each.metrics[metric]) for each in report.segments if metric in each.metrics]
    weighted = bool(values) and metric in report.metrics and report.metrics[metric].weighted
    lines = ["By traffic, within each tag:"] if weighted else []
    for tag, value in values[:MAX_SEGMENTS]:
        bounds = interval_text(value.ci, value.unit)
        parts = [f"{safe(tag)}  {value_or_dash(value.value, value.unit)}", f"95% interval {bounds}" if bounds else ""]
        parts += [] if value.delta is None else [f"{delta_text(value.delta, value.unit)} since the baseline"]
        lines.append(", ".join(filter(None, [*parts, count_text(value.n, "question")])))
    more = len(values[MAX_SEGMENTS:])
    return [*lines, *([f"and {count_text(more, 'more tag')}."] if more else [])]


def _holm(found: GateExplained) -> list[str]:
    """Why segments have other confidences than their gate."""
    gate = found.gate.result
    judged = [row.result for row in found.segments if not row.result.too_small]
    if gate.evidence is not Evidence.PROVEN_HARM or all(row.confidence == gate.confidence for row in judged):
        return []
    risk, most = confidence_text(1 - gate.confidence), confidence_text(max(row.confidence for row in judged))
    sentence = (
        f"{count_text(len(judged), 'segment is', 'segments are')} judged at up to {most} instead of the gate's "
        f"{confidence_text(gate.confidence)}, so that a false alarm in any of them stays as rare as in one: {risk} at "
        "most (Holm's correction)."
    )
    return [sentence]


def _question_lines(found: GateExplained) -> list[str]:
    gate = found.gate.result
    texts = zip(gate.reasons, sentences(gate, None), strict=True)
    lines = [f"{text}." for reason, text in texts if reason.kind in (ReasonKind.MUST_PASS, ReasonKind.LOST)]
    if gate.queries:
        lines.append(f"Must pass and does not: {_queries(gate.queries)}.")
    if found.lost:
        what = (
            "for which the baseline found something right and the run finds nothing"
            if gate.metric.partition("@")[0] in _FINDING
            else "at the metric's worst now, or without a value, and not in the baseline"
        )
        lines.append(f"Lost: {count_text(len(found.lost), 'question')} {what}: {_queries(found.lost)}.")
    return lines


def _queries(queries: Sequence[str]) -> str:
    return listed(queries, MAX_QUERIES, partial(safe, limit=40))


def _waiver_lines(waiver: WaiverUse, gate: GateResult) -> list[str]:
    where = f" in {safe(waiver.segment)}" if waiver.segment is not None else ""
    line = f", line {waiver.line} of the waivers" if waiver.line is not None else ""
    size = f"; the violation is {size_text(waiver.violation, gate.unit)}" if waiver.violation is not None else ""
    return [
        f"Up to {size_text(waiver.up_to, gate.unit)} beyond the limit{where}, until {waiver.expires}{line}{size}.",
        f"By {safe(waiver.by)}: {safe(waiver.reason, 300)} ({safe(waiver.issue, 200)})",
        f"→ {WAIVER_STATES[waiver.state]}",
    ]


def _sight_lines(gate: GateResult) -> list[str]:
    """How large a change must be for this gold set to see it; nothing where that cannot be said."""
    seen = gate.detectable
    if seen is None or gate.regression_max is None:
        return []
    limit, margin, caught = (size_text(size, gate.unit) for size in (gate.regression_max, seen.margin, seen.detectable))
    spread = f"{seen.spread:.3g}, {'assumed' if seen.assumed else 'measured'}"
    spread += f", by traffic: the effective number of questions is {seen.effective:,.1f}" if seen.effective else ""
    most = 1.0 if gate.unit is Unit.SHARE else math.inf  # no share moves by more
    harm = harm_word(gate.direction)
    true = f"a true {harm} of {caught} or more" if seen.detectable <= most else f"no true {harm}"
    safe_at = f"is proven safe within {margin}" if seen.margin <= most else "is proven safe within no limit"
    power = (
        f"With {count_text(seen.queries, 'question')} {true} violates this gate in four runs of five, and a change "
        f"without effect {safe_at} as often. (Spread of the changes: {spread}.)"
    )
    if seen.sees or seen.queries_needed is None:
        return [power]
    promise = f"prove it safe within {limit}" if gate.evidence is Evidence.PROVEN_SAFE else f"detect twice {limit}"
    return [power, f"To {promise} as often, it takes about {seen.queries_needed:,} questions."]


def _verdict(found: GateExplained, report: Report) -> list[str]:
    """The verdict of each row with its reasons, and where there are several what they make together."""
    gate = found.gate.result
    parts = [row.result for row in (*found.segments, *found.since, *found.by_base)]
    bad = [part for part in parts if part.verdict is not Verdict.PASS]
    lines = [_reasons(gate, " over all questions" if bad else "", report)]
    lines += [
        _reasons(part, f"{_in_or_since(part)}{' by the base' if part.judged_by else ''}", report)
        for part in bad[:MAX_PARTS]
    ]
    more = len(bad) - MAX_PARTS
    if more > 0:
        lines.append(f"and {count_text(more, 'more part that fails or warns', 'more parts that fail or warn')}.")
    if gate.waived:
        lines.append(f"The violation is let pass by {safe(gate.waived.by)}.")
    return [*lines, f"→ {VERDICT_WORDS[found.verdict]}: {_MEANS[found.verdict]}"]


def _reasons(gate: GateResult, where: str, report: Report) -> str:
    return f"{_status(gate)}{where}: {'; '.join(sentences(gate, report.base))}."
