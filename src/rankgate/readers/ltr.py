"""Gold as learning-to-rank lists, of LETOR, Elasticsearch's plugin and Quepid: `3 qid:1 1:0.5 2:8 # doc-3`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rankgate.errors import Problem, shown
from rankgate.model.values import Sample
from rankgate.readers.base import ProblemLog
from rankgate.readers.field_map import FieldMap
from rankgate.readers.judgments import read_judgments
from rankgate.readers.recognition import Beginning, GoldFormat, Likeness
from rankgate.readers.source import Source, utf8_message

_ROW = re.compile(
    r"\s*(?P<gain>\S+)\s+qid:(?P<query>\S+)(?:\s+[^\s#]+:\S+)*\s*(?:#\s*(?:doc(?:id|no)\s*=\s*)?(?P<document>\S+))?",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"\s*#\s*qid:(?P<query>[^\s:]+):\s*(?P<text>.*\S)")


def _read(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples by `qid`; of the comment the first word, or what `docid =` or `docno=` names, is the document."""
    fields = FieldMap(query_id="query", chunk_id="document", gain="gain", question="question")
    return read_judgments(fields, _rows(source, log), log)


def _rows(source: Source, log: ProblemLog) -> Iterator[tuple[Problem, dict[str, str | None]]]:
    questions: dict[str, str] = {}
    for number, line in source.lines():
        location = Problem("", source.name, number)
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            log.note(location, utf8_message(error))
            continue
        if text.lstrip().startswith("#"):
            stated = _QUESTION.match(text)
            questions |= {stated["query"]: stated["text"]} if stated else {}
            continue
        row = _ROW.match(text)
        if row is None or row["document"] is None:
            what = "no document" if row else "no row"
            log.note(
                location, f"{what} of a learning-to-rank list, `3 qid:1 1:0.5 # doc-3`; found {shown(text.strip())}"
            )
            continue
        yield location, {**row.groupdict(), "question": questions.get(row["query"])}


def _recognise(start: Beginning) -> Likeness:
    return Likeness.sure(not start.json and re.match(rb"\s*\S+\s+qid:\S+(?:\s|$)", start.content))


GOLD = GoldFormat(
    recognise=_recognise,
    read=_read,
    shape="`3 qid:1 1:0.5 # doc-3`, a judgment a line; lines `# qid:1: refund window` name the questions",
    looks_like="that looks like a learning-to-rank list, which is a gold set",
)
