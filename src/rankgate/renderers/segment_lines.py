"""What became of the segments that gates look at, in a line; text from the inputs is spelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum

from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import sentences
from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.model.wording import tag_keys
from rankgate.renderers import phrases
from rankgate.renderers.escape import Spell, one_line

MAX_FALLEN = 5


class SegmentState(Enum):
    """What becomes of a segment, the worst first, in words for one and for several."""

    FAILS = phrases.VERBS[Verdict.FAIL]
    NOT_JUDGED = phrases.VERBS[Verdict.NOT_JUDGED]
    WARNS = phrases.VERBS[Verdict.WARN]
    UNPROVEN = ("is unproven", "are unproven")
    HOLDS = phrases.VERBS[Verdict.PASS]
    TOO_SMALL = ("is too small to judge", "are too small to judge")


_BY_VERDICT = {
    Verdict.FAIL: SegmentState.FAILS,
    Verdict.NOT_JUDGED: SegmentState.NOT_JUDGED,
    Verdict.WARN: SegmentState.WARNS,
}


def segments_line(report: Report, spell: Spell) -> str:
    """What became of the segments that gates look at: `Segments: 1 fails, 9 hold, 2 are too small to judge.` or so.

    Each counts once, as the gate that is hardest on it has it.

    Then the rules that judge none, and the segments that fell and do not block; `spell` makes their tags safe to show.
    """
    parts = [gate for gate in report.gates if gate.segment is not None]
    if not parts:
        return ""
    states: dict[str | None, list[SegmentState]] = {}
    for part in parts:
        states.setdefault(part.segment, []).append(_state(part))
    counts = Counter(next(each for each in SegmentState if each in of_gates) for of_gates in states.values())
    texts = [f"{counts[state]:,} {state.value[counts[state] > 1]}" for state in SegmentState if counts[state]]
    line = f"Segments: {', '.join(texts)}."
    return " ".join([line, *_judge_none(parts, report), *_fallen(parts, report, spell)])


def _state(part: GateResult) -> SegmentState:
    if part.verdict is not Verdict.PASS:
        return _BY_VERDICT[part.verdict]
    if part.evidence.too_small:
        return SegmentState.TOO_SMALL
    return SegmentState.UNPROVEN if part.is_unproven else SegmentState.HOLDS


def _judge_none(parts: Sequence[GateResult], report: Report) -> Iterator[str]:
    """Rules all of whose segments are too small."""
    rules: dict[object, list[GateResult]] = {}
    for part in parts:
        rules.setdefault((part.name, tag_keys(part.segment)), []).append(part)
    small = [each for each in rules.values() if all(part.evidence.too_small for part in each)]
    for rule in small[:MAX_FALLEN]:
        none = f"judges none of its {len(rule)} segments" if len(rule) > 1 else "does not judge its only segment"
        largest = max(rule, key=lambda part: part.measured.n)
        yield f"{_of_gate(rule[0], report)} {none}: at most {'; '.join(sentences(largest))}."
    if len(small) > MAX_FALLEN:
        yield f"So it is with {len(small) - MAX_FALLEN} more."


def _of_gate(part: GateResult, report: Report) -> str:
    """The metric, and the gate where several are on it."""
    label = phrases.gate_label(part, report)
    return f"{part.metric} ({one_line(label, phrases.LONGEST)})" if label else part.metric


def _fallen(parts: Sequence[GateResult], report: Report, spell: Spell) -> Iterator[str]:
    """Segments that certainly fell, each by itself, and neither fail nor warn, with the reason; the worst first."""
    fallen = [part for part in parts if part.evidence.fell and part.verdict is Verdict.PASS]
    fallen.sort(key=lambda part: -abs(part.change.delta or 0.0))
    texts: list[str] = []
    for part in fallen[:MAX_FALLEN]:
        change = f"{phrases.gate_change(part)} in {_of_gate(part, report)}"
        texts.append(f"{spell(part.segment or '')} {change} ({'; '.join(sentences(part))})")
    more = f" and {len(fallen) - MAX_FALLEN} more" if len(fallen) > MAX_FALLEN else ""
    if texts:
        yield f"Worse when looked at alone, which does not block: {'; '.join(texts)}{more}."
