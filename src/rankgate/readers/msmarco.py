"""Runs as MS MARCO's leaderboards take them: three columns `query document rank`, separated by tabs or blanks."""

from __future__ import annotations

from collections.abc import Iterator

from rankgate.errors import Problem
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, finite_number
from rankgate.readers.delimited import columns_of
from rankgate.readers.field_map import FieldMap
from rankgate.readers.mapped import read_records
from rankgate.readers.recognition import Beginning, Likeness, Recognised, RunFormat
from rankgate.readers.source import Source

_LAYOUT = "query document rank"


def _read(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings in the order of their ranks, 1 to n, each once, in any order of rows.

    A gap, as filtering leaves it, is an error: the leaderboard's script counts the ranks as written, most other tools
    close the gap, and which is meant is not ours to guess.
    """
    names = _LAYOUT.split()
    rows = columns_of(source.lines(), _LAYOUT, source.name, log, _split)
    records = ((Problem("", source.name, number), dict(zip(names, cells, strict=True))) for number, cells in rows)
    fields = FieldMap(query_id="query", chunk_id="document", rank="rank")
    return read_records(fields, records, source.name, needs, log, cells=True)


def _split(line: bytes) -> list[bytes]:
    """By tabs where there is one, so that ids may hold blanks, else by blanks."""
    return line.rstrip(b"\r\n").split(b"\t") if b"\t" in line else line.split()


def _recognise(start: Beginning) -> Recognised:
    last = start.columns[-1].decode("utf-8", "replace") if len(start.columns) == len(_LAYOUT.split()) else ""
    if not start.json and not start.is_msmarco and finite_number(last) is not None:
        return "three columns that end in a score need a header: query_id, doc_id, score, separated as they are"
    return Likeness.sure(start.is_msmarco)


RUN = RunFormat(
    recognise=_recognise,
    read=_read,
    shape="`q-1 doc-3 1`, separated by tabs or blanks, no header",
    order="the rank",
    looks_like="three columns are BEIR qrels where the first row is query-id corpus-id score, and a run of MS MARCO "
    "else",
)
