"""Gold as lists of judgments: TREC qrels (`query iteration document gain`), BEIR, and learning-to-rank lists.

BEIR has a table, or a folder with one; lists `3 qid:1 1:0.5 # doc-3` are those of LETOR, of Elasticsearch's plugin and
of Quepid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

from msgspec.structs import force_setattr, replace

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.large_runs import compact
from rankgate.model.values import MANY, Sample
from rankgate.readers.base import LARGEST_GAIN, NO_ENTRIES, USUAL_GAINS, ProblemLog, finite_number
from rankgate.readers.corpus import read_corpus
from rankgate.readers.field_map import FieldMap
from rankgate.readers.judgments import add_gain, gain_of, read_judgments, read_usual_gold
from rankgate.readers.recognition import Beginning, GoldFormat, Likeness, Recognised
from rankgate.readers.source import Source, shown_path, utf8_message
from rankgate.readers.tables import BEIR_COLUMNS, blocks, columns_of, plain_columns, plain_numbers

_LAYOUT = "query iteration document gain"
_Row = tuple[int, str, str, float]  # line, query, document, gain
# A document's name where the iteration belongs, and a gain where the document does.
_EXPORTED = re.compile(rb"\S+\t(?!Q0\t)(?=\S*[^\d\s])\S+\t-?\d{1,2}\t\S+\s*\Z", re.IGNORECASE)
_LTR_ROW = re.compile(
    r"\s*(?P<gain>\S+)\s+qid:(?P<query>\S+)(?:\s+[^\s#]+:\S+)*\s*(?:#\s*(?:doc(?:id|no)\s*=\s*)?(?P<document>\S+))?",
    re.IGNORECASE,
)
_LTR_QUESTION = re.compile(r"\s*#\s*qid:(?P<query>[^\s:]+):\s*(?P<text>.*\S)")


def _read_qrels(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Judgments without questions or tags; as in trec_eval, a line that begins with `#` is a comment."""
    samples: dict[str, Sample] = {}
    first = 1
    for block in blocks(source.stream):
        for number, query_id, doc, gain in _plain(block, first) or _careful(block, first, source.name, log):
            sample = samples.get(query_id)
            if sample is None:
                sample = Sample(query_id=query_id, gains={}, judge_gains=NO_ENTRIES, spans=NO_ENTRIES, line=number)
                samples[query_id] = sample
            try:
                add_gain(sample, doc, gain)
            except ValueError as error:
                log.add(Problem(str(error), source.name, number, query_id))
        first += block.count(b"\n")
    for sample in samples.values() if len(samples) > MANY else ():
        force_setattr(sample, "gains", compact(sample.gains))
    return samples


def _plain(block: bytes, first: int) -> Iterable[_Row] | None:
    """The rows of a block of which the first has that number, or None where any of them needs a closer look."""
    columns = None if block.startswith(b"#") or b"\n#" in block else plain_columns(block, len(_LAYOUT.split()))
    if columns is None:
        return None
    queries, _, docs, written = columns
    gains = plain_numbers(written)
    if gains is None or min(gains) < -LARGEST_GAIN or max(gains) > LARGEST_GAIN:
        return None
    return zip(count(first), queries, docs, [USUAL_GAINS.get(gain, gain) for gain in gains], strict=False)


def _careful(block: bytes, first: int, name: str, log: ProblemLog) -> Iterator[_Row]:
    """The same rows one by one, without those that are noted because something is wrong with them."""
    numbered = enumerate(block.split(b"\n"), start=first)
    lines = ((number, line) for number, line in numbered if line.split() and not line.startswith(b"#"))
    for number, (query_id, _, doc, written) in columns_of(lines, _LAYOUT, name, log):
        try:
            gain = gain_of(doc, written)
        except ValueError as error:
            log.add(Problem(str(error), name, number, query_id))
        else:
            yield number, query_id, doc, gain


def beir_files(folder: str) -> tuple[str, str | None]:
    """The judgments of a BEIR folder, `qrels/test.tsv` or else the only split, and its `queries.jsonl`, if any."""
    splits = sorted(Path(folder, "qrels").glob("*.tsv"))
    chosen = [each for each in splits if each.stem == "test"] or splits
    if len(chosen) != 1:
        files = f"found {', '.join(each.name for each in splits)}; name one of these files" if splits else "found none"
        what = "is a directory, and as one of BEIR it needs one file of judgments, qrels/test.tsv"
        raise bad_input(f"{what} ({files})", file=shown_path(folder))
    queries = Path(folder, "queries.jsonl")
    return str(chosen[0]), str(queries) if queries.is_file() else None


def with_questions(samples: dict[str, Sample], queries: str) -> dict[str, Sample]:
    """The samples with the texts of a `queries.jsonl`."""
    texts = {query.id: query.text for query in read_corpus(queries)}
    return {query_id: replace(sample, question=texts.get(query_id)) for query_id, sample in samples.items()}


def _recognise_qrels(start: Beginning) -> Recognised:
    if start.json or set(BEIR_COLUMNS) <= set(start.header):
        return Likeness.NO
    columns = start.content.split()
    if len(columns) != len(_LAYOUT.split()):
        return Likeness.NO
    if _EXPORTED.match(start.content):
        return "that looks like query, document, gain, iteration, as ir_datasets exports tsv; export with --format trec"
    if finite_number(columns[-1].decode("utf-8", "replace")) is not None:
        return Likeness.YES
    has_names = b"\t" in start.content and finite_number(columns[1].decode("utf-8", "replace").lstrip("Q")) is None
    as_columns = re.search(rb"[:,;]|\A-", start.content) is None and not has_names
    return Likeness.MAYBE if as_columns else Likeness.NO


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
    read=partial(read_usual_gold, fractions=True),
    shape="BEIR's `qrels/*.tsv`: the header `query-id corpus-id score`, then tab-separated rows; also with commas, as "
    "on Hugging Face; or the folder with `qrels/` and `queries.jsonl`",
)


def _read_ltr(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples by `qid`; of the comment the first word, or what `docid =` or `docno=` names, is the document."""
    fields = FieldMap(query_id="query", chunk_id="document", gain="gain", question="question")
    return read_judgments(fields, _ltr_rows(source, log), log)


def _ltr_rows(source: Source, log: ProblemLog) -> Iterator[tuple[Problem, dict[str, str | None]]]:
    questions: dict[str, str] = {}
    for number, line in source.lines():
        location = Problem("", source.name, number)
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            log.note(location, utf8_message(error))
            continue
        if text.lstrip().startswith("#"):
            stated = _LTR_QUESTION.match(text)
            questions |= {stated["query"]: stated["text"]} if stated else {}
            continue
        row = _LTR_ROW.match(text)
        if row is None or row["document"] is None:
            what = "no document" if row else "no row"
            log.note(
                location, f"{what} of a learning-to-rank list, `3 qid:1 1:0.5 # doc-3`; found {shown(text.strip())}"
            )
            continue
        yield location, {**row.groupdict(), "question": questions.get(row["query"])}


def _recognise_ltr(start: Beginning) -> Likeness:
    return Likeness.sure(not start.json and re.match(rb"\s*\S+\s+qid:\S+(?:\s|$)", start.content))


LTR = GoldFormat(
    recognise=_recognise_ltr,
    read=_read_ltr,
    shape="`3 qid:1 1:0.5 # doc-3`, a judgment a line; lines `# qid:1: refund window` name the questions",
    looks_like="that looks like a learning-to-rank list, which is a gold set",
)
