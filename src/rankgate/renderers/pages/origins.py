"""What was compared with what, what changed of the gate and of the inputs, and which waivers there are."""

from __future__ import annotations

import msgspec

from rankgate.model.lineage import lineage_note
from rankgate.model.report import Report, Source
from rankgate.model.values import Unit
from rankgate.model.waiver_use import WaiverState, WaiverUse
from rankgate.model.wording import exact_decimals, size_text
from rankgate.renderers.base_changes import Change, changes
from rankgate.renderers.escape import command_line, quoted, shorten, visible

MAX_FACTS = 20
MAX_CHANGES = 100
STATES: dict[WaiverState, str] = {
    "in_force": "in force: lets the violation pass",
    "expiring": "in force, and ends within two weeks",
    "too_small": "without effect: the violation is larger than its ceiling",
    "expired": "without effect: expired",
    "unused": "unused: nothing is violated",
    "unknown": "without effect: there is no such gate or segment",
    "hard_check": "without effect: single questions fail, which no waiver covers",
    "not_judged": "unknown: nothing was judged",
}


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """An input: where it lies and what it says of itself, as (key, value)."""

    what: str
    path: str
    facts: tuple[tuple[str, str], ...]
    more: int


class WaiverLine(msgspec.Struct, frozen=True, kw_only=True):
    """A waiver as a row."""

    gate: str
    segment: str
    state: str
    up_to: str
    expires: str
    by: str
    reason: str
    issue: str


def origins(report: Report) -> list[Origin]:
    """Gold set, run and baseline."""
    provenance = report.provenance
    sources = (("Gold set", provenance.gold), ("Run", provenance.run), ("Baseline", provenance.baseline))
    found = [_origin(what, source) for what, source in sources if source]
    lineage = provenance.baseline.lineage if provenance.baseline else None
    note = lineage_note(lineage) if lineage else None
    if note is None or not found:
        return found
    *others, baseline = found
    return [*others, msgspec.structs.replace(baseline, facts=(("accepted", visible(note)), *baseline.facts))]


def facts(report: Report) -> list[tuple[str, str]]:
    """The rest of the provenance, as (what, value)."""
    provenance = report.provenance
    known = (
        ("Criteria", provenance.criteria),
        ("Base", report.base.commit.shown if report.base else None),
        ("Judged on", provenance.date),
        ("rankgate", provenance.rankgate),
        ("Depth", None if provenance.depth is None else f"first {provenance.depth} results of each list"),
        ("Gold fingerprint", provenance.gold_fingerprint),
    )
    return [(what, shorten(visible(value), 200)) for what, value in known if value]


def command_of(report: Report) -> str:
    """The command that repeats the check; nothing where none is known."""
    return visible(command_line(report.provenance.command)) if report.provenance.command else ""


def base_changes(report: Report) -> tuple[list[Change], int]:
    """What the pull request changed of the gate, what weakens it first, and how many changes more there are."""
    found = changes(report, quoted)
    return found[:MAX_CHANGES], max(0, len(found) - MAX_CHANGES)


def waiver_lines(report: Report) -> list[WaiverLine]:
    """The waivers and what became of them."""
    units = {gate.name: gate.unit for gate in report.gates}
    return [_waiver(waiver, units.get(waiver.gate, Unit.NUMBER)) for waiver in report.waivers]


def ceiling_text(up_to: float, unit: Unit) -> str:
    """`2.0 pp`: how far beyond its limit a waived gate may be, with all decimals that it was given."""
    return size_text(up_to, unit, exact_decimals(up_to, unit))


def _waiver(waiver: WaiverUse, unit: Unit) -> WaiverLine:
    return WaiverLine(
        gate=shorten(visible(waiver.gate), 80),
        segment="" if waiver.segment is None else shorten(visible(waiver.segment), 80),
        state=STATES[waiver.state],
        up_to=ceiling_text(waiver.up_to, unit),
        expires=visible(waiver.expires),
        by=shorten(visible(waiver.by), 80),
        reason=shorten(visible(waiver.reason), 400),
        issue=shorten(visible(waiver.issue), 200),
    )


def _origin(what: str, source: Source) -> Origin:
    said = [(key, value) for key, value in source.about.items() if isinstance(value, str | int | float)]
    return Origin(
        what=what,
        path=shorten(visible(source.path), 200),
        facts=tuple((shorten(visible(key), 60), shorten(visible(str(value)), 120)) for key, value in said[:MAX_FACTS]),
        more=max(0, len(said) - MAX_FACTS),
    )
