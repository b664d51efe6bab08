"""`ship-criteria.yaml`: which metrics are gated, at what limits, and where the inputs lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError

from rankgate.errors import Problem, RankgateError, bad_input, did_you_mean, shown
from rankgate.matching import DEFAULT_K
from rankgate.metrics.base import Metric
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.readers.source import open_source
from rankgate.yaml_text import YamlDocument, dotted, load_yaml

DEFAULT_PATHS = ("config/ship-criteria.yaml", "ship-criteria.yaml", ".github/ship-criteria.yaml")
_LONGEST_RANGE = 1.0

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1)]


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WrittenInput(_Written):
    """A file and, where the guess from its content is not wanted, its format."""

    path: StrictStr = Field(description="Path of the file, relative to this criteria file.")
    format: StrictStr | None = Field(None, description="Name of the format; told from the content where absent.")


class WrittenInputs(_Written):
    """Where the gold set, the candidate's run and the baseline lie; flags of the command line win."""

    gold: StrictStr | WrittenInput | None = Field(None, description="The gold set.")
    run: StrictStr | WrittenInput | None = Field(None, description="The candidate's run.")
    baseline: StrictStr | WrittenInput | None = Field(
        None, description="The accepted baseline: a directory written by `rankgate baseline accept`, or any run file."
    )


class WrittenGate(_Written):
    """One gate: a metric with a floor, an allowed drop, or both."""

    name: StrictStr = Field(
        min_length=1, description="The gate's name; the metric is read from it unless `metric` is given."
    )
    metric: StrictStr | None = Field(None, description="The metric, such as recall@5 or ndcg(gain=exponential)@10.")
    threshold: Number | None = Field(
        None, description="Absolute floor (for metrics where lower is better: ceiling). Equality passes."
    )
    regression_max: Number | None = Field(
        None, ge=0, description="How far the metric may fall (or rise, where lower is better) below the baseline."
    )
    severity: Literal["error", "warning"] = Field("error", description="error blocks the merge; warning only comments.")


class WrittenCriteria(_Written):
    """Ship criteria of rankgate: what a retriever must hold to be merged."""

    gates: list[WrittenGate] = Field(min_length=1, description="The gates; the worst of them is the verdict.")
    inputs: WrittenInputs = Field(
        WrittenInputs.model_construct(), description="Paths of the inputs, relative to this file."
    )
    default_k: Count = Field(
        DEFAULT_K, description="Cut-off for metrics without a number, where the sample states no k."
    )


