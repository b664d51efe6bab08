"""The parts of the questions by tag, those that lost most first; and the runs of the main branch in one line."""

from __future__ import annotations

import msgspec

from rankgate.model.report import Report, Segment
from rankgate.model.values import CONFIDENCE, Verdict
from rankgate.model.wording import confidence_text, value_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import Text

MAX_RUNS = 10
_LEVELS = "▁▂▃▄▅▆▇█"


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


def parts_of(report: Report, most: int, columns: int) -> Parts:
    """The parts by the change of the metric that the conclusion is about, else of the first that is shown."""
    metrics = _columns(report, columns)
    if not metrics:
        return Parts()
    spoken = report.conclusion.metric
    by = spoken if spoken in metrics else metrics[0]

    def loss(part: Segment) -> float:
        value = part.metrics.get(by)
        return value.direction.sign * (value.delta or 0.0) if value else 0.0

    rows = [
        Part(Text(part.tag, 80), part.queries, tuple(_value(part, name, report) for name in metrics))
        for part in sorted(report.measured.segments, key=loss)[:most]
    ]
    return Parts(tuple(metrics), tuple(rows), max(0, len(report.measured.segments) - most))


def _columns(report: Report, most: int) -> list[str]:
    """The metrics that there is room for, in their order: those that failed or warned before the others."""
    bad = {gate.metric for gate in report.gates if gate.verdict in (Verdict.FAIL, Verdict.WARN)}
    metrics = report.measured.metrics
    kept = sorted(metrics, key=lambda name: name not in bad)[:most]
    return [name for name in metrics if name in kept]


def _value(part: Segment, name: str, report: Report) -> PartValue:
    """With the interval by which a gate judged the change; at 95% where that is the one level of the report."""
    if (value := part.metrics.get(name)) is None:
        return PartValue(phrases.NOTHING)
    one_level = all(gate.limits.confidence == CONFIDENCE and not gate.corrects for gate in report.gates)
    ci = value.delta_ci if one_level else None
    level = confidence_text(CONFIDENCE)
    judging = (gate for gate in report.gates if gate.metric == name and gate.corrects and gate.segment == part.tag)
    if gate := next((each for each in judging if not each.evidence.too_small), None):
        ci = gate.change.delta_ci
        level = phrases.interval_name(gate)
    bounds = phrases.change_interval_text(ci, value.unit) if value.delta else ""
    return PartValue(phrases.segment_text(value), f"{level}: {bounds}" if bounds else "")


def history_of(report: Report) -> History | None:
    """By the metric of the conclusion, else by the first."""
    spoken, metrics = report.conclusion.metric, report.measured.metrics
    name = spoken if spoken in metrics else next(iter(metrics), None)
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
        drawn=spark(values),
        range=" to ".join(ends),
        now=phrases.value_or_dash(metric.value, metric.unit),
    )


def spark(values: list[float | None]) -> str:
    """One character a value, as high as the value lies between the lowest and the highest; `·` where there is none."""
    known = [value for value in values if value is not None]
    low = min(known, default=0.0)
    width = max(known, default=0.0) - low

    def level(value: float) -> str:
        return _LEVELS[round((value - low) / width * (len(_LEVELS) - 1))] if width > 0 else _LEVELS[3]

    return "".join("·" if value is None else level(value) for value in values)
