"""A gate of `ship-criteria.yaml`, and its rules for the questions that share a tag.

Each key is declared once, with its type, its bounds, its description and its check. A check of a key sees the keys of
the same part that are declared above it.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticKnownError

from rankgate.criteria.parts import Listed, NotWritten, OneOrMore, Part, Stricter, Text, optional, refuse
from rankgate.metrics.base import Cutoff, Metric, widest_change
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.metrics.sets import Hit, Precision
from rankgate.model.values import CONFIDENCE, Evidence, RunField
from rankgate.readers.yaml_text import KeyPath

_LONGEST_RANGE = 1.0
V = TypeVar("V")

Floor = Annotated[float | None, Stricter.BETTER]
AllowedDrop = Annotated[float, Field(ge=0)]
Drop = Annotated[AllowedDrop | None, Stricter.LESS]
Count = Annotated[int, Field(ge=0)]
Confidence = Annotated[float, Field(gt=0.5, lt=1)]
MaxUnjudged = Annotated[float, Field(ge=0, le=1), Stricter.LESS]
MAX_UNJUDGED = 0.01  # of the questions
_NOT_OVER_TRAFFIC = ("threshold", "segments", "must_pass", "max_lost_queries")
Severity = Literal["error", "warning"]
WrittenEvidence = Annotated[Evidence, Strict(strict=False)]  # as its value
Query = Annotated[
    str,
    BeforeValidator(lambda entry: str(entry) if type(entry) is int else entry),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
]


def _metric(value: object, info: ValidationInfo) -> object:
    """The metric that a gate names, or else the one that its own name says; None where that is wrong already."""
    text = info.data.get("name") if value is None else value
    if value is not None and not isinstance(value, str):
        if info.context is not None:  # it comes from a file
            raise PydanticKnownError("string_type")
        return value
    if text is not None:
        try:
            return parse_metric(str(text))
        except UnknownMetricError as error:
            if value is None:
                refuse([((), f"{error}; or name the metric with `metric:`")], instead="name")
            refuse([((), str(error))])
    return None


def _by_metric(problems: Callable[[Any, Metric], Iterator[tuple[KeyPath, str]]]) -> AfterValidator:
    """A check of a gate's value against its metric, where both are there and of the right kind."""

    def check(value: Any, info: ValidationInfo) -> Any:
        metric = info.data.get("metric")
        if metric is not None and value is not None:
            refuse(problems(value, metric))
        return value

    return AfterValidator(check)


def _floor(value: float, metric: Metric) -> Iterator[tuple[KeyPath, str]]:
    low, high = metric.low, metric.high
    if (low is not None and value < low) or (high is not None and value > high):
        begins = "(-∞" if low is None else f"[{low:g}"
        ends = "∞)" if high is None else f"{high:g}]"
        yield (), f"{value:.12g} lies outside {begins}, {ends}, the range of {metric.name}{_percent(value, metric)}"


def _drop(value: float, metric: Metric) -> Iterator[tuple[KeyPath, str]]:
    if RunField.BASELINE in metric.needs:
        yield (), f"{metric.name} compares with the baseline already; give it a threshold instead"
    yield from too_wide(value, metric)


def too_wide(value: float, metric: Metric) -> Iterator[tuple[KeyPath, str]]:
    """A change that is larger than the range of its metric allows, such as 3 for 3 %."""
    widest = widest_change(metric)
    if widest is not None and value > widest:
        yield (), f"{value:.12g} is more than {metric.name} can move ({widest:g}){_percent(value, metric)}"


def _segments(rules: "tuple[SegmentRule, ...]", metric: Metric) -> Iterator[tuple[KeyPath, str]]:
    for index, rule in enumerate(rules):
        limits: list[tuple[KeyPath, SegmentRule | Limits]] = [((index,), rule)]
        limits += [((index, "only", name), of_value) for name, of_value in rule.only.items()]
        for path, part in limits:
            for key, check in (("threshold", _floor), ("regression_max", _drop)):
                value = getattr(part, key)
                if value is not None:
                    yield from (((*path, key), text) for _, text in check(value, metric))