class InputFile(msgspec.Struct, frozen=True):
    """A path as given on the command line or resolved from the criteria, and a forced format."""

    path: str
    format: str | None = None


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A gate, checked and with its metric; at least one of `threshold` and `regression_max` is set."""

    name: str
    metric: Metric
    threshold: float | None
    regression_max: float | None
    blocks: bool
    line: int | None


class Criteria(msgspec.Struct, frozen=True, kw_only=True):
    """Checked ship criteria."""

    name: str
    gates: tuple[Gate, ...]
    default_k: int
    gold: InputFile | None
    run: InputFile | None
    baseline: InputFile | None

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
    try:
        written = WrittenCriteria.model_validate(document.value)
    except ValidationError as error:
        problems = [_problem(dict(detail), document, name) for detail in error.errors(include_url=False)]
        raise RankgateError(problems) from error
    problems = []
    gates = [_gate(index, gate, document, name, problems) for index, gate in enumerate(written.gates)]
    if problems:
        raise RankgateError(problems)
    return Criteria(
        name=name,
        gates=tuple(gate for gate in gates if gate),
        default_k=written.default_k,
        gold=_resolve(written.inputs.gold, path),
        run=_resolve(written.inputs.run, path),
        baseline=_resolve(written.inputs.baseline, path),
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the criteria file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "rankgate ship criteria",
        **WrittenCriteria.model_json_schema(),
    }


def _gate(index: int, written: WrittenGate, document: YamlDocument, name: str, problems: list[Problem]) -> Gate | None:
    at = ("gates", index)
    before = len(problems)

    def refuse(message: str, key: str) -> None:
        path = (*at, key)
        problems.append(Problem(message, name, document.line(path), dotted(path)))

    others = [gate.get("name") for gate in document.value["gates"][:index]]
    if written.name in others:
        refuse(f"the gate {shown(written.name)} stands twice; give each its own name", "name")
    if written.threshold is None and written.regression_max is None:
        refuse("the gate limits nothing; give it a threshold, a regression_max, or both", "name")
    try:
        metric: Metric = parse_metric(written.metric or written.name)
    except UnknownMetricError as error:
        hint = "" if written.metric else "; or name the metric with `metric:`"
        refuse(f"{error}{hint}", "metric" if written.metric else "name")
        return None
    limits = f"[{metric.low:g}, {metric.high:g}]" if metric.high is not None else f"[{metric.low:g}, ∞)"
    if written.threshold is not None and not _within(written.threshold, metric):
        hint = _percent(written.threshold, metric)
        refuse(f"{written.threshold:g} lies outside {limits}, the range of {metric.name}{hint}", "threshold")
    widest = None if metric.high is None else metric.high - metric.low
    if widest is not None and written.regression_max is not None and written.regression_max > widest:
        hint = _percent(written.regression_max, metric)
        refuse(f"{written.regression_max:g} is more than {metric.name} can move ({widest:g}){hint}", "regression_max")
    if len(problems) > before:
        return None
    return Gate(
        name=written.name,
        metric=metric,
        threshold=written.threshold,
        regression_max=written.regression_max,
        blocks=written.severity == "error",
        line=document.line(at),
    )


def _within(value: float, metric: Metric) -> bool:
    return value >= metric.low and (metric.high is None or value <= metric.high)


def _percent(value: float, metric: Metric) -> str:
    """A hint for the commonest slip: 85 for 85 %."""
    return f"; write {value / 100:g} for {value:g}%" if metric.high == _LONGEST_RANGE and 1 < value <= 100 else ""  # noqa: PLR2004


def _resolve(written: str | WrittenInput | None, criteria_path: str) -> InputFile | None:
    if written is None:
        return None
    path, forced = (written, None) if isinstance(written, str) else (written.path, written.format)
    base = "" if criteria_path == "-" else os.path.dirname(criteria_path)  # noqa: PTH120 -- keeps `./a/../b` readable
    return InputFile(os.path.normpath(os.path.join(base, path)), forced)  # noqa: PTH118


_KINDS = {
    "float_type": "expected a number",
    "int_type": "expected a whole number",
    "string_type": "expected text",
    "list_type": "expected a list",
    "model_type": "expected a mapping",
    "missing": "is missing",
    "finite_number": "expected a finite number",
}


def _problem(detail: dict[str, Any], document: YamlDocument, name: str) -> Problem:
    """One of pydantic's errors in our words, with line and key path."""
    # A union adds the name of the tried branch to the path: keep only what the file has, and the key that it lacks.
    path: tuple[str | int, ...] = ()
    for part in detail["loc"]:
        if (*path, part) in document.lines or detail["type"] == "missing":
            path = (*path, part)
    found = detail["input"]
    kind = detail["type"]
    if kind == "extra_forbidden":
        near = did_you_mean(str(path[-1]), _keys_beside(path))
        message = f"unknown key{near or f' (known: {_known(path)})'}"
    elif kind == "missing":
        message = "is missing"
    elif kind in _KINDS:
        message = f"{_KINDS[kind]}, found {_kind_of(found)}"
    elif kind == "literal_error":
        message = f"expected {detail['ctx']['expected']}, found {shown(found)}"
    else:
        message = f"{detail['msg'][0].lower()}{detail['msg'][1:]}, found {shown(found)}"
    return Problem(message, name, document.line(path), dotted(path) or None)


def _kind_of(value: object) -> str:
    if isinstance(value, str):
        quotes = "; remove the quotes" if _is_number(value) else ""
        return f"the text {shown(value)}{quotes}"
    return "nothing" if value is None else shown(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _keys_beside(path: tuple[str | int, ...]) -> list[str]:
    models: dict[int, type[BaseModel]] = {1: WrittenCriteria}
    if path[0] == "gates":
        models = {3: WrittenGate}
    elif path[0] == "inputs":
        models = {2: WrittenInputs, 3: WrittenInput}
    model = models.get(len(path), WrittenCriteria)
    return list(model.model_fields)


def _known(path: tuple[str | int, ...]) -> str:
    return ", ".join(_keys_beside(path))
