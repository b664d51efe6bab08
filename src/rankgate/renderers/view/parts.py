"""The parts by tag, those that lost most first, and the last runs of the main branch by one metric."""

from __future__ import annotations

from functools import partial

from rankgate.model.report import Report, Segment
from rankgate.model.values import CONFIDENCE, Verdict
from rankgate.model.wording import confidence_text, value_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import Text
from rankgate.renderers.view.numbers import History, Part, Parts, PartValue

MAX_RUNS = 10
_LEVELS = "▁▂▃▄▅▆▇█"


def parts_of(report: Report, most: int, columns: int) -> Parts:
    """The parts by the change of the metric that the conclusion is about, else of the first that is shown."""
    metrics = _columns(report, columns)
    if not metrics:
        return Parts()
    spoken = report.conclusion.metric
    leading = spoken if spoken in metrics else metrics[0]
    segments = sorted(report.measured.segments, key=partial(_gain, metric=leading))
    rows: list[Part] = []
    for segment in segments[:most]:
        values = tuple(_value(segment, name, report) for name in metrics)
        rows.append(Part(Text(segment.tag, 80), segment.queries, values))
    return Parts(tuple(metrics), tuple(rows), max(0, len(segments) - most))


def _gain(segment: Segment, metric: str) -> float:
    """By how much the segment's value got better, negative where it got worse; 0 where nothing compares."""
    value = segment.metrics.get(metric)
    return value.direction.sign * (value.delta or 0.0) if value else 0.0


def _columns(report: Report, most: int) -> list[str]:
    """The metrics that there is room for, in their order: those that failed or warned before the others."""
    bad = {gate.metric for gate in report.gates if gate.verdict in (Verdict.FAIL, Verdict.WARN)}
    metrics = report.measured.metrics
    kept = sorted(metrics, key=lambda name: name not in bad)[:most]
    return [name for name in metrics if name in kept]


def _value(segment: Segment, name: str, report: Report) -> PartValue:
    """The metric of this name in a segment, with the interval by which a gate judged the change.

    Where none did, it is that at 95%, if all gates are of that level.
    """
    value = segment.metrics.get(name)
    if value is None:
        return PartValue(phrases.NOTHING)
    ci = None
    level = confidence_text(CONFIDENCE)
    if all(gate.limits.confidence == CONFIDENCE and not gate.corrects_for_parts for gate in report.gates):
        ci = value.delta_ci
    for gate in report.gates:
        of_value = gate.metric == name and gate.segment == segment.tag
        if of_value and gate.corrects_for_parts and not gate.evidence.too_small:
            ci = gate.change.delta_ci
            level = phrases.interval_name(gate)
            break
    bounds = phrases.change_interval_text(ci, value.unit) if value.delta else ""
    return PartValue(phrases.segment_text(value), f"{level}: {bounds}" if bounds else "")


def history_of(report: Report) -> History | None:
    """By the metric of the conclusion, else by the first."""
    metrics = report.measured.metrics
    name = report.conclusion.metric
    if name not in metrics:
        name = next(iter(metrics), None)
    points = report.measured.trend[-MAX_RUNS:]
    values = [point.scores.get(name or "") for point in points]
    known = [value for value in values if value is not None]
    if name is None or not known:
        return None
    metric = metrics[name]
    ends = list(dict.fromkeys(value_text(value, metric.unit) for value in (min(known), max(known))))
    return History(
        runs=len(points),
        days=" to ".join(dict.fromkeys((points[0].date, points[-1].date))),
        metric=name,
        drawn=sparkline(values),
        range=" to ".join(ends),
        now=phrases.value_or_dash(metric.value, metric.unit),
    )


def sparkline(values: list[float | None]) -> str:
    """One character a value, as high as the value lies between the lowest and the highest; `·` where there is none."""
    known = [value for value in values if value is not None]
    low = min(known, default=0.0)
    width = max(known, default=0.0) - low
    return "".join("·" if value is None else _level(value - low, width) for value in values)


def _level(height: float, width: float) -> str:
    """The character for a value so far above the lowest; all values are one where they have no width."""
    return _LEVELS[round(height / width * (len(_LEVELS) - 1))] if width > 0 else _LEVELS[3]
