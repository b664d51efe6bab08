"""The rows of numbers: what failed or warns, the worst first; the rest, counted once; the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal
from urllib.parse import quote

import msgspec

from rankgate.model.conclusion import ConclusionKind, PartLoss
from rankgate.model.gate_result import GateResult
from rankgate.model.headline import OF_GATES, headline_gate
from rankgate.model.report import Report
from rankgate.model.values import Reason, ReasonKind, Ruling, Verdict, worst
from rankgate.model.wording import (
    beyond_word,
    count_text,
    delta_text,
    limit_word,
    part_word,
    tag_keys,
    value_text,
)
from rankgate.renderers import phrases
from rankgate.renderers.escape import Sentence, Text, plain

LONGEST_NAME = 40
SHORTER_NAME = 20  # where a row has two of them, or sums up others


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row: one result of a gate, or of `rest` how many others hold and what the worst of them did.

    `name` says of what it is, in a table whose heading is the metric or not. `values` are before and now, on the pairs;
    `counts` are how many questions have all, where each has all or nothing. `spread` is the interval of the value, if
    a floor is judged by that or nothing was compared. `interval` is that of the change, at the level of `level`.
    `notes` are what the numbers do not show. `address` is that of the limit in the criteria. `label` tells its gate
    from others of the metric.
    """

    kind: Literal["decided", "rest", "whole"] = "decided"
    verdict: Verdict
    status: str
    name: Sentence
    part: Text | None = None
    metric: str = ""
    label: str = ""
    meaning: str = ""
    values: str = ""
    counts: str = ""
    spread: str = ""
    change: Sentence = ()
    interval: str = ""
    level: str = ""
    limit: str = ""
    notes: tuple[Sentence, ...] = ()
    line: int | None = None
    address: str | None = None


UNPROVEN_MEANS = "Unproven: beyond the limit, within noise. With `evidence: estimate` in the criteria it would count."
HEADINGS = ("metric", "before → now", "change", "interval", "limit", "status")


