"""Runs as TREC writes them: `query Q0 document rank score tag`.

As trec_eval does, the score decides and the rank column is ignored (some writers put 0 on every row): score descending,
ties by document id descending. Scores compare as 64-bit floats; trec_eval compares 32 bits, where 1.00000001 ties
with 1.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, islice, pairwise
from operator import gt, ne
from typing import Any, BinaryIO, NamedTuple

import msgspec

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, deduplicated, finite_number, whole_number
from rankgate.readers.recognition import Beginning, Likeness, RunFormat
from rankgate.readers.rows import two_systems
from rankgate.readers.source import Source
from rankgate.readers.strict_lines import MIN_SCORES
from rankgate.readers.tables import blocks, columns_of, plain_columns, plain_numbers

RUN_COLUMNS = 6
_LAYOUT = "query Q0 document rank score tag"
# By row: query, document, score, tag, rank.
_Rows = tuple[Sequence[str], Sequence[str], Sequence[float], Sequence[str], Sequence[str]]


class _Gathered(msgspec.Struct):
    """The rows of a query so far, and whether the scores of the first of them rise from rank to rank."""

    tag: str
    rising: bool
    scores: list[float] | array[float]
    docs: list[str] = []


def _read(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from a TREC run file, in the order in which queries first appear; their rows may stand anywhere."""
    del needs  # the format holds ids and scores only
    return _rankings(source.stream, source.name, log, together=False)


def _read_quickly(stream: BinaryIO, needs: frozenset[RunField], size: int) -> Iterator[Ranking]:
    """The same of a file whose queries have their rows together, one by one; see `RunFormat`.

    Where they are scattered, a query comes more than once; a RankgateError where something is wrong with a row.
    """
    del needs, size
    return _rankings(stream, "", ProblemLog(1), together=True)


def _rankings(stream: BinaryIO, name: str, log: ProblemLog, *, together: bool) -> Iterator[Ranking]:
    """The ranking of each query, once the file ends, or the next query begins where rows stand `together`.

    Rows of a query with two tags are those of two runs; from query to query the tag may differ.
    """
    queries: dict[str, _Gathered] = {}
    number = 1
    for block in blocks(stream):
        for rows in _by_query(_plain(block) or _careful(block, number, name, log)):
            query = queries.get(rows.query_id)
            if query is None:
                if together:
                    yield from _all_ranked(queries)
                values: list[float] | array[float] = [] if together else array("d")  # a quarter of a list
                query = _Gathered(rows.tags[0], rows.rising, values)
                queries[rows.query_id] = query
            query.docs += rows.docs
            query.scores.extend(rows.scores)
            if rows.tags.count(query.tag) < len(rows.tags):
                other = next(each for each in rows.tags if each != query.tag)
                log.raise_if_any()
                line = number + _row_of(block, rows.query_id, other)
                raise bad_input(two_systems(rows.query_id, (query.tag, other), "tag"), file=name, line=line)
        number += block.count(b"\n")
    log.raise_if_any()
    yield from _all_ranked(queries)


def _all_ranked(queries: dict[str, _Gathered]) -> Iterator[Ranking]:
    """The rankings of queries, which are taken out one by one."""
    for query_id in list(queries):
        yield _ranked(query_id, queries.pop(query_id))


def _plain(block: bytes) -> _Rows | None:
    """The rows of a block, or None where any of them needs a closer look."""
    columns = plain_columns(block, RUN_COLUMNS)
    if columns is None:
        return None
    queries, _, docs, ranks, written, tags = columns
    scores = plain_numbers(written)
    return None if scores is None else (queries, docs, scores, tags, ranks)


def _careful(block: bytes, first: int, name: str, log: ProblemLog) -> _Rows:
    """The rows of a block of which the first has that number, after noting what is wrong with the others."""
    rows: list[tuple[str, str, float, str, str]] = []
    lines = ((number, line) for number, line in enumerate(block.split(b"\n"), start=first) if line.split())
    for number, (query_id, _, doc, rank, written, tag) in columns_of(lines, _LAYOUT, name, log):
        score = finite_number(written)
        if score is None:
            what = f"the score of {shown(doc)} is {shown(written)}; scores must be finite numbers"
            log.add(Problem(f"query {shown(query_id)}: {what}", name, number))
            continue
        rows.append((query_id, doc, score, tag, rank))
    queries, docs, scores, tags, ranks = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return queries, docs, scores, tags, ranks


class _OfQuery(NamedTuple):
    """Rows of one query that follow one another; `rising` says whether their scores rise from rank to rank."""

    query_id: str
    docs: Sequence[str]
    scores: Sequence[float]
    tags: Sequence[str]
    rising: bool


def _by_query(rows: _Rows) -> Iterator[_OfQuery]:
    queries, docs, scores, tags, ranks = rows
    changes = compress(range(1, len(queries)), map(ne, queries, islice(queries, 1, None)))
    for start, end in pairwise([0, *changes, len(queries)]):
        if end > start:
            rising = scores[start] < scores[end - 1] and _rise(scores[start:end], ranks[start:end])
            yield _OfQuery(queries[start], docs[start:end], scores[start:end], tags[start:end], rising)


def _rise(scores: Sequence[float], ranks: Sequence[str]) -> bool:
    first = whole_number(ranks[0])
    last = whole_number(ranks[-1])
    ordered = first is not None and last is not None and first < last
    return ordered and len(scores) >= MIN_SCORES and [*scores] == sorted(scores)


def _row_of(block: bytes, query_id: str, tag: str) -> int:
    """Where in the block the first row of a query with this tag stands, counted from 0."""
    rows = (line.split() for line in block.split(b"\n"))
    named = (bool(row) and (row[0], row[-1]) == (query_id.encode(), tag.encode()) for row in rows)
    return list(named).index(True)


def _ranked(query_id: str, query: _Gathered) -> Ranking:
    docs = query.docs
    scores = query.scores
    tied = False
    if not all(map(gt, scores, islice(scores, 1, None))):
        docs = [doc for _, doc in sorted(zip(scores, docs, strict=True), reverse=True)]
        tied = min(scores) == max(scores)
    return Ranking(query_id, *deduplicated(docs), rising=query.rising, tied=tied)


def _provenance(source: Source) -> Mapping[str, Any]:
    """The run's tag, from the first row."""
    columns = source.head.split(maxsplit=RUN_COLUMNS)[:RUN_COLUMNS]
    return {"system": columns[-1].decode("utf-8", "replace")} if len(columns) == RUN_COLUMNS else {}


def _recognise(start: Beginning) -> Likeness:
    if start.json or not (start.is_trec or len(start.columns) == RUN_COLUMNS):
        return Likeness.NO  # of which seven columns are an error that says so
    try:
        float(start.columns[4])
    except ValueError:
        return Likeness.MAYBE
    return Likeness.YES if start.is_trec else Likeness.MAYBE


RUN = RunFormat(
    recognise=_recognise,
    read=_read,
    shape="`q-1 Q0 doc-3 1 18.4 bm25`",
    order="the score",
    looks_like="that looks like a TREC run",
    provenance=_provenance,
    quick=_read_quickly,
)
