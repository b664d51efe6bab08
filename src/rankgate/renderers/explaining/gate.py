"""How a gate's verdict came about, as text that a reader without statistics can follow line by line."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.gates.explain import GateExplained
from rankgate.model.reasons import sentences
from rankgate.model.report import GateResult, Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS, confidence_text, count_text, limit_word
from rankgate.renderers.explaining.layout import finished, paragraph, safe
from rankgate.renderers.explaining.limits import (
    EVIDENCE,
    change_lines,
    comparison_lines,
    threshold_lines,
    value_lines,
)
from rankgate.renderers.explaining.parts import question_lines, segment_lines, sight_lines, waiver_lines
from rankgate.renderers.phrases import gate_status

MAX_PARTS = 20
_MEANS = {
    Verdict.PASS: "nothing that this gate looks at is against the change",
    Verdict.WARN: "it warns and does not block",
    Verdict.FAIL: "it blocks",
    Verdict.NOT_JUDGED: "it could not be judged, and so does not let the change pass",
}


def render_gates(found: Sequence[GateExplained], report: Report, width: int) -> str:
    """The explanations of one or more gates, in lines of about `width` columns, and what the check as a whole says."""
    lines: list[str] = []
    for each in found:
        lines += [*_gate_lines(each, report, width), ""]
    whole = f"The check as a whole: {VERDICT_WORDS[report.verdict]}. {report.summary}"
    return finished([*lines, *paragraph(whole, width, hanging=2)])


def _gate_lines(found: GateExplained, report: Report, width: int) -> list[str]:
    gate = found.gate.result
    status = gate_status(gate).upper() if found.verdict is gate.verdict else VERDICT_WORDS[found.verdict]
    lines = paragraph(f"{status}  {gate.metric}: {safe(gate.meaning, 300)}", width, hanging=2)
    lines += [*paragraph(_where(gate, report), width, hanging=2), ""]
    sections = [
        ("The value", [value_lines(found)]),
        ("How sure it must be (evidence)", [[_evidence(gate)]] if found.gate.checks else []),
        (
            f"The {limit_word(gate.direction)} (threshold)",
            [threshold_lines(found.gate)] if gate.threshold is not None else [],
        ),
        (
            f"The change{' (regression_max)' if gate.regression_max is not None else ''}",
            [change_lines(found)] if _compares(gate) else [],
        ),
        ("Single questions", [question_lines(found)]),
        ("What the gold set can see", [sight_lines(gate)]),
        ("Segments", segment_lines(found)),
        *(
            (
                f"Since {safe(row.result.since or '')} (drift_max)",
                [_part(row.result, comparison_lines(row, _other(row.result)))],
            )
            for row in found.since
        ),
        *(
            (
                f"By the base{_in(row.result)}{_since(row.result)}{' (drift_max)' if row.result.since else ''}",
                [_part(row.result, [*comparison_lines(row, _other(row.result)), *threshold_lines(row)])],
            )
            for row in found.by_base
        ),
        *(("Waiver", [waiver_lines(waiver, gate)]) for waiver in found.waivers),
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
        for line in paragraph(sentence, width, indent=4 if several and place else 2, hanging=2)
    ]


def _where(gate: GateResult, report: Report) -> str:
    """The gate's name, where it stands, and what a violation does."""
    criteria = report.provenance.criteria
    place = f" in {safe(criteria, 120)}" if criteria else ""
    place += f", line {gate.line}" if gate.line is not None else ""
    does = "blocks" if gate.severity == "error" else "warns"
    return f"Gate {safe(gate.name)}{place}; severity {gate.severity}: a violation {does}."


def _compares(gate: GateResult) -> bool:
    return gate.regression_max is not None or gate.delta is not None


def _evidence(gate: GateResult) -> str:
    return f"Evidence {gate.evidence.value}, at {confidence_text(gate.confidence)}: {EVIDENCE[gate.evidence]}."


def _part(gate: GateResult, lines: Sequence[str]) -> list[str]:
    return [*lines, f"→ {gate_status(gate).upper()}"]


def _in(gate: GateResult) -> str:
    return f" in {safe(gate.segment)}" if gate.segment is not None else ""


def _since(gate: GateResult) -> str:
    return f" since {safe(gate.since)}" if gate.since is not None else ""


def _other(gate: GateResult) -> str:
    """What a row is compared with."""
    return "baseline" if gate.since is None else "anchor"


def _verdict(found: GateExplained, report: Report) -> list[str]:
    """The verdict of each row with its reasons, and where there are several what they make together."""
    gate = found.gate.result
    parts = [row.result for row in (*found.segments, *found.since, *found.by_base)]
    bad = [part for part in parts if part.verdict is not Verdict.PASS]
    lines = [_said(gate, " over all questions" if bad else "", report)]
    lines += [_said(part, _of_part(part), report) for part in bad[:MAX_PARTS]]
    more = len(bad) - MAX_PARTS
    if more > 0:
        lines.append(f"and {count_text(more, 'more part that fails or warns', 'more parts that fail or warn')}.")
    if gate.waived:
        lines.append(f"The violation is let pass by {safe(gate.waived.by)}.")
    return [*lines, f"→ {VERDICT_WORDS[found.verdict]}: {_MEANS[found.verdict]}"]


def _said(gate: GateResult, where: str, report: Report) -> str:
    return f"{gate_status(gate).upper()}{where}: {'; '.join(sentences(gate, report.base))}."


def _of_part(gate: GateResult) -> str:
    return f"{_in(gate)}{_since(gate)}{' by the base' if gate.judged_by else ''}"
