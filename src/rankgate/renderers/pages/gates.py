"""The table of gates: what each one measured, how far it moved, and why it says what it says."""

from __future__ import annotations

import msgspec

from rankgate.model.reasons import sentences
from rankgate.model.report import GateResult, Report
from rankgate.model.values import Direction, Verdict
from rankgate.renderers import phrases
from rankgate.renderers.escape import shorten, visible

BAR_WIDTH = 140.0
_PAD = 6.0
MAX_GATES = 200
MAX_QUERIES = 10


class Bar(msgspec.Struct, frozen=True):
    """A change and its interval as places on a line `BAR_WIDTH` long; `limit` is the largest allowed change."""

    zero: float
    change: float
    low: float
    high: float
    limit: float | None


class GateLine(msgspec.Struct, frozen=True, kw_only=True):
    """A gate as a row. `about` is what it is about beside the metric: its own name, a segment, an anchor, the base."""

    metric: str
    meaning: str
    about: tuple[tuple[str, str], ...]
    verdict: Verdict
    status: str
    change: str
    change_interval: str
    bar: Bar | None
    baseline: str
    now: str
    now_interval: str
    limit: str
    reasons: tuple[str, ...]
    queries: tuple[str, ...]
    more_queries: int
    waived: tuple[str, ...]


def gate_lines(report: Report) -> list[GateLine]:
    """The gates, and of their segments those that warn or fail."""
    return [_line(gate, report) for gate in phrases.foremost(report, MAX_GATES)]


def more_gates(report: Report) -> int:
    """How many gates have no row because there are so many."""
    return max(0, len(phrases.shown_gates(report)) - MAX_GATES)


def drift_lines(report: Report) -> list[GateLine]:
    """What was measured against anchors."""
    return [_line(gate, report) for gate in report.gates if gate.since is not None]


def bar_of(gate: GateResult) -> Bar | None:
    """Where the change, its interval and the limit lie beside zero; None without a change.

    A bound that the data do not support lies at the edge.
    """
    if gate.delta is None:
        return None
    low, high = gate.delta_ci or (gate.delta, gate.delta)
    limit = gate.regression_max
    if limit is not None and gate.direction is Direction.HIGHER:
        limit = -limit
    known = [0.0, gate.delta, *(value for value in (low, high, limit) if value is not None)]
    least, most = min(known), max(known)
    scale = (BAR_WIDTH - 2 * _PAD) / ((most - least) or 1.0)

    def place(value: float) -> float:
        return round(_PAD + (value - least) * scale, 1) if most > least else BAR_WIDTH / 2

    return Bar(
        zero=place(0.0),
        change=place(gate.delta),
        low=0.0 if low is None else place(low),
        high=BAR_WIDTH if high is None else place(high),
        limit=None if limit is None else place(limit),
    )


def _line(gate: GateResult, report: Report) -> GateLine:
    return GateLine(
        metric=gate.metric,
        meaning=shorten(visible(gate.meaning), 300),
        about=tuple(_about(gate, report)),
        verdict=gate.verdict,
        status=phrases.gate_status(gate),
        change=phrases.gate_change(gate),
        change_interval=phrases.gate_change_interval(gate),
        bar=bar_of(gate),
        baseline=phrases.gate_baseline(gate),
        now=phrases.gate_now(gate),
        now_interval=phrases.gate_now_interval(gate),
        limit=phrases.gate_limit(gate),
        reasons=tuple(shorten(visible(reason), 600) for reason in sentences(gate, report.base)),
        queries=tuple(shorten(visible(query), 80) for query in gate.queries[:MAX_QUERIES]),
        more_queries=max(0, len(gate.queries) - MAX_QUERIES),
        waived=tuple(shorten(visible(text), 300) for text in (gate.waived.texts if gate.waived else ())),
    )


def _about(gate: GateResult, report: Report) -> list[tuple[str, str]]:
    """Pairs of our word and the input's."""
    found: list[tuple[str, str]] = []
    if gate.segment is not None:
        found.append(("only", shorten(visible(gate.segment), 80)))
    elif gate.since is not None:
        found.append(("since", shorten(visible(gate.since), 80)))
    elif sum(each.is_main and each.metric == gate.metric for each in report.gates) > 1:
        found.append(("gate", shorten(visible(gate.name), 80)))
    if gate.judged_by and report.base:
        found.append((f"by {report.base.judges}", ""))
    return found
