"""The tables of numbers: gates, the worst first; and what `parts.py` fills in by tag and of earlier runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal
from urllib.parse import quote

import msgspec

from rankgate.model.conclusion import ConclusionKind
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Report
from rankgate.model.values import ReasonKind, Ruling, Verdict
from rankgate.model.wording import beyond_word, count_text, limit_word
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
    interval = row.interval
    if not interval and row.change and row.values:
        interval = phrases.NOTHING
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


def more_unproven(count: int, what: str = "") -> str:
    """`2 more are unproven`; nothing where none is."""
    if count == 0:
        return ""
    named = count_text(count, f"more {what}") if what else f"{count:,} more"
    verb = "is" if count == 1 else "are"
    return f"{named} {verb} unproven"


def unproven_rows(report: Report, most: int) -> Rows:
    """Of gates that may block, if there are any such, what lies beyond its limit; the furthest first."""
    unproven = [gate for gate in report.gates if gate.is_unproven]
    blocking = [gate for gate in unproven if gate.severity == "error"]
    gates = sorted(blocking or unproven, key=rank)
    rows = tuple(row_of(gate, report, alone=False) for gate in gates[:most])
    more = more_unproven(len(unproven) - len(rows))
    return Rows(level=level(rows), note=_note_on(rows), rows=rows, more=more)


def _note_on(rows: Sequence[Row]) -> str:
    return UNPROVEN_MEANS if any(row.status == phrases.UNPROVEN for row in rows) else ""


def all_rows(report: Report, most: int) -> Rows:
    """The gates, and of their segments those that fail, warn or are unproven, the worst first."""
    if report.conclusion.kind is ConclusionKind.EMPTY:  # of that no metric says anything
        return Rows()
    gates = sorted(phrases.shown_gates(report), key=rank)
    rows = [row_of(gate, report, alone=False) for gate in gates[:most]]
    return Rows(level=level(rows), note=_note_on(rows), rows=tuple(rows), more=more(gates[most:]))


def rank(gate: GateResult) -> tuple[int, float, float]:
    """By verdict, then by how far it lies beyond what it allows, then by what it lost of that; the worst first."""
    order = (Verdict.FAIL, Verdict.NOT_JUDGED, Verdict.WARN, Verdict.PASS)
    allowed = gate.limits.regression_max or 1.0
    beyond = (gate.decision.violation or 0.0) / allowed
    return order.index(gate.verdict), -beyond, gate.direction.sign * (gate.change.delta or 0.0) / allowed


def more(gates: Sequence[GateResult]) -> str:
    """`4 more gates warn`: what a table has no room for, by verdict."""
    counts = Counter((gate.verdict, "gate" if gate.is_main else "part") for gate in gates)
    texts = (
        f"{count_text(count, f'more {what}')} {phrases.VERBS[verdict][count > 1]}"
        for (verdict, what), count in counts.items()
    )
    return ", ".join(texts)


def row_of(gate: GateResult, report: Report, *, alone: bool, kind: Literal["decided", "whole"] = "decided") -> Row:
    """`alone`: the heading of the table names the metric."""
    uncompared = any(reason.kind is ReasonKind.NO_BASELINE for reason in gate.decision.reasons)
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
        change=(phrases.gate_change(gate),) if gate.change.delta is not None else ("no baseline",) * uncompared,
        interval=phrases.gate_change_interval(gate),
        level=phrases.interval_name(gate),
        limit=phrases.gate_limit(gate) or phrases.judged_by(gate, report),
        notes=tuple(_notes(gate, report)),
        line=gate.line,
        address=f"{quote(limit_at, safe=':/?&=%~@')}#L{gate.line}" if limit_at else None,
    )


def _counts(gate: GateResult) -> str:
    """`24 → 14 of 25`, of the questions in both runs; nothing where as many have all as before."""
    before, now = gate.change.counts or (0, 0)
    if before == now:
        return ""
    return f"{before:,} → {now:,} of {gate.change.n_pairs:,}"


def _name(gate: GateResult, report: Report, *, alone: bool) -> Sentence:
    questions = count_text(gate.measured.n, "question")
    some = ""
    if gate.missing or gate.verdict is not Verdict.PASS:
        from rankgate.renderers.view.reasons import with_value  # noqa: PLC0415 -- paid only where a gate does not hold

        some = with_value(gate, report)
    label = phrases.gate_label(gate, report)
    longest = SHORTER_NAME if label and gate.segment else LONGEST_NAME
    named: Sentence = (" (", Text(label, longest), ")") if label else ()
    if gate.segment is not None:
        tag: Sentence = (Text(gate.segment, longest), f" · {some or questions}")
        return tag if alone else (gate.metric, *named, " · ", *tag)
    return (some or f"all {questions}",) if alone else (gate.metric, *named)


def _notes(gate: GateResult, report: Report) -> Iterator[Sentence]:
    """The exact test, the value of all where that on the pairs differs, the questions that must pass, the waiver."""
    if proof := phrases.exact_proof(gate):
        yield (proof,)
    if phrases.differs_on_pairs(gate):
        judged = "" if gate.limits.threshold is None else f", held against the {limit_word(gate.direction)}"
        spread = f" ({phrases.value_spread(gate)})" if phrases.value_spread(gate) else ""
        where = "of the whole lists" if gate.of_whole_lists else f"on all {count_text(gate.measured.n, 'question')}"
        yield (f"{phrases.gate_now(gate)}{spread} {where}{judged}",)
    floors = [reason.ruling for reason in gate.decision.reasons if reason.kind is ReasonKind.THRESHOLD]
    if Ruling.INCONCLUSIVE in floors and gate.is_unproven:
        yield (f"{beyond_word(gate.direction)} its {limit_word(gate.direction)}, within noise",)
    if gate.verdict is not Verdict.PASS:
        from rankgate.renderers.view.reasons import notes_on  # noqa: PLC0415 -- paid only where a gate does not hold

        yield from notes_on(gate, report)


def level(rows: Sequence[Row]) -> str:
    """What the intervals of a table are: `95% interval`, or `interval, parts for 12 at once`."""
    levels = {row.level for row in rows if row.interval}
    at_once = next((level for level in levels if not level.endswith("%")), "")
    if at_once:
        return f"interval, {at_once}"
    return " or ".join(sorted(levels)) + " interval" if levels else "interval"


class PartValue(msgspec.Struct, frozen=True):
    """A metric within a part: `81.2% (−5.8 pp)`, and the interval of the change with its level, where there is one."""

    text: str
    interval: str = ""


class Part(msgspec.Struct, frozen=True):
    """The questions with one tag, and a value a metric."""

    tag: Text
    questions: int
    values: tuple[PartValue, ...]


class Parts(msgspec.Struct, frozen=True):
    """The parts that lost most, a column a metric, and how many more there are."""

    metrics: tuple[str, ...] = ()
    rows: tuple[Part, ...] = ()
    more: int = 0


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The last runs of the main branch by one metric: how many, from when to when, drawn, their range, and this run."""

    runs: int
    days: str
    metric: str
    drawn: str
    range: str
    now: str
