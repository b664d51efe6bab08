"""Gold as judgments in columns: TREC qrels (`query iteration document gain`), and BEIR's table with a header."""

from __future__ import annotations

from rankgate.errors import Problem, shown
from rankgate.model.values import Sample
from rankgate.readers.base import ProblemLog, finite_number
from rankgate.readers.delimited import BEIR_COLUMNS, Table, columns_of
from rankgate.readers.recognition import Beginning, GoldFormat, Likeness, Recognised
from rankgate.readers.samples import check_gain
from rankgate.readers.source import Source

_HEADINGS = frozenset({"rel", "relevance", "gain", "grade", "judgment", "label", "rating", "score"})
_LAYOUT = "query iteration document gain"

# By query: the line on which it first stands, and its gains.
Judged = dict[str, tuple[int, dict[str, float]]]


def _read_qrels(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Judgments without questions or tags; as in trec_eval, a line that begins with `#` is a comment."""
    judged: Judged = {}
    lines = ((number, line) for number, line in source.lines() if not line.startswith(b"#"))
    for number, (query_id, _, doc, text) in columns_of(lines, _LAYOUT, source.name, log):
        _judge(judged, query_id, doc, text, Problem("", source.name, number, query_id), log)
    return _samples(judged)


def _read_beir(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Judgments in the columns query-id, corpus-id and score, which the first row names."""
    table = Table(source, log)
    missing = ", ".join(name for name in BEIR_COLUMNS if table.place(name) is None)
    if missing:
        message = f"no column {missing}; BEIR qrels begin with the row {' '.join(BEIR_COLUMNS)}, separated by tabs"
        log.add(Problem(message, source.name, table.line))
        return {}
    judged: Judged = {}
    query_at, doc_at, score_at = (table.place(name) or 0 for name in BEIR_COLUMNS)
    for number, cells in table.rows():
        query_id = cells[query_at]
        _judge(judged, query_id, cells[doc_at], cells[score_at], Problem("", source.name, number, query_id), log)
    return _samples(judged)


def _judge(judged: Judged, query_id: str, doc: str, text: str, place: Problem, log: ProblemLog) -> None:
    """Note one judgment, or what is wrong with it."""
    gain = finite_number(text)
    gains = judged.setdefault(query_id, (place.line or 1, {}))[1]
    try:
        if gain is None:
            header = "; if that is a header, remove the row" if text.casefold() in _HEADINGS else ""
            raise ValueError(f"the gain {shown(text)} is not a finite number{header}")
        check_gain(doc, gain)
    except ValueError as error:
        log.note(place, error)
        return
    if gains.setdefault(doc, gain) != gain:
        log.note(place, f"conflicting judgment: {shown(doc)} has gain {gains[doc]:g} above and {gain:g} here")


def _samples(judged: Judged) -> dict[str, Sample]:
    return {query_id: Sample(query_id=query_id, gains=gains, line=line) for query_id, (line, gains) in judged.items()}


def _recognise_qrels(start: Beginning) -> Likeness:
    if start.json or set(BEIR_COLUMNS) <= set(start.header):
        return Likeness.NO
    columns = start.content.split()
    if len(columns) != len(_LAYOUT.split()):
        return Likeness.NO
    if finite_number(columns[-1].decode("utf-8", "replace")) is not None:
        return Likeness.YES
    return Likeness.MAYBE if b":" not in start.content and not start.content.startswith(b"-") else Likeness.NO


def _recognise_beir(start: Beginning) -> Recognised:
    if start.json or not set(BEIR_COLUMNS) <= set(start.header):
        return Likeness.NO
    if start.has_whole_numbers(BEIR_COLUMNS[-1]):
        return Likeness.YES
    return "that looks like a run: BEIR's gains are whole numbers; if these are gains, name the format: beir"


QRELS = GoldFormat(
    recognise=_recognise_qrels,
    read=_read_qrels,
    shape="TREC: `301 0 doc-3 1`, a judgment a line",
    looks_like="that looks like TREC qrels, which is a gold set",
)
BEIR = GoldFormat(
    recognise=_recognise_beir,
    read=_read_beir,
    shape="BEIR's `qrels/*.tsv`: the header `query-id corpus-id score`, then tab-separated rows; also with commas, as "
    "on Hugging Face",
)
