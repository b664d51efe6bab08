"""`report.json` as text: written, and read back if it is one."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from rankgate.errors import bad_input
from rankgate.model.details import sampled
from rankgate.model.gate_result import PARTS, GateResult, in_parts, to_row
from rankgate.model.reasons import sentences
from rankgate.model.report import SCHEMA_VERSION, Report, ReportFile
from rankgate.model.values import ReasonKind

MAX_LOSSES = 50  # answers that got worse, and those that are not faithful


def encode_report(report: Report) -> str:
    """The report as indented JSON, keys in a fixed order, ending in a newline; without what is not of the file."""
    written = file_keys(with_texts(report))
    written["gates"] = [to_row(gate) for gate in written["gates"]]
    if answers := report.answers:
        losses = sampled(answers.losses, [loss.stage for loss in answers.losses], MAX_LOSSES)
        unsupported = answers.unsupported[:MAX_LOSSES]
        written["answers"] = replace(answers, losses=losses, unsupported=unsupported)
    return msgspec.json.format(msgspec.json.encode(written), indent=2).decode() + "\n"


def with_texts(report: Report) -> Report:
    """The report with a sentence beside each reason, for those who read JSON; nothing of ours reads it."""
    gates: list[GateResult] = []
    for gate in report.gates:
        texts = sentences(gate)
        reasons = [replace(reason, text=text) for reason, text in zip(gate.decision.reasons, texts, strict=True)]
        gates.append(replace(gate, decision=replace(gate.decision, reasons=reasons)))
    return replace(report, gates=gates)


def decode_report(data: bytes, name: str) -> Report:
    """Read a report; an error where it is none, or one of a newer schema."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SCHEMA_VERSION:
            known = f"this rankgate reads ({SCHEMA_VERSION}); upgrade rankgate"
            raise bad_input(f"report schema {version} is newer than {known}", file=name)
        document = msgspec.json.decode(data)
        rows = document.get("gates")
        if isinstance(rows, list):
            document["gates"] = [_gate(row, version, name, f"gates[{index}]") for index, row in enumerate(rows)]
        report = msgspec.convert(document, type=ReportFile)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad_input(f"not a rankgate report: {error}", file=name) from error
    gates: list[GateResult] = []
    for gate in report.gates:  # the sentences were written for others
        reasons = [each if each.kind is ReasonKind.TEXT else replace(each, text="") for each in gate.decision.reasons]
        gates.append(replace(gate, decision=replace(gate.decision, reasons=reasons)))
    return Report(**file_keys(replace(report, schema_version=SCHEMA_VERSION, gates=gates)))


def file_keys(report: ReportFile) -> dict[str, Any]:
    """What `report.json` holds of it by its keys; nothing that only the process of a check knows."""
    return {name: getattr(report, name) for name in ReportFile.__struct_fields__}


def _gate(row: Any, version: int, name: str, key: str) -> Any:
    """A gate; what is none is left to the conversion. In a report of schema 1 reasons were sentences.

    Each part is converted by itself, so that an error names the key as the file has it.
    """
    if not isinstance(row, dict):
        return row
    if version == 1 and isinstance(reasons := row.get("reasons"), list):
        row["reasons"] = [{"kind": ReasonKind.TEXT, "text": reason} for reason in reasons]
    result = in_parts(row)
    try:
        parts = {part: msgspec.convert(result[part], kind) for part, kind in PARTS.items()}
        return msgspec.convert(result | parts, GateResult)
    except msgspec.ValidationError as error:
        raise bad_input(f"not a rankgate report: {error}", file=name, key=key) from error


class _Version(msgspec.Struct):
    schema_version: int
