"""`ship-criteria.yaml`: which metrics are gated, at what limits, and where the inputs lie.

Each key is declared once, with its type, its bounds, its description and its check; the JSON Schema for editors comes
from the same declaration. A check of a key sees the keys of the same part that are declared above it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import msgspec
from pydantic import AfterValidator, Field, Strict, ValidationInfo, model_validator

from rankgate.criteria.gate import MAX_UNJUDGED, Confidence, Count, Gate, MaxUnjudged, Severity, WrittenEvidence
from rankgate.criteria.parts import Beside, Listed, NotWritten, OnUse, Part, ReadAs, Text, optional, refuse, validated
from rankgate.criteria.paths import MAX_BYTES, WAIVERS, InputFile, location
from rankgate.errors import Problem, RankgateError, bad_input, did_you_mean, shown
from rankgate.metrics.base import Metric
from rankgate.metrics.matching import COVERAGE, DEFAULT_K, SEPARATOR, By, Matching
from rankgate.metrics.plan import Plan
from rankgate.model.report import Published
from rankgate.model.values import CONFIDENCE, Direction, Evidence, RunField
from rankgate.readers.field_map import FieldMap
from rankgate.readers.source import open_source
from rankgate.readers.yaml_text import KeyPath, YamlDocument, load_yaml

if TYPE_CHECKING:
    from rankgate.criteria.judge_block import JudgeBlock
    from rankgate.criteria.retriever_block import Retriever
else:
    JudgeBlock = Annotated[Any, OnUse("rankgate.criteria.judge_block:JudgeBlock")]
    Retriever = Annotated[Any, OnUse("rankgate.criteria.retriever_block:Retriever")]

_OF_THE_FILE = ("evidence", "confidence", "max_unjudged")  # what a gate takes from there unless it says otherwise


def _placed(path: str, info: ValidationInfo) -> str:
    return location(path, info.context["at"]) if info.context else path


PlacedPath = Annotated[str, AfterValidator(_placed), Field(description="Path of the file, relative to this one.")]


class GoldFile(Part):
    """A file and, where the guess from its content is not wanted, its format, or what holds what in it."""

    short: ClassVar = "path"

    path: PlacedPath
    format: str | None = optional("Name of the format; detected from the content where absent.")
    map: Annotated[FieldMap, ReadAs(OnUse("rankgate.criteria.retriever_block:GoldMap"))] | None = optional(
        "What holds what in judgments under other names."
    )


class RunFile(GoldFile):
    """A run, which may be in a shape of its own."""

    map: Annotated[FieldMap, ReadAs(OnUse("rankgate.criteria.retriever_block:RunMap"))] | None = optional(
        "What holds what in a file of no known shape; read as JSONL, JSON, CSV or Parquet."
    )


class Inputs(Part):
    """Where the gold set, the candidate's run and the baseline lie; flags of the command line win."""

    empty_is_absent: ClassVar = frozenset({"waivers"})

    gold: Annotated[InputFile, ReadAs(GoldFile)] | None = optional("The gold set.")
    run: Annotated[InputFile, ReadAs(RunFile)] | None = optional("The candidate's run.")
    baseline: Annotated[InputFile, ReadAs(RunFile)] | None = optional(
        "A directory written by `rankgate baseline accept`, another store, or any run file."
    )
    scores: PlacedPath | None = optional("Numbers of another tool, a row a query, joined to the run for score(FIELD).")
    traffic: PlacedPath | None = optional(
        "Questions of your users without labels: `query_id`, `question`, and optional `tags` and `count`."
    )
    traffic_labels: PlacedPath | None = optional(
        "What people said of documents of these, as `rankgate gold merge` writes it; no file is no label."
    )
    waivers: Beside = optional("Waivers; without the key this file, if it is there.", WAIVERS, validate_default=True)


class Age(Part):
    """How old the accepted run may be."""

    days: Count | None = optional("Days since it was accepted, by the date of the check.")
    commits: Count | None = optional("Commits between the one that it was accepted for and the one to compare with.")
    severity: Severity = optional("What an older one means: error fails, warning warns.", "warning")

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.days is None and self.commits is None:
            refuse([(("days",), "the age has no limit; give it days, commits, or both")])
        return self


class BaselinePolicy(Part):
    """Which runs become the baseline, and how old it may be."""

    empty_is_absent: ClassVar = frozenset({"max_age"})

    accept: Literal["manual", "green"] = optional(
        "manual: only `rankgate baseline accept` moves the baseline. green: `rankgate baseline record` "
        "does as well, with a run that passes.",
        "manual",
    )
    required: bool = optional(
        "true: without a baseline, or with one of fewer than half of the questions, nothing is judged. "
        "false: there is nothing to compare with yet, and the check warns.",
        False,  # noqa: FBT003 -- a default
    )
    max_age: Age = Field(
        default_factory=Age.model_construct, description="How old the baseline may be; any age where absent."
    )


