"""Runs as JSON: one line a query (the contract and its looser cousins), a list of such objects, or `{query: [ids]}`.

The contract's line is `{"query_id": …, "topk": [{"rank": 1, "chunk_id": …, "score": …}]}`. Read as well are `id` for
the query, `retrieved`, `actual_output` or `actualOutput` for the list, and items that are `{"id": …}` or a bare id.
Order: by rank where the items state ranks, else as listed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.model.lineage import KNOWN_KEYS
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog
from rankgate.readers.field_map import DOC, named
from rankgate.readers.recognition import (
    LINE_KEYS,
    LISTS,
    RAGAS_QUESTION,
    SAMPLE_KEYS,
    Beginning,
    Likeness,
    Recognised,
    RunFormat,
    of_two,
)
from rankgate.readers.source import Source
from rankgate.readers.strict_lines import Lines, stated_beside

if TYPE_CHECKING:
    from rankgate.readers.loose_lines import LooseLines

LARGE = 100_000_000  # bytes
LOOKED_AT = 1_000  # lines: enough to tell, and a millisecond
_FEW = 3  # values by which a run may be a mixture; of a query's own key a file has many


def read_jsonl_quickly(
    stream: BinaryIO, needs: frozenset[RunField], size: int, *, stored: bool = False
) -> Iterator[Ranking]:
    """Rankings from JSONL, one line a query, as long as nothing is wrong, else a ValueError; see `RunFormat`."""
    lines = Lines(needs, sampled=size >= LARGE)
    loose: LooseLines | None = None
    for line in stream:
        ranking = lines.strict(line)
        if ranking is None and not line.isspace():
            if loose is None:
                from rankgate.readers.loose_lines import LooseLines  # noqa: PLC0415 -- paid only for lines of other shapes

                loose = LooseLines(lines, stored=stored)
            ranking = loose.ranking(line)
        if ranking is not None and (lines.traffic or not ranking.traffic):
            yield ranking


def provenance(source: Source) -> Mapping[str, Any]:
    """What a JSONL run says about the system, by the first lines of a file, or those of `head`."""
    with Path(source.file.path).open("rb") if source.file else io.BytesIO(source.head) as file:
        file.seek(source.file.start if source.file else 0)
        return provenance_of(line for line in islice(file, LOOKED_AT) if not line.isspace())


def provenance_of(lines: Iterator[bytes]) -> Mapping[str, Any]:
    """What lines say about the system, by the first; empty when that does not parse or says nothing.

    Those that follow may say otherwise: a key that has several values there is given as `varies by line: v1, v2`, and
    one that has many belongs to the queries, unless it states a component.
    """
    stated = stated_beside(next(lines, b""))
    texts = {key: {text: None} for key, (_, text) in stated.items()}
    for line in lines if stated else ():
        for key, (_, text) in stated_beside(line).items():
            if key in texts:
                texts[key].setdefault(text)
    values: dict[str, Any] = {}
    for key, (value, _) in stated.items():
        several = list(texts[key])
        if len(several) == 1:
            values[key] = value
        elif len(several) <= _FEW or key in KNOWN_KEYS:
            values[key] = f"varies by line: {', '.join(several[:_FEW])}{', …' if len(several) > _FEW else ''}"
    return values


def read_jsonl(
    source: Source, needs: frozenset[RunField], log: ProblemLog, *, stored: bool = False
) -> Iterator[Ranking]:
    """Rankings from JSONL, read with care: see `loose_lines.read_jsonl`."""
    from rankgate.readers import loose_lines  # noqa: PLC0415 -- paid only where the quick reader gives up

    yield from loose_lines.read_jsonl(source, needs, log, stored=stored)


def _read_document(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    from rankgate.readers.loose_lines import read_document  # noqa: PLC0415 -- as above

    return read_document(source, needs, log)


def _recognise(start: Beginning) -> Recognised:
    if both := of_two(start):
        return both
    lines = start.is_jsonl(LINE_KEYS)
    if start.json != "{" or (start.keys & SAMPLE_KEYS and not start.keys & LINE_KEYS):
        return Likeness.NO
    is_line = start.keys & {"query_id"} and RAGAS_QUESTION not in start.keys  # which has its lists under own names
    if start.has_rows or (start.keys.isdisjoint(LISTS) and named(DOC, start.keys - {"id"})):  # rows, or judgments
        return Likeness.NO
    broken = lines and not start.keys and any(f'"{key}"'.encode() in start.line for key in LINE_KEYS)
    if start.keys & LISTS or is_line or broken:
        return Likeness.YES
    return Likeness.MAYBE if lines or start.keys & LINE_KEYS else Likeness.NO


JSONL = RunFormat(
    recognise=_recognise,
    read=read_jsonl,
    shape='`{"query_id": "q-1", "topk": [{"rank": 1, "chunk_id": "doc-3"}]}`, one question a line',
    order="`rank`, or else the list",
    looks_like="that looks like a run",
    provenance=provenance,
    quick=read_jsonl_quickly,
    by_line=True,
)
JSON = RunFormat(
    recognise=lambda start: of_two(start) or (Likeness.MAYBE if start.json else Likeness.NO),
    read=_read_document,
    shape='a list of such objects, or `{"q-1": ["doc-3", "doc-9"]}`',
    order="the same",
)
