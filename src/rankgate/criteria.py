"""`ship-criteria.yaml`: which metrics are gated, at what limits, and where the inputs lie."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeGuard

import msgspec

from rankgate.errors import bad_input, shown
from rankgate.estimates import CONFIDENCE
from rankgate.matching import BY_CHUNK, By, Matching
from rankgate.metrics.base import BaseMetric, Direction, Metric
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.model import Evidence, Need
from rankgate.plan import Plan
from rankgate.readers.mapping import FieldMap
from rankgate.readers.source import open_source
from rankgate.shapes import shaped
from rankgate.written import (
    MIN_QUERIES,
    WrittenCriteria,
    WrittenGate,
    WrittenInput,
    WrittenMatching,
    WrittenRun,
    WrittenSegments,
)
from rankgate.yaml_text import KeyPath, YamlDocument, load_yaml

DEFAULT_PATHS = ("config/ship-criteria.yaml", "ship-criteria.yaml", ".github/ship-criteria.yaml")
MOST_BYTES = 1_000_000  # hundreds of gates have a hundredth of it
_LONGEST_RANGE = 1.0


class InputFile(msgspec.Struct, frozen=True):
    """A path as given on the command line or resolved from the criteria, a forced format, and a run's map."""

    path: str
    format: str | None = None
    map: FieldMap | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one segment; `blocks` is None where the gate's own severity holds."""

    threshold: float | None
    regression_max: float | None
    blocks: bool | None


class SegmentRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which segments a gate looks at, and their limits; `only` has those of single values."""

    by: tuple[str, ...]
    limits: Limits
    min_queries: int = MIN_QUERIES
    only: Mapping[str, Limits] = {}

    def limits_of(self, segment: str) -> Limits | None:
        """The limits of a segment such as `lang:pt-BR`; None where it has none."""
        value = segment.partition(":")[2] if len(self.by) == 1 else segment
        limits = self.only.get(value, self.limits)
        return None if limits.threshold is None and limits.regression_max is None else limits


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A gate, checked and with its metric; at least one of `threshold` and `regression_max` is set."""

    name: str
    metric: Metric
    threshold: float | None
    regression_max: float | None
    blocks: bool
    evidence: Evidence = Evidence.ESTIMATE
    confidence: float = CONFIDENCE
    segments: tuple[SegmentRule, ...] = ()
    must_pass: tuple[str, ...] = ()
    max_lost_queries: int | None = None
    line: int | None


class Criteria(msgspec.Struct, frozen=True, kw_only=True):
    """Checked ship criteria."""

    name: str
    gates: tuple[Gate, ...]
    default_k: int
    gold: InputFile | None
    run: InputFile | None
    baseline: InputFile | None
    match: Matching = BY_CHUNK
    gold_changes: Literal["warn", "fail"] = "warn"
    fork_runs: Literal["untrusted", "trusted"] = "untrusted"

    def plan(self) -> Plan:
        """What a check computes of each run."""
        return Plan(metrics=self.metrics(), default_k=self.default_k, how=self.match, keep_matched=True)

    def metrics(self) -> list[Metric]:
        """The gated metrics, each once, in the order of the gates."""
        return list({gate.metric.name: gate.metric for gate in self.gates}.values())


def find_criteria() -> str:
    """The first of the default paths that exists.

    Raises:
        RankgateError: none does.
    """
    for path in DEFAULT_PATHS:
        if Path(path).is_file():
            return path
    raise bad_input(
        f"no ship criteria found (looked for {', '.join(DEFAULT_PATHS)}); name the file with --criteria, "
        "or let `rankgate init --gold GOLD` write one"
    )


def load_criteria(path: str, *, at: str | None = None) -> Criteria:
    """Read and check ship criteria.

    Args:
        path: of the file.
        at: the path that it is a copy of; inputs are relative to that.

    Raises:
        RankgateError: every problem of the file, with line and key path.
    """
    with open_source(path) as source:
        name = source.name
        document = load_yaml(source.text(MOST_BYTES, "ship criteria are not that long; is this another file?"), name)
    if not isinstance(document.value, dict):
        raise bad_input(f"expected `gates:` with a list of gates, found {shown(document.value)}", file=name, line=1)
    written = shaped(document, WrittenCriteria, name, _check_of(document))
    return Criteria(
        name=name,
        gates=tuple(_gate(gate, written, document.line(("gates", index))) for index, gate in enumerate(written.gates)),
        default_k=written.default_k,
        match=_matching(written.match),
        gold_changes=written.gold_changes,
        fork_runs=written.fork_runs,
        gold=_resolve(written.inputs.gold, at or path),
        run=_resolve(written.inputs.run, at or path),
        baseline=_resolve(written.inputs.baseline, at or path),
    )


