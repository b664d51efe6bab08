"""A run accepted into a directory, as `rankgate baseline accept` does it once it has judged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rankgate.baselines.directory import directory_store
from rankgate.baselines.packing import DEFAULT_DEPTH, pack, recorded
from rankgate.baselines.records import Record
from rankgate.model.lineage import AnchorMark, GoldMark
from rankgate.model.values import Ranking


def accept_into(
    folder: str | Path,
    rankings: Iterable[Ranking],
    *,
    date: str,
    source: str = "run",
    provenance: Mapping[str, Any] = {},
    gold: GoldMark | None = None,
    depth: int = DEFAULT_DEPTH,
) -> Record:
    """Store a run as the accepted one; its record."""
    packed = pack(rankings, source=source, depth=depth)
    record = recorded(packed, source=source, provenance=provenance, gold=gold, date=date)
    directory_store(Path(folder).as_posix()).memory.add("accepted", record, packed.data)
    return record


def newest(folder: str | Path = "baseline") -> Path:
    """The file of the record that is accepted in a directory."""
    return max(Path(folder, "accepted").iterdir())


def newest_of(folder: str | Path = "baseline") -> dict[str, Any]:
    """What it says."""
    value: dict[str, Any] = json.loads(newest(folder).read_text(encoding="utf-8"))
    return value


def run_of(folder: str | Path = "baseline") -> Path:
    """The run file that it names."""
    return Path(folder, "rankings", newest_of(folder)["run"])


def logged(first: Record, *later: Record) -> list[Record]:
    """A log of acceptances: the first is the anchor of all that follow."""
    marks = [AnchorMark(id=first.id, date=first.date, steps=steps) for steps in range(1, len(later) + 1)]
    return [first, *(replace(record, anchor=mark) for record, mark in zip(later, marks, strict=True))]


def made(text: str, **about: Any) -> tuple[Record, bytes]:
    """A record and the bytes of its run file, which nobody reads here."""
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    said: dict[str, Any] = {"commit": digest[:40], "date": "2025-06-01", **about}
    record = Record(
        run=f"run-{digest[:12]}.jsonl.gz",
        sha256=digest,
        depth=100,
        queries=1,
        kept=[],
        source="run.jsonl",
        provenance={"system": "bm25"},
        gold=None,
        **said,
    )
    return record, data
