"""What was compared with what, what changed of the gate and of the inputs, and which waivers there are."""

from __future__ import annotations

from rankgate.model.lineage import lineage_note
from rankgate.model.report import BaselineSource, Report, Source
from rankgate.model.values import Unit
from rankgate.model.waiver_use import WaiverState
from rankgate.model.wording import exact_decimals, size_text
from rankgate.renderers.escape import command_line, one_line, visible

MAX_FACTS = 20
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


def facts_of(source: Source) -> tuple[list[tuple[str, str]], int]:
    """What an input says of itself, as (key, value), and how much more it says."""
    lineage = source.lineage if isinstance(source, BaselineSource) else None
    note = lineage_note(lineage) if lineage else None
    about = [(key, value) for key, value in source.about.items() if isinstance(value, str | int | float)]
    shown = [(one_line(key, 60), one_line(value, 120)) for key, value in about[:MAX_FACTS]]
    return [*([("accepted", visible(note))] if note else []), *shown], max(0, len(about) - MAX_FACTS)


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
    return [(what, one_line(value)) for what, value in known if value]


def command_of(report: Report) -> str:
    """The command that repeats the check; nothing where none is known."""
    return visible(command_line(report.provenance.command)) if report.provenance.command else ""


def ceiling_text(up_to: float, unit: Unit) -> str:
    """`2.0 pp`: how far beyond its limit a waived gate may be, with all decimals that it was given."""
    return size_text(up_to, unit, exact_decimals(up_to, unit))
