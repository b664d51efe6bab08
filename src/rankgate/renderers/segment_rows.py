"""The comment's table by tag, with the change of the leading metric drawn as an interval in text."""

from __future__ import annotations

from rankgate.model.report import Report, Segment, SegmentValue
from rankgate.model.values import Direction, Interval, Verdict
from rankgate.model.wording import delta_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import cell
from rankgate.renderers.rows import named

MAX_METRICS = 4
MAX_BESIDE = 2  # metrics where a change is drawn too: more would break its words
MAX_TAGS = 60
WIDTH = 10  # characters on each side of no change


def segment_head(report: Report) -> str:
    """The head of the table by tag: a column a metric, as many as fit, and one for the drawn change."""
    names = [f"{named(name, report)}{_counted(name, report)}" for name in _columns(report)]
    drawn = _drawn(report)
    change, line = (f" Change of {named(drawn, report)}{_counted(drawn, report)} |", ":--|") if drawn else ("", "")
    return f"| Tag | Questions | {' | '.join(names)} |{change}\n|:--|--:|{'--:|' * len(names)}{line}"


def segment_row(segment: Segment, report: Report) -> str:
    """A tag with how many questions have it, the metrics of the head on them, and the change drawn."""
    values = [phrases.segment_text(segment.metrics[name]) for name in _columns(report)]
    drawn = _drawn(report)
    last = f" {change_cell(segment.metrics[drawn], _scale(report, drawn))} |" if drawn else ""
    return f"| {cell(segment.tag, 80)} | {segment.queries} | {' | '.join(values)} |{last}"


def segment_legend(report: Report) -> str:
    """How to read the drawing; nothing where nothing is drawn."""
    drawn = _drawn(report)
    if drawn is None:
        return ""
    unit, scale = report.metrics[drawn].unit, _scale(report, drawn)
    ends = f"{delta_text(-scale, unit)} to {delta_text(scale, unit)}"
    return f"● is the change, ├──┤ its 95% interval, ┼ no change; the scale goes from {ends}."


def change_cell(value: SegmentValue, scale: float) -> str:
    """`` `··├──●──┤··┼··········` worse``: the interval on a scale around no change, and what it says in a word."""
    if value.delta is None or value.delta_ci is None:
        return phrases.NOTHING
    return f"`{drawing(value.delta, value.delta_ci, scale)}`&nbsp;{change_word(value).replace(' ', '&nbsp;')}"


def drawing(delta: float, ci: Interval, scale: float) -> str:
    """The change and its interval on a line of 2 × `WIDTH` + 1 characters, whose middle is no change."""
    marks = ["·"] * (2 * WIDTH + 1)
    low, high = (_place(delta if bound is None else bound, scale) for bound in ci)
    marks[low : high + 1] = "─" * (high + 1 - low)
    marks[WIDTH] = "┼"
    if low < high:
        marks[low], marks[high] = "├", "┤"
    marks[_place(delta, scale)] = "●"
    return "".join(marks)


def change_word(value: SegmentValue) -> str:
    """What the interval says: worse, better, or that it may be noise."""
    if not value.delta or value.delta_ci is None:
        return "no change"
    low, high = value.delta_ci
    if (low is None or low <= 0) and (high is None or high >= 0):
        return "may be noise"
    return "better" if (value.delta > 0) == (value.direction is Direction.HIGHER) else "worse"


def _counted(name: str, report: Report) -> str:
    """Where queries count by their traffic, that they do."""
    return " by traffic" if name in report.metrics and report.metrics[name].weighted else ""


def _place(value: float, scale: float) -> int:
    return WIDTH + round(max(-1.0, min(1.0, value / scale)) * WIDTH)


def _columns(report: Report) -> list[str]:
    """The metrics that the table by tag has room for, in their order: those that failed or warned before the others."""
    bad = {gate.metric for gate in report.gates if gate.verdict in (Verdict.FAIL, Verdict.WARN)}
    most = MAX_BESIDE if _drawn(report) else MAX_METRICS
    kept = sorted(report.metrics, key=lambda name: name not in bad)[:most]
    return [name for name in report.metrics if name in kept]


def _drawn(report: Report) -> str | None:
    """The metric whose changes have intervals; None where none moved in any segment that is shown."""
    values = (each for segment in report.segments[:MAX_TAGS] for each in segment.metrics.items())
    return next((name for name, value in values if value.delta_ci is not None and value.delta), None)


def _scale(report: Report, name: str) -> float:
    values = [segment.metrics[name] for segment in report.segments[:MAX_TAGS]]
    bounds = [bound for value in values for bound in (*(value.delta_ci or ()), value.delta) if bound is not None]
    return max(map(abs, bounds), default=1.0) or 1.0
