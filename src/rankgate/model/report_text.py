"""`report.json` as text: written, and read back if it is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from rankgate.errors import bad_input
from rankgate.model.details import sampled
from rankgate.model.gate_result import GATE_PARTS, GateResult, in_parts, to_row
from rankgate.model.reasons import sentences
from rankgate.model.report import REPORT_PARTS, Report

SCHEMA_VERSION = 2
# Of the file after its version, in their order; other fields of a report are not in it.
KEYS = (
    "verdict",
    "summary",
    "conclusion",
    "problems",
    "failures",
    "warnings",
    "notes",
    "diagnosis",
    "oddities",
    "gates",
    "waivers",
    "lost_parts",
    "given_up",
    "empties",
    "metrics",
    "baseline_metrics",
    "queries",
    "segments",
    "misses",
    "moved",
    "answers",
    "gold_changes",
    "differences",
    "base",
    "other_code",
    "traffic",
    "untrusted_run",
    "fork_runs",
    "trend",
    "provenance",
)
MAX_LOSSES = 50  # answers that got worse, and those that are not faithful


@cache
def file_type() -> type[msgspec.Struct]:
    """The fields of a report and of its parts that the file has, in one object."""
    kinds: list[type[msgspec.Struct]] = [Report, *REPORT_PARTS.values()]
    known = {field.name: field for kind in kinds for field in msgspec.structs.fields(kind)}
    version = Annotated[int, Meta(description="A higher number is refused.")]
    fields: list[tuple[str, Any, Any]] = [("schema_version", version, SCHEMA_VERSION)]
    for key in KEYS:
        absent = {"default": known[key].default, "default_factory": known[key].default_factory}
        fields.append((key, known[key].type, msgspec.field(**absent)))
    about = {"__doc__": "The whole of `report.json`."}
    return msgspec.defstruct("ReportFile", fields, namespace=about, frozen=True, kw_only=True)


def encode_report(report: Report) -> str:
    """The report as indented JSON, keys in a fixed order, ending in a newline; without what is not of the file."""
    written = file_keys(with_texts(report))
    written["gates"] = [to_row(gate, GATE_PARTS) for gate in written["gates"]]
    if answers := report.changes.answers:
        losses = sampled(answers.losses, [loss.stage for loss in answers.losses], MAX_LOSSES)
        unsupported = answers.unsupported[:MAX_LOSSES]
        written["answers"] = replace(answers, losses=losses, unsupported=unsupported)
    return msgspec.json.format(msgspec.json.encode(written), indent=2).decode() + "\n"


def with_texts(report: Report) -> Report:
    """The report with a sentence beside each reason, for those who read JSON; nothing of ours reads it."""
    return _reworded(report, sentences)


def _reworded(report: Report, texts_of: Callable[[GateResult], Sequence[str]]) -> Report:
    gates: list[GateResult] = []
    for gate in report.gates:
        pairs = zip(gate.decision.reasons, texts_of(gate), strict=True)
        reasons = [replace(reason, text=text) for reason, text in pairs]
        gates.append(replace(gate, decision=replace(gate.decision, reasons=reasons)))
    return replace(report, gates=gates)


def decode_report(data: bytes, name: str) -> Report:
    """Read a report; an error where it is none, or one of another schema."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SCHEMA_VERSION:
            known = f"this rankgate reads ({SCHEMA_VERSION}); upgrade rankgate"
            raise bad_input(f"report schema {version} is newer than {known}", file=name)
        if version < SCHEMA_VERSION:
            raise bad_input(f"not a rankgate report: there is no schema {version}", file=name)
        document = msgspec.json.decode(data)
        rows = document.get("gates")
        if isinstance(rows, list):
            document["gates"] = [_gate(row, name, f"gates[{index}]") for index, row in enumerate(rows)]
        file = msgspec.convert(document, type=file_type())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad_input(f"not a rankgate report: {error}", file=name) from error
    report = report_of({key: getattr(file, key) for key in KEYS})
    return _reworded(report, lambda gate: [""] * len(gate.decision.reasons))  # the sentences were written for others


def file_keys(report: Report) -> dict[str, Any]:
    """What `report.json` holds of it by its keys; nothing that only the process of a check knows."""
    row = to_row(report, REPORT_PARTS)
    return {"schema_version": SCHEMA_VERSION} | {key: row[key] for key in KEYS}


def report_of(keys: Mapping[str, Any]) -> Report:
    """A report of these keys, which its parts take up."""
    values = in_parts(keys, REPORT_PARTS)
    parts = {name: part(**values[name]) for name, part in REPORT_PARTS.items()}
    return Report(**values | parts)


def _gate(row: Any, name: str, key: str) -> Any:
    """A gate; what is none is left to the conversion.

    Each part is converted by itself, so that an error names the key as the file has it.
    """
    if not isinstance(row, dict):
        return row
    result = in_parts(row, GATE_PARTS)
    try:
        parts = {part: msgspec.convert(result[part], kind) for part, kind in GATE_PARTS.items()}
        return msgspec.convert(result | parts, GateResult)
    except msgspec.ValidationError as error:
        raise bad_input(f"not a rankgate report: {error}", file=name, key=key) from error


class _Version(msgspec.Struct):
    schema_version: int
