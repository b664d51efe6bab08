"""`report.json` as text: written, and read back if it is one."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from rankgate.errors import bad_input
from rankgate.model.details import sampled
from rankgate.model.reasons import sentences
from rankgate.model.report import SCHEMA_VERSION, GateResult, Report
from rankgate.model.values import Reason, ReasonKind

MAX_LOSSES = 50  # answers that got worse, and those that are not faithful
_OF_THIS_PROCESS = ("details", "links", "losers", "lowest", "anchor", "call")  # what no file has


def encode_report(report: Report) -> str:
    """The report as indented JSON, keys in a fixed order, ending in a newline; without what is not of the file."""
    written = with_texts(replace(report, **dict.fromkeys(_OF_THIS_PROCESS, msgspec.UNSET)))
    if answers := report.answers:
        losses = sampled(answers.losses, lambda loss: loss.stage, MAX_LOSSES)
        unsupported = answers.unsupported[:MAX_LOSSES]
        written = replace(written, answers=replace(answers, losses=losses, unsupported=unsupported))
    return msgspec.json.format(msgspec.json.encode(written), indent=2).decode() + "\n"


def with_texts(report: Report) -> Report:
    """The report with a sentence beside each reason, for those who read JSON; nothing of ours reads it."""

    def spelled(gate: GateResult) -> GateResult:
        texts = zip(gate.reasons, sentences(gate), strict=True)
        return replace(gate, reasons=[replace(reason, text=text) for reason, text in texts])

    return replace(report, gates=[spelled(gate) for gate in report.gates])


def decode_report(data: bytes, name: str) -> Report:
    """Read a report; an error where it is none, or one of a newer schema."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SCHEMA_VERSION:
            known = f"this rankgate reads ({SCHEMA_VERSION}); upgrade rankgate"
            raise bad_input(f"report schema {version} is newer than {known}", file=name)
        report = msgspec.json.decode(data if version > 1 else _with_kinds(data), type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad_input(f"not a rankgate report: {error}", file=name) from error

    def unspelled(reason: Reason) -> Reason:  # the sentence was written for others
        return reason if reason.kind is ReasonKind.TEXT else replace(reason, text="")

    gates = [replace(gate, reasons=[unspelled(reason) for reason in gate.reasons]) for gate in report.gates]
    mine = dict.fromkeys(_OF_THIS_PROCESS, msgspec.UNSET)  # whatever the file holds
    return replace(report, schema_version=SCHEMA_VERSION, gates=gates, **mine)


def _with_kinds(data: bytes) -> bytes:
    """A report of schema 1, whose reasons were sentences; what else is wrong with it is left to the decoder."""
    report: Any = msgspec.json.decode(data)
    gates = report.get("gates")
    for gate in gates if isinstance(gates, list) else []:
        if isinstance(gate, dict) and isinstance(reasons := gate.get("reasons"), list):
            gate["reasons"] = [{"kind": ReasonKind.TEXT, "text": reason} for reason in reasons]
    return msgspec.json.encode(report)


class _Version(msgspec.Struct):
    schema_version: int
