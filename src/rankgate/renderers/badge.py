"""A badge as JSON that shields.io fetches: the verdict, and the metric that speaks for it where there is room."""

from __future__ import annotations

import msgspec

from rankgate.model.conclusion import ConclusionKind, Strength
from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers import phrases
from rankgate.renderers.escape import one_line

LONGEST = 40  # characters of the message; a badge is one line in a row of others
# Of a pass, by how much it says.
STRENGTHS = {
    Strength.NOT_EXCLUDED: "yellowgreen",
    Strength.FLOORS_ONLY: "yellowgreen",
    Strength.LOST_AND_ALLOWED: "green",
    Strength.RULED_OUT: "brightgreen",
    Strength.UNCHANGED: "brightgreen",
}
COLORS = {Verdict.PASS: "brightgreen", Verdict.WARN: "yellow", Verdict.FAIL: "red", Verdict.NOT_JUDGED: "lightgrey"}


class Badge(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the endpoint of shields.io takes; it refuses every other key."""

    schema_version: int = 1
    label: str = "retrieval"
    message: str
    color: str
    is_error: bool  # keeps the color from being overridden by whoever shows the badge


def render_badge(report: Report) -> str:
    """`pass · recall@5 87.0%` as the JSON of an endpoint badge, ending in a newline."""
    strength = report.conclusion.strength
    badge = Badge(
        message=_message(report),
        color=STRENGTHS[strength] if report.verdict is Verdict.PASS and strength else COLORS[report.verdict],
        is_error=report.verdict in (Verdict.FAIL, Verdict.NOT_JUDGED),
    )
    return msgspec.json.format(msgspec.json.encode(badge), indent=2).decode() + "\n"


def _message(report: Report) -> str:
    word = VERDICT_WORDS[report.verdict].lower()
    leading = _leading(report)
    both = f"{word} · {leading}"
    return both if leading and len(both) <= LONGEST else word


def _leading(report: Report) -> str:
    """The gate over all queries that has the report's verdict by its value: the conclusion's, else the first."""
    if report.conclusion.kind in (ConclusionKind.EMPTY, ConclusionKind.NOT_JUDGED):
        return ""
    for gate in sorted(report.gates, key=lambda gate: gate.row_key != report.conclusion.row_key):
        elsewhere = gate.segment is not None
        if (
            gate.verdict is report.verdict
            and gate.measured.value is not None
            and not (elsewhere or gate.decision.hard_check_failed)
        ):
            return f"{one_line(gate.metric)} {phrases.gate_now(gate)}"
    return ""