class Publish(Part):
    """What leaves the job by reports, comments, pages and checks."""

    texts: Literal["full", "ids"] | None = optional(
        "Absent: questions of the gold set, claims of answers and passages are shown, and of the traffic ids. full: "
        "texts of the traffic, too. ids: no text leaves, only ids. With --base it counts as the base has it."
    )


class MatchRule(Part):
    """How retrieved items are matched with the gold, with its parameters."""

    short: ClassVar = "by"

    by: Annotated[By, Strict(strict=False)] = optional(
        "chunk: the ids are equal. doc: the item's document is the gold's id. text: the gold names "
        "passages, and the item's text lies in one. span: the gold names spans of documents, and items cover one.",
        By.CHUNK,
    )
    separator: Text = optional(
        "For doc and span: an item without doc_id belongs to the document that its id names before this text.",
        SEPARATOR,
    )
    similarity: float = optional(
        "For text: the share of the item's words that the passage must have; 1 = all of it.", 1.0, gt=0, le=1
    )
    coverage: float = optional("For span: the share of a passage that items must cover.", COVERAGE, gt=0, le=1)
    exclude_query_id: bool = optional(
        "Whether a result whose id is the question's own is left out of every list, as where questions are documents.",
        False,  # noqa: FBT003 -- a default
    )


class Criteria(Part):
    """Ship criteria of rankgate: what a retriever must hold to be merged."""

    gates: Annotated[Listed[Gate], Field(min_length=1)] = Field(
        description="The gates; the worst of them is the verdict."
    )
    inputs: Inputs = optional("Paths of the inputs, relative to this file.", {}, validate_default=True)
    baseline: BaselinePolicy = optional(
        "What becomes the baseline, and for how long it is good.", {}, validate_default=True
    )
    default_k: int = optional("Cut-off for metrics without a number, where the sample states no k.", DEFAULT_K, ge=1)
    evidence: WrittenEvidence = optional(
        "What decides a gate. estimate: the value itself. proven_safe: the whole interval must clear "
        "the limit. proven_harm: only what the interval proves violates; what noise may explain warns or passes.",
        Evidence.ESTIMATE,
    )
    confidence: Confidence = optional("Confidence of the intervals, such as 0.95.", CONFIDENCE)
    max_unjudged: MaxUnjudged = optional(
        "Share of the questions, and at least one unless it is 0, whose value may be missing. They count as the worst. "
        "With more, the gate is not judged, or warns if it cannot block.",
        MAX_UNJUDGED,
    )
    match: Annotated[Matching, ReadAs(MatchRule)] = optional(
        "What makes a retrieved item a document of the gold: chunk (default), doc, text or span.",
        "chunk",
        validate_default=True,
    )
    fork_runs: Literal["untrusted", "trusted"] = optional(
        "What a pass is worth on rankings that a fork's pull request supplies. "
        "untrusted: a maintainer accepts them before it counts. trusted: it counts.",
        "untrusted",
    )
    accept_own: bool = optional(
        "Whether the author of a pull request may set the label `rankgate: accept change` or `rankgate: accept "
        "rankings` on it. It counts as the base has it.",
        default=False,
    )
    publish: Publish = optional("What reports show of the texts.", {}, validate_default=True)
    judge: JudgeBlock | None = Field(
        default=None, description="The model that judges answers, for metrics such as faithfulness."
    )
    retriever: Retriever | None = Field(
        default=None, description="What `rankgate record` asks, and `rankgate check --record`."
    )
    name: NotWritten[str] = ""
    traffic_gates: NotWritten[tuple[Gate, ...]] = ()  # those of `gates` that are over traffic, taken out of it

    @property
    def every_gate(self) -> tuple[Gate, ...]:
        """Also those over traffic, which stand apart."""
        return (*self.gates, *self.traffic_gates)

    @property
    def waivers_named(self) -> bool:
        """Whether the file says where waivers lie, so that they must be there."""
        return "waivers" in self.inputs.model_fields_set

    @property
    def published(self) -> Published:
        """What may leave of texts; where passages have no ids but their texts, neither do these."""
        if self.publish.texts != "ids":
            return self.publish.texts or "gold"
        return "numbers" if self.match.by is By.TEXT else "ids"

    def plan(self) -> Plan:
        """What a check computes of each run."""
        return Plan(metrics=self.metrics(), default_k=self.default_k, how=self.match, keep_matched=True)

    def metrics(self) -> list[Metric]:
        """The gated metrics, each once, in the order of the gates."""
        return list({gate.metric.name: gate.metric for gate in self.gates}.values())

    def requiring_no_baseline(self) -> Self:
        """The same for a run that may have nothing to compare with, as the first that is accepted."""
        return self.model_copy(update={"baseline": self.baseline.model_copy(update={"required": False})})


def load_criteria(path: str, *, at: str | None = None) -> Criteria:
    """Read and check ship criteria, whose inputs are relative to `at` where they are a copy of that file."""
    with open_source(path) as source:
        name = source.name
        document = load_yaml(source.text(MAX_BYTES, "ship criteria are not that long; is this another file?"), name)
    return _checked(document, name, at or path)