def _hard_check(value: object, metric: Metric) -> Iterator[tuple[KeyPath, str]]:
    if value != () and metric.worst is None:
        yield (), f"{metric.name} has no worst value that a question could have"


def _over_traffic(gate: "Gate") -> Iterator[tuple[KeyPath, str]]:
    """What a gate over traffic cannot have: it is the change of a share, from labels of what changed."""
    metric = gate.metric
    if type(metric) not in (Hit, Precision) or metric != type(metric)(cutoff=metric.cutoff):
        yield ("over",), f"{metric.name} is not measured over traffic; use precision@k or hit@k, without parameters"
    elif metric.cutoff is Cutoff.WHOLE:
        yield ("over",), f"{metric.name} has no cut-off, so that all documents would need a label; use precision@5"
    if gate.regression_max is None:
        yield ("over",), "a gate over traffic limits the change against the baseline; give it a regression_max"
    for key in _NOT_OVER_TRAFFIC:
        if getattr(gate, key) not in (None, ()):
            yield (key,), f"a gate over traffic has no {key}; leave it out, or put it into a gate over the gold set"
    if "evidence" in gate.model_fields_set and gate.evidence is not Evidence.PROVEN_HARM:
        yield ("evidence",), "over traffic it is always proven_harm; leave the key out"


def _direction(value: V, info: ValidationInfo) -> V:
    metric = info.data.get("metric")
    if metric is not None and metric.asks_direction != (value is not None):
        has_own = f"{metric.name} has its own direction ({metric.direction.value} is better); leave the key out"
        unknown = f"{metric.name} is another tool's number; say which way is better: higher or lower"
        refuse([((), unknown if metric.asks_direction else has_own)])
    return value


def _tags(keys: tuple[str, ...]) -> tuple[str, ...]:
    if not keys or "" in keys:
        refuse([((), "name the key of a tag, such as lang")])
    return keys


def _percent(value: float, metric: Metric) -> str:
    """A hint for the commonest slip: 85 for 85 %."""
    return f"; write {value / 100:g} for {value:g}%" if metric.high == _LONGEST_RANGE and 1 < value <= 100 else ""  # noqa: PLR2004


class Limits(Part):
    """Limits for one value of the tag, where they differ from the rule's."""

    threshold: Floor = optional("Floor (or ceiling) of this segment.")
    regression_max: Drop = optional("How far this segment may fall below the baseline.")
    severity: Severity | None = optional("Of this segment.")


class SegmentRule(Part):
    """The same metric on the queries that share a tag."""

    by: Annotated[Listed[str], OneOrMore(str), AfterValidator(_tags)] = Field(
        description="Key of the tags, such as lang for lang:pt-BR; a list crosses several."
    )
    threshold: Floor = optional("Floor (or ceiling) of every segment.")
    regression_max: Drop = optional("How far every segment may fall below the baseline.")
    min_queries: int = optional("Segments with fewer scored queries are shown and never block.", 30, ge=1)
    severity: Severity | None = optional("Of the segments; the gate's own where absent.")
    only: dict[str, Limits] = optional("Limits of single values, in place of those for every segment.", {})

    @model_validator(mode="after")
    def _limit_something(self) -> Self:
        limits: list[SegmentRule | Limits] = [self, *self.only.values()]
        if all(each.threshold is None and each.regression_max is None for each in limits):
            refuse([(("by",), "the segments have no limit; give them a threshold, a regression_max, or both")])
        return self

    def limits_of(self, segment: str) -> Limits | None:
        """The limits of a segment such as `lang:pt-BR`, each its own or else that of every segment; None without any.

        `only` has it by the value of its tag, or by its whole name where tags are crossed.
        """
        key = segment.partition(":")[2] if len(self.by) == 1 else segment
        own: SegmentRule | Limits = self.only.get(key, self)
        threshold = self.threshold if own.threshold is None else own.threshold
        regression_max = self.regression_max if own.regression_max is None else own.regression_max
        if threshold is None and regression_max is None:
            return None
        return Limits(threshold=threshold, regression_max=regression_max, severity=own.severity or self.severity)


