"""Records as earlier releases wrote them become those of today; what a later one wrote is refused by its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rankgate.baselines.records import SCHEMA_VERSION, Record
from rankgate.errors import Problem, RankgateError, bad_input

RESTORE = "restore it from version control or accept a run again"  # true where accepting puts a whole one in its place


class DamagedRecordError(RankgateError):
    """A record that cannot be read; where it is the manifest of a directory, accepting a run again fixes it."""


def decode_record(
    data: bytes, file: str, *, line: int | None = None, what: str = "baseline manifest", advice: str = RESTORE
) -> Record:
    """Read a record of any schema up to today's.

    Args:
        data: JSON.
        file: names where it stands.
        line: of a log.
        what: names it in messages.
        advice: what to do where it is damaged.

    Raises:
        DamagedRecordError: it is no record.
        RankgateError: its schema is newer than this release.
    """
    try:
        version = schema_of(data)
        if version > SCHEMA_VERSION:
            known = f"this rankgate reads ({SCHEMA_VERSION}); upgrade rankgate"
            raise bad_input(f"baseline schema {version} is newer than {known}", file=file, line=line)
        if version == SCHEMA_VERSION:
            return msgspec.json.decode(data, type=Record)
        raw = msgspec.json.decode(data, type=dict[str, Any])
        for older in range(version, SCHEMA_VERSION):
            raw = FORWARD[older](raw)
        return msgspec.convert(raw, Record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError) as error:
        said = f"has no schema {error}" if isinstance(error, KeyError) else str(error)
        raise DamagedRecordError([Problem(f"damaged {what}: {said}; {advice}", file, line)]) from error


def schema_of(data: bytes) -> int:
    """The schema that a record was written in.

    Raises:
        msgspec.MsgspecError: it is no record of any.
    """
    return msgspec.json.decode(data, type=_Version).schema_version


def encode_record(record: Record) -> bytes:
    """A record as a line of a log, without its line end."""
    return msgspec.json.encode(record)


def _from_1(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Schema 1 knew neither commit nor verdict nor scores, and called the day `accepted`."""
    kept = {key: value for key, value in raw.items() if key != "accepted"}
    return {**kept, "schema_version": 2, **({"date": raw["accepted"]} if "accepted" in raw else {})}


# From each schema to the next.
FORWARD: Mapping[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {1: _from_1}


class _Version(msgspec.Struct):
    schema_version: int
