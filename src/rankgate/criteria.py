"""`ship-criteria.yaml`: which metrics are gated, at what limits, and where the inputs lie."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard

import msgspec
from msgspec import Meta

from rankgate.errors import bad_input, shown
from rankgate.estimates import CONFIDENCE
from rankgate.matching import BY_CHUNK, DEFAULT_K, SEPARATOR, By, Matching
from rankgate.metrics.base import BaseMetric, Direction, Metric
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.model import Evidence, Need
from rankgate.plan import Plan
from rankgate.readers.mapping import FieldMap
from rankgate.readers.source import open_source
from rankgate.shapes import shaped
from rankgate.yaml_text import KeyPath, YamlDocument, load_yaml

DEFAULT_PATHS = ("config/ship-criteria.yaml", "ship-criteria.yaml", ".github/ship-criteria.yaml")
_LONGEST_RANGE = 1.0


class _Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping of the file, as it is written."""


class WrittenInput(_Written, frozen=True, kw_only=True):
    """A file and, where the guess from its content is not wanted, its format."""

    path: Annotated[str, Meta(description="Path of the file, relative to this criteria file.")]
    format: Annotated[str | None, Meta(description="Name of the format; told from the content where absent.")] = None


class WrittenRun(WrittenInput, frozen=True, kw_only=True):
    """A run, which may be in a shape of its own."""

    map: Annotated[
        FieldMap | None,
        Meta(description="What holds what in a file of no known shape; read as JSONL, JSON, CSV or Parquet."),
    ] = None


class WrittenInputs(_Written, frozen=True, kw_only=True):
    """Where the gold set, the candidate's run and the baseline lie; flags of the command line win."""

    gold: Annotated[str | WrittenInput | None, Meta(description="The gold set.")] = None
    run: Annotated[str | WrittenRun | None, Meta(description="The candidate's run.")] = None
    baseline: Annotated[
        str | WrittenInput | None,
        Meta(description="A directory written by `rankgate baseline accept`, or any run file."),
    ] = None


class WrittenGate(_Written, frozen=True, kw_only=True):
    """One gate: a metric with a floor, an allowed drop, or both."""

    name: Annotated[
        str, Meta(min_length=1, description="The gate's name; the metric is read from it unless `metric` is given.")
    ]
    metric: Annotated[str | None, Meta(description="The metric, such as recall@5 or ndcg(gain=exponential)@10.")] = None
    threshold: Annotated[
        float | None,
        Meta(description="Absolute floor (for metrics where lower is better: ceiling). Equality passes."),
    ] = None
    regression_max: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="How far the metric may fall (or rise, where lower is better) below the baseline."),
    ] = None
    severity: Annotated[
        Literal["error", "warning"], Meta(description="error blocks the merge; warning only comments.")
    ] = "error"
    evidence: Annotated[
        Literal["estimate", "proven_safe", "proven_harm"] | None,
        Meta(description="What decides this gate; the file's own `evidence` where absent."),
    ] = None
    confidence: Annotated[
        Annotated[float, Meta(gt=0.5, lt=1)] | None,
        Meta(description="Confidence of this gate's intervals; the file's own `confidence` where absent."),
    ] = None
    direction: Annotated[
        Literal["higher", "lower"] | None,
        Meta(description="Which way is better; for score(FIELD) alone, all other metrics know theirs."),
    ] = None


class WrittenMatching(_Written, frozen=True, kw_only=True):
    """How retrieved items are matched with the gold, with its parameters."""

    by: Annotated[
        Literal["chunk", "doc", "text"],
        Meta(
            description="chunk: the ids are equal. doc: the item's document is the gold's id. text: the gold names "
            "passages, and the item's text lies in one."
        ),
    ]
    separator: Annotated[
        str,
        Meta(
            min_length=1,
            description="For doc: an item without doc_id belongs to the document that its id names before this text.",
        ),
    ] = SEPARATOR
    similarity: Annotated[
        float,
        Meta(
            gt=0, le=1, description="For text: the share of the item's words that the passage must have; 1 = all of it."
        ),
    ] = 1.0


