"""Gold as judgments in columns: TREC qrels (`query iteration document gain`), and BEIR's table with a header."""

from __future__ import annotations

from collections.abc import Iterator

from rankgate.errors import Problem, shown
from rankgate.model.values import Sample
from rankgate.readers.base import ProblemLog
from rankgate.readers.delimited import Table
from rankgate.readers.samples import check_gain
from rankgate.readers.source import Source, utf8_message
from rankgate.readers.trec import finite_number

QRELS_COLUMNS = 4
BEIR_COLUMNS = ("query-id", "corpus-id", "score")
_HEADINGS = frozenset({"rel", "relevance", "gain", "grade", "judgment", "label", "rating", "score"})
_LAYOUT = "query iteration document gain"

# By query: the line on which it first stands, and its gains.
Judged = dict[str, tuple[int, dict[str, float]]]


def read_gold_qrels(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from TREC qrels: judgments without questions or tags.

    As in trec_eval, a line that begins with `#` is a comment; a `#` further on is part of an id. So no query id begins
    with `#`. Blank lines are skipped.
    """
    judged: Judged = {}
    for number, (query_id, _, doc, text) in _rows(source, log):
        _judge(judged, query_id, doc, text, Problem("", source.name, number, query_id), log)
    return _samples(judged)


def read_gold_beir(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from BEIR's `qrels/*.tsv`: columns query-id, corpus-id and score, named by the first row.

    Columns are parted by tabs, so ids may hold blanks, `#` and `|`.
    """
    table = Table(source, log)
    places = [table.place(name) for name in BEIR_COLUMNS]
    judged: Judged = {}
    if None in places:
        missing = ", ".join(name for name, place in zip(BEIR_COLUMNS, places, strict=True) if place is None)
        message = f"no column {missing}; BEIR qrels begin with the row {' '.join(BEIR_COLUMNS)}, parted by tabs"
        log.add(Problem(message, source.name, table.line))
        return {}
    query_at, doc_at, score_at = (place for place in places if place is not None)
    for number, cells in table.rows():
        query_id = cells[query_at]
        _judge(judged, query_id, cells[doc_at], cells[score_at], Problem("", source.name, number, query_id), log)
    return _samples(judged)


def _judge(judged: Judged, query_id: str, doc: str, text: str, place: Problem, log: ProblemLog) -> None:
    """Note one judgment, or what is wrong with it."""
    gain = finite_number(text)
    gains = judged.setdefault(query_id, (place.line or 1, {}))[1]
    if gain is None:
        header = "; if that is a header, remove the row" if text.casefold() in _HEADINGS else ""
        log.add(Problem(f"the gain {shown(text)} is not a finite number{header}", place.file, place.line, query_id))
        return
    try:
        check_gain(doc, gain)
    except ValueError as error:
        log.add(Problem(str(error), place.file, place.line, query_id))
        return
    if gains.setdefault(doc, gain) != gain:
        message = f"conflicting judgment: {shown(doc)} has gain {gains[doc]:g} above and {gain:g} here"
        log.add(Problem(message, place.file, place.line, query_id))


def _samples(judged: Judged) -> dict[str, Sample]:
    return {query_id: Sample(query_id=query_id, gains=gains, line=line) for query_id, (line, gains) in judged.items()}


def _rows(source: Source, log: ProblemLog) -> Iterator[tuple[int, list[str]]]:
    for number, line in source.lines():
        if line.startswith(b"#"):
            continue
        try:
            # Bytes are split at ASCII white space alone: a no-break space is part of an id.
            columns = [column.decode("utf-8") for column in line.split()]
        except UnicodeDecodeError as error:
            log.add(Problem(utf8_message(error), source.name, number))
            continue
        if len(columns) == QRELS_COLUMNS:
            yield number, columns
        else:
            text = shown(" ".join(columns))
            message = f"expected {QRELS_COLUMNS} columns ({_LAYOUT}), found {len(columns)}: {text}"
            log.add(Problem(message, source.name, number))
