"""What is wrong with the meaning of criteria whose keys and kinds of values are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from rankgate.errors import shown
from rankgate.metrics.base import Metric, widest_change
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.model.values import Direction, Need
from rankgate.readers.mapping import FieldMap
from rankgate.written import WrittenAge, WrittenGate, WrittenSegments
from rankgate.yaml_text import KeyPath, YamlDocument

_LONGEST_RANGE = 1.0


def check_of(document: YamlDocument) -> Callable[[msgspec.Struct, KeyPath], Iterator[tuple[str | KeyPath, str]]]:
    """What is wrong with the meaning of a part, as (key, message) pairs."""

    def check(written: msgspec.Struct, path: KeyPath) -> Iterator[tuple[str | KeyPath, str]]:
        if isinstance(written, FieldMap) and (problem := written.problem()):
            yield problem
        if isinstance(written, WrittenAge) and written.days is None and written.commits is None:
            yield "days", "the age has no limit; give it days, commits, or both"
        if not isinstance(written, WrittenGate):
            return
        whole = document.value.get("baseline")
        if written.drift_max is not None and not (isinstance(whole, dict) and whole.get("anchor")):
            yield "drift_max", "drift is measured from an anchor; name it for the whole file: baseline: {anchor: NAME}"
        index = path[-1]
        others = [gate.get("name") for gate in document.value["gates"][:index] if isinstance(gate, dict)]
        if written.name in others:
            yield "name", f"the gate {shown(written.name)} stands twice; give each its own name"
        yield from _limits(written)

    return check


def _limits(written: WrittenGate) -> Iterator[tuple[str | KeyPath, str]]:
    hard = written.must_pass or written.max_lost_queries is not None
    limits = (written.threshold, written.regression_max, written.drift_max)
    if limits == (None, None, None) and not written.segments and not hard:
        yield "name", "the gate limits nothing; give it a threshold, a regression_max, or both"
    try:
        metric = metric_of(written)
    except UnknownMetricError as error:
        hint = "; or name the metric with `metric:`" if written.metric is None else ""
        yield "name" if written.metric is None else "metric", f"{error}{hint}"
        return
    if _asks_direction(metric) != (written.direction is not None):
        yield "direction", _direction_hint(metric)
    if (written.must_pass or written.max_lost_queries is not None) and metric.worst is None:
        key = "must_pass" if written.must_pass else "max_lost_queries"
        yield key, f"{metric.name} has no worst value that a query could have"
    if written.noise and metric.at_quantile is not None:
        yield "noise", f"{metric.name} is a quantile; noise is of means alone"
    yield from _out_of_range(metric, written.threshold, written.regression_max)
    for key, size in (("drift_max", written.drift_max), ("noise", written.noise or None)):
        yield from ((key, message) for _, message in _out_of_range(metric, None, size))
    for index, rule in enumerate(rules_of(written)):
        where: KeyPath = ("segments", index) if isinstance(written.segments, list) else ("segments",)
        for path, message in _rule_problems(metric, rule):
            yield (*where, *path), message


def _rule_problems(metric: Metric, rule: WrittenSegments) -> Iterator[tuple[KeyPath, str]]:
    if not rule.by or "" in ([rule.by] if isinstance(rule.by, str) else rule.by):
        yield ("by",), "name the key of a tag, such as lang"
    limits: list[tuple[KeyPath, float | None, float | None]] = [((), rule.threshold, rule.regression_max)]
    limits += [(("only", value), own.threshold, own.regression_max) for value, own in rule.only.items()]
    if all(threshold is None and drop is None for _, threshold, drop in limits):
        yield ("by",), "the segments have no limit; give them a threshold, a regression_max, or both"
    for prefix, threshold, drop in limits:
        yield from (((*prefix, key), message) for key, message in _out_of_range(metric, threshold, drop))


def _out_of_range(metric: Metric, threshold: float | None, drop: float | None) -> Iterator[tuple[str, str]]:
    if Need.BASELINE in metric.needs and drop is not None:
        yield "regression_max", f"{metric.name} compares with the baseline already; give it a threshold instead"
    low, high = metric.low, metric.high
    limits = f"{'(-∞' if low is None else f'[{low:g}'}, {'∞)' if high is None else f'{high:g}]'}"
    if threshold is not None and not _within(threshold, metric):
        hint = _percent(threshold, metric)
        yield "threshold", f"{threshold:g} lies outside {limits}, the range of {metric.name}{hint}"
    widest = widest_change(metric)
    if widest is not None and drop is not None and drop > widest:
        hint = _percent(drop, metric)
        yield "regression_max", f"{drop:g} is more than {metric.name} can move ({widest:g}){hint}"


def _asks_direction(metric: Metric) -> bool:
    return metric.asks_direction


def _direction_hint(metric: Metric) -> str:
    if _asks_direction(metric):
        return f"{metric.name} is another tool's number; say which way is better: higher or lower"
    return f"{metric.name} has its own direction ({metric.direction.value} is better); leave the key out"


def _within(value: float, metric: Metric) -> bool:
    return (metric.low is None or value >= metric.low) and (metric.high is None or value <= metric.high)


def _percent(value: float, metric: Metric) -> str:
    """A hint for the commonest slip: 85 for 85 %."""
    return f"; write {value / 100:g} for {value:g}%" if metric.high == _LONGEST_RANGE and 1 < value <= 100 else ""  # noqa: PLR2004


def rules_of(written: WrittenGate) -> list[WrittenSegments]:
    """A gate's rules for segments, of which it may have one, a list, or none."""
    rules = written.segments or []
    return rules if isinstance(rules, list) else [rules]


def metric_of(written: WrittenGate) -> Metric:
    """A gate's metric.

    Raises:
        UnknownMetricError: there is none of that name.
    """
    metric = parse_metric(written.name if written.metric is None else written.metric)
    if written.direction is not None and _asks_direction(metric):
        return msgspec.structs.replace(metric, better=Direction(written.direction))
    return metric