def criteria_in(text: str, path: str) -> Criteria:
    """The criteria that a text holds, as if it stood in the file at `path`."""
    return _checked(load_yaml(text.removeprefix("\ufeff"), path), path, path)


def parse_criteria(written: Mapping[str, Any], name: str = "criteria") -> Criteria:
    """Check ship criteria that are no file; their paths are relative to the working directory, problems have no line.

    Raises:
        RankgateError: every problem, with its key path.
    """
    try:
        text = json.dumps(dict(written), default=os.fspath)
    except (TypeError, ValueError, RecursionError) as error:
        raise bad_input(f"hold what no file could: {error}", file=name) from error
    # A number that is not finite becomes a text, and is refused: nothing would ever be below it.
    return _checked(YamlDocument(json.loads(text, parse_constant=str), {}), name, "")


def _checked(document: YamlDocument, name: str, at: str) -> Criteria:
    if not isinstance(document.value, dict):
        raise bad_input(f"expected `gates:` with a list of gates, found {shown(document.value)}", file=name, line=1)
    criteria = validated(document, Criteria, name, at, _problems_between(document.value))
    _refuse_misfits(criteria, document, name)
    lines = (document.line(("gates", index)) for index in range(len(criteria.gates)))
    gates = tuple(_completed(gate, criteria, line) for gate, line in zip(criteria.gates, lines, strict=True))
    retriever = criteria.retriever and criteria.retriever.model_copy(update={"line": document.line(("retriever",))})
    over = {over: tuple(gate for gate in gates if gate.over == over) for over in (None, "traffic")}
    known = {"name": name, "gates": over[None], "traffic_gates": over["traffic"], "retriever": retriever}
    return criteria.model_copy(update=known)


def _refuse_misfits(criteria: Criteria, document: YamlDocument, name: str) -> None:
    """What the file says for all gates has to fit each: a judge where one is needed, traffic and its one cut-off."""
    problems: list[Problem] = []
    over_traffic = [index for index, gate in enumerate(criteria.gates) if gate.over is not None]
    for index in over_traffic:
        key = document.line(("gates", index)), f"gates[{index}].over"
        if criteria.inputs.traffic is None:
            problems.append(Problem("there is no traffic; add inputs: {traffic: traffic.jsonl}", name, *key))
        elif criteria.gates[index].metric.cutoff != criteria.gates[over_traffic[0]].metric.cutoff:
            problems.append(Problem("gates over traffic have one cut-off, since one sheet is for all", name, *key))
    for index, gate in enumerate(criteria.gates):
        if RunField.VERDICTS not in gate.metric.needs:
            continue
        lack: str | None = None
        if criteria.judge is None:
            lack = f"{gate.metric.name} is judged by a model; say which one: judge: {{endpoint: …, model: …}}"
        else:
            lack = _unknown_rubric(gate.metric, criteria.judge.rubrics)
        if lack:
            problems.append(Problem(lack, name, document.line(("gates", index)), f"gates[{index}].name"))
    if problems:
        raise RankgateError(problems)


def _unknown_rubric(metric: Metric, rubrics: Mapping[str, str]) -> str | None:
    from rankgate.metrics.answers import Rubric  # noqa: PLC0415 -- imported with the gate that needs it

    if not isinstance(metric, Rubric) or metric.criterion in rubrics:
        return None
    near = did_you_mean(metric.criterion, rubrics)
    return f"no rubric {metric.criterion!r}{near}; write judge: {{rubrics: {{{metric.criterion}: TEXT}}}}"


def _completed(gate: Gate, criteria: Criteria, line: int | None) -> Gate:
    """A gate with what the file says for all of them, the direction that it gives its metric, and its line."""
    known: dict[str, Any] = {"line": line}
    known |= {key: getattr(criteria, key) for key in _OF_THE_FILE if key not in gate.model_fields_set}
    if criteria.judge and RunField.VERDICTS in gate.metric.needs:
        allowed = criteria.judge.allow_unjudged is not None
        if "evidence" not in {*gate.model_fields_set, *criteria.model_fields_set}:
            known["evidence"] = Evidence.PROVEN_HARM  # a judge errs, and few questions see little
        known["allow_unjudged"] = allowed
    if gate.over is not None:
        known["evidence"] = Evidence.PROVEN_HARM
    if gate.direction is not None and gate.metric.asks_direction:
        known["metric"] = msgspec.structs.replace(gate.metric, better=Direction(gate.direction))
    return gate.model_copy(update=known)


def _problems_between(written: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """What no gate shows by itself, whatever else is wrong with the file."""
    gates = written.get("gates")
    names: set[str] = set()
    listed = [gate for gate in gates if isinstance(gate, dict)] if isinstance(gates, list) else []
    if listed and all("over" in gate for gate in listed):
        yield ("gates",), "all gates are over traffic; add one over the gold set, which knows what is relevant"
    for index, gate in enumerate(gates if isinstance(gates, list) else ()):
        if not isinstance(gate, dict):
            continue
        name = gate.get("name")
        if isinstance(name, str):
            if name in names:
                yield ("gates", index, "name"), f"the gate {shown(name)} stands twice; give each its own name"
            names.add(name)