class WrittenCriteria(_Written, frozen=True, kw_only=True):
    """Ship criteria of rankgate: what a retriever must hold to be merged."""

    gates: Annotated[list[WrittenGate], Meta(min_length=1, description="The gates; the worst of them is the verdict.")]
    inputs: Annotated[WrittenInputs, Meta(description="Paths of the inputs, relative to this file.")] = WrittenInputs()
    default_k: Annotated[
        int, Meta(ge=1, description="Cut-off for metrics without a number, where the sample states no k.")
    ] = DEFAULT_K
    evidence: Annotated[
        Literal["estimate", "proven_safe", "proven_harm"],
        Meta(
            description="What decides a gate. estimate: the value itself. proven_safe: the whole interval must clear "
            "the limit. proven_harm: only what the interval proves violates; what is within noise warns."
        ),
    ] = "estimate"
    confidence: Annotated[float, Meta(gt=0.5, lt=1, description="Confidence of the intervals, such as 0.95.")] = (
        CONFIDENCE
    )
    match: Annotated[
        Literal["chunk", "doc", "text"] | WrittenMatching,
        Meta(description="What makes a retrieved item a document of the gold: chunk (default), doc or text."),
    ] = "chunk"


class InputFile(msgspec.Struct, frozen=True):
    """A path as given on the command line or resolved from the criteria, a forced format, and a run's map."""

    path: str
    format: str | None = None
    map: FieldMap | None = None


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A gate, checked and with its metric; at least one of `threshold` and `regression_max` is set."""

    name: str
    metric: Metric
    threshold: float | None
    regression_max: float | None
    blocks: bool
    evidence: Evidence = Evidence.ESTIMATE
    confidence: float = CONFIDENCE
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


def load_criteria(path: str) -> Criteria:
    """Read and check ship criteria.

    Raises:
        RankgateError: every problem of the file, with line and key path.
    """
    with open_source(path) as source:
        name = source.name
        document = load_yaml(source.text(), name)
    if not isinstance(document.value, dict):
        raise bad_input(f"expected `gates:` with a list of gates, found {shown(document.value)}", file=name, line=1)
    written = shaped(document, WrittenCriteria, name, _check_of(document))
    return Criteria(
        name=name,
        gates=tuple(_gate(gate, written, document.line(("gates", index))) for index, gate in enumerate(written.gates)),
        default_k=written.default_k,
        match=_matching(written.match),
        gold=_resolve(written.inputs.gold, path),
        run=_resolve(written.inputs.run, path),
        baseline=_resolve(written.inputs.baseline, path),
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the criteria file, for editors."""
    schema = _in_order(msgspec.json.schema(WrittenCriteria))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "rankgate ship criteria", **schema}


def _in_order(schema: Any) -> Any:
    """The same schema whatever msgspec wrote it: releases list the alternatives of a union in different orders."""
    if isinstance(schema, dict):
        inner = {key: _in_order(value) for key, value in schema.items()}
        return inner | {"anyOf": sorted(inner["anyOf"], key=str)} if "anyOf" in inner else inner
    return [_in_order(value) for value in schema] if isinstance(schema, list) else schema


def _gate(written: WrittenGate, whole: WrittenCriteria, line: int | None) -> Gate:
    return Gate(
        name=written.name,
        metric=_metric(written),
        threshold=written.threshold,
        regression_max=written.regression_max,
        blocks=written.severity == "error",
        evidence=Evidence(written.evidence or whole.evidence),
        confidence=whole.confidence if written.confidence is None else written.confidence,
        line=line,
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


def _check_of(document: YamlDocument) -> Callable[[msgspec.Struct, KeyPath], Iterator[tuple[str, str]]]:
    """What is wrong with the meaning of a part, as (key, message) pairs."""

    def check(written: msgspec.Struct, path: KeyPath) -> Iterator[tuple[str, str]]:
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


def _limits(written: WrittenGate) -> Iterator[tuple[str, str]]:
    if written.threshold is None and written.regression_max is None:
        yield "name", "the gate limits nothing; give it a threshold, a regression_max, or both"
    try:
        metric = _metric(written)
    except UnknownMetricError as error:
        hint = "; or name the metric with `metric:`" if written.metric is None else ""
        yield "name" if written.metric is None else "metric", f"{error}{hint}"
        return
    if _asks_direction(metric) != (written.direction is not None):
        yield "direction", _direction_hint(metric)
    if Need.BASELINE in metric.needs and written.regression_max is not None:
        yield "regression_max", f"{metric.name} compares with the baseline already; give it a threshold instead"
    low, high = metric.low, metric.high
    limits = f"{'(-∞' if low is None else f'[{low:g}'}, {'∞)' if high is None else f'{high:g}]'}"
    if written.threshold is not None and not _within(written.threshold, metric):
        hint = _percent(written.threshold, metric)
        yield "threshold", f"{written.threshold:g} lies outside {limits}, the range of {metric.name}{hint}"
    widest = None if low is None or high is None else high - low
    if widest is not None and written.regression_max is not None and written.regression_max > widest:
        hint = _percent(written.regression_max, metric)
        yield "regression_max", f"{written.regression_max:g} is more than {metric.name} can move ({widest:g}){hint}"


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