class Gate(Part):
    """One gate: a metric with a floor, an allowed drop, or both."""

    empty_is_absent: ClassVar = frozenset({"evidence", "confidence", "max_unjudged", "segments"})

    name: Text = Field(description="The gate's name; the metric is read from it unless `metric` is given.")
    metric: Annotated[
        Metric, PlainValidator(_metric), WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})
    ] = optional("The metric, such as recall@5 or ndcg(gain=exponential)@10.", validate_default=True)
    threshold: Annotated[Floor, _by_metric(_floor)] = optional(
        "Floor (for metrics where lower is better: ceiling). Equality passes. By proven_harm a value beyond it within "
        "noise does not fail."
    )
    regression_max: Annotated[Drop, _by_metric(_drop)] = optional(
        "How far the metric may fall (or rise, where lower is better) below the baseline."
    )
    over: Literal["traffic"] | None = optional(
        "traffic: the change over all questions of `inputs.traffic`, from labels of those that changed "
        "(`rankgate gold pool --traffic`). For precision@k and hit@k, by proven_harm. The gold set where absent."
    )
    severity: Severity = optional("error blocks the merge; warning only comments.", "error")
    evidence: WrittenEvidence = optional("What decides this gate; the file's own where absent.", Evidence.ESTIMATE)
    confidence: Confidence = optional("Of this gate's intervals; the file's own where absent.", CONFIDENCE)
    max_unjudged: MaxUnjudged = optional("Of this gate; the file's own where absent.", MAX_UNJUDGED)
    segments: Annotated[Listed[SegmentRule], OneOrMore(SegmentRule), _by_metric(_segments)] = optional(
        "Limits on the queries that share a tag; a list for several keys.", ()
    )
    must_pass: Annotated[Listed[Query], _by_metric(_hard_check)] = optional(
        "Queries, by id or tag, for which the metric must have a value that is not its worst.", ()
    )
    max_lost_queries: Annotated[Count | None, Stricter.LESS, _by_metric(_hard_check)] = optional(
        "How many queries may fall to the metric's worst, or lose their value, that had more in the baseline."
    )
    direction: Annotated[Literal["higher", "lower"] | None, AfterValidator(_direction)] = optional(
        "Which way is better; for score(FIELD) alone, all other metrics know theirs.", validate_default=True
    )
    line: NotWritten[int | None] = None
    allow_unjudged: NotWritten[bool] = False  # as `judge` says

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        limits = (self.threshold, self.regression_max, self.max_lost_queries)
        if limits == (None, None, None) and not self.segments and not self.must_pass:
            refuse([(("name",), "the gate limits nothing; give it a threshold, a regression_max, or both")])
        if self.over is not None and self.metric is not None:
            refuse(_over_traffic(self))
        return self

    @property
    def blocks(self) -> bool:
        """Whether a violation blocks the merge."""
        return self.severity == "error"

    @property
    def may_block(self) -> bool:
        """Whether a violation of it, or in one of its segments, blocks the merge."""
        severities = [rule.severity for rule in self.segments]
        severities += [own.severity for rule in self.segments for own in rule.only.values()]
        return self.blocks or "error" in severities

    @property
    def limits_drop(self) -> bool:
        """Whether it, one of its segments, or how many questions may be lost needs a baseline to compare with."""
        drops = [self.regression_max, self.max_lost_queries, *(rule.regression_max for rule in self.segments)]
        drops += [part.regression_max for rule in self.segments for part in rule.only.values()]
        return any(limit is not None for limit in drops)
