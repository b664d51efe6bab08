"""The comment's table by tag, with the interval of the leading metric's change."""

from __future__ import annotations

from rankgate.model.report import Report, Segment, SegmentValue
from rankgate.model.values import Verdict
from rankgate.renderers import phrases
from rankgate.renderers.escape import cell
from rankgate.renderers.rows import named, small

MAX_METRICS = 4
MAX_TAGS = 60


def segment_head(report: Report) -> str:
    """The head of the table by tag: a column a metric, as many as fit."""
    names = [f"{named(name, report)}{_counted(name, report)}" for name in _columns(report)]
    return f"| Tag | Questions | {' | '.join(names)} |\n|:--|--:|{'--:|' * len(names)}"


def segment_row(segment: Segment, report: Report) -> str:
    """A tag with how many questions have it, and the metrics of the head on them."""
    values = [_value(segment.metrics[name]) for name in _columns(report)]
    return f"| {cell(segment.tag, 80)} | {segment.queries} | {' | '.join(values)} |"


def _value(value: SegmentValue) -> str:
    """The value and its change, with the interval of that where there is one."""
    bounds = phrases.change_interval_text(value.delta_ci, value.unit) if value.delta else ""
    return phrases.segment_text(value) + small(f"95%: {bounds}" if bounds else "")


def _counted(name: str, report: Report) -> str:
    """Where queries count by their traffic, that they do."""
    return " by traffic" if name in report.metrics and report.metrics[name].weighted else ""


def _columns(report: Report) -> list[str]:
    """The metrics that the table by tag has room for, in their order: those that failed or warned before the others."""
    bad = {gate.metric for gate in report.gates if gate.verdict in (Verdict.FAIL, Verdict.WARN)}
    kept = sorted(report.metrics, key=lambda name: name not in bad)[:MAX_METRICS]
    return [name for name in report.metrics if name in kept]
