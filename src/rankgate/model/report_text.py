"""`report.json` as text: written, and read back if it is one."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from rankgate.errors import bad_input
from rankgate.model.report import SCHEMA_VERSION, Report


def encode_report(report: Report) -> str:
    """The report as indented JSON, keys in a fixed order, ending in a newline; without what only pages show."""
    return msgspec.json.format(msgspec.json.encode(replace(report, exhibit=msgspec.UNSET)), indent=2).decode() + "\n"


def decode_report(data: bytes, name: str) -> Report:
    """Read a report.

    Raises:
        RankgateError: not a report, or one of a newer schema.
    """
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SCHEMA_VERSION:
            known = f"this rankgate reads ({SCHEMA_VERSION}); upgrade rankgate"
            raise bad_input(f"report schema {version} is newer than {known}", file=name)
        return msgspec.json.decode(data, type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad_input(f"not a rankgate report: {error}", file=name) from error


class _Version(msgspec.Struct):
    schema_version: int