def _gate(written: WrittenGate, whole: WrittenCriteria, line: int | None) -> Gate:
    return Gate(
        name=written.name,
        metric=_metric(written),
        threshold=written.threshold,
        regression_max=written.regression_max,
        blocks=written.severity == "error",
        evidence=Evidence(written.evidence or whole.evidence),
        confidence=whole.confidence if written.confidence is None else written.confidence,
        segments=tuple(_rule(rule) for rule in _rules(written)),
        must_pass=tuple(map(str, written.must_pass)),
        max_lost_queries=written.max_lost_queries,
        line=line,
    )


def _rules(written: WrittenGate) -> list[WrittenSegments]:
    rules = written.segments or []
    return rules if isinstance(rules, list) else [rules]


def _rule(written: WrittenSegments) -> SegmentRule:
    rule = _segment_limits(written)
    return SegmentRule(
        by=(written.by,) if isinstance(written.by, str) else tuple(written.by),
        limits=rule,
        min_queries=written.min_queries,
        only={
            value: Limits(
                threshold=rule.threshold if limits.threshold is None else limits.threshold,
                regression_max=rule.regression_max if limits.regression_max is None else limits.regression_max,
                blocks=rule.blocks if limits.severity is None else limits.severity == "error",
            )
            for value, limits in written.only.items()
        },
    )


def _segment_limits(written: WrittenSegments) -> Limits:
    return Limits(
        threshold=written.threshold,
        regression_max=written.regression_max,
        blocks=None if written.severity is None else written.severity == "error",
    )


def _metric(written: WrittenGate) -> Metric:
    metric = parse_metric(written.name if written.metric is None else written.metric)
    if written.direction is not None and _asks_direction(metric):
        return msgspec.structs.replace(metric, better=Direction(written.direction))
    return metric


def _matching(written: str | WrittenMatching) -> Matching:
    if isinstance(written, str):
        return Matching(by=By(written))
    return Matching(by=By(written.by), separator=written.separator, similarity=written.similarity)


def _check_of(document: YamlDocument) -> Callable[[msgspec.Struct, KeyPath], Iterator[tuple[str | KeyPath, str]]]:
    """What is wrong with the meaning of a part, as (key, message) pairs."""

    def check(written: msgspec.Struct, path: KeyPath) -> Iterator[tuple[str | KeyPath, str]]:
        if isinstance(written, FieldMap) and (problem := written.problem()):
            yield problem
        if not isinstance(written, WrittenGate):
            return
        index = path[-1]
        others = [gate.get("name") for gate in document.value["gates"][:index] if isinstance(gate, dict)]
        if written.name in others:
            yield "name", f"the gate {shown(written.name)} stands twice; give each its own name"
        yield from _limits(written)

    return check


def _limits(written: WrittenGate) -> Iterator[tuple[str | KeyPath, str]]:
    hard = written.must_pass or written.max_lost_queries is not None
    if written.threshold is None and written.regression_max is None and not written.segments and not hard:
        yield "name", "the gate limits nothing; give it a threshold, a regression_max, or both"
    try:
        metric = _metric(written)
    except UnknownMetricError as error:
        hint = "; or name the metric with `metric:`" if written.metric is None else ""
        yield "name" if written.metric is None else "metric", f"{error}{hint}"
        return
    if _asks_direction(metric) != (written.direction is not None):
        yield "direction", _direction_hint(metric)
    if (written.must_pass or written.max_lost_queries is not None) and metric.worst is None:
        key = "must_pass" if written.must_pass else "max_lost_queries"
        yield key, f"{metric.name} has no worst value that a query could have"
    yield from _out_of_range(metric, written.threshold, written.regression_max)
    for index, rule in enumerate(_rules(written)):
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
    widest = None if low is None or high is None else high - low
    if widest is not None and drop is not None and drop > widest:
        hint = _percent(drop, metric)
        yield "regression_max", f"{drop:g} is more than {metric.name} can move ({widest:g}){hint}"


def _asks_direction(metric: Metric) -> TypeGuard[BaseMetric]:
    return isinstance(metric, BaseMetric) and metric.asks_direction


def _direction_hint(metric: Metric) -> str:
    if _asks_direction(metric):
        return f"{metric.name} is another tool's number; say which way is better: higher or lower"
    return f"{metric.name} has its own direction ({metric.direction.value} is better); leave the key out"


def _within(value: float, metric: Metric) -> bool:
    return (metric.low is None or value >= metric.low) and (metric.high is None or value <= metric.high)


def _percent(value: float, metric: Metric) -> str:
    """A hint for the commonest slip: 85 for 85 %."""
    return f"; write {value / 100:g} for {value:g}%" if metric.high == _LONGEST_RANGE and 1 < value <= 100 else ""  # noqa: PLR2004


def _resolve(written: str | WrittenInput | None, criteria_path: str) -> InputFile | None:
    if written is None:
        return None
    path, forced = (written, None) if isinstance(written, str) else (written.path, written.format)
    fields = written.map if isinstance(written, WrittenRun) else None
    base = "" if criteria_path == "-" else os.path.dirname(criteria_path)  # noqa: PTH120 -- keeps `./a/../b` readable
    return InputFile(os.path.normpath(os.path.join(base, path)), forced, fields)  # noqa: PTH118
