"""What decided: the rows that failed or warn, the worst first, and the rest counted once; the segments in a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum

from rankgate.model.conclusion import OF_GATES, ConclusionKind, PartLoss
from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import sentences
from rankgate.model.report import Report
from rankgate.model.topic import headline_gate
from rankgate.model.values import Verdict, worst
from rankgate.model.wording import count_text, delta_text, part_word, tag_keys, value_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import Sentence, Spell, Text, one_line
from rankgate.renderers.view.numbers import (
    LONGEST_NAME,
    SHORTER_NAME,
    Row,
    Rows,
    level,
    more,
    more_unproven,
    rank,
    row_of,
    unproven_rows,
)

MAX_FALLEN = 5


def first_rows(report: Report, most: int) -> Rows:
    """What decided, the conclusion's row first; then one row for the rest that hold, and the whole of a segment.

    Where no gate failed or warns, what lies beyond its limit within noise.
    """
    first = headline_gate(report)
    spoken = report.conclusion
    bad = [gate for gate in report.gates if gate.verdict is not Verdict.PASS]
    lost = report.changes.lost_parts[:most] if spoken.kind is ConclusionKind.LOST_PART else []
    if spoken.kind is ConclusionKind.EMPTY:
        return Rows()
    if not (bad or lost):
        return unproven_rows(report, most)

    order = sorted(bad, key=lambda gate: (gate is not first, *rank(gate)))
    overall = _overall(report, first)
    overall_gates = [overall] if overall else []
    least = 0 if lost else 1
    row_limit = max(least, most - len(lost) - len(overall_gates))
    deciding = [gate for gate in order if gate.verdict is report.verdict]
    listed = order
    if len(deciding) > row_limit and spoken.counts.get("same_cause") and not spoken.counts.get("gates_fail"):
        listed = [gate for gate in order if gate.name == order[0].name or gate not in deciding]
    shown = listed[:row_limit]
    unproven = _unproven_parts(report, first)
    shown += unproven[: max(1, row_limit - len(shown))]
    metrics = {gate.metric for gate in (*shown, *overall_gates)} | {part.metric for part in lost}
    names = {gate.name for gate in (*shown, *overall_gates)}
    alone = len(metrics) == 1 and len(names) <= 1
    rows = [_lost_part(part, alone=alone) for part in lost]
    rows += [row_of(gate, report, alone=alone) for gate in shown]
    rows += _rest(report, first, overall, shown)
    rows += [row_of(gate, report, alone=alone, kind="whole") for gate in overall_gates]
    unproven_unlisted = sum(part not in shown for part in unproven)
    hidden = [gate for gate in order if gate not in shown]
    if spoken.kind in OF_GATES:  # whose sentence has counted these
        hidden = [gate for gate in hidden if gate.verdict is not report.verdict]
    return Rows(
        heading=rows[0].metric if alone else "Metric",
        meaning=next((gate.meaning for gate in report.gates if alone and gate.metric == rows[0].metric), ""),
        level=level(rows),
        rows=tuple(rows),
        more=", ".join(filter(None, (more(hidden), more_unproven(unproven_unlisted, "part")))),
    )


def _unproven_parts(report: Report, first: GateResult | None) -> list[GateResult]:
    """Where the conclusion is about all questions, the parts beyond their limit within noise, the worst first."""
    if first is None or first.segment is not None:
        return []
    return sorted((gate for gate in report.gates if gate.is_unproven and not gate.is_main), key=rank)


def _lost_part(part: PartLoss, *, alone: bool) -> Row:
    """A part that lost what no gate limits."""
    values = (value_text(value, part.unit) for value in (part.before, part.now))
    tag: Sentence = (Text(part.segment, LONGEST_NAME), f" · {count_text(part.n, 'question')}")
    return Row(
        verdict=Verdict.WARN,
        status=Verdict.WARN.value,
        name=tag if alone else (part.metric, " · ", *tag),
        part=Text(part.segment, LONGEST_NAME),
        metric=part.metric,
        values=" → ".join(values),
        change=(delta_text(part.now - part.before, part.unit),),
        limit="no gate",
    )


def _overall(report: Report, first: GateResult | None) -> GateResult | None:
    """All questions of the gate of whose part the conclusion speaks, unless they decided as well."""
    spoken = report.conclusion
    if spoken.segment is None or not (first or spoken.kind is ConclusionKind.LOST_PART):
        return None
    for gate in report.gates:
        if gate.name == spoken.gate and gate.is_main and gate.verdict is Verdict.PASS:
            return gate
    return None


def _rest(
    report: Report, first: GateResult | None, overall: GateResult | None, listed: Sequence[GateResult]
) -> Iterator[Row]:
    """The other parts of the conclusion's gate that hold, then the other gates of which nothing failed or warns.

    Parts by another tag are counted by themselves; what is `listed` has a row already.
    """
    same_tag: list[GateResult] = []
    other_tags: list[GateResult] = []
    if first and first.segment:
        for gate in report.gates:
            if gate.name == first.name and gate.segment:
                is_same = tag_keys(gate.segment) == tag_keys(first.segment)
                (same_tag if is_same else other_tags).append(gate)
    for group, by_tag in ((same_tag, ""), (other_tags, " by other tags")):
        failing = {part.segment for part in group if part.verdict is not Verdict.PASS}  # by any of several rules
        holding = [part for part in group if part.segment not in failing and not part.evidence.too_small]
        unlisted = [part for part in holding if part not in listed]
        if unlisted:
            names = {part.segment for part in unlisted}
            small = len({part.segment for part in group if part.evidence.too_small} - names)
            is_small = f", {small:,} too small to judge" if small else ""
            word = "part" if by_tag else f"other {part_word(unlisted[0].segment)}"
            yield _held(unlisted, f"{count_text(len(names), word)}{by_tag}{is_small}")
    by_gate: dict[str, list[GateResult]] = {}
    for gate in report.gates:
        by_gate.setdefault(gate.name, []).append(gate)
    others: list[GateResult] = []
    for name, group in by_gate.items():
        passes = worst([gate.verdict for gate in group]) is Verdict.PASS
        if passes and group[0] not in listed and (overall is None or name != overall.name):
            others.append(group[0])
    if others:
        yield _held(others, count_text(len(others), "other gate"))


def _held(gates: Sequence[GateResult], name: str) -> Row:
    """Results that hold, as one row with the one that lost most of what its limit allows."""
    first = min(gates, key=rank)
    which: Sentence = (Text(first.segment, SHORTER_NAME),) if first.segment else (first.metric,)
    change: Sentence = () if first.change.delta is None else ("worst: ", *which, f" {phrases.gate_change(first)}")
    if len(gates) == 1 and change:
        change = change[1:]
    rows = {(gate.name, gate.segment) for gate in gates}
    unproven = {(gate.name, gate.segment) for gate in gates if gate.is_unproven}
    if unproven and unproven != rows:
        name += f", {len(unproven):,} unproven"
    status = phrases.UNPROVEN if unproven else Verdict.PASS.value
    return Row(kind="rest", verdict=Verdict.PASS, status=status, name=(name,), change=change)


class SegmentState(Enum):
    """What becomes of a segment, the worst first, in words for one and for several."""

    FAILS = phrases.VERBS[Verdict.FAIL]
    NOT_JUDGED = phrases.VERBS[Verdict.NOT_JUDGED]
    WARNS = phrases.VERBS[Verdict.WARN]
    UNPROVEN = ("is unproven", "are unproven")
    UNCOMPARED = ("has nothing to compare with", "have nothing to compare with")
    HOLDS = phrases.VERBS[Verdict.PASS]
    TOO_SMALL = ("is too small to judge", "are too small to judge")

    def words(self, count: int) -> str:
        """Those for so many."""
        for_one, for_several = self.value
        return for_one if count == 1 else for_several


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
    worst_first = list(SegmentState)
    counts = Counter(min(of_segment, key=worst_first.index) for of_segment in states.values())
    texts = [f"{counts[state]:,} {state.words(counts[state])}" for state in worst_first if counts[state]]
    line = f"Segments: {', '.join(texts)}."
    return " ".join([line, *_judge_none(parts, report), *_fallen(parts, report, spell)])


def _state(part: GateResult) -> SegmentState:
    if part.verdict is not Verdict.PASS:
        return _BY_VERDICT[part.verdict]
    if part.evidence.too_small:
        return SegmentState.TOO_SMALL
    if part.is_uncompared:
        return SegmentState.UNCOMPARED
    return SegmentState.UNPROVEN if part.is_unproven else SegmentState.HOLDS


def _judge_none(parts: Sequence[GateResult], report: Report) -> Iterator[str]:
    """Rules all of whose segments are too small."""
    rules: dict[object, list[GateResult]] = {}
    for part in parts:
        rules.setdefault((part.name, tag_keys(part.segment)), []).append(part)
    small = [rule for rule in rules.values() if all(part.evidence.too_small for part in rule)]
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
