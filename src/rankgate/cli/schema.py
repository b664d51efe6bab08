"""`rankgate schema`: the JSON Schema of the ship criteria, of waivers, or of what a command prints as JSON."""

from __future__ import annotations

import argparse
import inspect
import json
from typing import Any, Literal

import msgspec

from rankgate.baselines.records import Log, Record
from rankgate.cli.baseline import ListedRecord, Verified
from rankgate.cli.options import add_option, make_parser
from rankgate.criteria import Criteria
from rankgate.criteria.parts import json_schema
from rankgate.criteria.waivers import WaiverFile
from rankgate.diagnosis.misses import Misses, QueryExplained
from rankgate.gates.acceptance import GateChange
from rankgate.model.answers import UnjudgedKind
from rankgate.model.gate_result import GATE_PARTS, GateResult
from rankgate.model.report import JudgedValue
from rankgate.model.report_text import file_type
from rankgate.model.scores import Distribution
from rankgate.model.values import Direction, Interval, Unit
from rankgate.model.verdicts import Calibration

# A shape is a type, whose schema msgspec knows; an object by its keys, of which those with ? may be absent, or
# {"*": the shape of every value}; [the shape of every entry]; or (one shape, or another).
Shape = dict[str, Any]
_CI = Interval | None
_FLOAT = float | None
_TEXTS = list[str]
_SPENT = {"calls": int, "tokens": int}
_CHANGE: Shape = {"a": _FLOAT, "b": float, "delta": _FLOAT, "ci": _CI, "n_pairs": int, "better?": int, "worse?": int}
_SCORED: Shape = {"value": _FLOAT, "ci": _CI, "n": int, "undefined": int, "distribution": Distribution | None}
_SCORED |= {"with_judge?": JudgedValue | None, "as_of?": (_CHANGE, None)}
_COUNTS = {"total": int, "missing": int, "unjudged": int, "duplicates": int}
_AS_OF = {"queries": int, "changed": int, "left_out": int, "undated": int}
_PARAMETER = {"default": str | float | bool | None, "required": bool, "choices?": _TEXTS, "meaning": str}
_METRIC: Shape = {"kind": Literal["metric", "view", "gain"], "name": str, "written": _TEXTS, "meaning": str}
_METRIC |= {"aliases?": _TEXTS, "stands_for?": dict[str, str], "formula?": str, "direction?": Direction | None}
_METRIC |= {"unit?": Unit, "low?": _FLOAT, "high?": _FLOAT, "cutoff?": str, "absent?": _FLOAT, "judge_bounds?": bool}
_METRIC |= {"parameters": {"*": _PARAMETER}, "views?": _TEXTS, "description": str}
_METRIC |= {"needs": {"run": _TEXTS, "gold": _TEXTS, "baseline": _TEXTS, "judge": _TEXTS}}
_PLAN = {"answers": int, "cached": int, **_SPENT, "ignored": int, "unanswered": int, "textless": int}
_KINDS = dict[UnjudgedKind, int]
_STOPPED = {"kind": UnjudgedKind, "number": int | None}
_OF_RUN = {"judged": int, "unjudged": _KINDS}
_OUTCOME: Shape = {"run": _OF_RUN, "baseline?": _OF_RUN, **_SPENT, "models": dict[str, int]}
_OUTCOME |= {"verdicts": str, "failed": _KINDS, "stopped": (_STOPPED, None)}
_JUDGE: Shape = {"judge": {"id": str, "model": str, "structured": str, "tried": bool}, "metrics": _TEXTS}
_JUDGE |= {"needs": _TEXTS, "plan": {"*": _PLAN}, "outcome": (_OUTCOME, None)}
_DIFFERING = {"item": str, "n": int, "people": dict[str, str], "judge": str, "passage": str}
_CALIBRATED: Shape = {"answers": int, "labelled": int, "counted": int, "labels_needed": dict[str, int | None]}
_CALIBRATED |= {"output": str, "calibration": Calibration, "disagreements": [_DIFFERING]}
_ACCEPTED = {"id": str, "added": bool, "accepted": bool, "record": Record, "changes": list[GateChange]}
_COMPARED = {"metrics": {"*": (_CHANGE, None)}, "queries": {"total": int, "missing_a": int, "missing_b": int}}
# What each command prints by `--format json`.
OUTPUTS: dict[str, Any] = {
    "report": file_type(),
    "explain": (
        {"explains": Literal["query"], "query": QueryExplained},
        {"explains": Literal["misses"], "misses": Misses},
    ),
    "score": {"metrics": {"*": _SCORED}, "queries": _COUNTS, "as_of?": _AS_OF},
    "compare": (_COMPARED, {"runs": {"*": _COMPARED}}),
    "metrics": [_METRIC],
    "judge": _JUDGE,
    "judge-calibrate": _CALIBRATED,
    "baseline-accept": _ACCEPTED,
    "baseline-record": _ACCEPTED,
    "baseline-show": {"spec": str, "accepted": ListedRecord | None},
    "baseline-history": list[ListedRecord],
    "baseline-prune": {"log": Log, "pruned": bool, "records": list[ListedRecord]},
    "baseline-verify": Verified,
}


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "schema",
        "Print the JSON Schema of ship-criteria.yaml. Editors read it through the first line of the file:\n"
        "# yaml-language-server: $schema=ship-criteria.schema.json",
        "rankgate schema > ship-criteria.schema.json",
        "rankgate schema --of waivers > ship-waivers.schema.json",
        "rankgate schema --of report > report.schema.json",
    )
    of = "of ship-waivers.yaml, of report.json, or of what a command prints by --format json"
    add_option(options, "--of", of, choices=("waivers", *OUTPUTS))
    return options


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    if arguments.of is None:
        schema = json_schema(Criteria, "rankgate ship criteria")
    elif arguments.of == "waivers":
        schema = json_schema(WaiverFile, "rankgate waivers")
    else:
        schema = output_schema(arguments.of)
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0


def output_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one of `OUTPUTS`, in the draft 2020-12; it refuses keys that it does not name."""
    parts: dict[str, Any] = {}
    output = _schema(OUTPUTS[name], parts)
    if GateResult.__name__ in parts:
        _flatten(parts)
    for part in parts.values():
        part.update({"additionalProperties": False} if "properties" in part else {})
        part["description"] = inspect.cleandoc(part["description"])
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"rankgate {name}"}
    return {**about, **output, "$defs": parts}


def _flatten(parts: dict[str, Any]) -> None:
    """Put the keys of a result's parts beside its own, as report.json has them."""
    result = parts[GateResult.__name__]
    for name in GATE_PARTS:
        result["properties"].pop(name)
        result["required"].remove(name)
    for part in GATE_PARTS.values():
        schema = parts.pop(part.__name__)
        result["properties"] |= schema["properties"]
        result["required"] += schema["required"]
        result["description"] += "\n\n" + inspect.cleandoc(schema["description"])


def _schema(shape: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """The schema of a shape; what it refers to by name is added to the parts."""
    if isinstance(shape, tuple):
        return {"anyOf": [_schema(each, parts) for each in shape]}
    if isinstance(shape, list):
        return {"type": "array", "items": _schema(shape[0], parts)}
    if not isinstance(shape, dict):
        [schema], named = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
        parts.update(named)
        return schema
    if "*" in shape:
        return {"type": "object", "additionalProperties": _schema(shape["*"], parts)}
    keys = {key.removesuffix("?"): _schema(each, parts) for key, each in shape.items()}
    required = [key for key in keys if key in shape]
    return {"type": "object", "properties": keys, "required": required, "additionalProperties": False}