def cells_of(row: Row, name: str | None = None) -> tuple[str, ...]:
    """The cells of a row below `HEADINGS`, outside of Markdown; `name` stands for what the row is called."""
    interval = row.interval or phrases.NOTHING * bool(row.change and row.values)
    numbers = (row.values, plain(row.change), interval, row.limit)
    return (plain(row.name) if name is None else name, *numbers, row.status.upper())


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one table: the heading of the first column, the kind of interval, and what there is no room for.

    `meaning` is that of the metric, where all rows are of one, in words; `note` what the status of the rows means.
    """

    heading: str = "Metric"
    meaning: str = ""
    note: str = ""
    level: str = "interval"
    rows: tuple[Row, ...] = ()
    more: str = ""


def first_rows(report: Report, most: int) -> Rows:
    """What decided, the conclusion's row first; then one row for the rest that hold, and the whole of a segment.

    Where nothing failed or warns, what lies beyond its limit within noise, so that no pass hides it.
    """
    first, spoken = headline_gate(report), report.conclusion
    bad = [gate for gate in report.gates if gate.verdict is not Verdict.PASS]
    lost = report.changes.lost_parts[:most] if spoken.kind is ConclusionKind.LOST_PART else []
    if spoken.kind is ConclusionKind.EMPTY:
        return Rows()
    if report.verdict is Verdict.PASS or not (bad or lost):
        return _unproven_rows(report, most)

    order, whole = sorted(bad, key=lambda gate: (gate is not first, *_rank(gate))), _whole(report, first)
    room = max(not lost, most - len(lost) - (whole is not None))
    listed, deciding = order, [gate for gate in order if gate.verdict is report.verdict]
    if len(deciding) > room and spoken.counts.get("same_cause") and not spoken.counts.get("gates_fail"):
        listed = [gate for gate in order if gate.name == order[0].name or gate not in deciding]
    shown = listed[:room]
    unproven = _unproven_parts(report, first)
    shown += unproven[: max(1, room - len(shown))]
    wholes = [whole] if whole else []
    metrics = {*(gate.metric for gate in (*shown, *wholes)), *(part.metric for part in lost)}
    alone = len(metrics) == 1 and len({gate.name for gate in (*shown, *wholes)}) <= 1
    rows = [*(_lost_part(part, alone=alone) for part in lost), *(row_of(gate, report, alone=alone) for gate in shown)]
    rows += [*_rest(report, first, whole, shown), *(row_of(gate, report, alone=alone, kind="whole") for gate in wholes)]
    more_unproven = sum(part not in shown for part in unproven)
    hidden = [gate for gate in order if gate not in shown]
    if spoken.kind in OF_GATES:  # whose sentence has counted these
        hidden = [gate for gate in hidden if gate.verdict is not report.verdict]
    return Rows(
        heading=rows[0].metric if alone else "Metric",
        meaning=next((gate.meaning for gate in report.gates if alone and gate.metric == rows[0].metric), ""),
        level=_level(rows),
        rows=tuple(rows),
        more=", ".join(filter(None, (_more(hidden), _more_unproven(more_unproven, "part")))),
    )


def _unproven_parts(report: Report, first: GateResult | None) -> list[GateResult]:
    """Where the conclusion is about all questions, the parts beyond their limit within noise, the worst first."""
    if first is None or first.segment is not None:
        return []
    return sorted((gate for gate in report.gates if gate.is_unproven and not gate.is_main), key=_rank)


def _more_unproven(count: int, what: str = "") -> str:
    """`2 more are unproven`; nothing where none is."""
    if count == 0:
        return ""
    named = count_text(count, f"more {what}") if what else f"{count:,} more"
    verb = "is" if count == 1 else "are"
    return f"{named} {verb} unproven"


def _unproven_rows(report: Report, most: int) -> Rows:
    """Of gates that may block, if there are any such, what lies beyond its limit; the furthest first."""
    unproven = [gate for gate in report.gates if gate.is_unproven]
    blocking = [gate for gate in unproven if gate.severity == "error"]
    gates = sorted(blocking or unproven, key=_rank)
    rows = tuple(row_of(gate, report, alone=False) for gate in gates[:most])
    more = _more_unproven(len(unproven) - len(rows))
    return Rows(level=_level(rows), note=_note_on(rows), rows=rows, more=more)


def _note_on(rows: Sequence[Row]) -> str:
    return UNPROVEN_MEANS if any(row.status == phrases.UNPROVEN for row in rows) else ""


def all_rows(report: Report, most: int) -> Rows:
    """The gates, and of their segments those that fail, warn or are unproven, the worst first."""
    if report.conclusion.kind is ConclusionKind.EMPTY:  # of that no metric says anything
        return Rows()
    gates = sorted(phrases.shown_gates(report), key=_rank)
    rows = [row_of(gate, report, alone=False) for gate in gates[:most]]
    return Rows(level=_level(rows), note=_note_on(rows), rows=tuple(rows), more=_more(gates[most:]))


def _rank(gate: GateResult) -> tuple[int, float, float]:
    """By verdict, then by how far it lies beyond its limits, then by what it lost of them; the least is the worst."""
    order = (Verdict.FAIL, Verdict.NOT_JUDGED, Verdict.WARN, Verdict.PASS)
    lost = gate.direction.sign * (gate.change.delta or 0.0) / (gate.limits.regression_max or 1.0)
    return order.index(gate.verdict), -phrases.beyond_limits(gate), lost


def _more(gates: Sequence[GateResult]) -> str:
    """`4 more gates warn`: what a table has no room for, by verdict."""
    counts = Counter((gate.verdict, "gate" if gate.is_main else "part") for gate in gates)
    texts = (
        f"{count_text(count, f'more {what}')} {phrases.VERBS[verdict][count > 1]}"
        for (verdict, what), count in counts.items()
    )
    return ", ".join(texts)


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


def _whole(report: Report, first: GateResult | None) -> GateResult | None:
    """All questions of the gate of whose part the conclusion speaks, unless they decided as well."""
    spoken = report.conclusion
    if spoken.segment is None or not (first or spoken.kind is ConclusionKind.LOST_PART):
        return None
    wholes = (gate for gate in report.gates if gate.name == spoken.gate and gate.is_main)
    return next((gate for gate in wholes if gate.verdict is Verdict.PASS), None)


def _rest(
    report: Report, first: GateResult | None, whole: GateResult | None, listed: Sequence[GateResult]
) -> Iterator[Row]:
    """The other parts of the conclusion's gate that hold, then the other gates of which nothing failed or warns.

    Parts by another tag are counted by themselves; what is `listed` has a row already.
    """
    parts = [gate for gate in report.gates if first and first.segment and gate.name == first.name and gate.segment]
    same_tag = [part for part in parts if first and tag_keys(part.segment) == tag_keys(first.segment)]
    other_tags = [part for part in parts if part not in same_tag]
    for group, by_tag in ((same_tag, ""), (other_tags, " by other tags")):
        holding = [part for part in group if part.verdict is Verdict.PASS and not part.evidence.too_small]
        unlisted = [part for part in holding if part not in listed]
        small = sum(part.evidence.too_small for part in group)
        if unlisted:
            is_small = f", {small:,} too small to judge" if small else ""
            word = "part" if by_tag else f"other {part_word(unlisted[0].segment)}"
            yield _held(unlisted, f"{count_text(len(unlisted), word)}{by_tag}{is_small}")
    ends: dict[str, list[GateResult]] = {}
    for gate in report.gates:
        ends.setdefault(gate.name, []).append(gate)
    calm = [group for group in ends.values() if worst([each.verdict for each in group]) is Verdict.PASS]
    mains = [group[0] for group in calm if whole is None or group[0].name != whole.name]
    if unlisted := [each for each in mains if each not in listed]:
        yield _held(unlisted, count_text(len(unlisted), "other gate"))


def _held(gates: Sequence[GateResult], name: str) -> Row:
    """Results that hold, as one row with the one that lost most of what its limit allows."""
    first = min(gates, key=_rank)
    which: Sentence = (Text(first.segment, SHORTER_NAME),) if first.segment else (first.metric,)
    change: Sentence = () if first.change.delta is None else ("worst: ", *which, f" {phrases.gate_change(first)}")
    if len(gates) == 1 and change:
        change = change[1:]
    unproven = sum(gate.is_unproven for gate in gates)
    if 0 < unproven < len(gates):
        name += f", {unproven:,} unproven"
    status = phrases.UNPROVEN if unproven else Verdict.PASS.value
    return Row(kind="rest", verdict=Verdict.PASS, status=status, name=(name,), change=change)


def row_of(gate: GateResult, report: Report, *, alone: bool, kind: Literal["decided", "whole"] = "decided") -> Row:
    """`alone`: the heading of the table names the metric."""
    limit_at = report.links.criteria if report.links and gate.line is not None else None
    return Row(
        kind=kind,
        verdict=gate.verdict,
        status=phrases.gate_status(gate),
        name=_name(gate, report, alone=alone),
        part=Text(gate.segment, LONGEST_NAME) if gate.segment is not None else None,
        metric=gate.metric,
        label=phrases.gate_label(gate, report),
        meaning=gate.meaning,
        values=phrases.gate_values(gate),
        counts=_counts(gate),
        spread=phrases.gate_spread(gate),
        change=(phrases.gate_change(gate),) if gate.change.delta is not None else ("no baseline",) * _uncompared(gate),
        interval=phrases.change_interval_text(gate.change.delta_ci, gate.unit).removesuffix(" pp").removesuffix(" ms"),
        level=phrases.interval_name(gate),
        limit=phrases.gate_limit(gate) or phrases.judged_by(gate, report),
        notes=tuple(_notes(gate, report)),
        line=gate.line,
        address=f"{quote(limit_at, safe=':/?&=%~@')}#L{gate.line}" if limit_at else None,
    )


def _counts(gate: GateResult) -> str:
    """`24 → 14 of 25`, of the questions in both runs; nothing where as many have all as before."""
    if gate.change.counts is None:
        return ""
    before, now = gate.change.counts
    if before == now:
        return ""
    return f"{before:,} → {now:,} of {gate.change.n_pairs:,}"


def _uncompared(gate: GateResult) -> bool:
    return any(reason.kind is ReasonKind.NO_BASELINE for reason in gate.decision.reasons)


def _name(gate: GateResult, report: Report, *, alone: bool) -> Sentence:
    questions = count_text(gate.measured.n, "question")
    label = phrases.gate_label(gate, report)
    longest = SHORTER_NAME if label and gate.segment else LONGEST_NAME
    own: Sentence = (" (", Text(label, longest), ")") if label else ()
    if gate.segment is not None:
        tag: Sentence = (Text(gate.segment, longest), f" · {questions}")
        return tag if alone else (gate.metric, *own, " · ", *tag)
    return (f"all {questions}",) if alone else (gate.metric, *own)


def _notes(gate: GateResult, report: Report) -> Iterator[Sentence]:
    """The exact test, the value of all where that on the pairs differs, the questions that must pass, the waiver."""
    if proof := phrases.exact_proof(gate):
        yield (proof,)
    if phrases.differs_on_pairs(gate):
        counts = "" if gate.limits.threshold is None else f", held against the {limit_word(gate.direction)}"
        yield (f"{phrases.gate_now(gate)} on all {count_text(gate.measured.n, 'question')}{counts}",)
    floor_in_doubt = any(_misses_floor(reason) for reason in gate.decision.reasons)
    if floor_in_doubt and gate.is_unproven:
        yield (f"{beyond_word(gate.direction)} its {limit_word(gate.direction)}, within noise",)
    if gate.verdict is not Verdict.PASS:
        from rankgate.renderers.view.reasons import notes_on  # noqa: PLC0415 -- paid only where a gate does not hold

        yield from notes_on(gate, report)


def _misses_floor(reason: Reason) -> bool:
    return reason.kind is ReasonKind.THRESHOLD and reason.ruling is Ruling.INCONCLUSIVE


def _level(rows: Sequence[Row]) -> str:
    """What the intervals of a table are: `95% interval`, or `interval, parts for 12 at once`."""
    levels = {row.level for row in rows if row.interval}
    at_once = next((level for level in levels if not level.endswith("%")), "")
    if at_once:
        return f"interval, {at_once}"
    return " or ".join(sorted(levels)) + " interval" if levels else "interval"
