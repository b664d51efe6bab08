"""`ship-criteria.yaml` as it is written: every key with its kind, its bounds and its description.

The JSON Schema for editors comes from the same declaration.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from rankgate.metrics.matching import DEFAULT_K, SEPARATOR
from rankgate.model.values import CONFIDENCE
from rankgate.readers.mapping import FieldMap

MIN_QUERIES = 30
ANCHOR_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$"  # it stands in tables and file names


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
        str | WrittenRun | None,
        Meta(description="A directory written by `rankgate baseline accept`, another store, or any run file."),
    ] = None
    waivers: Annotated[
        Annotated[str, Meta(min_length=1)] | None, Meta(description="Waivers; ship-waivers.yaml where absent.")
    ] = None


class WrittenLimits(_Written, frozen=True, kw_only=True):
    """Limits for one value of the tag, where they differ from the rule's."""

    threshold: Annotated[float | None, Meta(description="Floor (or ceiling) of this segment.")] = None
    regression_max: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="How far this segment may fall below the baseline.")
    ] = None
    severity: Annotated[Literal["error", "warning"] | None, Meta(description="Of this segment.")] = None


class WrittenSegments(_Written, frozen=True, kw_only=True):
    """The same metric on the queries that share a tag."""

    by: Annotated[
        str | list[str],
        Meta(description="Key of the tags, such as lang for lang:pt-BR; a list crosses several."),
    ]
    threshold: Annotated[float | None, Meta(description="Floor (or ceiling) of every segment.")] = None
    regression_max: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="How far every segment may fall below the baseline.")
    ] = None
    min_queries: Annotated[
        int, Meta(ge=1, description="Segments with fewer scored queries are shown and never block.")
    ] = MIN_QUERIES
    severity: Annotated[
        Literal["error", "warning"] | None, Meta(description="Of the segments; the gate's own where absent.")
    ] = None
    only: Annotated[
        dict[str, WrittenLimits], Meta(description="Limits of single values, in place of those for every segment.")
    ] = {}


class WrittenAge(_Written, frozen=True, kw_only=True):
    """How old the accepted run may be."""

    days: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="Days since it was accepted, by the date of the check.")
    ] = None
    commits: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Commits between the one that it was accepted for and the one to compare with."),
    ] = None
    severity: Annotated[
        Literal["error", "warning"], Meta(description="What an older one means: error fails, warning warns.")
    ] = "warning"


class WrittenBaseline(_Written, frozen=True, kw_only=True):
    """What becomes the baseline, and for how long it is good."""

    accept: Annotated[
        Literal["manual", "green"],
        Meta(
            description="manual: only `rankgate baseline accept` moves the baseline. green: `rankgate baseline record` "
            "does as well, with a run that passes; never with one that failed or could not be judged."
        ),
    ] = "manual"
    anchor: Annotated[
        Annotated[str, Meta(pattern=ANCHOR_NAME)] | None,
        Meta(description="Name of the anchor, as `rankgate baseline anchor NAME` gave it, for the drift of all gates."),
    ] = None
    max_age: Annotated[WrittenAge | None, Meta(description="How old the baseline may be; any age where absent.")] = None


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
    drift_max: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="How far the metric may fall (or rise) below the anchor that `baseline.anchor` names."),
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
    noise: Annotated[
        float,
        Meta(ge=0, description="What whole runs move by themselves, as `rankgate noise` prints it; widens intervals."),
    ] = 0.0
    segments: Annotated[
        WrittenSegments | list[WrittenSegments] | None,
        Meta(description="Limits on the queries that share a tag; a list for several keys."),
    ] = None
    must_pass: Annotated[
        list[str | int],
        Meta(description="Queries, by id or tag, for which the metric must not be at its worst, whatever the average."),
    ] = []
    max_lost_queries: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="How many queries may fall to the metric's worst that were not there in the baseline."),
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
    baseline: Annotated[
        WrittenBaseline, Meta(description="What becomes the baseline, and for how long it is good.")
    ] = WrittenBaseline()
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
    holdout: Annotated[
        Annotated[float, Meta(gt=0, lt=1)] | None,
        Meta(description="Share of the queries that is private, which only `rankgate baseline accept` judges."),
    ] = None
    match: Annotated[
        Literal["chunk", "doc", "text"] | WrittenMatching,
        Meta(description="What makes a retrieved item a document of the gold: chunk (default), doc or text."),
    ] = "chunk"
    gold_changes: Annotated[
        Literal["warn", "fail"] | None,
        Meta(
            description="With --base: what it means that a pull request removes or relabels queries of the gold set. "
            "Absent: it fails where the run fails by the base's gold set, and else warns. warn: a warning that names "
            "them. fail: it is not merged."
        ),
    ] = None
    fork_runs: Annotated[
        Literal["untrusted", "trusted"],
        Meta(
            description="What a pass is worth on rankings that a fork's pull request supplies and may have invented. "
            "untrusted: a maintainer accepts them before it counts. trusted: it counts."
        ),
    ] = "untrusted"
    waiver_label: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A label of pull requests, such as 'rankgate: waive', by which somebody who may write waives "
            "the violations of one commit. Absent: no label does."
        ),
    ] = None


def json_schema(kind: type[msgspec.Struct] = WrittenCriteria, title: str = "rankgate ship criteria") -> dict[str, Any]:
    """The JSON Schema of a file as it is written, for editors; of the criteria unless another kind is asked for."""
    schema = _in_order(msgspec.json.schema(kind))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def _in_order(schema: Any) -> Any:
    """The same schema whatever msgspec wrote it: releases list the alternatives of a union in different orders."""
    if isinstance(schema, dict):
        inner = {key: _in_order(value) for key, value in schema.items()}
        return inner | {"anyOf": sorted(inner["anyOf"], key=str)} if "anyOf" in inner else inner
    return [_in_order(value) for value in schema] if isinstance(schema, list) else schema
